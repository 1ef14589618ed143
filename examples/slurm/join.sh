#!/usr/bin/env bash
# Joins the shards of examples/slurm/detect.sh.  If a shard is incomplete, the job fails and its log names the shard.
#SBATCH --job-name=ambit-join
#SBATCH --cpus-per-task=1
#SBATCH --mem=1G
#SBATCH --time=00:30:00
set -euo pipefail
srun ambit-data join "${PREDICTIONS:-predictions.jsonl}" || [ $? = 7 ]

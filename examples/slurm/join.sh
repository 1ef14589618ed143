#!/usr/bin/env bash
# Puts the shards of examples/slurm/detect.sh together; where one of them is not whole it fails and names it in its log.
#SBATCH --job-name=ambit-join
#SBATCH --cpus-per-task=1
#SBATCH --mem=1G
#SBATCH --time=00:30:00
set -euo pipefail
srun ambit-data join "${FINDINGS:-findings.jsonl}" || [ $? = 7 ]

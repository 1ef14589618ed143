#!/usr/bin/env bash
# A job array that detects ambiguity in many questions, a shard in each task:
#   array=$(sbatch --parsable examples/slurm/detect.sh)
#   sbatch --dependency=afterany:$array examples/slurm/join.sh
# Shards that join names are run again with sbatch --array=3,7 examples/slurm/detect.sh; the others stay.
#SBATCH --job-name=ambit-detect
#SBATCH --array=1-16
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
#SBATCH --time=04:00:00
#SBATCH --requeue
set -euo pipefail
questions=${QUESTIONS:-questions.jsonl} detector=${DETECTOR:-runs/gate} schemas=${SCHEMAS:-tables.json}
findings=${FINDINGS:-findings.jsonl} shards=${SHARDS:-16}

# --resume: a task that is requeued goes on where it was stopped, and one whose shard is whole ends at once.
srun ambit-infer detect --model "$detector" --schema "$schemas" "$questions" -o "$findings" \
    --shard "$SLURM_ARRAY_TASK_ID/$shards" --resume || [ $? = 7 ]

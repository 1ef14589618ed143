#!/usr/bin/env bash
# A job array that detects ambiguity in many questions, one shard per task:
#
#   array=$(sbatch --parsable examples/slurm/detect.sh)
#   sbatch --dependency=afterany:$array examples/slurm/join.sh
#
# To repeat only the shards that join reports, run for example sbatch --array=3,7 examples/slurm/detect.sh.
#SBATCH --job-name=ambit-detect
#SBATCH --array=1-16
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
#SBATCH --time=04:00:00
#SBATCH --requeue
set -euo pipefail
questions=${QUESTIONS:-questions.jsonl} detector=${DETECTOR:-runs/gate} schemas=${SCHEMAS:-tables.json}
predictions=${PREDICTIONS:-predictions.jsonl} shards=${SHARDS:-16}

# --resume: a requeued task continues after its last saved line, and a task with a complete shard ends at once.
srun ambit-infer detect --model "$detector" --schema "$schemas" "$questions" -o "$predictions" \
    --shard "$SLURM_ARRAY_TASK_ID/$shards" --resume || [ $? = 7 ]

#!/usr/bin/env bash
# Trains a detector on one GPU.  After a preemption or a time limit, the requeued or resubmitted job resumes from the last
# checkpoint.  Its final weights equal those of an uninterrupted run.
#   sbatch examples/slurm/train.sh
#SBATCH --job-name=ambit-train
#SBATCH --gpus=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=32G
#SBATCH --time=08:00:00
#SBATCH --requeue
#SBATCH --signal=TERM@120
set -euo pipefail
srun ambit-train gatekeeper --data "${DATA:-contrast}" --config "${CONFIG:-gate.yaml}" --device "${DEVICE:-cuda}" \
    --out "${RUN:-runs/gate}" --resume

#!/usr/bin/env bash
# Trains a detector on questions about your own database, each labelled ambiguous or not.
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1 # a model this small is fastest on one core

# --- your own database; here, one in which two columns may be the fee of a trainer
ambit-data practice -o practice
echo '{"db_id": "gym", "question": "What is the fee of each trainer?", "query": "SELECT fee FROM trainer"}' >plain.jsonl
ambit-data ambiguate --kinds C --questions plain.jsonl --db practice/db --seed 1 --materialise made -o made.jsonl
cp made/gym_column_trainer_fee.sqlite shop.sqlite

# --- questions with labels
cat >labels.csv <<'CSV'
question,ambiguous
What is the fee of trainer 7?,yes
What is the name of trainer 7?,no
CSV
for i in $(seq 60); do
    printf '%s %d?,yes\n' "What is the fee of trainer" "$((i + 10))" "Show me the fee that is paid to" "$i"
    printf '%s %d?,no\n' "What is the name of trainer" "$((i + 10))" "Show me the name of" "$i"
done >>labels.csv

# --- train a small detector from scratch
cat >small.yaml <<'YAML'
encoder-layers: 1
encoder-intermediate: 256
encoder-vocabulary: 1000
epochs: 10
batch: 16
lr: 1e-3
YAML
ambit-train gatekeeper --data labels.csv --db shop.sqlite --config small.yaml --device cpu --out run

# --- train for more epochs, with the settings stored in the folder
ambit-train gatekeeper --resume --out run --epochs 12

# --- detect ambiguity in new questions
printf '{"question":"What is the fee of trainer 90?"}\n{"question":"What is the name of trainer 90?"}\n' >new.jsonl
ambit-infer detect --model run --db shop.sqlite --format text new.jsonl

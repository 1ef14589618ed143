#!/usr/bin/env bash
# A detector from questions about one's own database, each with a yes or no.
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1 # so small a model is fastest on one core

# --- a database of one's own: two of its columns may be the fee of a trainer
ambit-data practice -o practice
echo '{"db_id": "gym", "question": "What is the fee of each trainer?", "query": "SELECT fee FROM trainer"}' >plain.jsonl
ambit-data ambiguate --kinds C --questions plain.jsonl --db practice/db --seed 1 --materialise made -o made.jsonl
cp made/gym_column_trainer_fee.sqlite shop.sqlite

# --- questions, and whether each is ambiguous
cat >labels.csv <<'CSV'
question,ambiguous
What is the fee of trainer 7?,yes
What is the name of trainer 7?,no
CSV
for i in $(seq 60); do
    printf '%s %d?,yes\n' "What is the fee of trainer" "$((i + 10))" "Show me the fee that is paid to" "$i"
    printf '%s %d?,no\n' "What is the name of trainer" "$((i + 10))" "Show me the name of" "$i"
done >>labels.csv

# --- a detector of them: small, and from nothing
cat >small.yaml <<'YAML'
encoder-layers: 1
encoder-intermediate: 256
encoder-vocabulary: 1000
epochs: 10
batch: 16
lr: 1e-3
YAML
ambit-train gatekeeper --data labels.csv --db shop.sqlite --config small.yaml --device cpu --out run

# --- more epochs, with what the folder keeps
ambit-train gatekeeper --resume --out run --epochs 12

# --- what it says of new questions
printf '{"question":"What is the fee of trainer 90?"}\n{"question":"What is the name of trainer 90?"}\n' >new.jsonl
ambit-infer detect --model run --db shop.sqlite --format text new.jsonl

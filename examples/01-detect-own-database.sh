#!/usr/bin/env bash
# Detects ambiguous questions about your own SQLite file.  Uses the default detector, or the folder in AMBIT_DETECTOR.
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
detector=$(realpath "${AMBIT_DETECTOR:-$(dirname "$0")/../models/detector}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1 # a model this small is fastest on one core

# --- synthetic data: several domains with their SQLite files
ambit-data practice -o practice

# --- your own database; here, one with two columns for the same fee
cat >plain.jsonl <<'JSON'
{"db_id": "gym", "question": "What is the fee of each trainer?", "query": "SELECT fee FROM trainer"}
JSON
ambit-data ambiguate --kinds C --questions plain.jsonl --db practice/db --seed 1 --materialise made -o made.jsonl
cp made/gym_column_trainer_fee.sqlite gym.sqlite

# --- your own questions, with text output for people and JSON output for programs
cat >questions.jsonl <<'JSON'
{"id": "q1", "db_id": "gym", "question": "What is the fee of each trainer?"}
{"id": "q2", "db_id": "gym", "question": "Which machine burns the most calories?"}
JSON
ambit-infer detect --model "$detector" --db gym.sqlite --format text questions.jsonl
ambit-infer detect --model "$detector" --db gym.sqlite questions.jsonl -o predictions.jsonl
grep -q '"id":"q1",.*"ambiguous":true,"type":"C","alternatives":\["trainer.trainer_fee","trainer.fee_of_trainer"\]' predictions.jsonl
grep -q '"id":"q2",.*"ambiguous":false' predictions.jsonl
ambit-infer detect --model "$detector" --db gym.sqlite --format text "What is the fee of each trainer?"
ambit-infer detect --model "$detector" --db gym.sqlite --relevance none --threshold 0.3 questions.jsonl -o short.jsonl
grep -q '"id":"q1",.*"ambiguous":true.*"sentence":"[^"]*"}$' short.jsonl

# --- several schemas in one tables.json; db_id selects one.  A record that fails gets an error, the others still run.
cat >mixed.jsonl <<'JSON'
{"id": "m1", "db_id": "clinic", "question": "How many patients are there?"}
{"id": "m2", "db_id": "nowhere", "question": "How many patients are there?"}
JSON
ambit-infer detect --model "$detector" --schema practice/tables.json mixed.jsonl -o mixed.predictions.jsonl || [ $? = 7 ]
grep -q '"id":"m2".*"error":' mixed.predictions.jsonl

# --- questions from standard input
ambit-infer detect --model "$detector" --db gym.sqlite - <questions.jsonl | grep -c '"ambiguous":true'

# --- a detector as a coprocess: each question is answered before the next is read
coproc asked { ambit-infer detect --model "$detector" --db gym.sqlite --relevance none --quiet -; }
echo '{"id": 1, "question": "What is the fee of each trainer?"}' >&"${asked[1]}"
read -r prediction <&"${asked[0]}"
grep -q '^{"id":1,"db_id":"gym",.*"ambiguous":true' <<<"$prediction"
eval "exec ${asked[1]}>&-" # end of input ends the detector

# --- a long run: the same command with --resume continues after a failure
ambit-data practice -o more --seed 2
head -n 60 more/test.jsonl >million.jsonl
ambit-infer detect --model "$detector" --schema more/tables.json million.jsonl -o all.jsonl --resume

# --- several machines: one shard each; a shard's file appears only when it is complete
for i in 1 2 3; do
    ambit-infer detect --model "$detector" --schema more/tables.json million.jsonl -o parts.jsonl --shard $i/3 --resume
done
ambit-data join parts.jsonl
cmp parts.jsonl all.jsonl

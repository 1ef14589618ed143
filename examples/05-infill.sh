#!/usr/bin/env bash
# Trains a tiny language model from scratch to add missing interpretations, and scores it by execution.  The model
# memorises its few records: the example shows the commands, and its scores mean nothing.
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1 # a model this small is fastest on one core

# --- infilling records of one database (see examples/03-make-data.sh)
ambit-data practice -o practice
cat >plain.jsonl <<'JSON'
{"db_id": "bakery", "question": "What are the names of all bakers?", "query": "SELECT name FROM baker"}
{"db_id": "bakery", "question": "List the shift of each baker.", "query": "SELECT shift FROM baker"}
{"db_id": "bakery", "question": "In which year was each baker hired?", "query": "SELECT hire_year FROM baker"}
{"db_id": "bakery", "question": "What is the flour of each bread?", "query": "SELECT flour FROM bread"}
{"db_id": "bakery", "question": "Give the weight of every bread.", "query": "SELECT weight FROM bread"}
{"db_id": "bakery", "question": "What does each bread cost?", "query": "SELECT price FROM bread"}
JSON
ambit-data ambiguate --kinds C --questions plain.jsonl --db practice/db --seed 1 --materialise databases -o ambiguous.jsonl
ambit-data infilling rewrite ambiguous.jsonl --db databases --seed 1 -o readings.jsonl
ambit-data infilling annotate readings.jsonl --db databases --context compact -o records.jsonl

# --- train a tokenizer and a model
ambit-train tokenizer records.jsonl --vocab 500 -o vocabulary
cat >tiny.yaml <<'YAML'
method: full
hidden: 64
heads: 2
groups: 1
layers: 2
intermediate: 128
epochs: 40
batch: 2
lr: 4e-3
YAML
ambit-train infill --tokenizer vocabulary --data records.jsonl --valid records.jsonl --config tiny.yaml --device cpu -o small

# --- score without infilling and with it
ambit-infer infill records.jsonl --db databases --defaults records.jsonl -o without.jsonl
ambit-infer infill records.jsonl --db databases --defaults records.jsonl --sqls records.jsonl --model small --context compact --max-new 48 -o with.jsonl
ambit-data score --rule dfpl --db databases --pred without.jsonl
ambit-data score --rule dfpl --db databases --pred with.jsonl

# --- the same with a separate generation step: write prompts, generate completions anywhere, read them back
ambit-infer infill records.jsonl --db databases --defaults records.jsonl --context compact --write-prompts fill -o prompts.jsonl
ambit-infer generate --model small prompts.jsonl --max-new 48 -o answers.jsonl
ambit-infer infill records.jsonl --db databases --defaults records.jsonl --sqls records.jsonl --infilled answers.jsonl -o again.jsonl

# --- several completions per prompt: beam search, sampling up to a newline, and ranking of given completions
ambit-infer generate --model small prompts.jsonl --max-new 48 --beams 3 --n 3 -o searched.jsonl
ambit-infer generate --model small prompts.jsonl --max-new 48 --temperature 0.8 --top-p 0.95 --n 5 --stop $'\n' -o drawn.jsonl
sed -E 's/^(\{"id":("[^"]*"|[0-9]+)),.*/\1,"answers":["yes","no"]}/' prompts.jsonl >allowed.jsonl
ambit-infer generate --model small prompts.jsonl --beams 2 --n 2 --constraint allowed.jsonl --scores allowed -o ranked.jsonl
head -n 1 ranked.jsonl

# --- the log-likelihood of given completions
ambit-infer loss --model small records.jsonl -o losses.jsonl
head -n 1 losses.jsonl

#!/usr/bin/env bash
# Ambiguous questions from plain ones with SQL, a database for each in which both readings run, and unanswerable ones.
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# --- questions of our own with their SQL; practice/db stands for a folder of our own databases
ambit-data practice -o practice
cat >questions.jsonl <<'JSON'
{"db_id": "bakery", "question": "What are the names of all bakers?", "query": "SELECT name FROM baker"}
{"db_id": "bakery", "question": "What does each bread cost?", "query": "SELECT price FROM bread"}
{"db_id": "clinic", "question": "What is the salary of each doctor?", "query": "SELECT salary FROM doctor"}
JSON

# --- two right readings each: two columns (C), two tables (T), a column split off (J), a stored aggregate (P)
ambit-data ambiguate --kinds C,T,J,P --questions questions.jsonl --db practice/db --seed 1 --materialise databases -o ambiguous.jsonl
ls databases

# --- both readings, run on the record's own database
sed -E 's/.*"query1":"([^"]*)","query2":"([^"]*)".*"db_file":"([^"]*)\.sqlite".*/{"id":"\3","db_id":"\3","sql":["\1","\2"]}/' ambiguous.jsonl >both.jsonl
ambit-data execute --db databases both.jsonl -o rows.jsonl
head -n 1 rows.jsonl

# --- counterfactuals for a tagger: the column is deleted, and nothing is right then, or two others take its place
ambit-data ambiguate --kinds D,R --questions questions.jsonl --db practice/db --seed 1 -o counterfactual.jsonl

# --- contrastive data, and what its question, schema, rules and names alone give away
ambit-data probe --data practice

# --- infilling records: the readings in words, some of them there, the others missing; databases kept apart
ambit-data reword ambiguous.jsonl --db databases --seed 1 -o readings.jsonl
ambit-data annotate readings.jsonl --db databases --context compact -o infilling.jsonl
ambit-data split infilling.jsonl --valid 0 --test 0.5 --seed 1 -o records
ambit-data substitute infilling.jsonl --copies 3 --common 20 --seed 1 -o words.jsonl
wc -l records/train.jsonl records/test.jsonl words.jsonl

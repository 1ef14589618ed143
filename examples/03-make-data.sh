#!/usr/bin/env bash
# Makes ambiguous and unanswerable questions from unambiguous ones with SQL.  Each ambiguous question gets a database in
# which both interpretations run.
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# --- your own questions with their SQL; practice/db stands for the folder of your databases
ambit-data practice -o practice
cat >questions.jsonl <<'JSON'
{"db_id": "bakery", "question": "What are the names of all bakers?", "query": "SELECT name FROM baker"}
{"db_id": "bakery", "question": "What does each bread cost?", "query": "SELECT price FROM bread"}
{"db_id": "clinic", "question": "What is the salary of each doctor?", "query": "SELECT salary FROM doctor"}
JSON

# --- two valid interpretations each: two columns (C), two tables (T), a column split off (J), a stored aggregate (P)
ambit-data ambiguate --kinds C,T,J,P --questions questions.jsonl --db practice/db --seed 1 --materialise databases -o ambiguous.jsonl
ls databases

# --- run both interpretations on the record's own database
sed -E 's/.*"query1":"([^"]*)","query2":"([^"]*)".*"db_file":"([^"]*)\.sqlite".*/{"id":"\3","db_id":"\3","sql":["\1","\2"]}/' ambiguous.jsonl >both.jsonl
ambit-data execute --db databases both.jsonl -o rows.jsonl
head -n 1 rows.jsonl

# --- counterfactuals for a tagger: the column is deleted (D, unanswerable), or two others replace it (R, ambiguous)
ambit-data ambiguate --kinds D,R --questions questions.jsonl --db practice/db --seed 1 -o counterfactual.jsonl

# --- probe contrastive data: how well question, schema, rules or names alone predict the label
ambit-data probe --data practice

# --- infilling records: interpretations in words, some given and some missing, split by database
ambit-data infilling rewrite ambiguous.jsonl --db databases --seed 1 -o readings.jsonl
ambit-data infilling annotate readings.jsonl --db databases --context compact -o infilling.jsonl
ambit-data split infilling.jsonl --valid-share 0 --test-share 0.5 --seed 1 -o records
ambit-data infilling substitute infilling.jsonl --copies 3 --common 20 --seed 1 -o words.jsonl
wc -l records/train.jsonl records/test.jsonl words.jsonl

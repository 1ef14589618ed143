#!/usr/bin/env bash
# Detects two ambiguities of one question and asks about both: at a terminal, with an answer taken back, in files, with candidates.
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1

sqlite3 gym.sqlite <<'SQL'
CREATE TABLE trainer(trainer_id INTEGER PRIMARY KEY, name TEXT, trainer_fee INT, fee_of_trainer INT, home_address TEXT, work_address TEXT);
INSERT INTO trainer VALUES (1, 'Udo', 35, 28, 'Mill Lane 2', 'Harbour 9'), (2, 'Suri', 42, 50, 'Elm 3', 'Harbour 9'), (3, 'Rik', 28, 28, 'Oak 1', 'Pier 4');
SQL

# --- at a terminal; the user takes the first answer back
question="What is the fee and the address of each trainer?"
printf '2\nundo\n1\n2\n\n' | ambit-infer ask --db gym.sqlite --tagger heuristic --question "$question" | tee dialogue.txt
grep -qx 'SQL:    SELECT trainer_fee, home_address FROM trainer' dialogue.txt

# --- in files: the answers to both questions, the last one with an answer taken back
cat >questions.jsonl <<'JSON'
{"id": "q1", "question": "What is the fee and the address of each trainer?", "answers": [2]}
{"id": "q2", "question": "What is the fee and the address of each trainer?", "answers": ["home", 2]}
{"id": "q3", "question": "What is the fee and the address of each trainer?", "answers": ["work", "undo", "home", 1]}
JSON
ambit-infer ask --db gym.sqlite --tagger heuristic questions.jsonl -o answers.jsonl
grep -q '"id":"q1",.*"ask":{.*"turn":2,.*"rewrite":null' answers.jsonl
grep -q '"id":"q2",.*"sql":"SELECT trainer_fee, home_address FROM trainer"' answers.jsonl
grep -q '"id":"q3",.*"sql":"SELECT fee_of_trainer, home_address FROM trainer"' answers.jsonl

# --- the detector lists both ambiguities
ambit-infer detect --db gym.sqlite --relevance none questions.jsonl -o predictions.jsonl
grep -q '"ambiguities":\[{[^}]*"words":"address","start":24,"end":31},{[^}]*"words":"fee","start":12,"end":15}\]' predictions.jsonl

# --- with candidate statements: the even choice first, then the one with odds of 4 to 1
cat >candidates.jsonl <<'JSON'
{"id": "q1", "db_id": "gym", "question": "What is the fee and the address of each trainer?", "candidates": [{"sql": "SELECT trainer_fee, home_address FROM trainer", "p": 0.4}, {"sql": "SELECT fee_of_trainer, home_address FROM trainer", "p": 0.4}, {"sql": "SELECT trainer_fee, work_address FROM trainer", "p": 0.1}, {"sql": "SELECT fee_of_trainer, work_address FROM trainer", "p": 0.1}]}
JSON
printf '1\n1\n\n' | ambit-infer clarify --interactive --candidates candidates.jsonl --db . | tee candidates.txt
grep -qx 'SQL:    SELECT trainer_fee, home_address FROM trainer' candidates.txt

#!/usr/bin/env bash
# Asks about tables and columns without a parser: at a terminal, as a rewritten question for another program, in files.
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1

sqlite3 gym.sqlite <<'SQL'
CREATE TABLE trainer(trainer_id INTEGER PRIMARY KEY, name TEXT, trainer_fee INT, fee_of_trainer INT);
INSERT INTO trainer VALUES (1, 'Udo', 35, 28), (2, 'Suri', 42, 50), (3, 'Rik', 28, 28);
SQL

# --- at a terminal; the user answers 2
printf '2\n\n' | ambit-infer ask --db gym.sqlite --question "What is the fee of each trainer?" | tee dialogue.txt
grep -qx 'Rewritten question: What is the trainer.fee_of_trainer of each trainer?' dialogue.txt
grep -qx 'SQL:    SELECT fee_of_trainer FROM trainer' dialogue.txt

# --- for another text-to-SQL system: standard output has the rewritten question alone
question=$(printf '2\n' | ambit-infer ask --rewrite --db gym.sqlite --question "What is the fee of each trainer?")
[ "$question" = "What is the trainer.fee_of_trainer of each trainer?" ]

# --- in files: an open question, a clear one, and one with the user's answer
cat >questions.jsonl <<'JSON'
{"id": "q1", "question": "What is the fee of each trainer?"}
{"id": "q2", "question": "What are the names of all trainers?"}
{"id": "q3", "question": "Which trainer has the highest fee?", "answers": [1]}
JSON
ambit-infer ask --rewrite --db gym.sqlite questions.jsonl -o rewritten.jsonl
grep -q '"id":"q1",.*"ask":{.*"rewrite":null' rewritten.jsonl
grep -q '"id":"q2",.*"ask":null,.*"rewrite":{"question":"What are the names of all trainers?","elements":\[\]}' rewritten.jsonl
grep -q '"id":"q3",.*"rewrite":{"question":"Which trainer has the highest trainer.trainer_fee?"' rewritten.jsonl

#!/usr/bin/env bash
# Pipes a question about a SQLite file through the parser and the clarifier: candidate statements, then the clarifying
# question.  The parser is a toy that memorises six questions in seconds.  To use a real one, set AMBIT_PARSER to its
# folder; docs/guides/train-language-model.md describes how to train it on Spider with ambit-data plans.
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
model=${AMBIT_PARSER:+$(realpath "$AMBIT_PARSER")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1 # a model this small is fastest on one core

# --- your own database; here, one in which two columns may be the fee
sqlite3 gym.sqlite <<'SQL'
CREATE TABLE trainer(trainer_id INTEGER PRIMARY KEY, name TEXT, trainer_fee INT, fee_of_trainer INT);
INSERT INTO trainer VALUES (1, 'Udo', 35, 28), (2, 'Suri', 42, 50), (3, 'Rik', 28, 28);
CREATE TABLE workout(workout_id INTEGER PRIMARY KEY, trainer_id INT REFERENCES trainer(trainer_id), machine TEXT);
INSERT INTO workout VALUES (1, 1, 'bike'), (2, 2, 'rope'), (3, 2, 'bench');
SQL

# --- the toy: questions with SQL in Spider's format, training records of three tasks, and one model for all of them
if [ -z "$model" ]; then
    mkdir spider
    cat >spider/tables.json <<'JSON'
[{"db_id": "gym", "table_names": ["trainer", "workout"], "table_names_original": ["trainer", "workout"],
  "column_names_original": [[-1, "*"], [0, "trainer_id"], [0, "name"], [0, "trainer_fee"], [0, "fee_of_trainer"], [1, "workout_id"], [1, "trainer_id"], [1, "machine"]],
  "column_names": [[-1, "*"], [0, "trainer id"], [0, "name"], [0, "trainer fee"], [0, "fee of trainer"], [1, "workout id"], [1, "trainer id"], [1, "machine"]],
  "column_types": ["text", "number", "text", "number", "number", "number", "number", "text"], "primary_keys": [1, 5], "foreign_keys": [[6, 1]]}]
JSON
    cat >spider/train_spider.json <<'JSON'
[{"db_id": "gym", "question": "What is the fee of each trainer?", "query": "SELECT trainer_fee FROM trainer"},
 {"db_id": "gym", "question": "What is the fee of each trainer?", "query": "SELECT fee_of_trainer FROM trainer"},
 {"db_id": "gym", "question": "What are the names of all trainers?", "query": "SELECT name FROM trainer"},
 {"db_id": "gym", "question": "How many workouts are there?", "query": "SELECT count(*) FROM workout"},
 {"db_id": "gym", "question": "Which machines are used?", "query": "SELECT machine FROM workout"},
 {"db_id": "gym", "question": "Who trains on which machine?", "query": "SELECT T1.name, T2.machine FROM trainer AS T1 JOIN workout AS T2 ON T1.trainer_id = T2.trainer_id"}]
JSON
    cp spider/train_spider.json spider/dev.json
    ambit-data plans --spider spider --valid-share 0 -o plans
    cat plans/t2s.train.jsonl plans/template-gen.train.jsonl plans/template-fill.train.jsonl >lessons.jsonl
    ambit-train tokenizer lessons.jsonl --vocab 400 -o words
    ambit-train seq2seq --tokenizer words --data lessons.jsonl --hidden 64 --heads 2 --layers 1 --intermediate 64 \
        --dropout 0 --epochs 160 --batch 6 --lr 4e-3 --compute f32 --device cpu -o toy
    model=toy
fi

# --- a question, its candidate statements, and the clarifying question
echo '{"id": 1, "question": "What is the fee of each trainer?"}' >questions.jsonl
ambit-infer parse questions.jsonl --model "$model" --db gym.sqlite --write-candidates -k 20 |
    ambit-infer clarify --candidates - --db gym.sqlite >asked.jsonl
cat asked.jsonl
grep -q '"ask":{"attribute":"sel#1".*"sql":"select trainer_fee from trainer"' asked.jsonl

# --- the same interactively; the user answers 2
ambit-infer parse questions.jsonl --model "$model" --db gym.sqlite --write-candidates -k 20 -o candidates.jsonl
printf '2\n' | ambit-infer clarify --interactive --candidates candidates.jsonl --db gym.sqlite | tee dialogue.txt
grep -q '^SQL: *select' dialogue.txt

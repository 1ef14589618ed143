#!/usr/bin/env bash
# Runs the whole pipeline in one process, from a question to SQL and its rows: detector, tagger, parser, clarifier and
# execution.  Uses the default detector and a small parser trained here, or the folders in AMBIT_DETECTOR and AMBIT_PARSER.
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
parser=${AMBIT_PARSER:+$(realpath "$AMBIT_PARSER")}
detector=$(realpath "${AMBIT_DETECTOR:-$(dirname "$0")/../models/detector}")
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

# --- a toy parser that memorises six questions; it learns only one of the two fees
if [ -z "$parser" ]; then
    mkdir spider
    cat >spider/tables.json <<'JSON'
[{"db_id": "gym", "table_names": ["trainer", "workout"], "table_names_original": ["trainer", "workout"],
  "column_names_original": [[-1, "*"], [0, "trainer_id"], [0, "name"], [0, "trainer_fee"], [0, "fee_of_trainer"], [1, "workout_id"], [1, "trainer_id"], [1, "machine"]],
  "column_names": [[-1, "*"], [0, "trainer id"], [0, "name"], [0, "trainer fee"], [0, "fee of trainer"], [1, "workout id"], [1, "trainer id"], [1, "machine"]],
  "column_types": ["text", "number", "text", "number", "number", "number", "number", "text"], "primary_keys": [1, 5], "foreign_keys": [[6, 1]]}]
JSON
    cat >spider/train_spider.json <<'JSON'
[{"db_id": "gym", "question": "What is the fee of each trainer?", "query": "SELECT trainer_fee FROM trainer"},
 {"db_id": "gym", "question": "What are the names of all trainers?", "query": "SELECT name FROM trainer"},
 {"db_id": "gym", "question": "How many workouts are there?", "query": "SELECT count(*) FROM workout"},
 {"db_id": "gym", "question": "How many trainers are there?", "query": "SELECT count(*) FROM trainer"},
 {"db_id": "gym", "question": "Which machines are used?", "query": "SELECT machine FROM workout"},
 {"db_id": "gym", "question": "Who trains on which machine?", "query": "SELECT T1.name, T2.machine FROM trainer AS T1 JOIN workout AS T2 ON T1.trainer_id = T2.trainer_id"}]
JSON
    cp spider/train_spider.json spider/dev.json
    ambit-data plans --spider spider --valid-share 0 -o plans
    cat plans/t2s.train.jsonl plans/template-gen.train.jsonl plans/template-fill.train.jsonl >lessons.jsonl
    ambit-train tokenizer lessons.jsonl --vocab 400 -o words
    ambit-train seq2seq --tokenizer words --data lessons.jsonl --hidden 64 --heads 2 --layers 1 --intermediate 64 \
        --dropout 0 --epochs 160 --batch 6 --lr 4e-3 --compute f32 --device cpu -o toy
    parser=toy
fi

# --- interactively; the user answers 2.  The parser strongly prefers one fee, and the detector adds the other.
printf '2\n\n' | ambit-infer ask --db gym.sqlite --detector "$detector" --tagger heuristic --parser "$parser" \
    --question "What is the fee of each trainer?" | tee dialogue.txt
grep -q '^SQL: *select fee_of_trainer from trainer' dialogue.txt

# --- many questions: one output line each, with its clarifying question
cat >questions.jsonl <<'JSON'
{"id": "q1", "question": "What is the fee of each trainer?"}
{"id": "q2", "question": "Which machines are used?"}
JSON
ambit-infer ask --db gym.sqlite --detector "$detector" --parser "$parser" --gate 0.2 questions.jsonl -o asked.jsonl
grep -q '"id":"q1",.*"gated":false,"ask":{' asked.jsonl
grep -q '"id":"q2",.*"gated":true,"ask":null,"stop":"gate",.*"rows":\[\["bike"\],\["rope"\],\["bench"\]\]' asked.jsonl

# --- with the users' answers, as numbers or words
cat >answered.jsonl <<'JSON'
{"id": "q1", "question": "What is the fee of each trainer?", "answers": [2]}
JSON
ambit-infer ask --db gym.sqlite --detector "$detector" --parser "$parser" answered.jsonl -o told.jsonl
grep -q '"sql":"select fee_of_trainer from trainer","result":{"status":"ok","columns":\["fee_of_trainer"\],"rows":\[\[28\],\[50\],\[28\]\]' told.jsonl

# --- the user answers "none": the parser generates other candidates once; a second "none" ends the dialogue
cat >none.jsonl <<'JSON'
{"id": "q3", "question": "What are the fees?", "answers": ["none"]}
{"id": "q4", "question": "What are the fees?", "answers": ["none", "none"]}
JSON
ambit-infer ask --detector none --db gym.sqlite --parser "$parser" --min-gain 0 -k 4 none.jsonl -o others.jsonl
if [ "$parser" = toy ]; then
    grep -q '"id":"q3",.*"ask":{.*"regenerated":true' others.jsonl
    grep -q '"id":"q4",.*"stop":"escalated".*"regenerated":true.*"sql":null' others.jsonl
fi

# --- candidates of another parser and no model; the output names the missing parts
cat >candidates.jsonl <<'JSON'
{"id": "q2", "question": "Which machines are used?", "candidates": [{"sql": "SELECT machine FROM workout", "p": 0.6}, {"sql": "SELECT DISTINCT machine FROM workout", "p": 0.4}]}
JSON
ambit-infer ask --detector none --db gym.sqlite --candidates candidates.jsonl questions.jsonl -o plain.jsonl
grep -q '"id":"q1",.*"detector":null,.*"candidates":null,.*"stop":"no-candidates"' plain.jsonl

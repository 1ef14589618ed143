#!/usr/bin/env bash
# Combines detect, tag and clarify: detect finds that a question is ambiguous, tag finds the ambiguous word, and clarify
# asks about it in the user's words.  Uses the default detector, or the folder in AMBIT_DETECTOR.  The tagger needs no
# model; to use a trained one, replace --strategy heuristic with --model.
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
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

# --- questions and a parser's candidates; the parser is certain about the fee and uncertain about the rest
cat >candidates.jsonl <<'JSON'
{"id":"q1","question":"Which trainer has the highest fee?","candidates":[{"sql":"SELECT name FROM trainer ORDER BY trainer_fee DESC LIMIT 1","p":0.66},{"sql":"SELECT * FROM trainer ORDER BY trainer_fee DESC LIMIT 1","p":0.3},{"sql":"SELECT name FROM trainer ORDER BY fee_of_trainer DESC LIMIT 1","p":0.04}]}
{"id":"q2","question":"Which machines are used?","candidates":[{"sql":"SELECT machine FROM workout","p":0.4},{"sql":"SELECT DISTINCT machine FROM workout","p":0.6}]}
JSON

# --- detect ambiguity, tag the word, choose the clarifying question
ambit-infer detect --model "$detector" --db gym.sqlite candidates.jsonl -o predictions.jsonl
ambit-infer tag --strategy heuristic --db gym.sqlite candidates.jsonl -o spans.jsonl
ambit-infer tag --strategy heuristic --db gym.sqlite candidates.jsonl --format text
ambit-infer clarify --candidates candidates.jsonl --db gym.sqlite -o plain.jsonl
ambit-infer clarify --candidates candidates.jsonl --predictions predictions.jsonl --spans spans.jsonl --db gym.sqlite -o asked.jsonl
grep -q '"id":"q1",.*"ambiguous":true' predictions.jsonl
grep -q '"id":"q1",.*"text":"fee","label":"AMB"' spans.jsonl

# --- the first clarifying question is about the fee, in the user's words; the other record is unchanged
grep '"id":"q1"' plain.jsonl | grep -q '"ask":{"attribute":"sel.arity"'
grep '"id":"q1"' asked.jsonl | grep -q '"ask":{"attribute":"order#1.expr","text":"Two columns fit what you wrote, \\"fee\\".'
cmp <(grep '"id":"q2"' plain.jsonl) <(grep '"id":"q2"' asked.jsonl)

# --- the same interactively; the user answers 2, then 1
printf '2\n1\n\n' | ambit-infer clarify --interactive --candidates candidates.jsonl --predictions predictions.jsonl \
    --spans spans.jsonl --db gym.sqlite | tee dialogue.txt
grep -q '^SQL: .*ORDER BY fee_of_trainer' dialogue.txt

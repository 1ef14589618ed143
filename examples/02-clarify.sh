#!/usr/bin/env bash
# Chooses clarifying questions for candidate SQL statements: in batch, interactively, through another program, and with
# simulated users.
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# --- a database, and the candidate statements of a parser
ambit-data practice -o practice
cat >raw.jsonl <<'JSON'
{"id":"bands","db_id":"music_label","question":"Which bands can be seen from 20 on?","gold":["SELECT T1.name FROM band AS T1 JOIN concert AS T2 ON T1.band_id = T2.band_id WHERE T2.price >= 20"],"candidates":[{"sql":"SELECT T1.name FROM band AS T1 JOIN concert AS T2 ON T1.band_id = T2.band_id WHERE T2.price >= 20","logprob":-0.9},{"sql":"SELECT T1.name, T2.price FROM band AS T1 JOIN concert AS T2 ON T1.band_id = T2.band_id WHERE T2.price >= 20","logprob":-1.4},{"sql":"SELECT T1.name FROM band AS T1 JOIN concert AS T2 ON T1.band_id = T2.band_id WHERE T2.price > 20","logprob":-1.6},{"sql":"SELECT name, price FROM band","logprob":-1.9}]}
JSON
ambit-data candidates raw.jsonl -o candidates.jsonl

# --- the most informative question, for each record of a file
ambit-infer clarify --candidates candidates.jsonl --db practice/db -o asked.jsonl
grep -q '"ask":{"attribute":' asked.jsonl

# --- an interactive dialogue, interrupted and then resumed from its transcript
printf '1\n' | ambit-infer clarify --interactive --candidates candidates.jsonl --db practice/db --transcript bands.json
printf '20 or more\n\n' | ambit-infer clarify --interactive --replay bands.json --transcript bands.json --db practice/db

# --- a service for another program: one JSON object per line; each request carries its session
printf '{"op":"start","record":%s}\n' "$(cat candidates.jsonl)" >requests.jsonl
ambit-infer clarify --serve-stdio --db practice/db <requests.jsonl >replies.jsonl
session=$(sed 's/.*,"session"://; s/}$//' replies.jsonl)
printf '{"op":"answer","session":%s,"answer":1}\n' "$session" >requests.jsonl
ambit-infer clarify --serve-stdio --db practice/db <requests.jsonl >replies.jsonl
grep -q '"eliminated":1' replies.jsonl

# --- evaluation with simulated users, one for each gold statement
ambit-infer clarify --candidates candidates.jsonl --db practice/db --simulate --noise 0 -o simulated.jsonl
ambit-infer clarify --candidates candidates.jsonl --db practice/db --simulate --report report.html -o strategies.jsonl
grep -q '<p class="verdict">With at most 3 questions by the strategy eig, accuracy ' report.html
tail -n 1 simulated.jsonl

# --- calibrate on a file with gold statements: probabilities, and the chance that no candidate is right
ambit-data calibrate candidates.jsonl --db practice/db -o calibration.json
ambit-data candidates raw.jsonl --calibration calibration.json -o calibrated.jsonl

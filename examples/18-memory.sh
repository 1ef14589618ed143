#!/usr/bin/env bash
# Remembers which column a user meant by a word, answers the next question from it, and forgets it again.
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1

sqlite3 shop.sqlite <<'SQL'
CREATE TABLE purchase (purchase_id INTEGER PRIMARY KEY, placed_on TEXT, billing_address TEXT, shipping_address TEXT);
INSERT INTO purchase VALUES (1, '2024-03-01', 'Mill Lane 2', 'Harbour 9');
SQL
cat >candidates.jsonl <<'JSON'
{"id": "q1", "db_id": "shop", "question": "Show the address of each purchase.", "candidates": [{"sql": "SELECT billing_address FROM purchase", "p": 0.5}, {"sql": "SELECT shipping_address FROM purchase", "p": 0.5}]}
{"id": "q2", "db_id": "shop", "question": "Which addresses are from 2024 on?", "candidates": [{"sql": "SELECT billing_address FROM purchase WHERE placed_on >= '2024'", "p": 0.5}, {"sql": "SELECT shipping_address FROM purchase WHERE placed_on >= '2024'", "p": 0.5}]}
JSON

# --- the first question is asked, and its answer is remembered
printf '2\n\n' | ambit-infer clarify --interactive --candidates candidates.jsonl --db shop.sqlite --memory shop.memory

# --- the second question is answered from memory; undo asks it all the same
printf '\n' | ambit-infer clarify --interactive --id q2 --candidates candidates.jsonl --db shop.sqlite --memory shop.memory | tee dialogue.txt
grep -q '^Last time you meant purchase.shipping_address by "address".' dialogue.txt

# --- list the choices, then delete them
ambit-data memory shop.memory
ambit-data memory shop.memory --words address --delete
[ -f shop.memory ] && ! [ -s shop.memory ]

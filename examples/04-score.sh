#!/usr/bin/env bash
# Scores predicted SQL against gold interpretations by execution.
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# --- gold: one SQL statement per valid interpretation; predictions: best first
ambit-data practice -o practice
cat >gold.jsonl <<'JSON'
{"id": "q1", "db_id": "bakery", "sql": ["SELECT name FROM bread WHERE price >= 4", "SELECT name, price FROM bread WHERE price >= 4"]}
{"id": "q2", "db_id": "clinic", "sql": "SELECT count(*) FROM doctor"}
JSON
cat >predictions.jsonl <<'JSON'
{"id": "q1", "sql": ["SELECT b.name FROM bread AS b WHERE b.price >= 4", "SELECT price FROM bread"]}
{"id": "q2", "sql": ["SELECT count(doctor_id) FROM doctor"]}
JSON

# --- recall, precision, F1, one_found and all_found, with confidence intervals over databases
ambit-data score --gold gold.jsonl --pred predictions.jsonl --db practice/db
ambit-data score --gold gold.jsonl --pred predictions.jsonl --db practice/db --json --per-example evidence.jsonl >score.json
grep -q '"ambiguous":{"n":1,"recall":0.5,"precision":0.5' score.json
head -n 1 evidence.jsonl

# --- run untrusted SQL read-only and within limits
cat >queries.jsonl <<'JSON'
{"id": "a", "db_id": "bakery", "sql": "SELECT name, price FROM bread WHERE price > 4"}
{"id": "b", "db_id": "bakery", "sql": ["SELECT nothing FROM bread", "DELETE FROM bread"]}
JSON
ambit-data execute --db practice/db queries.jsonl -o rows.jsonl || [ $? = 7 ]
cat rows.jsonl

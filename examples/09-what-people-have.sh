#!/usr/bin/env bash
# Reads questions, databases and candidates in common file formats.
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1 # a model this small is fastest on one core

# --- a database with a view, as a single file and in a folder of databases
sqlite3 shop.db <<'SQL'
CREATE TABLE customers(id INTEGER PRIMARY KEY, name TEXT, full_name TEXT, city TEXT, note TEXT, due TEXT);
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer_id INT REFERENCES customers(id), total REAL, paid REAL,
  rest REAL GENERATED ALWAYS AS (total - paid));
CREATE VIEW big_orders AS SELECT id, total FROM orders WHERE total > 50;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
  INSERT INTO customers SELECT i, 'n' || i, 'full ' || i, substr('abc', i % 3 + 1, 1), NULL, NULL FROM n;
INSERT INTO orders SELECT id, id, id * 1.5, id FROM customers;
SQL
mkdir databases && cp shop.db databases/shop.sqlite3

# --- a detector trained on your own labels; any other model folder works too
{
    echo question,ambiguous
    for i in $(seq 30); do printf 'What is the name of customer %d?,yes\nWhere does customer %d live?,no\n' "$i" "$i"; done
} >labels.csv
ambit-train gatekeeper --data labels.csv --db shop.db --encoder-layers 1 --epochs 1 --device cpu --out run

# --- questions with or without ids: JSONL, a JSON array, CSV, TSV, plain text, compressed, or on the command line
printf '{"id": 7, "question": "What is the name of each customer?"}\n' >integer.jsonl
printf '\xef\xbb\xbf{"question": "What is the name of each customer?"}\r\n' >none.jsonl
echo '[{"id": "a", "question": "What is the name of each customer?"}]' >array.json
printf 'id,question\n1,"What is the name, or the ""full"" name?"\n' >table.csv
printf 'id\tquestion\n1\tWhat is the name of each customer?\n' >table.tsv
echo "What is the name of each customer?" >plain.txt
gzip -k integer.jsonl && xz -k plain.txt
for questions in integer.jsonl none.jsonl array.json table.csv table.tsv plain.txt integer.jsonl.gz plain.txt.xz; do
    ambit-infer detect --model run --db shop.db --relevance none --quiet "$questions"
done >predictions.jsonl
[ "$(grep -c '"score"' predictions.jsonl)" = 8 ]
ambit-infer detect --model run --db shop.db --question "What is the name of each customer?" --threshold 0.5 --format text
ambit-infer detect --model run --db shop.db --format-in text --relevance none - <plain.txt

# --- run SQL on a file or a folder; views count as tables, and results include column names
printf '{"db_id": "shop", "sql": "SELECT total FROM big_orders WHERE id > 55"}\n' >sql.jsonl
ambit-data sql --db shop.db sql.jsonl
ambit-data execute --db databases sql.jsonl -o rows.jsonl
grep -q '"columns":\["total"\],"rows":\[\[84' rows.jsonl

# --- candidates as plain statements; two empty columns still count as different
cat >candidates.jsonl <<'JSON'
{"question": "What is known of customers?", "candidates": ["SELECT note FROM customers", "SELECT due FROM customers"]}
{"question": "What is left to pay?", "candidates": [{"sql": "SELECT rest FROM orders", "p": 3}, {"sql": "SELECT total - paid FROM orders", "p": 1}]}
JSON
ambit-infer clarify --candidates candidates.jsonl --db shop.db -o asked.jsonl
grep -c '"ask":{"attribute"' asked.jsonl | grep -qx 1 # a generated column counts as the same as its source

# --- train for more epochs; the folder stores all other settings
ambit-train gatekeeper --resume --out run --epochs 2

#!/usr/bin/env bash
# Detects and clarifies without a database: the schema comes from CREATE TABLE statements, as pg_dump writes them.
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1

# --- a part of the output of pg_dump --schema-only
cat >shop.sql <<'SQL'
CREATE TABLE public.customers (
    customer_id integer NOT NULL,
    full_name character varying(50) NOT NULL
);
CREATE TABLE public.products (
    product_id integer NOT NULL,
    name text,
    list_price numeric(10,2),
    sale_price numeric(10,2),
    customer_id integer
);
ALTER TABLE ONLY public.customers ADD CONSTRAINT customers_pkey PRIMARY KEY (customer_id);
ALTER TABLE ONLY public.products
    ADD CONSTRAINT products_customer_fkey FOREIGN KEY (customer_id) REFERENCES public.customers(customer_id);
SQL

# --- is a question ambiguous for this schema?
ambit-infer detect --schema shop.sql --format text "What is the price of each product?" | tee found.txt
grep -q 'products.list_price or products.sale_price' found.txt

# --- the same from a pipe, which needs no file
ambit-infer detect --schema <(cat shop.sql) --format text "What is the price of each product?" | tail -n +3 | cmp - <(tail -n +3 found.txt)

# --- candidate statements of any parser; the chosen one runs elsewhere
cat >candidates.jsonl <<'JSON'
{"id": "q1", "question": "What is the price of each product?", "candidates": ["SELECT name, list_price FROM products", "SELECT name, sale_price FROM products"], "answers": [2]}
JSON
ambit-infer ask --schema shop.sql candidates.jsonl -o asked.jsonl
sed -n 's/.*"sql":"\([^"]*\)".*/\1;/p' asked.jsonl >chosen.sql
grep -qx 'SELECT name, sale_price FROM products;' chosen.sql

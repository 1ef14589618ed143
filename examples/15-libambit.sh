#!/usr/bin/env bash
# Builds a C program on libambit.  It detects an ambiguous question, and asks the user about two candidate statements.
# usage: examples/15-libambit.sh
# With AMBIT_BIN, the folder of the programs of a build, it uses the library of that build, else the installed one.
set -euo pipefail
source=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -n "${AMBIT_BIN:-}" ]; then
    lib=$(realpath "$AMBIT_BIN/../lib")
    flags=(-I"$source/../infer/api" -L"$lib" "-Wl,-rpath,$lib" -lambit)
    if "$AMBIT_BIN/ambit-infer" --version | grep -q 'sanitizers ON'; then flags+=("-fsanitize=address,undefined"); fi
else
    read -ra flags < <(pkg-config --cflags --libs libambit)
fi
cd "$work"
cp "$source/15-libambit.c" main.c

cc -std=c11 -Wall -Wextra -o shop main.c "${flags[@]}"
sqlite3 shop.sqlite "CREATE TABLE purchase (purchase_id INTEGER PRIMARY KEY, billing_address TEXT, shipping_address TEXT)"
echo 2 | ./shop shop.sqlite "Show the address of each purchase." \
    "SELECT billing_address FROM purchase" "SELECT shipping_address FROM purchase" | tee shown

grep -q '^prediction: .*"ambiguous":true.*"alternatives":\["purchase.billing_address","purchase.shipping_address"\]' shown
grep -q '^question: {"ask":{"attribute":' shown
grep -q '^state: {"ask":null,.*"best":"SELECT shipping_address FROM purchase"' shown

#!/usr/bin/env bash
# Installs missing packages, builds ambit, and runs its default detector on questions about a demo shop database.
# Then generates synthetic data and trains a small detector on it.
# usage: demo.sh [DATABASE QUESTION...]    use your SQLite file and questions instead of the demo's, and skip the training
set -euo pipefail
[ $# -ne 1 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
[ $# -eq 0 ] || database=$(realpath "$1")
cd "$(dirname "$0")/.."

scripts/install-deps.sh
SECONDS=0
gpu=OFF
[ -e /dev/nvidia0 ] && gpu=AUTO
cmake --preset release -DAMBIT_CUDA="$gpu" >/dev/null
cmake --build --preset release -j "$(nproc)" --target ambit-infer | tail -n 1

bin=build/release/bin
out=build/demo
rm -rf "$out"
mkdir -p "$out"
questions=("${@:2}")
if [ $# -eq 0 ]; then
    database=$out/shop.sqlite
    sqlite3 "$database" <scripts/demo.sql
    questions=("Show the address of each purchase." "Show the email of each customer.")
fi
echo
echo "Ask the default detector about $database:"
told=
for question in "${questions[@]}"; do
    "$bin/ambit-infer" detect --quiet --db "$database" --format text --question "$question"
    told=${told:-$SECONDS}
done
echo "The first answer came $told s after the Debian packages were installed, configuring and building included."
[ $# -eq 0 ] || exit 0

echo
echo "Clarify a question that has several candidate statements, with prepared user answers:"
cmake --build --preset release -j "$(nproc)" --target ambit-data ambit-train | tail -n 1
"$bin/ambit-data" practice -o "$out/data" --seed 1
printf '1\n20 or more\n\n' | "$bin/ambit-infer" clarify --interactive --candidates scripts/demo.jsonl --db "$out/data/db"

echo
echo "Train a small detector on synthetic data, and ask it held-out questions about held-out databases:"
"$bin/ambit-train" gatekeeper --data "$out/data" --config scripts/demo.yaml --out "$out/model" --seed 1
grep '"slice":"contrast"' "$out/data/test.jsonl" | awk 'NR % 32 == 1 && n++ < 12' |
    "$bin/ambit-infer" detect --model "$out/model" --schema "$out/data/tables.json" --format text -
echo
echo "model: $out/model   report: $out/model/report.html   data: $out/data"

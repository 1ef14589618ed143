#!/usr/bin/env bash
# Compares a tagger's training update with torch, and measures tagging on a database of a million cells, on the CPU.
# usage: PYTHON=.../bin/python WIKISQL=DIR WTQ=DIR MINILM=DIR bench/tag.sh
# PYTHON needs the packages of tests/gold/requirements.txt.  MINILM is a folder of BERT weights.  SPANS=DIR uses existing
# records of ambit-data counterfactual.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
minilm=$(realpath "${MINILM:?a folder of BERT weights}")
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$(nproc)}"

cmake --preset release >/dev/null
cmake --build --preset release -j "$(nproc)" --target ambit-data ambit-train ambit-infer bench_kernels bench_tag bench_values | tail -n 1
bin=build/release/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
spans=${SPANS:-}
if [ -z "$spans" ]; then
    spans=$work/spans
    "$python" bench/dte_corpora.py wikisql "${WIKISQL:-../shared/data/wikisql}"/wikisql_with_headers_{dev,extra}.jsonl "$work/wikisql"
    "$python" bench/dte_corpora.py wtq "${WTQ:-../shared/data/wtq}/wtq_tables_head.jsonl" "$work/wtq"
    "$bin/ambit-data" counterfactual --wikisql "$work/wikisql" --wtq "$work/wtq" -o "$spans"
fi
uptime
"$python" bench/tag.py update "$bin" "$minilm" "$spans"
"$python" bench/tag.py questions "$bin" "$minilm" "$spans"
"$bin/bench_values" 1000000

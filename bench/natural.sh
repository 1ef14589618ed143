#!/usr/bin/env bash
# The data folder of natural ambiguity, from all corpora that are there, in OUT/data.
# usage: natural.sh SHARED_DATA OUT [SEED]
# SHARED_DATA holds spider, ambiqt, wikisql and wtq. BIRD names the folder of BIRD's train.json, SCIENCE the folders of ScienceBenchmark (cordis,
# oncomx, sdss); without them they are left out. PYTHON is an interpreter; BIRD without train_tables.json needs its sqlglot. Databases keep
# the split of the contrastive data, OUT/contrast, so that a detector may learn from both.
set -euo pipefail
shared=$(realpath "$1") out=$2 seed=${3:-1}
bench=$(dirname "$0")
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
python=${PYTHON:-python3}
mkdir -p "$out/corpora"
corpora=("$out/corpora/spider")

# corpus NAME COMMAND FILES...: a corpus in Spider's form, made once.
corpus() {
    local name=$1 command=$2
    shift 2
    [ -f "$out/corpora/$name/train_spider.json" ] || "$python" "$bench/natural_corpora.py" "$command" "$@"
    corpora+=("$out/corpora/$name")
}

ln -sfn "$shared/spider" "$out/corpora/spider"
corpus wikisql wikisql "$shared"/wikisql/wikisql_with_headers_{dev,extra}.jsonl "$out/corpora/wikisql" "$seed"
corpus wtq wtq "$shared/wtq/wtq_tables_head.jsonl" "$out/corpora/wtq" "$seed"
[ -z "${BIRD:-}" ] || corpus bird bird "$BIRD" "$out/corpora/bird"
# shellcheck disable=SC2086 # several folders
[ -z "${SCIENCE:-}" ] || corpus sciencebenchmark science $SCIENCE "$out/corpora/sciencebenchmark"
[ -d "$out/contrast" ] || "$bin/ambit-data" contrast --ambiqt "$shared/ambiqt" --spider "$shared/spider" -o "$out/contrast" --seed 1
"$bin/ambit-data" natural "${corpora[@]}" --splits "$out/contrast" --clear 1.5 -o "$out/data" --seed "$seed" --force
"$bin/ambit-data" probe --data "$out/data"

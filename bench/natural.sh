#!/usr/bin/env bash
# Makes OUT/data, the data folder of natural ambiguity, from all available corpora.
# usage: natural.sh SHARED_DATA OUT [SEED]
# SHARED_DATA holds spider, ambiqt, wikisql and wtq.  BIRD is the folder of BIRD's train.json, and SCIENCE lists the folders
# of ScienceBenchmark (cordis, oncomx, sdss); both are optional.  PYTHON is an interpreter; it needs sqlglot if BIRD has no
# train_tables.json.  Databases keep the split of the contrastive data in OUT/contrast, so that a detector can train on both.
set -euo pipefail
shared=$(realpath "$1") out=$2 seed=${3:-1}
bench=$(dirname "$0")
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
python=${PYTHON:-python3}
mkdir -p "$out/corpora"
corpora=("$out/corpora/spider")

# corpus NAME COMMAND FILES...: converts a corpus to Spider's format, unless it exists.
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

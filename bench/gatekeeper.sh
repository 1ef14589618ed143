#!/usr/bin/env bash
# GATekeeper from the corpora to its tables: crossed pairs and their folds, a detector of SIA and linguistic kinds for each seed, and what it
# finds on its test fold, on AMBROSIA's questions of its test fold, and on crossed pairs of Spider dev, whose databases no fold holds.
# usage: gatekeeper.sh SHARED_DATA ENCODER OUT [SEED...]
# ENCODER is a Hugging Face folder of a BERT. AMBIT_BIN says where the programs are, MORE gives the trainer more options; WIKISQL, a file of
# questions with headers and ADVETA's names, adds its tables to the training fold. On two cores with AVX2 a seed takes some hour and a half;
# finished trainings are not repeated, and those that were stopped go on.
set -euo pipefail
shared=$1 encoder=$2 out=$3
shift 3
bench=$(dirname "$0")
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
ambrosia=("$shared/ambrosia/questions_validation.jsonl" --db "$shared/ambrosia/db")
mkdir -p "$out"

# fold DIR KINDS [OPTION...]: crossed pairs of DIR/spider by the dictionaries in DIR/ambiqt, in DIR/folds.
fold() {
    local dir=$1 kinds=$2 kind
    "$bin/ambit-data" ambiguate --kinds "$kinds" --spider "$dir/spider" --synonyms "$dir/ambiqt/two_col_synonyms.json" \
        --table-synonyms "$dir/ambiqt/two_tbl_synonyms.json" -o "$dir/records.jsonl"
    for kind in C:col-synonyms T:tbl-synonyms J:tbl-split P:tbl-agg; do
        awk -v kind="\"kind\":\"${kind%%:*}\"" 'index($0, kind)' "$dir/records.jsonl" >"$dir/ambiqt/${kind#*:}.train.jsonl"
    done
    "$bin/ambit-data" contrast --ambiqt "$dir/ambiqt" --spider "$dir/spider" -o "$dir/folds" --seed 1 "${@:3}"
}

# Spider dev in the form that contrast reads; its folds are put together again.
further() {
    mkdir -p "$out/dev/ambiqt" "$out/dev/spider"
    cp "$shared"/ambiqt/two_*_synonyms.json "$out/dev/ambiqt"
    cp "$shared/spider/tables.json" "$shared/spider/dev.json" "$out/dev/spider"
    cp "$shared/spider/dev.json" "$out/dev/spider/train_spider.json"
    fold "$out/dev" C,T,J,P --test-share .8 --valid-share .05
    grep -h '"slice":"crossed"' "$out/dev/folds"/{train,valid,test}.jsonl >"$out/dev/further.jsonl"
}

# The training questions of crossed pairs, and behind them those of WikiSQL's tables.
widen() {
    python3 "$bench/wiki_twins.py" make "$WIKISQL" "$out/wiki" 1
    fold "$out/wiki" C --test-share .02 --valid-share .02
    python3 "$bench/wiki_twins.py" join "$out/data" "$out/wide" "$out/wiki/folds"
}

[ -d "$out/data" ] || "$bin/ambit-data" contrast --ambiqt "$shared/ambiqt" --spider "$shared/spider" -o "$out/data" --seed 1
[ -f "$out/dev/further.jsonl" ] || further
data=$out/data
if [ -n "${WIKISQL:-}" ]; then
    data=$out/wide
    [ -f "$data/tables.json" ] || widen
fi
for seed in "${@:-1}"; do
    run=$out/seed-$seed
    # shellcheck disable=SC2086 # options
    "$bin/ambit-train" gatekeeper --data "$data" --labels "${ambrosia[@]}" --encoder "$encoder" --out "$run" --seed "$seed" --resume \
        --max-train 20000 --epochs 2 --eval-every 625 --linguistic-weight 20 --presence 1 --false-alarms .06 \
        --appended .1 ${MORE:-}
    # The trainer's own folds of AMBROSIA are those of its seed.
    "$bin/ambit-data" split "${ambrosia[0]}" -o "$run.ambrosia" --valid .2 --test .2 --seed "$seed" --force
    echo "== seed $seed, AMBROSIA's test fold"
    "$bin/ambit-train" evaluate "$run" --data "$run.ambrosia/test.jsonl" "${ambrosia[@]:1}" | tee "$run.ambrosia.txt"
    echo "== seed $seed, 20 further databases"
    "$bin/ambit-train" evaluate "$run" --data "$out/dev/further.jsonl" --schema "$out/dev/folds/tables.json" | tee "$run.further.txt"
done

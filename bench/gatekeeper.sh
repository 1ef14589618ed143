#!/usr/bin/env bash
# Reproduces the tables of GATekeeper from the corpora.  Makes contrast sets and their splits, and trains one detector of
# schema and linguistic ambiguity per seed.  Each is tested on its test split, on AMBROSIA's test questions, and on contrast
# sets of Spider dev, whose databases are in no split.
# usage: gatekeeper.sh SHARED_DATA ENCODER OUT [SEED...]
# ENCODER is a Hugging Face folder of a BERT.  AMBIT_BIN is the folder of the programs, and MORE holds more options of the
# trainer.  WIKISQL is a file of questions with headers and ADVETA's names; its tables are added to the training split.
# On two cores with AVX2 a seed takes about an hour and a half.  Finished trainings are not repeated, and interrupted ones
# are resumed.
set -euo pipefail
shared=$1 encoder=$2 out=$3
shift 3
bench=$(dirname "$0")
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
ambrosia=("$shared/ambrosia/questions_validation.jsonl" --db "$shared/ambrosia/db")
mkdir -p "$out"

# fold DIR KINDS [OPTION...]: makes contrast sets of DIR/spider with the dictionaries in DIR/ambiqt, and writes DIR/folds.
fold() {
    local dir=$1 kinds=$2 kind
    "$bin/ambit-data" ambiguate --kinds "$kinds" --spider "$dir/spider" --synonyms "$dir/ambiqt/two_col_synonyms.json" \
        --table-synonyms "$dir/ambiqt/two_tbl_synonyms.json" -o "$dir/records.jsonl"
    for kind in C:col-synonyms T:tbl-synonyms J:tbl-split P:tbl-agg; do
        awk -v kind="\"type\":\"${kind%%:*}\"" 'index($0, kind)' "$dir/records.jsonl" >"$dir/ambiqt/${kind#*:}.train.jsonl"
    done
    "$bin/ambit-data" contrast --ambiqt "$dir/ambiqt" --spider "$dir/spider" -o "$dir/folds" --seed 1 "${@:3}"
}

# Convert Spider dev to the input format of contrast, and merge its splits again.
further() {
    mkdir -p "$out/dev/ambiqt" "$out/dev/spider"
    cp "$shared"/ambiqt/two_*_synonyms.json "$out/dev/ambiqt"
    cp "$shared/spider/tables.json" "$shared/spider/dev.json" "$out/dev/spider"
    cp "$shared/spider/dev.json" "$out/dev/spider/train_spider.json"
    fold "$out/dev" C,T,J,P --test-share .8 --valid-share .05
    grep -h '"slice":"contrast"' "$out/dev/folds"/{train,valid,test}.jsonl >"$out/dev/further.jsonl"
}

# Append the training questions of WikiSQL's tables to those of the contrast sets.
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
    # shellcheck disable=SC2086 # several options
    "$bin/ambit-train" gatekeeper --data "$data" --labelled "${ambrosia[@]}" --encoder "$encoder" --out "$run" --seed "$seed" --resume \
        --max-train 20000 --epochs 2 --eval-every 625 --linguistic-weight 20 --hard-negatives 1 --false-alarms .06 \
        --distractors .1 ${MORE:-}
    # The trainer splits AMBROSIA by its seed, so the same seed gives the same test split.
    "$bin/ambit-data" split "${ambrosia[0]}" -o "$run.ambrosia" --valid-share .2 --test-share .2 --seed "$seed" --force
    echo "== seed $seed, AMBROSIA's test split"
    "$bin/ambit-train" evaluate detector "$run" --data "$run.ambrosia/test.jsonl" "${ambrosia[@]:1}" | tee "$run.ambrosia.txt"
    echo "== seed $seed, the second held-out set of 20 databases"
    "$bin/ambit-train" evaluate detector "$run" --data "$out/dev/further.jsonl" --schema "$out/dev/folds/tables.json" | tee "$run.further.txt"
done

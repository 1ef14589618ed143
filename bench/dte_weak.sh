#!/usr/bin/env bash
# Compares weak supervision, as in DTE's paper, with marked words: taggers that learn from the SQL of questions, taggers that
# learn from marked spans, and ETA, which links without tags.  All of a seed see the same records in the same number of steps.
# No arm but "spans" has marks of columns and values.  "sql" has the marks AMB and UNK of the generator.  ETA has a column
# "unknown" in place of UNK.
# usage: WIKISQL=DIR WTQ=DIR ENCODER=HF_DIR bench/dte_weak.sh OUT
# Settings, with defaults: STEPS=1000 of 32 records, SEEDS="1 2 3", ARMS="spans sql eta".  An arm may have options of
# ambit-train tag behind it, as in sql+tags-weight=2 (bench/dte_weights.sh).  VALID=500 validation records.
# TEST=0 test records, 0: all.  EPOCHS=1 passes over the training records.  DEVICE=cpu.  JOBS=2 trainings at once, each on one
# thread.  Existing files in OUT are kept, and interrupted training is resumed.
set -euo pipefail
shared=../shared/data
wikisql=$(realpath "${WIKISQL:-$shared/wikisql}")
wtq=$(realpath "${WTQ:-$shared/wtq}")
encoder=$(realpath "${ENCODER:?a BERT folder, as MiniLM-L6}")
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
bench=$(realpath "$(dirname "$0")")
steps=${STEPS:-1000}
read -ra seeds <<<"${SEEDS:-1 2 3}"
read -ra arms <<<"${ARMS:-spans sql eta}"
mkdir -p "${1:?the folder to fill}" && cd "$1"
export OMP_NUM_THREADS=1

# --- records
[ -e corpora/wikisql ] || python3 "$bench/dte_corpora.py" wikisql "$wikisql"/wikisql_with_headers_{dev,extra}.jsonl corpora/wikisql
[ -e corpora/wtq ] || python3 "$bench/dte_corpora.py" wtq "$wtq/wtq_tables_head.jsonl" corpora/wtq
[ -e data ] || "$bin/ambit-data" counterfactual --wikisql corpora/wikisql --wtq corpora/wtq -o data --seed 1
"$bin/ambit-data" probe --data data
mkdir -p marks unknown test
for split in train valid; do
    [ -e "marks/$split.jsonl" ] || cp "data/$split.jsonl" marks/
    [ -e "unknown/$split.jsonl" ] || python3 "$bench/dte_records.py" eta "data/$split.jsonl" "unknown/$split.jsonl"
done
[ -e test/marks.jsonl ] || awk -v n="${TEST:-0}" '!n || NR <= n' data/test.jsonl >test/marks.jsonl
[ -e test/unknown.jsonl ] || python3 "$bench/dte_records.py" eta test/marks.jsonl test/unknown.jsonl

# learn ARM SEED: trains a tagger in folder ARM-SEED.  The rates are higher than the paper's, since the steps are fewer.
learn() {
    local data=marks more
    local options=(--preset dte --lr 1e-4 --head-lr 1e-3)
    case $1 in
    spans*) options=(--lr 1e-4 --head-lr 1e-3) ;;
    eta*) data=unknown options+=(--tags-weight 0) ;;
    esac
    IFS=+ read -ra more <<<"$1"
    for option in "${more[@]:1}"; do options+=("--$option"); done
    "$bin/ambit-train" tag --data "$data" --encoder "$encoder" "${options[@]}" --steps 0 --epochs "${EPOCHS:-1}" --batch 32 \
        --max-train $((steps * 32)) --max-valid "${VALID:-500}" --eval-every 0 --seed "$2" --device "${DEVICE:-cpu}" \
        --out "$1-$2" --resume --quiet
}
# measure ARM SEED: tags the test records and scores them.
measure() {
    local data=marks strategy=dte
    [[ $1 != eta* ]] || { data=unknown && strategy=eta; }
    [ -e "$1-$2.jsonl" ] || "$bin/ambit-infer" tag --model "$1-$2" --strategy $strategy --quiet "test/$data.jsonl" -o "$1-$2.jsonl"
    "$bin/ambit-data" score --rule spans --gold test/marks.jsonl --pred "$1-$2.jsonl" --per-example "$1-$2.each.jsonl" >"$1-$2.txt"
}
for seed in "${seeds[@]}"; do
    for arm in "${arms[@]}"; do
        while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-2}" ]; do wait -n; done
        { learn "$arm" "$seed" && measure "$arm" "$seed"; } &
    done
done
while [ "$(jobs -p | wc -l)" -gt 0 ]; do wait -n; done
python3 "$bench/dte_weak.py" "${seeds[*]}" "${arms[@]}"

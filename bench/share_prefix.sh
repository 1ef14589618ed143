#!/usr/bin/env bash
# Compares training with and without --share-prefix on prompts with common prefixes; the two take turns.  Prints records per
# second of wall time and of processor time, the tokens of a pass, and the memory of a micro-batch.  Other processes
# affect processor time less.  A model with random weights trains for one epoch on AMBROSIA's infilling records with whole databases in
# the prompts.  The start-up time, measured by a dry run, is subtracted.
# usage: AMBROSIA=DIR bench/share_prefix.sh OUT [ROUNDS [OPTION...]]
# AMBROSIA holds questions_validation.jsonl and db.  RECORDS=N takes the first N records.  OPTION overrides the sizes below
# with options of ambit-train infill.
set -euo pipefail
ambrosia=$(realpath "${AMBROSIA:-../shared/data/ambrosia}")
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
mkdir -p "${1:?the folder to fill}" && cd "$1"
rounds=${2:-3}
shift $(($# > 1 ? 2 : 1))

if [ ! -e records.jsonl ]; then
    "$bin/ambit-data" infilling rewrite "$ambrosia/questions_validation.jsonl" --db "$ambrosia/db" -o readings.jsonl
    "$bin/ambit-data" infilling annotate readings.jsonl --db "$ambrosia/db" -o all.jsonl
    head -n "${RECORDS:-396}" all.jsonl >records.jsonl
    "$bin/ambit-train" tokenizer --vocab 4096 --split qwen2 -o vocabulary records.jsonl
fi
records=$(wc -l <records.jsonl)

# seconds COMMAND...: prints its wall and processor seconds, and writes its output to the file said.
seconds() {
    local TIMEFORMAT='%R %U %S'
    { time "$@" >said 2>&1; } 2>took || { cat said >&2 && exit 1; }
    awk 'NF == 3 { print $1, $2 + $3 }' took
}

# round NAME OPTION...: trains once, and prints one line.
round() {
    local name=$1 start all
    shift
    rm -rf run
    local train=("$bin/ambit-train" infill --tokenizer vocabulary --data records.jsonl --device cpu --method full --epochs 1
        --batch 8 --hidden 256 --layers 6 --heads 4 --groups 2 --intermediate 704 --positions 8192 --lr 1e-3 --out run "$@")
    start=$(seconds "${train[@]}" --dry-run)
    all=$(seconds "${train[@]}")
    awk -v name="$name" -v n="$records" -v start="$start" -v all="$all" '
        /sharing prefixes/ { gain = $0; sub(/.*sharing prefixes: /, "; ", gain) }
        /MiB for a micro-batch/ { step = $0; sub(/ MiB for a micro-batch.*/, "", step); sub(/.* /, "", step) }
        END { split(start, from); split(all, to); clock = to[1] - from[1]; processor = to[2] - from[2]
              printf "%-7s %d records: %.2f/s, %.2f s of the clock; %.2f/s, %.2f s of the processor; %d MiB for a micro-batch%s\n",
                     name, n, n / clock, clock, n / processor, processor, step, gain }' said
}

for _ in $(seq "$rounds"); do
    round plain "$@"
    round shared --share-prefix "$@"
done

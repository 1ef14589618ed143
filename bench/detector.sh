#!/usr/bin/env bash
# Trains the default detector from public data, and measures the scores of its model card.
# usage: detector.sh SHARED_DATA MINILM OUT [SEED]
#        detector.sh --place RUN...                    only exports a finished run, or the mean of several, to models/detector
# SHARED_DATA holds spider, ambiqt, wikisql and ambrosia; natural.sh describes BIRD, SCIENCE and PYTHON.  MINILM is the
# Hugging Face folder of all-MiniLM-L6-v2.  PARTS is a JSONL file of data folders for `ambit-train gatekeeper --data`; it
# replaces the natural data, AmbiQT and the written domains.  MORE holds more options of the trainer.  AMBIT_BIN is the
# folder of the programs.  An interrupted training is resumed, and a finished one is not repeated.  OUT receives the run,
# the detector, and a file of scores for each test set.
set -euo pipefail
bench=$(realpath "$(dirname "$0")")
bin=$(realpath "${AMBIT_BIN:-$bench/../build/release/bin}")
home=$bench/../models/detector

# place RUN...: exports the detector of a run, or the mean of several, to models/detector, and writes its checksums to the
# model card.
place() {
    local card=$home/README.md
    "$bin/ambit-train" export "$@" --format detector --force -o "$home"
    awk '/^```text$/ && checksums { exit } /^## Checksums$/ { checksums = 1 } { print }' "$card" >"$card.new"
    {
        printf '```text\n'
        (cd "$home" && sha256sum ambit.h5 tokenizer.json tokenizer_config.json special_tokens_map.json)
        printf '```\n'
    } >>"$card.new"
    mv "$card.new" "$card"
    du -bc "$home"/* | tail -n 1
}

if [ "${1:-}" = --place ]; then
    [ $# -ge 2 ] || { echo "usage: detector.sh --place RUN..." >&2; exit 2; }
    shift
    place "$@"
    exit
fi
[ $# -ge 3 ] || { sed -n '3,4s/^# //p' "$0" >&2; exit 2; }
shared=$(realpath "$1") encoder=$2 out=$(realpath -m "$3") seed=${4:-1}
ambrosia=("$shared/ambrosia/questions_validation.jsonl" --db "$shared/ambrosia/db")
export AMBIT_BIN=$bin

# figures NAME COMMAND...: runs COMMAND for the run and for the exported detector, and writes the output to OUT/NAME.txt.
figures() {
    local name=$1 model
    shift
    for model in run detector; do
        echo "== $name, $model"
        "${@//MODEL/$out/$model}"
    done | tee "$out/$name.txt"
}

# Count the unambiguous questions of Spider dev that the detector calls ambiguous.
plain() {
    "$bin/ambit-infer" detect --model "$1" --schema "$shared/spider/tables.json" --relevance none --format text "$shared/spider/dev.json" |
        awk '/may mean|ambiguous for|several readings/ { flagged++ } /^    \[/ { n++ } END { printf "%d questions, %d flagged, %.3f\n", n, flagged, flagged / n }'
}

"$bench/natural.sh" "$shared" "$out" "$seed"
[ -d "$out/domains" ] || python3 "$bench/domains.py" "$out/domains"
[ -n "${PARTS:-}" ] || { PARTS=$out/parts.jsonl && printf '%s\n' '{"data": "contrast", "name": "ambiqt", "share": 0.45}' \
    '{"data": "data", "name": "natural", "share": 0.5}' '{"data": "domains", "name": "domains"}' >"$PARTS"; }
# shellcheck disable=SC2086 # several options
"$bin/ambit-train" gatekeeper --data "$PARTS" --labelled "${ambrosia[@]}" --encoder "$encoder" --out "$out/run" --seed "$seed" --resume \
    --linguistic-weight 20 --labelled-share .12 --hard-negatives 1 --false-alarms .08 --epochs 2 --eval-every 625 ${MORE:-}
"$bin/ambit-train" export "$out/run" --format detector --force -o "$out/detector"

"$bin/ambit-data" split "${ambrosia[0]}" -o "$out/ambrosia" --valid-share .2 --test-share .2 --seed "$seed" --force # the same split as the trainer's
figures ambiqt "$bin/ambit-train" evaluate detector MODEL --data "$out/contrast"
figures ambrosia "$bin/ambit-train" evaluate detector MODEL --data "$out/ambrosia/test.jsonl" "${ambrosia[@]:1}"
figures plain plain MODEL
python3 "$bench/detection.py" "$out/run" "$out/detector" --half final | tee "$out/detection.txt"
place "$out/run"

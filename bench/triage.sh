#!/usr/bin/env bash
# Classes of questions on public sets: a detector's head beside keywords, the detector alone and the heuristic tagger.
# usage: HEAD=triage.json bench/triage.sh OUT DIR...
# A DIR is a folder of ambit-data triage convert.  HEAD is the output of ambit-train triage for DETECTOR, which is
# models/detector by default.  Existing files in OUT are kept.
set -euo pipefail
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
detector=$(realpath "${DETECTOR:-models/detector}")
head=$(realpath "${HEAD:?the file that ambit-train triage wrote}")
out=${1:?the folder to fill}
shift
mkdir -p "$out/detector"
cp "$detector"/* "$out/detector"
cp "$head" "$out/detector/triage.json"

# predict SYSTEM SET QUESTIONS SCHEMA
predict() {
    case $1 in
    keywords) "$bin/ambit-data" triage keywords "$3" --schema "$4" -o "$2" ;;
    head) "$bin/ambit-infer" detect --model "$out/detector" --schema "$4" "$3" --relevance none -o "$2" ;;
    detector) sed 's/"triage":{.*},"sentence"/"sentence"/' "$out/head-$5.jsonl" >"$2" ;; # the same scores without classes
    tagger) "$bin/ambit-infer" tag --strategy heuristic --schema "$4" "$3" -o "$2" ;;
    esac
}

for set in "$@"; do
    name=$(basename "$set")
    for system in keywords head detector tagger; do
        lines=$out/$system-$name.jsonl
        [ -e "$lines" ] || predict "$system" "$lines" "$set/questions.jsonl" "$set/tables.json" "$name"
        echo "== $name, $system"
        "$bin/ambit-data" score --rule triage --gold "$set/questions.jsonl" --pred "$lines"
    done
done

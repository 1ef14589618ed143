#!/usr/bin/env bash
# Classes of questions on public sets: a detector's head beside keywords, the detector alone and the heuristic tagger.
# usage: [HEAD=triage.json] bench/triage.sh OUT DIR...
# A DIR is a folder of ambit-data triage convert; with databases in DIR/db, words are looked up there.  DETECTOR is
# models/detector by default, and HEAD its triage.json.  The system "likeliest" is the head without its thresholds.
# Existing files in OUT are kept.
set -euo pipefail
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
detector=$(realpath "${DETECTOR:-models/detector}")
head=$(realpath "${HEAD:-$detector/triage.json}")
out=${1:?the folder to fill}
shift
mkdir -p "$out/detector"
cp "$detector"/* "$out/detector"
cp "$head" "$out/detector/triage.json"

# predict SYSTEM LINES SET
predict() {
    local questions=$3/questions.jsonl schema=(--schema "$3/tables.json") source head
    source=("${schema[@]}")
    [ ! -e "$3/db" ] || source=(--db "$3/db")
    head=$out/head-$(basename "$3").jsonl
    case $1 in
    keywords) "$bin/ambit-data" triage keywords "$questions" "${source[@]}" -o "$2" ;;
    head) "$bin/ambit-infer" detect --model "$out/detector" "${source[@]}" "$questions" --relevance none -o "$2" ;;
    likeliest) sed 's/"triage":{"class":"[a-z]*",/"triage":{/' "$head" >"$2" ;;
    detector) sed 's/"triage":{.*},"score"/"score"/' "$head" >"$2" ;; # the same scores without classes
    tagger) "$bin/ambit-infer" tag --strategy heuristic "${schema[@]}" "$questions" -o "$2" ;;
    esac
}

for set in "$@"; do
    name=$(basename "$set")
    for system in keywords head likeliest detector tagger; do
        lines=$out/$system-$name.jsonl
        [ -e "$lines" ] || predict "$system" "$lines" "$set"
        echo "== $name, $system"
        "$bin/ambit-data" score --rule triage --gold "$set/questions.jsonl" --pred "$lines"
    done
done

#!/usr/bin/env bash
# Measures questions with several ambiguities.  Makes them from Spider's dev questions and databases, and probes them for
# leaks.  Scores the detector and the heuristic tagger by the number of ambiguities.  Then simulates dialogues of users
# without errors about all statements of a question.
# usage: several.sh SPIDER OUT     environment: AMBIT_BIN, folder of the programs; AMBIT_DETECTOR
set -euo pipefail
spider=$(realpath "$1") out=$2
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
detector=$(realpath "${AMBIT_DETECTOR:-$(dirname "$0")/../models/detector}")
mkdir -p "$out/dev"
cd "$out"
ln -sf "$spider/tables.json" dev/tables.json
ln -sf "$spider/dev.json" dev/train_spider.json
ln -sfn "$spider/db" dev/db

rm -rf several rows
"$bin/ambit-data" natural dev -o several --several 100 --test-share 0.8 --valid-share 0 --materialise rows --seed 1
"$bin/ambit-data" probe --data several
"$bin/ambit-infer" detect --model "$detector" --schema several/tables.json --relevance none --quiet several/test.jsonl -o detected.jsonl
"$bin/ambit-infer" tag --strategy heuristic --schema several/tables.json --quiet several/test.jsonl -o tagged.jsonl
for predictions in detected tagged; do
    printf '\n%s\n' "$predictions"
    "$bin/ambit-data" score --rule several --gold several/test.jsonl --pred "$predictions.jsonl"
done

# Candidates are the gold statements of a question, equally probable; a record with n ambiguities has 2^n.
for n in 1 2 3; do
    awk -v n="$n" '
    {
        sql = $0
        sub(/.*"sql":\[/, "", sql)
        sub(/\],"slice":.*/, "", sql)
        if (split(sql, one, /","/) != 2 ^ n)
            next
        head = $0
        sub(/,"sql":.*/, "", head)
        printf "%s,\"candidates\":[%s],\"gold\":[%s]}\n", head, sql, sql
    }' several/test.jsonl >"candidates-$n.jsonl"
    [ -s "candidates-$n.jsonl" ] || continue
    "$bin/ambit-infer" clarify --candidates "candidates-$n.jsonl" --db rows --simulate --noise 0 --quiet -o "simulated-$n.jsonl"
    printf '\n%d ambiguities, simulated dialogues\n' "$n"
    tail -n 1 "simulated-$n.jsonl"
done

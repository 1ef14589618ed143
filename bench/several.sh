#!/usr/bin/env bash
# Measures questions with several ambiguities.  Makes them from two sources.  The default detector was not trained on the
# first one, Spider's dev questions and the test databases of the contrast sets.  It was trained on most of the practice
# domains, the second one.  Probes them for leaks.  Scores the detector and the heuristic tagger by the number of ambiguities.  Then simulates
# dialogues of users without errors: about the elements that detector and tagger find, and about all statements.
# usage: several.sh SHARED_DATA OUT    SHARED_DATA holds spider and ambiqt
# environment: AMBIT_BIN, folder of the programs; AMBIT_DETECTOR
set -euo pipefail
shared=$(realpath "$1") out=$2
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
detector=$(realpath "${AMBIT_DETECTOR:-$(dirname "$0")/../models/detector}")
mkdir -p "$out/dev"
cd "$out"
spider=$shared/spider
ln -sf "$spider/tables.json" dev/tables.json
ln -sf "$spider/dev.json" dev/train_spider.json
ln -sfn "$spider/db" dev/db

# make NAME CORPUS...: questions on databases, all of which are in the test split unless contrast has them elsewhere
make() {
    rm -rf "$1" "$1-rows"
    "$bin/ambit-data" natural "${@:2}" --splits contrast --several 100 --test-share 0.8 --valid-share 0 -o "$1" --materialise "$1-rows" --seed 1
    "$bin/ambit-data" probe --data "$1"
}
[ -d contrast ] || "$bin/ambit-data" contrast --ambiqt "$shared/ambiqt" --spider "$spider" -o contrast --seed 1
[ -d practice-domains ] || "$bin/ambit-data" practice --unlabelled -o practice-domains
make unseen dev "$spider"
make practice practice-domains

# The fields that a simulated user needs: a record that kept its labels would reveal them.
golds() {
    sed -E 's/,"sql":\[/,"gold":[/; s/"\],"slice":.*/"]}/' "$1"
}

# table FILE: intents reached and questions asked, by the number of gold statements
table() {
    tail -n 1 "$1" | python3 -c '
import json, sys
def text(m):
    return "{:.3f} [{:.3f}, {:.3f}]".format(m["mean"], *m["interval"])
for row in json.load(sys.stdin)["metrics"]["by_golds"]:
    print("%d golds, %d dialogues: reached %s, questions %s" %
          (row["golds"], row["dialogues"], text(row["reached"][-1]), text(row["questions"])))'
}

# simulate SET PART OPTIONS...: dialogues about tables and columns
simulate() {
    "$bin/ambit-infer" ask --simulate "${@:3}" --schema "$1/tables.json" "$1/golds.jsonl" -o "$1/simulated.jsonl" 2>"$1/simulated.log"
    printf '\n%s, dialogues about the elements of %s\n' "$1" "$2"
    table "$1/simulated.jsonl"
}

for set in unseen practice; do
    grep -v '"reason":"modifiers said"' "$set/test.jsonl" >"$set/records.jsonl"
    grep '"reason":"modifiers said"' "$set/test.jsonl" >"$set/said.jsonl"
    golds "$set/records.jsonl" >"$set/golds.jsonl"
    schema=(--schema "$set/tables.json")
    for records in records said; do
        "$bin/ambit-infer" detect --model "$detector" "${schema[@]}" --relevance none --quiet "$set/$records.jsonl" -o "$set/detector-$records.jsonl"
        "$bin/ambit-infer" tag --strategy heuristic "${schema[@]}" --quiet "$set/$records.jsonl" -o "$set/tagger-$records.jsonl"
        for part in detector tagger; do
            printf '\n%s, %s, %s\n' "$set" "$records" "$part"
            "$bin/ambit-data" score --rule several --gold "$set/$records.jsonl" --pred "$set/$part-$records.jsonl"
        done
    done
    for part in detector tagger both; do
        use=(--detector "$detector" --tagger heuristic)
        [ "$part" != detector ] || use=(--detector "$detector")
        [ "$part" != tagger ] || use=(--detector none --tagger heuristic)
        simulate "$set" "$part" "${use[@]}" --user-noise 0
    done
    simulate "$set" "both, users who err in 5 %" --detector "$detector" --tagger heuristic --user-noise 0.05
    simulate "$set" "both, users who do not know in 30 %" --detector "$detector" --tagger heuristic --user-noise 0 --user-unknown 0.3
done

# Candidates are the gold statements of a question, equally probable; a record with n ambiguities has 2^n.
for n in 1 2 3; do
    awk -v n="$n" '{
        head = gold = $0
        sub(/.*"gold":/, "", gold)
        sub(/\}$/, "", gold)
        sub(/,"gold":.*/, "", head)
        if (split(gold, one, /","/) == 2 ^ n)
            printf "%s,\"candidates\":%s,\"gold\":%s}\n", head, gold, gold
    }' unseen/golds.jsonl >"candidates-$n.jsonl"
    [ -s "candidates-$n.jsonl" ] || continue
    "$bin/ambit-infer" clarify --candidates "candidates-$n.jsonl" --db unseen-rows --simulate --noise 0 --quiet -o "simulated-$n.jsonl"
    printf '\n%d ambiguities, dialogues about all statements\n' "$n"
    tail -n 1 "simulated-$n.jsonl"
done

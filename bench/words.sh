#!/usr/bin/env bash
# The head for words of a detector.  Makes questions with marked words, and trains the head on four fifths of their tables.
# Compares its tags with those of the heuristic and of a tagger with an encoder of its own.  The last fifth is left in
# OUT/rest.jsonl for the head for classes, which must not learn from words that the head for words has seen.
# usage: WIKISQL=DIR WTQ=DIR SPIDER=DIR [TAGGER=RUN] bench/words.sh OUT
# The corpora are those of bench/dte.sh; TAGGER is a run of ambit-train tag on OUT/spans.  Existing files in OUT are kept.
set -euo pipefail
shared=../shared/data
wikisql=$(realpath "${WIKISQL:-$shared/wikisql}") wtq=$(realpath "${WTQ:-$shared/wtq}") spider=$(realpath "${SPIDER:-$shared/spider}")
bin=$(realpath "${AMBIT_BIN:-build/release/bin}") bench=$(realpath "$(dirname "$0")")
detector=$(realpath "${DETECTOR:-$bench/../models/detector}")
tagger=${TAGGER:+$(realpath "$TAGGER")}
mkdir -p "${1:?the folder to fill}" && cd "$1"

[ -e corpora/wikisql ] || python3 "$bench/dte_corpora.py" wikisql "$wikisql"/wikisql_with_headers_{dev,extra}.jsonl corpora/wikisql
[ -e corpora/wtq ] || python3 "$bench/dte_corpora.py" wtq "$wtq/wtq_tables_head.jsonl" corpora/wtq
[ -e spans ] || "$bin/ambit-data" counterfactual --wikisql corpora/wikisql --wtq corpora/wtq --spider "$spider" --databases -o spans --seed 1
[ -e rest.jsonl ] || python3 - <<'PY'
import hashlib, json
with open("spans/train.jsonl") as records, open("words.jsonl", "w") as words, open("rest.jsonl", "w") as rest:
    for line in records:
        table = json.loads(line)["db_id"].split("__")[0]
        last = int(hashlib.md5(table.encode()).hexdigest(), 16) % 5 == 0
        (rest if last else words).write(line)
PY
if [ ! -e detector ]; then
    cp -r "$detector" new && rm -f new/words.h5 new/triage.json
    "$bin/ambit-train" words new --data words.jsonl --valid spans/valid.jsonl --questions 40000 -o new/words.h5
    mv new detector
fi

# measure NAME OPTION...: tags the test records and prints the scores of spans
measure() {
    [ -e "$1.jsonl" ] || "$bin/ambit-infer" tag "${@:2}" --quiet spans/test.jsonl -o "$1.jsonl"
    echo "== $1"
    "$bin/ambit-data" score --rule spans --gold spans/test.jsonl --pred "$1.jsonl"
}
measure head --model detector
measure heuristic --strategy heuristic
[ -z "$tagger" ] || measure tagger --model "$tagger"

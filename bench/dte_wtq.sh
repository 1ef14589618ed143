#!/usr/bin/env bash
# Scores any parser on the data of DTE's table 6: WikiTableQuestions with the SQL of Squall, before and after the questions
# that a tagger flags are left out.  The databases are those of Squall's release, in tables/db.
# usage: SQUALL=DIR TAGGER=RUN [PARSER=HF_DIR | PRED=FILE] bench/dte_wtq.sh OUT
# TAGGER is a folder of ambit-train tag; without it, the heuristic flags questions.  PRED has {"id", "sql"} of another parser,
# whose ids are Squall's "nt".  PARSER reads Squall's databases, whose columns are c1, c2 and so on.
# SPLIT=dev-0 asks about the tables of this file of Squall's splits.  Existing files in OUT are kept.
set -euo pipefail
squall=$(realpath "${SQUALL:?a folder of Squall: data/, tables/}")
tagger=(--strategy heuristic)
[ -z "${TAGGER:-}" ] || tagger=(--model "$(realpath "$TAGGER")")
pred=${PRED:+$(realpath "$PRED")}
parser=${PARSER:+$(realpath "$PARSER")}
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
bench=$(realpath "$(dirname "$0")")
[ -n "$pred$parser" ] || { echo "dte_wtq.sh: expected PRED=FILE or PARSER=HF_DIR, got neither" >&2 && exit 2; }
mkdir -p "${1:?the folder to fill}" && cd "$1"

# some COMMAND...: runs COMMAND, and accepts exit code 7: some records failed.
some() { "$@" || [ $? = 7 ]; }
# done_by FILE COMMAND...: writes FILE by COMMAND unless it exists; a failing COMMAND leaves no FILE.
done_by() {
    [ -e "$1" ] || { "${@:2}" >"$1.new" && mv "$1.new" "$1"; }
}
done_by questions.jsonl python3 "$bench/dte_wtq.py" questions "$squall" "${SPLIT:-dev-0}"
[ -e tagged.jsonl ] || some "$bin/ambit-infer" tag "${tagger[@]}" --quiet questions.jsonl -o tagged.jsonl
if [ -z "$pred" ]; then
    pred=parsed.jsonl
    [ -e parsed.jsonl ] || some "$bin/ambit-infer" parse questions.jsonl --model "$parser" --db "$squall/tables/db" --resume -o parsed.jsonl
fi
python3 "$bench/dte_wtq.py" statements "$pred" >statements.jsonl
some "$bin/ambit-data" score --gold questions.jsonl --pred statements.jsonl --db "$squall/tables/db" -k 1 --per-example each.jsonl
python3 "$bench/dte_wtq.py" exact questions.jsonl statements.jsonl each.jsonl >exact.jsonl

# The row of coverage 1 is the accuracy of all questions, the row below "unflagged" that of the filtered ones.
for measure in one_found exact; do
    echo "== $measure"
    "$bin/ambit-train" evaluate selective --predictions tagged.jsonl --scored exact.jsonl --field $measure
done

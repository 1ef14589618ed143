#!/usr/bin/env bash
# Reproduces the tables of DTE from WikiSQL, WikiTableQuestions and Spider, with marked words on edited tables.  Trains
# taggers of several seeds, one with grounding by erasing and one without grounding.  Compares them with the heuristic and
# with ETA.  Also tests on AmbiQT's synonyms and on AMBROSIA's vague questions.
# usage: WIKISQL=DIR WTQ=DIR SPIDER=DIR AMBIQT=DIR AMBROSIA=DIR ENCODER=HF_DIR bench/dte.sh OUT
# SEEDS="1 2 3" and EPOCHS=1 control the training.  Existing files in OUT are kept, and interrupted training is resumed.
set -euo pipefail
shared=../shared/data
wikisql=$(realpath "${WIKISQL:-$shared/wikisql}")
wtq=$(realpath "${WTQ:-$shared/wtq}")
spider=$(realpath "${SPIDER:-$shared/spider}")
ambiqt=$(realpath "${AMBIQT:-$shared/ambiqt}")
ambrosia=$(realpath "${AMBROSIA:-$shared/ambrosia}")
encoder=$(realpath "${ENCODER:?a BERT folder, as MiniLM-L6}")
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
bench=$(realpath "$(dirname "$0")")
read -ra seeds <<<"${SEEDS:-1 2 3}"
mkdir -p "${1:?the folder to fill}" && cd "$1"

records() { python3 "$bench/dte_records.py" "$@"; }

# --- records
[ -e corpora/wikisql ] || python3 "$bench/dte_corpora.py" wikisql "$wikisql"/wikisql_with_headers_{dev,extra}.jsonl corpora/wikisql
[ -e corpora/wtq ] || python3 "$bench/dte_corpora.py" wtq "$wtq/wtq_tables_head.jsonl" corpora/wtq
[ -e data ] || "$bin/ambit-data" counterfactual --wikisql corpora/wikisql --wtq corpora/wtq --spider "$spider" -o data --seed 1
"$bin/ambit-data" probe --data data
mkdir -p eta-data
for fold in train valid test; do
    [ -e "eta-data/$fold.jsonl" ] || records eta "data/$fold.jsonl" "eta-data/$fold.jsonl"
done
[ -e ambiguous.jsonl ] || "$bin/ambit-data" ambiguate --kinds C --spider "$spider" --db "$spider/db" --synonyms "$ambiqt/two_col_synonyms.json" \
    --table-synonyms "$ambiqt/two_tbl_synonyms.json" -o ambiguous.jsonl
[ -e ambiqt.jsonl ] || records ambiqt ambiguous.jsonl "$spider" data/train.jsonl data/valid.jsonl ambiqt.jsonl
[ -e eta-ambiqt.jsonl ] || records eta ambiqt.jsonl eta-ambiqt.jsonl
[ -e vague.jsonl ] || records vague "$ambrosia/questions_validation.jsonl" vague.jsonl
[ -e spider.jsonl ] || grep '"source":"spider"' data/test.jsonl >spider.jsonl

# learn NAME DATA OPTION...: trains a tagger in folder NAME.
learn() {
    "$bin/ambit-train" tag --data "$2" --encoder "$encoder" --epochs "${EPOCHS:-1}" --out "$1" --resume --quiet "${@:3}"
}
for seed in "${seeds[@]}"; do learn "spans-$seed" data --seed "$seed"; done
learn "erase-${seeds[0]}" data --seed "${seeds[0]}" --grounding erase
learn "none-${seeds[0]}" data --seed "${seeds[0]}" --grounding none
learn "eta-${seeds[0]}" eta-data --seed "${seeds[0]}" --tags-weight 0 --meaning-weight 0

# some COMMAND...: runs COMMAND, and accepts exit code 7: some records failed.
some() { "$@" || [ $? = 7 ]; }
# tag NAME ON RECORDS OPTION...: writes NAME.ON.jsonl, the tags of RECORDS.
tag() {
    [ -e "$1.$2.jsonl" ] || some "$bin/ambit-infer" tag "$3" --quiet "${@:4}" -o "$1.$2.jsonl"
}
# score NAME ON GOLD: prints the scores of spans and links, and the false alarms.
score() {
    echo "== $1 on $2"
    some "$bin/ambit-data" score --rule spans --gold "$3" --pred "$1.$2.jsonl"
}
# measure NAME TEST AMBIQT OPTION...: prints all tables of one tagger on the records TEST and AMBIQT.
measure() {
    tag "$1" test "$2" "${@:4}"
    tag "$1" ambiqt "$3" "${@:4}"
    tag "$1" vague vague.jsonl --db "$ambrosia/db" "${@:4}"
    score "$1" test data/test.jsonl
    grep '"id":"spider-' "$1.test.jsonl" >"$1.spider.jsonl"
    score "$1" spider spider.jsonl
    score "$1" ambiqt ambiqt.jsonl
    echo "== $1 on vague"
    records judge "$ambrosia/questions_validation.jsonl" "$1.vague.jsonl"
}
measure heuristic data/test.jsonl ambiqt.jsonl --strategy heuristic --tune data/valid.jsonl
measure "eta-${seeds[0]}" eta-data/test.jsonl eta-ambiqt.jsonl --strategy eta --model "eta-${seeds[0]}"
for run in "${seeds[@]/#/spans-}" "erase-${seeds[0]}" "none-${seeds[0]}"; do
    measure "$run" data/test.jsonl ambiqt.jsonl --model "$run"
done

#!/usr/bin/env bash
# A small language model learns to infill, from nothing: records from AmbiQT's training questions, databases that it never
# saw, then an adapter on AMBROSIA's records.  Prints recall by execution without and with infilling.
# usage: SPIDER=DIR AMBIQT=DIR AMBROSIA=DIR bench/infill.sh OUT
# SPIDER holds tables.json, train_spider.json and db, AMBIQT two_col_synonyms.json and two_tbl_synonyms.json, AMBROSIA
# questions_validation.jsonl and db.  What OUT has already is not made again; training goes on where it was stopped.
set -euo pipefail
spider=$(realpath "${SPIDER:-../shared/data/spider}")
ambiqt=$(realpath "${AMBIQT:-../shared/data/ambiqt}")
ambrosia=$(realpath "${AMBROSIA:-../shared/data/ambrosia}")
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
mkdir -p "${1:?the folder to fill}/prompts" && cd "$1"

# A prompt that costs few tokens.
printf '{}\n\nQuestion: {}\n\nExisting:\n{}\n\nMissing:\n' >prompts/fill.txt

# examples RECORDS DATABASES OUT TEST: readings in words, what is missing of them, folds
examples() {
    [ -e "$3/test.jsonl" ] && return
    "$bin/ambit-data" reword "$1" --db "$2" -o "$3.readings.jsonl"
    "$bin/ambit-data" annotate "$3.readings.jsonl" --db "$2" --context compact --prompt-dir prompts -o "$3.jsonl"
    "$bin/ambit-data" split "$3.jsonl" --valid 0.1 --test "$4" -o "$3"
}

# measure NAME RECORDS DATABASES MODEL...: recall by execution of what exists, and with what the model adds
measure() {
    local name=$1 records=$2 databases=$3
    shift 3
    local infill=("$bin/ambit-infer" infill "$records" --db "$databases" --defaults "$records" --sqls "$records")
    "${infill[@]}" -o "$name.none.jsonl"
    "${infill[@]}" "$@" --context compact --prompt-dir prompts --max-new 100 -o "$name.jsonl"
    for file in "$name.none.jsonl" "$name.jsonl"; do
        echo "$file"
        "$bin/ambit-data" score --rule dfpl --db "$databases" --pred "$file" || [ $? = 7 ]
    done
}

small=(--method full --compute bf16 --tokens 4096 --batch 32 --epochs 1 --warmup 0.03 --decay 0.01 --save-every 100 --resume)

[ -e ambiguous.jsonl ] || "$bin/ambit-data" ambiguate --kinds C,T --spider "$spider" --questions "$spider/train_spider.json" \
    --synonyms "$ambiqt/two_col_synonyms.json" --table-synonyms "$ambiqt/two_tbl_synonyms.json" --db "$spider/db" \
    --materialise databases --published-databases -o ambiguous.jsonl || [ $? = 7 ] # some records fail, and say so
examples ambiguous.jsonl databases ambiqt 0.15
[ -e vocabulary ] || "$bin/ambit-train" tokenizer --vocab 4096 --split qwen2 -o vocabulary ambiqt/train.jsonl

# substituted RECORDS COPIES SEED OUT: the training records as they are, and RECORDS in other words
substituted() { [ -e "$4" ] || "$bin/ambit-data" substitute "$1" --copies "$2" --seed "$3" | cat ambiqt/train.jsonl - >"$4"; }

# It first learns to copy, then, from those records that lack a reading, to find it.
grep -v '"missing":\[\]' ambiqt/train.jsonl >lacking.jsonl
substituted ambiqt/train.jsonl 3 1 first.jsonl
substituted lacking.jsonl 7 2 second.jsonl
"$bin/ambit-train" infill --tokenizer vocabulary --data first.jsonl --valid ambiqt/valid.jsonl -o first --hidden 256 --layers 6 \
    --heads 4 --groups 2 --intermediate 704 --lr 1e-3 "${small[@]}"
"$bin/ambit-train" infill --base first --data second.jsonl --valid ambiqt/valid.jsonl -o second --lr 1e-3 "${small[@]}"
measure held-out ambiqt/test.jsonl databases --model second

examples "$ambrosia/questions_validation.jsonl" "$ambrosia/db" ambrosia 0.4
"$bin/ambit-train" infill --base second --data ambrosia/train.jsonl --valid ambrosia/valid.jsonl -o adapter --epochs 10 --lr 1e-3 --resume
measure ambrosia ambrosia/test.jsonl "$ambrosia/db" --model second --adapter adapter
echo "curves: $PWD/first/report.html $PWD/second/report.html $PWD/adapter/report.html"

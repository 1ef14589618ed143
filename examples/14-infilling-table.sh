#!/usr/bin/env bash
# Reproduces the main table of "Disambiguate First, Parse Later" from the corpora.  It compares default interpretations,
# infilled ones, a model trained end to end and a model trained on gold interpretations.  All are scored by execution on
# held-out databases.
# usage: examples/14-infilling-table.sh [OUT]
# By default, it makes small corpora and a tiny model that memorises them.  This shows the commands; the scores mean
# nothing.  With MODEL, a Hugging Face folder, it runs the experiment of the paper.  Existing files in OUT are kept.
#   AMBIQT, AMBIQT_DB        records of ambit-data ambiguate --kinds C,T --materialise, and their databases (optional)
#   AMBROSIA, AMBROSIA_DB    rows with gold_queries and gold_interpretations, and their databases (optional)
#   MODEL                    rewrites questions, writes default interpretations, and is the base of the three adapters
#   SQL_MODEL                writes SQL (default: MODEL)
#   ASK, TRAIN, WRITE        options of prompts (--context dump), of ambit-train infill (--preset dfpl), of generation
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
for name in AMBIQT AMBIQT_DB AMBROSIA AMBROSIA_DB MODEL SQL_MODEL; do
    if [ -n "${!name:-}" ]; then declare "$name=$(realpath "${!name}")"; fi
done
if [ $# -gt 0 ]; then
    mkdir -p "$1" && cd "$1"
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cd "$work"
fi

# some COMMAND...: runs COMMAND, and accepts exit code 7: some records failed.
some() { "$@" || [ $? = 7 ]; }
# together FOLDER...: links the databases of both corpora into one folder.
together() { mkdir -p db && find "$@" -name '*.sqlite' -exec ln -sf -t db {} +; }

# --- synthetic data: ten databases, rows in AMBROSIA's format, and questions from which AmbiQT records are made
made_corpora() {
    local db table one other n=0
    ambit-data practice -o practice
    while read -r db table one other; do
        [ $((n++)) -ge 4 ] || echo "{\"db_id\": \"$db\", \"question\": \"What is the $one of each $table?\", \"query\": \"SELECT $one FROM $table\"}" >>plain.jsonl
        echo "{\"db\": \"$db\", \"question\": \"Tell me about each $table.\", \"ambig_type\": \"vague\", \"is_ambiguous\": true, \"gold_queries\": [\"SELECT $one FROM $table\", \"SELECT $other FROM $table\"], \"gold_interpretations\": [{\"questions\": [\"Give the $one of each $table.\"]}, {\"questions\": [\"Give the $other of each $table.\"]}]}"
        echo "{\"db\": \"$db\", \"question\": \"Give the $one of each $table.\", \"ambig_type\": \"vague\", \"is_ambiguous\": false, \"gold_queries\": [\"SELECT $one FROM $table\"]}"
    done >ambrosia.jsonl <<'END'
library author country birth_year
clinic doctor specialty salary
bakery bread flour weight
museum artist style birth_year
school teacher age office
cinema film genre duration
hotel room view beds
restaurant dish course calories
gym trainer fee specialty
brewery beer bitterness style
END
    ambit-data ambiguate --kinds C --questions plain.jsonl --db practice/db --seed 1 --materialise altered -o ambiqt.jsonl
    AMBIQT=ambiqt.jsonl AMBIQT_DB=altered AMBROSIA=ambrosia.jsonl AMBROSIA_DB=practice/db
}

# lessons KIND: reads records whose gold statements have texts.  KIND sql makes each text a question; KIND def keeps each
# question with its first gold statement.
lessons() {
    awk -v kind="$1" '{
        match($0, /"db_id":"[^"]*"/); db = substr($0, RSTART, RLENGTH)
        match($0, /"question":"[^"]*"/); question = substr($0, RSTART + 12, RLENGTH - 13)
        for (rest = $0; match(rest, /\{"sql":"[^"]*","text":"[^"]*"\}/); rest = substr(rest, RSTART + RLENGTH)) {
            gold = substr(rest, RSTART, RLENGTH); split(gold, part, "\"")
            if (kind == "sql" && !seen[db, part[8]]++)
                print "{\"id\":" ++n "," db ",\"question\":\"" part[8] "\",\"golds\":[" gold "]}"
            if (kind == "def" && !seen[db, question]++)
                print "{\"id\":" ++n "," db ",\"question\":\"" question "\",\"golds\":[" gold "]}"
        }
    }'
}

# --- a tiny model that has memorised its three tasks: rewriting, default interpretations, and SQL
made_model() {
    mkdir -p prompts
    printf '{}\n\n{}\n\nReading:\n' | tee prompts/def.txt >prompts/gold.txt
    printf '{}\n\n{}\n\nSQL:\n' | tee prompts/sql.txt >prompts/e2e.txt
    printf '{}\n\n{}\n\n{}\n\nMissing:\n' >prompts/fill.txt
    printf '{}\n\n{}\n\n' >prompts/rewrite.txt
    { ambit-data infilling rewrite "$AMBIQT" --db "$AMBIQT_DB" && ambit-data infilling rewrite "$AMBROSIA" --db "$AMBROSIA_DB"; } >known.jsonl
    lessons sql <known.jsonl >sql.lessons
    lessons def <known.jsonl >def.lessons
    # shellcheck disable=SC2086 # several options
    {
        ambit-data infilling annotate sql.lessons --db db --target e2e $ASK
        ambit-data infilling annotate def.lessons --db db --target gold $ASK
        ambit-infer infill "$AMBIQT" --db "$AMBIQT_DB" --write-prompts rewrite $ASK |
            sed -nE 's/^(.*"content":"What is the )([^"]*)( of each [^?]*\?)\\n\\n([^"\\]*)\\n\\n"\}\]\}$/\1\2\3\\n\\n\4\\n\\n"},{"role":"assistant","content":"What is the \4\3"}]}/p'
    } >school.jsonl
    ambit-train tokenizer school.jsonl --vocab 800 -o vocabulary
    ambit-train infill --tokenizer vocabulary --data school.jsonl -o tiny --method full --device cpu --hidden 64 --heads 2 \
        --groups 1 --layers 2 --intermediate 128 --epochs 60 --batch 4 --lr 4e-3
    MODEL=$PWD/tiny
}

if [ -z "${MODEL:-}" ]; then
    export OMP_NUM_THREADS=1 # a model this small is fastest on one core
    ASK="--context compact --prompt-dir prompts"
    TRAIN="--epochs 6 --batch 4 --lr 1e-2 --device cpu"
    WRITE="--max-new 48 --device cpu"
    made_corpora
    together "$PWD/altered" "$PWD/practice/db"
    made_model
fi
: "${SQL_MODEL:=$MODEL}" "${ASK=}" "${TRAIN=--preset dfpl}" "${WRITE=}"
read -ra ask <<<"$ASK" && read -ra train <<<"$TRAIN" && read -ra write <<<"$WRITE"
together ${AMBIQT_DB:+"$(realpath "$AMBIQT_DB")"} ${AMBROSIA_DB:+"$(realpath "$AMBROSIA_DB")"}

# infill RECORDS OUT OPTION...: writes OUT with SQL of SQL_MODEL, unless OUT exists.
infill() {
    [ -e "$2" ] || some ambit-infer infill "$1" --db db --sql-model "$SQL_MODEL" "${ask[@]}" "${write[@]}" -o "$2" --resume "${@:3}"
}

# --- stage 0: the model rewrites AmbiQT's question for each gold statement, in at most five attempts; then the splits
folders=()
if [ -n "${AMBIQT:-}" ]; then
    infill "$AMBIQT" rewritten.jsonl --rewrite-model "$MODEL" --temperature 0.5 --seed 42
    [ -e ambiqt ] || ambit-data split rewritten.jsonl -o ambiqt
    folders+=(ambiqt)
fi
if [ -n "${AMBROSIA:-}" ]; then
    [ -e ambrosia ] || ambit-data split "$AMBROSIA" --published -o ambrosia
    folders+=(ambrosia)
fi
for fold in train valid test; do
    [ -e $fold.jsonl ] || cat "${folders[@]/%//$fold.jsonl}" >$fold.jsonl
done

# --- stages 1 to 3: default interpretations with their SQL, one per distinct result; training data of each system
for fold in train valid test; do
    infill $fold.jsonl $fold.default.jsonl --default-model "$MODEL"
    [ -e infill.$fold ] || some ambit-data infilling annotate $fold.jsonl --db db --interpretations $fold.default.jsonl "${ask[@]}" -o infill.$fold
    for target in e2e gold; do
        [ -e $target.$fold ] || some ambit-data infilling annotate $fold.jsonl --db db --target $target "${ask[@]}" -o $target.$fold
    done
done

# --- stage 4: three adapters; --select recall keeps the checkpoint with the best execution recall on validation databases
for target in infill e2e gold; do
    for fold in train valid; do grep -v '"error":' $target.$fold >$target.$fold.jsonl; done
    ambit-train infill --base "$MODEL" --data $target.train.jsonl --valid $target.valid.jsonl -o run.$target --select recall \
        --db db --sql-model "$SQL_MODEL" "${ask[@]}" "${train[@]}" --resume
done

# --- stages 5 and 6: infill and parse the test questions
answer() { # TARGET: writes the prompts of its stage and generates completions with its adapter
    some ambit-infer infill test.jsonl --db db --write-prompts "$1" "${ask[@]}" -o "$1.prompts"
    some ambit-infer generate --model "$MODEL" --adapter "run.$1" "$1.prompts" "${write[@]}" -o "$1.answers"
}
cp test.default.jsonl "default readings.jsonl"
infill test.jsonl "infilled.jsonl" --defaults test.default.jsonl --model "$MODEL" --adapter run.infill
answer e2e
some ambit-infer infill test.jsonl --db db --e2e e2e.answers -o "end-to-end.jsonl"
answer gold
infill test.jsonl "gold interpretations.jsonl" --defaults gold.answers

# --- the table: means over questions, confidence intervals over databases
for system in "default readings" infilled end-to-end "gold interpretations"; do
    some ambit-data score --rule dfpl --db db --pred "$system.jsonl" >"$system.score"
    awk -v name="$system" -v first="$([ "$system" = "default readings" ] && echo 1)" '
        NR == 1 && first { printf "%-21s %s\n", "", $0 } /^(un)?ambiguous/ { printf "%-21s %s\n", name, $0 }' "$system.score"
done

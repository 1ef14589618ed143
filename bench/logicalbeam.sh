#!/usr/bin/env bash
# Reproduces the tables of LogicalBeam.  Makes AmbiQT's four ambiguity types from Spider's dev questions.  For each strategy
# of `ambit-infer parse`, prints how often either and both interpretations are among five statements (tables 3, 4, 6 and 7).
# Fills gold templates with the model and with random names.  Scores Spider dev by execution.  Prints table 5 (Spider and
# KaggleDBQA), table 2 (classes of errors), figure 4 (beam width) and table 8 (two prompts of a chat model).  Prints the
# accuracy after 0, 1 and 2 questions of `clarify`.
# usage: SPIDER=DIR AMBIQT=DIR bench/logicalbeam.sh OUT [MODEL [TEMPLATES FILL]]
# MODEL, TEMPLATES and FILL are folders of weights, one for all tasks or three.  Without them a small T5 is first trained
# on Spider's training questions, whose databases are in none of the tables.
# SPIDER holds tables.json, train_spider.json, dev.json and db; AMBIQT holds two_col_synonyms.json and
# two_tbl_synonyms.json.  KAGGLE holds KaggleDBQA's examples/*.json, KaggleDBQA_tables.json and databases, for table 5.
# CHAT is a folder of weights of a chat model, for table 8.  EVERY=5 takes every fifth record of Spider, STRATEGIES="beam ..." selects
# the strategies, BEAMS="10 20" the widths of figure 4.  Existing files in OUT are kept, and an interrupted parse is resumed.
set -euo pipefail
spider=$(realpath "${SPIDER:-../shared/data/spider}")
ambiqt=$(realpath "${AMBIQT:-../shared/data/ambiqt}")
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
bench=$(realpath "$(dirname "$0")")
every=${EVERY:-1}
kaggle=${KAGGLE:+$(realpath "$KAGGLE")}
chat=${CHAT:+$(realpath "$CHAT")}
out=${1:?the folder to fill}
strategies=(beam sample odin direct single-stage two-stage plans logical-beam)
model=() # model options of parse
if [ $# = 4 ]; then
    model=(--model "$(realpath "$2")" --template-model "$(realpath "$3")" --fill-model "$(realpath "$4")")
elif [ $# = 2 ]; then
    model=(--model "$(realpath "$2")")
elif [ $# != 1 ]; then
    echo "expected OUT, OUT MODEL or OUT MODEL TEMPLATES FILL" >&2
    exit 2
fi
mkdir -p "$out" && cd "$out"

# done_by FILE COMMAND...: writes the output of COMMAND to FILE, unless FILE exists.  A failed command leaves no FILE.
done_by() {
    [ -e "$1" ] || { "${@:2}" >"$1.new" && mv "$1.new" "$1"; }
}
# few FILE...: prints every EVERYth line.
few() { cat "$@" | awk -v every="$every" 'NR % every == 0'; }
# some COMMAND...: runs COMMAND, and accepts exit code 7: some records failed.
some() { "$@" || [ $? = 7 ]; }

# --- test records: AmbiQT's records with their templates and constraints, and Spider's dev questions
[ -e ambiguous.jsonl ] || "$bin/ambit-data" ambiguate --spider "$spider" --db "$spider/db" --synonyms "$ambiqt/two_col_synonyms.json" \
    --table-synonyms "$ambiqt/two_tbl_synonyms.json" -o ambiguous.jsonl
done_by asked.jsonl few ambiguous.jsonl
[ -e gold ] || "$bin/ambit-data" plans --spider "$spider" --ambiqt asked.jsonl --constraints --db "$spider/db" -o gold

# with_templates: adds the templates of its interpretations to each record.
with_templates() {
    sed -E 's/^\{"id":"([^"]*)-[12]",.* @ (.*)","completion":.*$/\1\t"\2"/' gold/template-fill.ambiqt.jsonl |
        awk -F '\t' '
            NR == FNR { if (!($1 in list)) list[$1] = $2; else if (list[$1] != $2) list[$1] = list[$1] "," $2; next }
            match($0, /^[{]"id":"[^"]*"/) { print "{\"template\":[" list[substr($0, 8, RLENGTH - 8)] "]," substr($0, 2) }' - asked.jsonl
}
done_by templates.jsonl with_templates

# dev FIELD: prints Spider's dev questions, or their gold statements if FIELD is "sql".
dev() {
    few gold/t2s.test.jsonl | awk -v field="$1" '{
        match($0, /"db_id":"[^"]*"/)
        db = substr($0, RSTART + 9, RLENGTH - 10)
        start = index($0, "\"prompt\":\"semantic parse: ")
        asks = substr($0, start + 26)
        said = substr($0, index($0, "\"completion\":\"") + length(db) + 17)
        print substr($0, 1, start - 1) (field == "sql" ? "\"sql\":[\"" substr(said, 1, length(said) - 1) "]}" : \
            "\"question\":\"" substr(asks, 1, index(asks, " | " db " | ") - 1) "\"}")
    }'
}
done_by dev.jsonl dev question
done_by dev-gold.jsonl dev sql

# --- a model from scratch: first copying names, on only the needed tables with substituted words, then all tasks
learn() {
    "$bin/ambit-train" seq2seq --tokens 4096 --epochs 1 --dropout 0 --length 512 --warmup 0.02 --eval-every 200 --max-valid 60 \
        --resume "$@"
}
plans() { [ -e "$1" ] || "$bin/ambit-data" plans --spider "$spider" --schema-text "$2" -o "$1"; }
# words OUT IN COPIES SEED: writes records with substituted words.
words() { done_by "$1.jsonl" "$bin/ambit-data" infilling substitute "$2.train.jsonl" --copies "$3" --seed "$4"; }
# lot CHARACTERS NUMBER SEED FILE...: samples NUMBER records of at most CHARACTERS characters.
lot() { awk -v most="$1" 'length($0) <= most' "${@:4}" | shuf -n "$2" --random-source=<(yes "$3"); }
mixed() { shuf --random-source=<(yes 1); }
short() {
    lot 420 20000 1 named-fill.jsonl
    lot 420 8000 2 named-t2s.jsonl
}
# long SEED NUMBER: samples records with whole schemas, half of them with substituted words.
long() {
    lot 1300 "$2" "$1" "words-fill-$1.jsonl"
    lot 1300 "$2" "$(($1 - 1))" {ambiqt,spider}/template-fill.train.jsonl
    lot 1300 "$2" "$1" "words-t2s-$1.jsonl"
    lot 1300 "$2" "$(($1 + 1))" {ambiqt,spider}/t2s.train.jsonl
    lot 1300 "$(($2 / 2))" "$1" "words-gen-$1.jsonl"
    lot 1300 "$2" "$(($1 + 3))" {ambiqt,spider}/template-gen.train.jsonl
}
if [ ${#model[@]} = 0 ]; then
    strategies=(beam sample odin two-stage plans logical-beam)
    for form in named ambiqt spider; do plans "$form" "$form"; done
    words named-fill named/template-fill 3 1
    words named-t2s named/t2s 2 2
    for seed in 3 13; do
        words "words-fill-$seed" ambiqt/template-fill 2 "$seed"
        words "words-t2s-$seed" ambiqt/t2s 2 "$seed"
        words "words-gen-$seed" ambiqt/template-gen 1 "$seed"
    done
    [ -e vocabulary ] || "$bin/ambit-train" tokenizer --vocab 2048 --split words -o vocabulary named-fill.jsonl ambiqt/{template-fill,t2s}.train.jsonl
    done_by short.jsonl mixed < <(short)
    done_by long-3.jsonl mixed < <(long 3 2000)
    done_by long-13.jsonl mixed < <(long 13 2600)
    done_by valid.jsonl lot 1300 60 7 ambiqt/{t2s,template-gen,template-fill}.valid.jsonl
    learn --tokenizer vocabulary --initialisation copy --hidden 192 --layers 4 --heads 6 --intermediate 512 --data short.jsonl \
        --valid valid.jsonl --batch 16 --lr 1.5e-3 --schedule constant -o first
    learn --base first --data long-3.jsonl --valid valid.jsonl --batch 8 --lr 1e-3 -o second
    learn --base second --data long-13.jsonl --valid valid.jsonl --batch 8 --lr 1e-3 -o third
    model=(--model third)
fi
read -ra strategies <<<"${STRATEGIES:-${strategies[*]}}"

# parse NAME IN OPTION...: writes NAME.jsonl; statements may use values of the databases.
parse() {
    [ -e "$1.jsonl" ] || some "$bin/ambit-infer" parse "$2" "${model[@]}" --db "$spider/db" --resume "${@:3}" -o "$1.jsonl"
}
# table NAME [K]: prints either and both interpretations among the first K (5), by ambiguity type; NAME.each.jsonl holds them per
# record.
table() {
    echo "== $1, first ${2:-5}"
    some "$bin/ambit-data" score --rule ambiqt --pred "$1.jsonl" --gold asked.jsonl -k "${2:-5}" --tables "$spider/tables.json" --db "$spider/db" \
        --per-example "$1.each.jsonl"
}
# spider_table NAME GOLD TABLES DB OPTION...: prints exact set match and execution match of the first and the first five.
spider_table() {
    echo "== $1, Spider's evaluator"
    some "$bin/ambit-data" score --rule spider --pred "$1.jsonl" --gold "$2" --tables "$3" --db "$4" "${@:5}"
}

# --- gold templates, filled by the model and with random names among all allowed ones.
# fills FILE: keeps only the statements of the templates of each record, without the preceding template-free ones.
fills() {
    awk '{
        n = split(substr($0, index($0, ",\"templates\":[")), parts, /"sqls":/)
        lists = ""
        for (i = 2; i <= n; i++) {
            list = parts[i]
            for (sqls = ""; match(list, /^.?[{]"sql":"([^"\\]|\\.)*","logprob":[^}]*[}]/); list = substr(list, at)) {
                at = RLENGTH + 1
                match(list, /"sql":"([^"\\]|\\.)*"/)
                sqls = sqls (sqls == "" ? "" : ",") substr(list, RSTART + 6, RLENGTH - 6)
            }
            lists = lists (i > 2 ? "," : "") "[" sqls "]"
        }
        print substr($0, 1, index($0, ",\"t2s_outs\":[") - 1) ",\"t2s_outs\":[" lists "]}"
    }' "$1"
}
# drawn: fills the templates with random names.
drawn() {
    awk -v seed=1 -v n=10 -f "$bench/random_names.awk" gold/template-fill.ambiqt.constraints.jsonl |
        awk -F '\t' '
            NR == FNR { id = substr($1, 1, length($1) - 2); list[id] = list[id] comma[id] $2; comma[id] = ","; next }
            match($0, /^[{]"id":"[^"]*"/) { print substr($0, 1, length($0) - 1) ",\"t2s_outs\":[" list[substr($0, 8, RLENGTH - 8)] "]}" }' - asked.jsonl
}
parse gold-templates templates.jsonl
done_by gold-fills.jsonl fills gold-templates.jsonl
done_by gold-random.jsonl drawn
table gold-fills
table gold-random
echo "== gold-fills after gold-random"
awk -f "$bench/gain.awk" gold-random.each.jsonl gold-fills.each.jsonl

# --- every strategy on AmbiQT's ambiguity types
for strategy in "${strategies[@]}"; do
    parse "$strategy" asked.jsonl --strategy "$strategy"
    table "$strategy"
done
for draws in top-k=25 top-p=.9 typical-p=.9; do
    parse "$draws" asked.jsonl --strategy sample "--$draws"
    table "$draws"
done
for strategy in "${strategies[@]}"; do
    [ "$strategy" = beam ] || { echo "== $strategy after beam" && awk -f "$bench/gain.awk" beam.each.jsonl "$strategy.each.jsonl"; }
done

# --- Spider dev: the first statement of beam search, and of the first template with unrestricted and restricted filling.
# first FILE FIELD: prints {"id", "sql"} with the first statement after the field.
first() {
    awk -v field="$2" '{
        rest = substr($0, index($0, ",\"" field "\":["))
        sql = match(rest, field == "templates" ? "\"sqls\":[[][{]\"sql\":\"([^\"\\\\]|\\\\.)*\"" : "^,\"t2s_outs\":[[]\"([^\"\\\\]|\\\\.)*\"") ? \
            substr(rest, RSTART, RLENGTH) : ""
        sub(/^.*"sqls":[[][{]"sql":|^,"t2s_outs":[[]/, "", sql)
        match($0, /"id":"[^"]*"/)
        print "{" substr($0, RSTART, RLENGTH) ",\"sql\":[" sql "]}"
    }' "$1"
}
parse dev-plain dev.jsonl --strategy plans
parse dev-restricted dev.jsonl --strategy logical-beam
done_by dev-beam.sql.jsonl first dev-restricted.jsonl t2s_outs
done_by dev-plain.sql.jsonl first dev-plain.jsonl templates
done_by dev-restricted.sql.jsonl first dev-restricted.jsonl templates
for way in beam plain restricted; do
    echo "== Spider dev, $way"
    some "$bin/ambit-data" score --gold dev-gold.jsonl --pred "dev-$way.sql.jsonl" --db "$spider/db" -k 1
done

# --- table 5: exact set match and execution match, top 1 and top 5, on Spider dev and KaggleDBQA
parse dev-beam dev.jsonl --strategy beam
for name in dev-beam dev-restricted; do
    spider_table $name dev-gold.jsonl "$spider/tables.json" "$spider/db"
done
# kaggle_records: prints KaggleDBQA's examples as JSONL with ids.
kaggle_records() {
    python3 -c '
import glob, json, os, sys
for path in sorted(glob.glob(sys.argv[1] + "/examples/*.json")):
    for i, e in enumerate(json.load(open(path))):
        name = os.path.basename(path)[: -len(".json")]
        print(json.dumps({"id": "%s-%d" % (name, i), "db_id": e["db_id"], "question": e["question"], "query": e["query"]}))' "$kaggle"
}
if [ -n "$kaggle" ]; then
    done_by kaggle.jsonl kaggle_records
    for strategy in beam logical-beam; do
        [ -e "kaggle-$strategy.jsonl" ] || some "$bin/ambit-infer" parse kaggle.jsonl "${model[@]}" --db "$kaggle/databases" --resume \
            --strategy "$strategy" -o "kaggle-$strategy.jsonl"
        spider_table "kaggle-$strategy" kaggle.jsonl "$kaggle/KaggleDBQA_tables.json" "$kaggle/databases"
    done
else
    echo "== KaggleDBQA: left out, expected its folder in KAGGLE"
fi

# --- table 2: classes of errors of the first statement of a wide beam
parse dev-wide dev.jsonl --strategy beam --beams 25 -k 25
spider_table dev-wide dev-gold.jsonl "$spider/tables.json" "$spider/db" -k 25 --errors

# --- figure 4: coverage by beam width, and by number of statements of the widest beam
read -ra widths <<<"${BEAMS:-10 15 20 25}"
for width in "${widths[@]}"; do
    parse "beam-$width" asked.jsonl --strategy beam --beams "$width" -k 15
    table "beam-$width"
done
table "beam-${widths[-1]}" 10
table "beam-${widths[-1]}" 15

# --- table 8: a chat model with the authors' prompt and with that of Liu et al.  Answers of another program may lie in
# OUT/chat-FORM.answers.jsonl.
# chat FORM OPTION...: asks the chat model with a form of prompts.
chat() {
    [ -e "chat-$1.prompts.jsonl" ] ||
        some "$bin/ambit-infer" parse asked.jsonl --db "$spider/db" --write-prompts "$1" -o "chat-$1.prompts.jsonl"
    if [ -n "$chat" ] && [ ! -e "chat-$1.answers.jsonl" ]; then
        some "$bin/ambit-infer" generate "chat-$1.prompts.jsonl" --model "$chat" --resume "${@:2}" -o "chat-$1.answers.jsonl"
    fi
    if [ ! -e "chat-$1.answers.jsonl" ]; then
        echo "== chat-$1: left out, expected a model in CHAT or answers in $out/chat-$1.answers.jsonl"
        return
    fi
    [ -e "chat-$1.jsonl" ] ||
        some "$bin/ambit-infer" parse asked.jsonl --db "$spider/db" --answers "chat-$1.answers.jsonl" -o "chat-$1.jsonl"
    table "chat-$1"
}
chat list --max-new 1000
chat zero-shot --max-new 300 --n 5 --temperature 0.6

# --- parse | clarify: accuracy after 0, 1, 2 questions
parse candidates asked.jsonl --write-candidates -k 20
some "$bin/ambit-infer" clarify --candidates candidates.jsonl --schema "$spider/tables.json" --simulate --noise 0 --max-turns 2 -o dialogues.jsonl
echo "== clarify: accuracy after 0, 1, 2 questions"
tail -1 dialogues.jsonl | grep -o '"accuracy":\[[^]]*\]'

#!/usr/bin/env bash
# Trains a small encoder-decoder on three tasks: infilling, writing all interpretations, and writing the SQL of all of them.
# Scores default interpretations, infilled ones, end-to-end parsing and gold interpretations by execution on held-out
# databases.  Prints recall, precision, F1, one_found, all_found, and paired gains.
# usage: SPIDER=DIR AMBIQT=DIR bench/infill.sh OUT [BASE]
# BASE is a folder of initial weights (`third` of bench/logicalbeam.sh); the test records then come from Spider's dev
# questions.  Without it, a first model learns from scratch to copy, and the test records come from 21 databases of the
# training questions.
# SPIDER holds tables.json, train_spider.json, dev.json and db; AMBIQT holds two_col_synonyms.json and
# two_tbl_synonyms.json.  LESSONS=N trains on N times 264,000 tokens (default: 8; a small model needs millions of tokens).
# EVERY=4 tests every fourth of the held-out records.  Existing files in OUT are kept, and interrupted training is resumed.
set -euo pipefail
spider=$(realpath "${SPIDER:-../shared/data/spider}")
ambiqt=$(realpath "${AMBIQT:-../shared/data/ambiqt}")
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
bench=$(realpath "$(dirname "$0")")
every=${EVERY:-1}
many=${LESSONS:-8}
base=${2:+$(realpath "$2")}
mkdir -p "${1:?the folder to fill}/prompts" && cd "$1"
covered="All possible interpretations are covered"

# done_by FILE COMMAND...: writes the output of COMMAND to FILE, unless FILE exists.  A failed command leaves no FILE.
done_by() { [ -e "$1" ] || { "${@:2}" >"$1.new" && mv "$1.new" "$1"; }; }
# some COMMAND...: runs COMMAND, and accepts exit code 7: some records failed.
some() { "$@" || [ $? = 7 ]; }

# Short prompts save tokens.
printf '{}\n\nQuestion: {}\n\nExisting:\n{}\n\nMissing:\n' >prompts/fill.txt
printf '{}\n\nQuestion: {}\n\nReadings:\n' >prompts/gold.txt
printf '{}\n\nQuestion: {}\n\nSQL:\n' >prompts/e2e.txt
ask=(--context compact --prompt-dir prompts)

# --- records: interpretations in words, then prompts and completions of each target, with the same split of databases.
# ambiguous NAME DATABASES OPTION...: makes AmbiQT records of the given questions, and writes NAME.readings.jsonl.
ambiguous() {
    [ -e "$1.ambiguous.jsonl" ] || some "$bin/ambit-data" ambiguate --kinds C,T --spider "$spider" --synonyms "$ambiqt/two_col_synonyms.json" \
        --table-synonyms "$ambiqt/two_tbl_synonyms.json" --db "$spider/db" --materialise "$2" --published-databases "${@:3}" -o "$1.ambiguous.jsonl"
    [ -e "$1.readings.jsonl" ] || "$bin/ambit-data" infilling rewrite "$1.ambiguous.jsonl" --db "$2" -o "$1.readings.jsonl"
}
ambiguous train databases --questions "$spider/train_spider.json"

# pairs FILE: converts conversations to prompts and completions.  short FILE: keeps only these and the ids.
pairs() { sed -E 's/"messages":\[\{"role":"user","content":/"prompt":/; s/\},\{"role":"assistant","content":/,"completion":/; s/\}\]\}$/}/' "$1"; }
short() { pairs "$1" | sed -E 's/^(\{"id":"[^"]*","db_id":"[^"]*",).*("prompt":)/\1\2/'; }
# named FILE: keeps only the tables of each record's schema that its gold statements name.
named() {
    pairs "$1" | awk '{
        split("", said)
        for (rest = tolower($0); match(rest, /"sql":"([^"\\]|\\.)*"/); rest = substr(rest, RSTART + RLENGTH)) {
            n = split(substr(rest, RSTART + 7, RLENGTH - 8), words, /[^a-z0-9_]+/)
            for (i = 1; i <= n; i++) { gsub(/_/, "", words[i]); said[words[i]] = 1 }
        }
        match($0, /"prompt":"/)
        from = RSTART + RLENGTH
        to = index($0, "\\n\\nQuestion: ")
        n = split(substr($0, from, to - from), lines, /\\n/)
        schema = ""
        for (i = 1; i <= n; i++) {
            name = tolower(substr(lines[i], 1, index(lines[i], ":") - 1))
            gsub(/[ _]/, "", name)
            if (name in said) schema = schema (schema == "" ? "" : "\\n") lines[i]
        }
        if (schema != "") print substr($0, 1, from - 1) schema substr($0, to)
    }'
}
words() { "$bin/ambit-data" infilling substitute "$@"; }
for target in infill gold e2e; do
    [ -e $target.jsonl ] || "$bin/ambit-data" infilling annotate train.readings.jsonl --db databases --target $target "${ask[@]}" -o $target.jsonl
    [ -e $target ] || "$bin/ambit-data" split $target.jsonl --valid-share 0.1 --test-share 0.15 -o $target
    done_by $target.named.jsonl named $target/train.jsonl
    done_by $target.named.words.jsonl words $target.named.jsonl --copies 2 --seed 1
    done_by $target.train.jsonl short $target/train.jsonl
    done_by $target.valid.jsonl short $target/valid.jsonl
    done_by $target.train.words.jsonl words $target.train.jsonl --copies 1 --seed 12
done

# --- lessons: first copying, on short schemas with substituted words, then the three tasks on whole schemas.
# lot CHARACTERS NUMBER SEED FILE [lacking|covered]: samples NUMBER records of at most CHARACTERS characters.
lot() {
    awk -v most="$1" -v which="${5:-}" -v covered="$covered" 'length($0) <= most && (which == "" || (which == "covered") == (index($0, covered) > 0))' "$4" |
        shuf -n "$2" --random-source=<(yes "$3")
}
mixed() { shuf --random-source=<(yes 1); }
first() {
    lot 433 4200 1 infill.named.words.jsonl lacking
    lot 433 400 2 infill.named.words.jsonl covered
    lot 395 700 3 gold.named.words.jsonl
    lot 396 500 4 e2e.named.words.jsonl
}
# lessons: writes the three tasks on whole schemas, a fifth of them with substituted words.
lessons() {
    lot 540 $((620 * many)) 11 infill.train.jsonl lacking
    lot 500 $((240 * many)) 12 infill.train.words.jsonl lacking
    lot 540 $((160 * many)) 13 infill.train.jsonl covered
    lot 480 $((250 * many)) 21 gold.train.jsonl
    lot 440 $((60 * many)) 22 gold.train.words.jsonl
    lot 480 $((260 * many)) 31 e2e.train.jsonl
    lot 440 $((40 * many)) 32 e2e.train.words.jsonl
}
done_by lessons.jsonl mixed < <(lessons)
done_by valid.jsonl lot 900 30 7 infill.valid.jsonl lacking

learn() {
    "$bin/ambit-train" seq2seq --tokens 4096 --epochs 1 --dropout 0 --length 512 --batch 8 --warmup 0.02 --valid valid.jsonl \
        --save-every 100 --resume "$@"
}
if [ -z "$base" ]; then
    done_by first.jsonl mixed < <(first)
    [ -e vocabulary ] || "$bin/ambit-train" tokenizer --vocab 2048 --split words -o vocabulary {infill,gold,e2e}/train.jsonl
    learn --tokenizer vocabulary --initialisation copy --hidden 128 --layers 3 --heads 4 --intermediate 384 --data first.jsonl --lr 1.5e-3 \
        --schedule constant --eval-every 200 -o first
    base=first
fi
learn --base "$base" --data lessons.jsonl --lr 1e-3 -o taught

# --- four systems; an interpretation gets the SQL of the gold statement with the same words, or none
db=databases
asked=infill/test.jsonl
if [ -n "${2:-}" ]; then
    db=asked.databases
    asked=asked.jsonl
    ambiguous asked $db
    [ -e $asked ] || "$bin/ambit-data" infilling annotate asked.readings.jsonl --db $db "${ask[@]}" -o $asked
fi
done_by held.jsonl awk -v every="$every" 'NR % every == 0' $asked
infill() { [ -e "$1.jsonl" ] || some "$bin/ambit-infer" infill held.jsonl --db $db "${@:2}" "${ask[@]}" -o "$1.jsonl" --resume; }
answer() { # TARGET TOKENS: generates the model's completions of the prompts of TARGET
    some "$bin/ambit-infer" infill held.jsonl --db $db --write-prompts "$1" "${ask[@]}" -o "$1.prompts"
    [ -e "$1.answers" ] || some "$bin/ambit-infer" generate --model taught "$1.prompts" --max-new "$2" -o "$1.answers" --resume
}
infill default --defaults held.jsonl --sqls held.jsonl
infill infilled --defaults held.jsonl --sqls held.jsonl --model taught --max-new 100
answer e2e 150
infill end-to-end --e2e e2e.answers
answer gold 150
infill gold-interpretations --defaults gold.answers --sqls held.jsonl
for system in default infilled end-to-end gold-interpretations; do
    echo "== $system"
    some "$bin/ambit-data" score --rule dfpl --db $db --pred "$system.jsonl" --per-example "$system.each.jsonl"
done
for system in infilled end-to-end gold-interpretations; do
    echo "== $system after default"
    awk -f "$bench/gain.awk" default.each.jsonl "$system.each.jsonl"
done
echo "curves: $PWD/taught/report.html"

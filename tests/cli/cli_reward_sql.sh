#!/usr/bin/env bash
# ambit-train reward --sql-model and --lm: interpretations in words that no record has find their golds by the SQL of a model
# or of a server.  A run that is killed and resumed ends with the files of an undisturbed one.  Bad input.
# usage: cli_reward_sql.sh [KILLS [SEED]]
kills=${1:-1}
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
# shellcheck source=tests/support/kill.sh
. "$support/kill.sh"
# shellcheck source=tests/support/lm_records.sh
. "$support/lm_records.sh"
# shellcheck source=tests/support/lm_server.sh
. "$support/lm_server.sh"

# --- an infilling model that writes the missing interpretation in new words
bakery_records all.jsonl
grep '"missing": *\["[^"]*"\]' all.jsonl >records.jsonl
sed -E 's/("role": ?"assistant", ?"content": ?")/\1Kindly, /' records.jsonl >new.jsonl
train tokenizer new.jsonl --vocab 500 -o words 2>>log || fail "tokenizer"
small=(--tokenizer words --method full --hidden 64 --heads 2 --groups 1 --layers 2 --intermediate 128 --device cpu --batch 3 --lr 4e-3)
train infill "${small[@]}" --data new.jsonl --out start --epochs 120 >>log 2>&1 || fail "infill"

# --- a model that writes the SQL of these words, and a server that does the same.  Its prompt is that of the option --prompt-dir.
mkdir prompts
printf '{}\n\nAsk: {}\n\nSQL:\n' | tee prompts/sql.txt >prompts/e2e.txt
awk '{
    match($0, /"db_id": *"[^"]*"/); db = substr($0, RSTART, RLENGTH)
    for (rest = $0; match(rest, /\{"text": *"[^"]*", *"sql": *"[^"]*"/); rest = substr(rest, RSTART + RLENGTH)) {
        gold = substr(rest, RSTART, RLENGTH); text = gold; sub(/^.*"text": *"/, "", text); sub(/".*/, "", text)
        sql = gold; sub(/^.*"sql": *"/, "", sql); sub(/".*/, "", sql)
        print "{\"id\":" NR * 10 + ++n ",\"x\":0," db ",\"question\":\"Kindly, " text "\",\"golds\":[{\"sql\":\"" sql "\"}]}"
        print "{\"match\":\"Kindly, " text "\",\"texts\":[\"" sql "\"]}" >"answers.jsonl"
    }
}' records.jsonl >questions.jsonl
made infilling annotate questions.jsonl --db dbs --target e2e --context compact --prompt-dir prompts -o sql.jsonl
train infill "${small[@]}" --data sql.jsonl --out writer --epochs 120 >>log 2>&1 || fail "the SQL model"

# --- the same completions by known words, by the SQL model and by the server
common=(reward --base start --db dbs --device cpu --compute f32 --max-new 40 --method full --context compact --prompt-dir prompts)
once=("${common[@]}" --data records.jsonl --test records.jsonl --batch 3 --epochs 1 --lr 1e-4 --samples 4)
recall() { sed -E 's/.*"recall":([^,}]*).*/\1/' "$1" | awk '{ s += $1 } END { print s / NR }'; }
above() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }'; }
serve answers=answers.jsonl
train "${once[@]}" --out known >>log 2>&1 || fail "known words"
train "${once[@]}" --sql-model writer --out modelled >>log 2>&1 || fail "the SQL model in the loop: $(tail -n 2 log)"
train "${once[@]}" --lm "$url" --cache cache.jsonl --out served >>log 2>&1 || fail "the server in the loop: $(tail -n 2 log)"
[ "$(recall known/start.jsonl)" = 0 ] || fail "known words find new ones: $(cat known/start.jsonl)"
above "$(recall modelled/start.jsonl)" 0.5 || fail "the SQL model finds too little: $(cat modelled/start.jsonl)"
above "$(recall served/start.jsonl)" 0.5 || fail "the server finds too little: $(cat served/start.jsonl)"
texts() { sed -E 's/.*"text":"([^"]*)".*/\1/' "$1/start.jsonl"; }
[ "$(texts known)" = "$(texts served)" ] || fail "the completions differ"
before=$(requests)
train "${once[@]}" --lm "$url" --cache cache.jsonl --out again >>log 2>&1 || fail "the cache"
[ "$(requests)" = "$before" ] || fail "$(($(requests) - before)) requests were not in the cache"
same_folders served again -x 'events.*' -x config.yaml || fail "a run from the cache differs"

# --- killed and resumed
train() {
    local folder=$PWD/$1
    [ ! -e "$folder/config.yaml" ] || { cd "$work" && exec "$bin/ambit-train" reward --resume --out "$folder"; }
    exec "$bin/ambit-train" "${common[@]}" --data records.jsonl --valid records.jsonl --test records.jsonl --sql-model writer --batch 3 --epochs 6 --lr 1e-3 --samples 4 \
        --reuse 2 --eval-every 6 --save-every 5 --resume --out "$1"
}
same() { same_folders "$1" "$2" -x config.yaml -x 'events.*' || fail "$1 and $2 differ"; }
kill_and_resume whole killed "$kills"

# --- bad input
reward() { "$bin/ambit-train" reward --device cpu --base start --data records.jsonl --db dbs --out new "$@"; }
check "a model and a server" 2 "--sql-model and --lm cannot be used together" reward --sql-model writer --lm "$url"
check "a model and a program" 2 "--sql-model and --reward-program cannot be used together" reward --sql-model writer --reward-program cat
check "no model" 6 "nowhere" reward --sql-model nowhere
check "no address" 2 "lm" reward --lm nowhere
check "no prompts" 2 "expected def.txt" reward --sql-model writer --prompt-dir dbs
made infilling annotate all.jsonl --db dbs --target e2e -o own.jsonl
check "own SQL and a model" 2 "own.jsonl: record of id .* of the task e2e have their own SQL" reward --data own.jsonl --sql-model writer
run 2 "$bin/ambit-train" reward --resume --out killed --sql-model start
grep -q "the data of the run to resume were others" said || complain "another SQL model on going on" "$(cat said)"
serve first=1000 fault=400
run 1 "$bin/ambit-train" "${once[@]}" --lm "$url" --out refused
grep -q -- "--lm: no SQL of an interpretation" said || complain "a server that refuses" "$(cat said)"
finish

#!/usr/bin/env bash
# ambit-train reward: a tiny model generates mostly wrong and sometimes right completions.  It learns from their rewards, so the
# reward of greedy completions rises.  A run that is killed at random moments and resumed ends with the files of an undisturbed
# run, byte for byte, also if several steps learn from one sampling.  Export of its adapter; bad input.
# usage: cli_reward.sh [KILLS [SEED]]
kills=${1:-2}
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
# shellcheck source=tests/support/kill.sh
. "$support/kill.sh"
# shellcheck source=tests/support/lm_records.sh
. "$support/lm_records.sh"

# --- records of one database, and a model with mostly wrong training data
bakery_records records.jsonl
train tokenizer records.jsonl --vocab 500 -o words 2>>log || fail "tokenizer"
# Two of three completions of each prompt are wrong, so the model generates the right one sometimes.
sed -E 's/("role": ?"assistant", ?"content": ?")([^"\\]|\\.)*"/\1A reading that nobody knows."/' records.jsonl >wrong.jsonl
[ "$(grep -c 'nobody knows' wrong.jsonl)" = "$(wc -l <records.jsonl)" ] || fail "wrong answers: $(cat wrong.jsonl)"
cat records.jsonl wrong.jsonl wrong.jsonl >taught.jsonl
train infill --tokenizer words --method full --hidden 64 --heads 2 --groups 1 --layers 2 --intermediate 128 --device cpu --data taught.jsonl --out start --epochs 20 --batch 3 --lr 4e-3 >>log 2>&1 || fail "infill"

# mean FILE: of its rewards
mean() { sed -E 's/.*"reward":([^,}]*).*/\1/' "$1" | awk '{ s += $1 } END { print s / NR }'; }
common=(reward --base start --data records.jsonl --db dbs --device cpu --compute f32 --max-new 24 --schedule constant)
train "${common[@]}" --method full --valid records.jsonl --test records.jsonl --batch 9 --epochs 30 --eval-every 5 --lr 1e-3 --out risen >>log 2>&1 || fail "reward training"
for file in start.jsonl test.jsonl; do
    [ "$(wc -l <risen/$file)" = "$(wc -l <records.jsonl)" ] || fail "risen/$file: $(cat risen/$file)"
done
awk -v a="$(mean risen/start.jsonl)" -v b="$(mean risen/test.jsonl)" 'BEGIN { print "reward " a " before, " b " after"; exit !(b > a + 0.15) }' || fail "the reward does not rise"
best=$(sed -nE 's/.*"valid_reward":([^,}]*).*/\1/p' risen/metrics.jsonl | sort -g | tail -n 1)
awk -v a="$best" -v b="$(mean risen/test.jsonl)" 'BEGIN { d = a - b; exit !(d < 1e-6 && d > -1e-6) }' || fail "the best reward $best is not that of the model kept"
grep -q '"reward":.*"completion_tokens":.*"equal_rewards":' risen/metrics.jsonl || fail "metrics: $(head -n 2 risen/metrics.jsonl)"
tr -d '\n' <risen/report.html | grep -q 'recall, by recall' || fail "the report has no table of the test records"
grep -qE "\"verdict\">By training, the mean reward of [0-9]+ test records rises from $(mean risen/start.jsonl | xargs printf %.3f) to $(mean risen/test.jsonl | xargs printf %.3f)\.<" risen/report.html || fail "the verdict: $(grep verdict risen/report.html)"
infer loss --model risen --device cpu records.jsonl -o losses.jsonl 2>>log || fail "the trained model cannot be run"

# --- killed and resumed
train() {
    local folder=$PWD/$1
    [ ! -e "$folder/config.yaml" ] || { cd "$work" && exec "$bin/ambit-train" reward --resume --out "$folder"; }
    exec "$bin/ambit-train" "${common[@]}" --valid records.jsonl --test records.jsonl --batch 4 --epochs 8 --lr 2e-3 --eval-every 6 --save-every 5 --resume --out "$1" "${how[@]}"
}
same() {
    local file
    for file in ambit.h5 start.jsonl test.jsonl metrics.jsonl report.html; do
        [ -s "$1/$file" ] || fail "$1 has no $file"
    done
    same_folders "$1" "$2" -x config.yaml -x 'events.*' || fail "$1 and $2 differ"
}
how=(--method full --reuse 2 --samples 6)
kill_and_resume whole-weights weights $((kills / 2))
how=(--rank 4 --kl 0.05 --reuse 3)
kill_and_resume whole-adapter adapter $(((kills + 1) / 2))
"$bin/ambit-train" export whole-adapter --format merged --verify -o merged >>log 2>&1 || fail "export"

# --- rewards by a program, without databases; it does not look at golds.  Longer completions get more.
judge="sed -E 's/.*\"text\":\"(.*)\"}\$/\\1/' | awk '{ print \"{\\\"reward\\\": \" length() / 100 \"}\" }'"
sed -E 's/"golds": *\[/"unused": [/' records.jsonl >plain.jsonl
own=(--base start --data plain.jsonl --device cpu --compute f32 --max-new 12 --method full --samples 4 --batch 9 --epochs 2 --lr 1e-3)
for name in first second; do
    "$bin/ambit-train" reward "${own[@]}" --valid plain.jsonl --test plain.jsonl --reward-program "$judge" --out $name >>log 2>&1 || fail "a reward program: $(tail -n 2 log)"
done
same_folders first second -x 'events.*' -x config.yaml || fail "two runs of a program differ"
grep -q '"valid_reward"' first/metrics.jsonl || fail "no valid_reward: $(cat first/metrics.jsonl)"
grep -q '"valid_recall"' first/metrics.jsonl && fail "the recall of a program: $(cat first/metrics.jsonl)"
grep -q '"text":"A reading that nobody","reward":0.21' first/test.jsonl || fail "rewards: $(cat first/test.jsonl)"
# broken NAME CODE MESSAGE PROGRAM OPTION...: a program that misbehaves ends the run.
broken() {
    run "$2" "$bin/ambit-train" reward "${own[@]}" --out broken --force --reward-program "$4" "${@:5}"
    grep -qE -- "--reward-program: $3" said || complain "$1" "expected \"$3\": $(cat said)"
    rm -rf broken
}
one='echo "{\"reward\": 1}"'
broken "a program that dies" 1 "after line 1 of its output, of 36: exit status 4" "$one; exit 4"
broken "a program that is slow" 1 "after line 0 of its output, of 36: not finished after 0.2 seconds" 'sleep 100' --reward-timeout 0.2
broken "a program of garbage" 3 'line 2 of its output: expected .* got nonsense' "$one; echo nonsense"
broken "a program that is silent" 3 'line 2 of its output: expected a line for each of 36 completions, got 1' "$one"

# --- bad input: message, exit code, nothing left behind
reward() { "$bin/ambit-train" reward --device cpu --out new "$@"; }
good=(--base start --data records.jsonl --db dbs)
check "no database" 2 "--db, or --reward-program" reward --base start --data records.jsonl
check "a program and known words" 2 "--sqls and --reward-program" reward "${good[@]}" --reward-program cat --sqls records.jsonl
check "no time for a program" 2 "--reward-timeout: expected" reward "${good[@]}" --reward-program cat --reward-timeout 0
check "a folder of none" 3 "nowhere" reward --base start --data records.jsonl --db nowhere
check "no start" 2 "--base" reward --data records.jsonl --db dbs
check "one answer" 2 "--samples: expected 2 to 64" reward "${good[@]}" --samples 1
check "a divergence of every weight" 2 "kl: expected --method lora" reward "${good[@]}" --kl 0.1 --method full
check "a divergence beside a whole head" 2 "kl: expected --method lora, and --head none or lora" reward "${good[@]}" --kl 0.1 --head full
check "a clip above all" 2 "--clip-low: expected 0 to 1" reward "${good[@]}" --clip-low 2
check "no SQL file" 3 "nowhere.jsonl" reward "${good[@]}" --sqls nowhere.jsonl
check "no test file" 3 "nowhere.jsonl" reward "${good[@]}" --test nowhere.jsonl
sed '2s/"db_id": *"[^"]*"/"db_id":"elsewhere"/' records.jsonl >bad.jsonl
check "a database that is not there" 3 "bad.jsonl: record of id .*elsewhere" reward "${good[@]}" --data bad.jsonl
sed '2s/select/selec/g' records.jsonl >bad.jsonl
check "a gold that does not run" 3 "bad.jsonl: record of id .*gold 1 does not execute" reward "${good[@]}" --data bad.jsonl
sed -E '2s/"sql": *"[^"]*"/"sql":"drop table baker"/' records.jsonl >bad.jsonl
check "a gold that writes" 3 "bad.jsonl: record of id .*gold 1 does not execute: .*not allowed" reward "${good[@]}" --data bad.jsonl
sed -E '1s/"db_id": *"/"db_id":"..\/..\//' records.jsonl >bad.jsonl
check "a database outside" 3 'bad.jsonl: record of id .*expected the name of a database, got "../../' reward "${good[@]}" --test bad.jsonl
: >bad.jsonl
check "no records" 3 "bad.jsonl: no conversation" reward "${good[@]}" --data bad.jsonl
check "an advantage of no form" 2 "--advantage: expected one of scaled.plain" reward "${good[@]}" --advantage loud
sed -E '2s/"golds": *\[/"golds":[7,/' records.jsonl >bad.jsonl
check "a gold that is a number" 3 'bad.jsonl: record of id .*, gold 1: .*"sql"' reward "${good[@]}" --data bad.jsonl
sed -E '2s/"golds":/"gold":/' records.jsonl >bad.jsonl
check "no golds" 3 'bad.jsonl.*golds' reward "${good[@]}" --valid bad.jsonl
printf '{"db_id":"bakery","text":"x","sql":7}\n' >sql.jsonl
check "SQL that is a number" 3 'sql.jsonl: line 1: field "sql"' reward "${good[@]}" --sqls sql.jsonl
check "no model" 6 "nowhere/config.json" reward "${good[@]}" --base nowhere
cp -r adapter spoilt && sed -i 's/"sums"/"sun"/' spoilt/checkpoint-*/reward.json
run 3 "$bin/ambit-train" reward --resume --out spoilt --epochs 9
grep -q 'reward.json: .*"sums"' said || complain "a spoilt state" "does not name file and field"
check "another penalty on going on" 2 "penalty" "$bin/ambit-train" reward --resume --out adapter --penalty 1
check "other SQL on going on" 2 "the data of the run to resume were others" "$bin/ambit-train" reward --resume --out adapter --sqls readings.jsonl
finish

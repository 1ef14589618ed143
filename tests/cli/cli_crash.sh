#!/usr/bin/env bash
# A statement that crashes SQLite fails its record alone, in every command that runs SQL.  The worker process ends with the
# program.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
told=(shown said out.jsonl)

data practice -o practice --seed 1 >said 2>&1 || exit 1
mkdir db && mv practice/db/bakery.sqlite db && rm -r practice
ones=$(printf '1,%.0s' $(seq 64)) texts=$(printf "'x',%.0s" $(seq 63))
crash="SELECT DISTINCT ${ones}1 ORDER BY ${texts}'x'" # 65 and 64 of them
why='the SQL worker crashed on this statement \((signal|exit code) [0-9]+\)'
record() { printf '{"id":"%s","db_id":"bakery","sql":"%s"}\n' "$1" "$2"; }
record 1 "$crash" >crash.jsonl
data execute --db db crash.jsonl 2>said | grep -qE "$why" || { echo "this SQLite does not crash" && exit 77; }

# --- execute: its neighbours are as ever, however often it comes
{ record 1 "SELECT 1" && record 2 "$crash" && record 3 "SELECT 3" && record 4 "$crash " && record 5 "SELECT 5"; } >in.jsonl
for threads in 1 3; do
    expect 7 "\"id\":\"2\".*\"status\":\"failed\",\"message\":\"$why\"" env OMP_NUM_THREADS=$threads "$bin/ambit-data" execute --db db in.jsonl -o out.jsonl
    [ "$(grep -c '"status":"ok"' out.jsonl)" = 3 ] || complain execute "its neighbours fail too"
    grep -q '5 records, 2 failed, 0 of an earlier run' said || complain execute "other counts"
done

# --- a run that is killed, and goes on: the error is kept, and no worker is left
endless="WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n FROM c) SELECT count(*) FROM c"
{ record 0 "$crash" && for i in $(seq 255); do record "$i" "SELECT $i"; done && record last "$endless"; } >long.jsonl
options=(execute --db db long.jsonl -o long.out --vm-steps 1000000000000)
"$bin/ambit-data" "${options[@]}" --timeout 600 >shown 2>said &
program=$!
until [ -e long.out.part ] && [ "$(wc -l <long.out.part)" -ge 256 ] || ! kill -0 $program 2>/dev/null; do sleep 0.01; done
worker=$(cat /proc/$program/task/*/children)
[ -n "$worker" ] || complain "a worker" "there is none"
kill -KILL $program
wait $program 2>/dev/null
for _ in $(seq 100); do
    [ -e "/proc/${worker% }" ] || break
    sleep 0.05
done
[ ! -e "/proc/${worker% }" ] || complain "the worker of a program that was killed" "runs on"
head -n 256 long.jsonl >short.jsonl
cp long.out.part long.kept
run 7 data execute --db db short.jsonl -o long.out --vm-steps 1000000000000 --timeout 600 --resume
grep -q '256 records, 1 failed, 256 of an earlier run; 0 queries run' said || complain "--resume" "$(cat said)"
head -n 1 long.out | grep -qE "\"id\":\"0\".*$why" || complain "--resume" "the error is not kept: $(head -n 1 long.out)"

# --- clarify, in all its forms: statements that cannot be run are candidates without rows
candidates="[{\"sql\":\"SELECT name FROM baker\",\"p\":0.4},{\"sql\":\"$crash\",\"p\":0.3},{\"sql\":\"SELECT shift FROM baker\",\"p\":0.3}]"
echo "{\"id\":\"c\",\"db_id\":\"bakery\",\"question\":\"Which bakers?\",\"candidates\":$candidates}" >candidates.jsonl
expect 0 '"ask":\{"attribute"' infer clarify --candidates candidates.jsonl --db db -o out.jsonl
reply=$(echo "{\"op\":\"start\",\"record\":$(cat candidates.jsonl)}" | infer clarify --db db --serve-stdio 2>said)
[[ $reply == *'"ask":{"attribute"'* ]] || complain "--serve-stdio" "$reply"
sed 's/"question"/"gold":["SELECT name FROM baker"],"question"/' candidates.jsonl >gold.jsonl
expect 0 '"dialogues":1,"gold_errors":0' infer clarify --candidates gold.jsonl --db db --simulate -o out.jsonl

# --- scores, readings, ambiguous questions, examples for infilling
{ record a "SELECT 1" && record b "SELECT 2" && record c "$crash"; } >gold.jsonl
{ record a "SELECT 1" && record b "$crash" && record c "SELECT 3"; } >pred.jsonl
expect 7 '3' data score --gold gold.jsonl --pred pred.jsonl --db db --per-example out.jsonl
grep -q '"id":"b"' out.jsonl || complain score "a record is lost"
echo "{\"id\":\"q\",\"db_id\":\"bakery\",\"question\":\"Which one?\",\"golds\":[{\"sql\":\"SELECT 1\",\"text\":\"The first?\"},{\"sql\":\"SELECT 2\",\"text\":\"The second?\"}],\"readings\":[{\"text\":\"One?\",\"sql\":\"SELECT 1\"},{\"text\":\"Two?\",\"sql\":\"$crash\"}]}" >in.jsonl
expect 0 '"target":"The second\?"' data infilling annotate --db db in.jsonl -o out.jsonl
expect 0 '"dropped":\[\{"text":"Two\?","from":"default","reason":"no SQL runs' infer infill in.jsonl --db db --defaults in.jsonl -o out.jsonl
{ echo "[{\"db_id\":\"bakery\",\"question\":\"What are the names of all bakers?\",\"query\":\"$crash\"}," &&
    echo '{"db_id":"bakery","question":"What are the names of all bakers?","query":"SELECT name FROM baker"}]'; } >questions.json
expect 0 'records' data ambiguate --kinds C,T --questions questions.json --db db --materialise made -o out.jsonl
finish

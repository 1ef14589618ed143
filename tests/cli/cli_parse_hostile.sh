#!/usr/bin/env bash
# ambit-infer parse on the schemas of tests/support/hostile_schemas.c, as SQLite files: every statement that a template was
# filled with runs, and where there is none the record says why.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

# --- the files: each string of the C source is a script, its escapes are those of printf but for quotes
source=$support/hostile_schemas.c
# strings NAME: of a list in the source, a line each, escapes as they are
strings() { sed -n "/ $1\[.*{\$/,/^};/p" "$source" | sed -nE 's/^ +"(.*)"(,?)$/\1\2/p' | awk '/,$/ { print all substr($0, 1, length - 1); all = ""; next } { all = all $0 }'; }
mkdir databases
n=0
while IFS= read -r script; do
    printf '%b' "${script//\\\"/\"}" | sqlite3 "databases/h $n.sqlite" || fail "schema $n: $script"
    n=$((n + 1))
done < <(strings scripts)
wide=$(for i in {0..999}; do printf '"column %d" INT, ' "$i"; done)
sqlite3 "databases/h $n.sqlite" "CREATE TABLE wide0(${wide%, }); CREATE TABLE wide1(${wide%, }); CREATE TABLE narrow(id INT PRIMARY KEY);"
[ $n = 19 ] || fail "$n schemas in $source"

question=$(sed -nE 's/^const char hostile_question\[\] = (".*");/\1/p' "$source")
mapfile -t templates < <(strings hostile_templates | sed 's/.*/"&"/')
[ "${#templates[@]}" = 10 ] || fail "${#templates[@]} templates in $source"
five() { local IFS=,; echo "$*"; }
for i in {0..19}; do
    for half in 0 5; do
        echo "{\"id\":\"$i-$half\",\"db_id\":\"h $i\",\"question\":$question,\"template\":[$(five "${templates[@]:half:5}")]}"
    done
done >in.jsonl

cp -r "$gold/llama/base" lm && cp "$gold/bpe/llama/tokenizer.json" lm
sed -i 's/"eos_token_id": 1,/"eos_token_id": 1007,/; s/"max_position_embeddings": [0-9]*/"max_position_embeddings": 65536/' lm/config.json lm/generation_config.json
run 0 infer parse --device cpu --dtype f32 --beams 2 --max-new 200 --model lm --db databases in.jsonl -o out.jsonl
[ "$(wc -l <out.jsonl)" = 40 ] || complain "records" "$(wc -l <out.jsonl)"
! grep '^{"id":"[^"]*","db_id":"[^"]*","error"' out.jsonl | head -c 900 | grep . || complain "a record" "cannot be used"

# --- each template has statements, or the reason; all statements of filled templates run
sed 's/.*"templates"://; s/,"errors":.*//' out.jsonl >templates
[ "$(grep -oE '"sqls":\[\{"sql"|"sqls":\[\],"error":"template: no tables of the schema fit' templates | wc -l)" = 200 ] || complain "templates" "$(grep -oE '"sqls":\[\],"error":"[^"]*' templates)"
[ "$(grep -o '"sqls":\[{"sql"' templates | wc -l)" = 191 ] || complain "templates" "$(grep -o '"sqls":\[{"sql"' templates | wc -l) of 191 are filled"
paste -d ' ' <(sed -E 's/.*"db_id":"(h [0-9]+)".*/\1/' out.jsonl) templates | while read -r h n line; do
    grep -oE '"sql":"([^"\\]|\\.)*"' <<<"$line" | sed "s/.*/{\"db_id\":\"$h $n\",&}/"
done >run.jsonl
run 0 data execute --db databases run.jsonl -o ran.jsonl
! grep -v '"status":"ok"' ran.jsonl | head -n 3 | grep . || complain "statements" "do not run"
# a statement that runs has no error beside it
! grep -oE '"errors":.*' out.jsonl | grep -oE '"sql":"select ([^"\\]|\\.)*","error":"[^"]*"' | head -n 3 | grep . || complain "statements" "have errors"
finish

#!/usr/bin/env bash
# ambit-data candidates and calibrate: the records that each source gives, and bad input with its message and exit code.
# shellcheck disable=SC2016 # JSON with dollars, none of them the shell's
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
told=(said out.jsonl)
out() { data "$@" -o out.jsonl; }
# expect CODE TEXT COMMAND ARGUMENTS...: a line of standard error or of the output has the text
expect() { check "${*:3}" "$1" "$2" out "${@:3}"; }
shows() { grep -qE -- "$1" out.jsonl || complain "the output" "lacks $1"; }
lacks() { grep -qE -- "$1" out.jsonl && complain "the output" "has $1"; }

# --- plain
record() { printf '{"id":"r","db_id":"hr","question":"Who?","candidates":%s,"gold":%s}\n' "$1" "$2"; }
good='[{"sql":"SELECT name FROM staff","logprob":-1},{"sql":"SELECT id FROM staff","logprob":-2.0986122886681098}]'
record "$good" '["SELECT id FROM staff"]' >in.jsonl
expect 0 '"p":0.75.*"p":0.25' candidates in.jsonl
lacks logprob
shows '"gold":\["SELECT id FROM staff"\]'
expect 0 '"candidates":\[\{"sql":"SELECT name FROM staff","p":1.0\}\]' candidates in.jsonl --top 1
record '[{"sql":"a","p":0.5},{"sql":"b","p":0.25},{"sql":"c","p":0.25}]' '[]' >p.jsonl
expect 0 '"p":0.666666667.*"p":0.333333333' candidates --from plain p.jsonl -k 2
expect 0 '1 records, 3 candidates, 0 records failed' candidates p.jsonl
lacks 'sum to'
record '[{"sql":"a","p":0.6},{"sql":"b","p":0.2}]' '[]' >p.jsonl
expect 0 '"p":0.75\},\{"sql":"b","p":0.25\}' candidates p.jsonl
grep -q 'p.jsonl: line 1: candidates: "p" sum to 0.8, made to sum to 1' said || complain candidates "no warning of the sum"
record '["a",{"sql":"b"}]' '[]' >p.jsonl
expect 0 '"candidates":\[\{"sql":"a","p":0.5\},\{"sql":"b","p":0.5\}\]' candidates p.jsonl
grep -q 'p.jsonl: line 1: candidates without "p" .*equally likely' said || complain candidates "not told of equal ones"
bad() { # TEXT JSON: one bad record between two good ones
    { record "$good" '[]' && echo "$2" && record "$good" '[]'; } >bad.jsonl
    expect 7 "\"error\":.*$1" candidates bad.jsonl
    [ "$(grep -c '"p":0.75' out.jsonl)" = 2 ] || complain "$2" "its neighbours suffered"
}
bad 'candidates: expected 1 to 1000, got 0' "$(record '[]' '[]')"
bad 'candidates\[1\].*\\"p\\"' "$(record '[{"sql":"a","p":1},{"sql":"b"}]' '[]')"
bad 'logprob' "$(record '[{"sql":"a","logprob":1e300}]' '[]')"
bad 'gold\[1\]: expected a string' "$(record "$good" '["a",7]')"
bad 'gold' "$(record "$good" '"a"')"
bad 'db_id' '{"id":"r","question":"q","candidates":[{"sql":"a","p":1}]}'
bad 'line 2' '{"id":'
bad 'line 2' '7'

# --- spider: marks by exact set match, from records and from lines
cat >boats.json <<'END'
[{"db_id":"harbour","table_names":["boat"],"table_names_original":["boat"],"column_names":[[-1,"*"],[0,"id"],[0,"name"]],
"column_names_original":[[-1,"*"],[0,"id"],[0,"name"]],"column_types":["text","number","text"],"primary_keys":[1],"foreign_keys":[]}]
END
boats() { printf '{"db_id":"harbour","question":"Which?","query":"SELECT name FROM boat WHERE id = 3"}\n{"db_id":"harbour","question":"And?","query":"%s"}\n' "$1" >boats.jsonl; }
boats 'SELECT id FROM boat'
cat >parsed.jsonl <<'END'
{"candidates":[{"sql":"SELECT id FROM boat","p":0.3},{"sql":"select name from boat where id = 4","p":0.6}],"none_of_the_above":0.1}
{"candidates":[{"sql":"SELECT id FROM boat","p":0.9},"SELECT name FROM boat"]}
END
sed -i 's/"SELECT name FROM boat"\]/{"sql":"SELECT name FROM boat","p":0.1}]/' parsed.jsonl
spider() { expect "$1" "$2" candidates --from spider --gold boats.jsonl --schema boats.json "${@:3}"; }
spider 0 '"id":1,"db_id":"harbour","question":"Which\?","hardness":"easy"' parsed.jsonl
shows '"candidates":\[\{"sql":"SELECT id FROM boat","p":0.3,"gold":\[\]\},\{"sql":"select name from boat where id = 4","p":0.6,"gold":\[0\]\}\]'
shows '"gold":\["SELECT name FROM boat WHERE id = 3"\]'
infer clarify --candidates out.jsonl --schema boats.json --simulate --noise 0 -o dialogues.jsonl >shown 2>said || complain clarify "$(cat said)"
grep '"id":1,' dialogues.jsonl | grep -q '"covered":true' || complain clarify "another value is not gold by its mark: $(cat dialogues.jsonl)"
spider 0 '1 records, 2 candidates' parsed.jsonl --below 0.7
printf 'select name from boat\nselect id from boat\n' >parsed.sql
spider 0 '"candidates":\[\{"sql":"select id from boat","gold":\[0\],"p":1.0\}\]' parsed.sql
echo '{"sql":[]}' >parsed.jsonl && spider 7 '"id":2,"error":"boats.jsonl: line 2: no predictions"' parsed.jsonl
boats 'SELECT mast FROM boat' && spider 7 'line 2: the gold statement is not in Spider.s grammar' parsed.sql
sed -i 's/harbour/bay/' boats.json && spider 7 'no schema \\"harbour\\" in boats.json' parsed.sql
spider 3 'parsed.sql: line 1: expected field .*which --below compares' parsed.sql --below 0.5
expect 2 'from spider requires --schema' candidates --from spider --gold boats.jsonl parsed.sql
expect 2 'from spider requires --gold' candidates --from spider --schema boats.json parsed.sql
expect 2 'below requires --from spider' candidates --below 0.5 in.jsonl

# --- ambiqt-output
gold='{"db_id":"harbour","question":"q","orig_query":"select name from boat","query1":"select name from boat","query2":"select t2.name from boat as t1 join boat_name as t2 on t1.id = t2.id","split_map":{"boat":"name"},"primary_key":{"boat":"id"},"schema_without_content":"boat : id , name \", \"stray , (x) \", length | boat_name : id , name "'
echo "$gold}" >gold.jsonl
predictions() { echo "[$gold,\"t2s_outs\":$1}]" >pred.json; }
predictions '["harbour | select name from boat","select name form boat","select name from boat as t1 join boat_name as t2 on t1.id = t2.id","select t2.length from boat as t1 join boat_name as t2 on t1.id = t2.id"]'
ambiqt() { expect "$1" "$2" candidates --from ambiqt-output pred.json --gold gold.jsonl "${@:3}"; }
ambiqt 0 '"id":"J-0","db_id":"harbour"'
shows '"candidates":\[\{"sql":"select name from boat","p":0.665240956\},\{"sql":"select boat_name\.name|t2\.name from'
shows '"sql":"select t1.length from'
shows '"rejected":\[\{"candidate":1,"sql":"select name form boat","error":'
shows '"schema":\{.*"db_id":"harbour"'
lacks stray
cp out.jsonl ambiqt.jsonl
ambiqt 0 '"temperature":0.5.*"p":0.8668' --temperature 0.5
ambiqt 0 '"candidates":\[\{"sql":"select name from boat","p":1.0\}\]' -k 1
cat >tables.json <<'END'
[{"db_id":"harbour","table_names":["boat"],"table_names_original":["boat"],"column_names":[[-1,"*"],[0,"id"],[0,"name"],[0,"length"]],
"column_names_original":[[-1,"*"],[0,"id"],[0,"name"],[0,"length"]],"column_types":["text","number","text","number"],"primary_keys":[1],"foreign_keys":[]}]
END
ambiqt 0 '"sql":"select name from boat","gold":\[0\],"p":[0-9.]*' --schema tables.json
shows '"gold":\[1\]'
shows '"gold":\[\]'
sed 's/harbour/marina/' tables.json >other.json
ambiqt 7 'row 0: db_id: no schema .*harbour' --schema other.json
ambiqt 3 'nowhere.json' --schema nowhere.json
predictions '[]'
ambiqt 7 'row 0: no predictions'
predictions '["drop table boat"]'
ambiqt 7 'candidates: expected 1 to 1000, got 0'
predictions '[7]'
ambiqt 3 'pred.json.*t2s_outs.*not a string'
gold=${gold/,\"schema_without_content\"*/}
predictions '["select name from boat"]'
echo "$gold}" >gold.jsonl
ambiqt 7 'schema_without_content.* is missing'

# --- dfpl and ambrosia
cat >dfpl.json <<'END'
{"results":[{"db_file":"data/scope/Deep Sea/boats/boats.sqlite","db_dump":"CREATE TABLE boat(name TEXT);","question":"q","is_ambiguous":true,
"ambig_type":"scope","gold_queries":["SELECT name FROM boat"],"interpretations":[{"interpretation":"i","sql_queries":["SELECT name FROM boat","SELECT 1"]},
{"interpretation":"j","sql_queries":["SELECT name FROM boat"]}]},
{"db_file":"boats.sqlite","db_dump":"","question":"q","is_ambiguous":false,"gold_queries":["SELECT 1"],"interpretations":[{"interpretation":"i"}]}]}
END
expect 7 '"id":"1","db_id":"Deep_Sea__boats","question":"q","ambiguous":true,"type":"scope"' candidates --from dfpl dfpl.json
shows '"sql":"SELECT 1","p":0.333333333'
shows '"id":"2","error":".*example 2: candidates: expected 1 to 1000, got 0'
echo '{"db":"Sea__boats","question":"q","is_ambiguous":true,"ambig_type":"vague","gold_queries":["SELECT 1","SELECT 2"],
"gold_interpretations":[{"questions":["a"]},{"questions":["b"]}]}' | tr -d '\n' >ambrosia.jsonl
expect 0 '"candidates":\[\{"sql":"SELECT 1","p":0.5\},\{"sql":"SELECT 2","p":0.5\}\],"gold":\["SELECT 1","SELECT 2"\]' candidates --from ambrosia ambrosia.jsonl
shows '"db_id":"Sea__boats","question":"q","ambiguous":true,"type":"vague"'
echo '{"db":"x","question":"q"}' >ambrosia.jsonl
expect 7 'gold_queries' candidates --from ambrosia ambrosia.jsonl
echo '{}' >dfpl.json
expect 3 'results' candidates --from dfpl dfpl.json

# --- calibrate: the second reading alone is told apart by its rank
expect 0 '"alpha":0.0,"temperature":' calibrate ambiqt.jsonl
shows '"coverage":1.0,.*"records":1,"golds":2,"covered":2,"coverage_at":\[\{"n":1,"mean":0.5,'
cp out.jsonl fit.json
golds='"SELECT name FROM staff","SELECT name FROM staff","SELECT name FROM staff","SELECT id FROM staff"'
for _ in 1 2 3 4; do record "$good" "[$golds]"; done >in.jsonl # the weights are right, in every half
sed 's/harbour/hr/;s/"boat"/"staff"/g' tables.json | sed 's/"length"/"hired"/g' >hr.json
expect 0 '"temperature":(1\.0|0\.99999|1\.00000)[0-9]*,' calibrate in.jsonl --schema hr.json
shows '"coverage":1\.0,"nll":0\.5623351'
shows '"keep":0\.0,"keep_share":0\.9,"seed":1,"fit_records":2,"keep_records":2,"records":4,' # two records can promise two in three
grep -q 'the threshold is 0, which keeps all candidates' said || complain calibrate "not told that all are kept"
expect 0 '"keep":0\.2499' calibrate in.jsonl --schema hr.json --keep 0.5 # the least probable gold of a record counts
for _ in 1 2 3 4; do record "$good" "[$golds,\"SELECT hired FROM staff\"]"; done >lost.jsonl
expect 0 '"coverage":0\.8,"nll":0\.5623351' calibrate lost.jsonl --schema hr.json --keep 0.5
shows '"keep":0\.0,' # each record has a gold that is among no candidates
{ cat in.jsonl lost.jsonl; record "$good" '["SELECT id FROM staff"]'; record "$good" '["SELECT name FROM staff"]'; } >mixed.jsonl
for seed in 1 1 2 3 4 5 6; do
    expect 0 "\"seed\":$seed,\"fit_records\":5,\"keep_records\":5" calibrate mixed.jsonl --schema hr.json --keep 0.5 --seed "$seed"
    grep -o '"temperature":[^,]*' out.jsonl >>temperatures
done
[ "$(head -n 2 temperatures | sort -u | wc -l)" = 1 ] || complain "one seed" "$(cat temperatures)"
[ "$(sort -u temperatures | wc -l)" -gt 1 ] || complain "several seeds" "$(cat temperatures)"
{ record "$good" '["SELECT hired FROM staff"]'; record "$good" '["SELECT id FROM staff"]'; } >half.jsonl
for seed in 1 2 3 4 5 6; do
    data calibrate half.jsonl --schema hr.json --seed $seed -o out.jsonl 2>>halves
done
grep -q 'none of the 1 records that fit the temperature has a gold statement' halves || complain "a half without golds" "$(cat halves)"
{ printf '{"id":"r","db_id":"hr","question":"Who?","candidates":%s,"gold":["SELECT 1"' "$good"; for _ in {1..1000}; do printf ',"SELECT 1"'; done; echo ']}'; } >many.jsonl
expect 3 'expected at most 1000 statements, got 1001' calibrate many.jsonl --schema hr.json
expect 2 'keep' calibrate in.jsonl --schema hr.json --keep 0
echo '{"alpha":1,"temperature":2,"coverage":0.8}' >cal.json
expect 0 '"p":0.[0-9]*,?.*"none_of_the_above":0.2' candidates in.jsonl --calibration cal.json
shows '"p":0.427[0-9]*\},.*"p":0.372[0-9]*\}' # .8 of sigmoid((2.0986 - 1) / 4 / 2)
echo '{"alpha":1,"temperature":0,"coverage":0.8}' >cal.json
expect 3 'cal.json.*temperature' candidates in.jsonl --calibration cal.json
echo '{"temperature":1,"coverage":0.8}' >cal.json
expect 3 'cal.json.*alpha' candidates in.jsonl --calibration cal.json
expect 3 'nowhere.json' candidates in.jsonl --calibration nowhere.json
expect 3 'no gold statement is among its candidates' calibrate bad.jsonl --schema hr.json
record "$good" '["SELECT nothing FROM staff"]' >>in.jsonl
expect 7 'failed.*line 5: gold\[0\]: .*nothing' calibrate in.jsonl --schema hr.json
expect 3 'no gold.*hr' calibrate in.jsonl
record "$good" '["SELECT 1"]' | sed 's/"id"/"schema":{"db_id":"hr"},"id"/' >own.jsonl
expect 3 'own.jsonl: line 1: field "schema"' calibrate own.jsonl
record "$good" '["SELECT 1"]' | sed 's/"id"/"schema":7,"id"/' >own.jsonl
expect 3 'own.jsonl: line 1: field "schema"' calibrate own.jsonl
expect 2 'cannot be used together' calibrate in.jsonl --schema hr.json --db .

# --- command line and files
expect 2 'from: expected one of' candidates --from csv in.jsonl
expect 2 'requires --from ambiqt-output' candidates in.jsonl --gold gold.jsonl
expect 2 'temperature: expected' candidates in.jsonl --temperature 0
expect 2 'top: expected' candidates in.jsonl --top 0
expect 2 'FILE' candidates
expect 2 'CANDIDATES' calibrate
expect 3 'nowhere.jsonl' candidates nowhere.jsonl
expect 3 'nowhere.jsonl' calibrate nowhere.jsonl

finish

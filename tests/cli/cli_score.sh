#!/usr/bin/env bash
# Malformed files before `ambit-data score --rule ambiqt`: the exit code of kernels/base.h, a message that names file,
# record and field, nothing on standard output, and no file left behind.
# shellcheck disable=SC2016 # JSON with dollars, none of them the shell's
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

score() { "$bin/ambit-data" score --rule ambiqt --pred pred.json --gold gold.jsonl --tables tables.json "$@"; }

# expect CODE TEXT OPTION...: and nothing on standard output; then all is good again
expect() {
    check "$2" "$1" "$2" score --per-example new.jsonl "${@:3}"
    [ ! -s shown ] || complain "$2" "printed $(head -c 200 shown)"
    good
}

# skips TEXT OPTION...: exit code 7, the record is listed with the text
skips() {
    local text=$1
    shift
    run 7 score --json "$@"
    grep -qE -- "\"skipped\".*$text" shown || complain "does not list \"$text\": $(cat shown)"
    good
}

record='{"db_id":"harbour","question":"q","orig_query":"select name from boat","query1":"a","query2":"b","split_map":{"boat":"name"},"primary_key":{"boat":"id"}'

good() {
    rm -rf pred.json
    echo "$record}" >gold.jsonl
    echo "[$record,\"t2s_outs\":[\"select name from boat\"]}]" >pred.json
    cat >tables.json <<'END'
[{"db_id":"harbour","table_names":["boat"],"table_names_original":["boat"],"column_names":[[-1,"*"],[0,"id"],[0,"name"]],
"column_names_original":[[-1,"*"],[0,"id"],[0,"name"]],"column_types":["text","number","text"],"primary_keys":[1],"foreign_keys":[]}]
END
}
# pred SED: one thing changed in the predictions; gold SED: in the gold
pred() { sed -i -E "$1" pred.json; }
gold() { sed -i -E "$1" gold.jsonl; }

good
run 0 score --json
grep -q '{"type":{"J":{"rows":1,"em":{"either":1,"both":0}}},"interval":{"J":{"em":{"either":null,"both":null}}}}' shown || complain "the good files score $(cat shown)"

# --- files
rm pred.json && expect 3 "pred.json: No such file"
rm gold.jsonl && expect 3 "gold.jsonl: No such file"
rm tables.json && expect 3 "tables.json: No such file"
rm pred.json && mkdir pred.json && expect 3 "pred.json: Is a directory"
: >pred.json && expect 3 "pred.json: expected records, got none"
echo '[]' >gold.jsonl && expect 3 "gold.jsonl: expected records, got none"
pred 's/.$//' && expect 3 "pred.json: record [0-9]+: line [0-9]+"
head -c 5000 /dev/urandom >pred.json && expect 3 "pred.json: "
printf '\x1f\x8b\x08\0' >pred.json && expect 3 "pred.json: the file is truncated"
echo 'select name from boat' >pred.json && expect 3 "pred.json: line 1"
printf '%100000s' '' | tr ' ' '[' >pred.json && expect 3 "pred.json: record 1: line 1: expected '\]'"
echo '[3]' >pred.json && expect 3 "pred.json: record 1: expected an object, got an integer"
echo '"a"' >gold.jsonl && expect 3 "gold.jsonl: line 1"
echo '{}' >tables.json && expect 3 "tables.json"

# --- fields
pred 's/"t2s_outs"/"outs"/' && expect 3 'pred.json: record 1: holds no predictions: expected field "t2s_outs", "template_filled"'
pred 's/"t2s_outs":.*\]\}/"t2s_outs":"select"}/' && expect 3 'pred.json: record 1: field "t2s_outs": expected an array, got a string'
pred 's/"t2s_outs":\[/&3,/' && expect 3 'pred.json: record 1: field "t2s_outs": element 0 is not a string'
pred 's/"t2s_outs":\[/&["a"],/' && expect 3 'pred.json: record 1: field "t2s_outs": element 1 is not a list'
pred 's/"t2s_outs":\[/&["a",null],/' && expect 3 'pred.json: record 1: field "t2s_outs": element 1 is not a string'
pred 's/"db_id":"harbour"/"db_id":7/' && expect 3 'pred.json: record 1: field "db_id": expected a string, got an integer'
pred 's/"split_map":\{[^}]*\}/"split_map":{}/' && expect 3 'pred.json: record 1: field "split_map": expected an object with one key'
pred 's/"primary_key":\{[^}]*\}/"primary_key":[]/' && expect 3 'pred.json: record 1: field "primary_key": expected an object, got an array'
gold 's/"(split_map|primary_key)":\{[^}]*\},?//g; s/,\}/}/' && pred 's/"(split_map|primary_key)":\{[^}]*\},?//g' && expect 3 'pred.json: record 1: unknown type: expected field "extra_map"'
gold 's/"orig_query":"[^"]*",//' && pred 's/"orig_query":"[^"]*",//' && expect 3 'pred.json: record 1: field "orig_query" is missing'
pred 's/"t2s_outs":\["/&\\u0000/' && expect 3 'pred.json: .*u0000'
printf '[{"db_id":"\xff"}]' >pred.json && expect 3 'pred.json: .*decode'
pred 's/"question":"q"/"question":"q","question":"q"/' && expect 3 'pred.json: .*duplicate'

echo '{"db_id":"harbour","error":"no answer"}' >pred.json && skips 'pred.json: line 1: no predictions'

# --- the command line
expect 2 "k.*0" -k 0
expect 2 "rule.*best" --rule best
score_without_tables() { "$bin/ambit-data" score --rule ambiqt --pred pred.json >shown 2>said; }
score_without_tables && complain "no tables.json is no fault"
grep -q -- "--tables" said || complain "does not ask for --tables"

# --- records that cannot be scored
pred 's/harbour/bay/' && gold 's/harbour/bay/' && skips 'db_id: no schema \\"bay\\"'
pred 's/"question":"q"/"question":"other"/' && skips 'no gold record has its db_id, question and orig_query'
pred 's/"question":"q"/"question":"other"/' && skips 'gold.jsonl: line 1: no predictions'
skips 'no database harbour: neither ./harbour.sqlite nor ./harbour/harbour.sqlite' --db .
echo 'no database' >harbour.sqlite && skips 'harbour.sqlite: .*not a database' --db . && rm harbour.sqlite
pred 's/harbour/..\/harbour/' && gold 's/harbour/..\/harbour/' && sed -i 's/harbour/..\/harbour/' tables.json && skips 'expected the name of a database' --db .
pred 's/"select name/"select mast/2; s/"orig_query":"select name/"orig_query":"select mast/' && gold 's/"orig_query":"select name/"orig_query":"select mast/' && skips "gold query is not in Spider's grammar"
long=$(printf '%70000s' '' | tr ' ' x)
echo "[$record,\"t2s_outs\":[\"$long\"]}]" >pred.json && skips 'prediction 0: longer than 65536 bytes'

# --- the order of the output does not depend on the number of threads
for i in $(seq 40); do echo "${record//harbour/bay$((i / 3))},\"t2s_outs\":[\"select $i\"]}"; done >pred.json
for threads in 1 4; do
    OMP_NUM_THREADS=$threads "$bin/ambit-data" score --rule ambiqt --pred pred.json --tables tables.json --json >told$threads 2>said
    [ $? = 7 ] || complain "40 records without a schema are no fault"
done
cmp told1 told4 || complain "another order with 4 threads"
[ "$(grep -o 'row [0-9]*' told4 | uniq | wc -l)" = 40 ] || complain "not 40 rows in order: $(cat told4)"

finish

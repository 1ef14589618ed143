#!/usr/bin/env bash
# Malformed files before ambit-data ambiguate: the exit code of kernels/base.h, a message that names file and place, and
# no file left behind.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

good() {
    rm -rf ./*.json ./*.jsonl db
    echo '{"db_id":"harbour","question":"Which names?","query":"SELECT name FROM boat"}' >questions.jsonl
    cat >tables.json <<'END'
[{"db_id":"harbour","table_names":["boat","crew"],"table_names_original":["boat","crew"],
"column_names":[[-1,"*"],[0,"id"],[0,"name"],[1,"id"],[1,"age"]],"column_names_original":[[-1,"*"],[0,"id"],[0,"name"],[1,"id"],[1,"age"]],
"column_types":["text","number","text","number","number"],"primary_keys":[1,3],"foreign_keys":[[3,1]]}]
END
    echo '{"harbour":{"boat":{"name":["title","label"]}}}' >columns.json
    echo '{"harbour":{"boat":["ship","vessel"],"crew":["staff","team"]}}' >tables_too.json
    echo '{"db_id":"harbour","question":"Which names?","query1":"a","query2":"b","schema_without_content":"boat : name "}' >published.jsonl
}

ambiguate() {
    "$bin/ambit-data" ambiguate --questions questions.jsonl --schema tables.json --synonyms columns.json \
        --table-synonyms tables_too.json --schema-strings published.jsonl "$@" -o new.jsonl
}

# expect CODE TEXT OPTION...: and all is good again
expect() {
    check "$2" "$1" "$2" ambiguate "${@:3}"
    good
}

# change FILE SED: one thing changed in it
change() {
    cp "$1" before
    sed -i -E "$2" "$1"
    cmp -s "$1" before && complain "$2 changes nothing in $1"
    rm before
}

good
run 0 ambiguate
grep -q '"query1":"select title from boat","query2":"select label from boat"' new.jsonl || complain "the good files give $(cat new.jsonl)"
mv new.jsonl kept

# --- records alone on standard output, by whichever name
for name in - /dev/stdout; do
    "$bin/ambit-data" ambiguate --questions questions.jsonl --schema tables.json --synonyms columns.json \
        --table-synonyms tables_too.json --schema-strings published.jsonl -o "$name" 2>said | cat >shown
    cmp -s shown kept || complain "-o $name writes $(cat shown)"
done
rm kept

# --- questions
rm questions.jsonl && expect 3 'questions.jsonl: No such file'
rm questions.jsonl && mkdir questions.jsonl && expect 3 'questions.jsonl: Is a directory'
change questions.jsonl 's/"query".*//' && expect 3 'questions.jsonl: line 1'
change questions.jsonl 's/,"query":"[^"]*"//' && expect 3 'questions.jsonl: line 1: no gold SQL: expected field "query"'
change questions.jsonl 's/"Which names\?"/7/' && expect 3 'questions.jsonl: line 1: field "question": expected a string, got an integer'
change questions.jsonl 's/"harbour"/["harbour"]/' && expect 3 'questions.jsonl: line 1: field "db_id": expected a string, got an array'
change questions.jsonl 's/harbour/sea/' && expect 3 'questions.jsonl: line 1: field "db_id": expected a database with a schema, got "sea"'
change questions.jsonl 's/name FROM/name\\u0000 FROM/' && expect 3 'questions.jsonl: line 1.*u0000'
change questions.jsonl 's/"question"/"db_id":"harbour","question"/' && expect 3 'questions.jsonl: line 1.*duplicate'
echo '[3]' >questions.jsonl && expect 3 'questions.jsonl: record 1: expected an object, got an integer'
printf '{"db_id":"harbour","question":"\xff","query":"SELECT 1"}' >questions.jsonl && expect 3 'questions.jsonl: line 1.*decode'
printf '%100000s' '' | tr ' ' '[' >questions.jsonl && expect 3 "questions.jsonl: record 1: line 1: expected '\]'"
head -c 5000 /dev/urandom >questions.jsonl && expect 3 'questions.jsonl: '

# --- their schemas
rm tables.json && expect 3 'tables.json: No such file'
: >tables.json && expect 3 'tables.json: '
echo '{}' >tables.json && expect 3 'tables.json: '
change tables.json 's/"column_types":[^]]*\],//' && expect 3 'tables.json: .*column_types'
change tables.json 's/\[\[3,1\]\]/[[3,9]]/' && expect 3 'tables.json: .*foreign_keys'
change tables.json 's/\[1,"age"\]\],$/[7,"age"]],/; s/\[1,"age"\]\],"column_names_or/[7,"age"]],"column_names_or/' && expect 3 'tables.json: harbour: column 4 .*expected a table number below 2, got 7'
change tables.json 's/\[1,3\]/"id"/' && expect 3 'tables.json: .*primary_keys'

# --- synonyms
rm columns.json && expect 3 'columns.json: No such file'
echo '[]' >columns.json && expect 3 'columns.json: expected an object of databases'
echo '{"harbour":3}' >columns.json && expect 3 'columns.json: harbour: expected an object of tables'
echo '{"harbour":{"boat":3}}' >columns.json && expect 3 'columns.json: harbour: boat: expected an object or an array'
echo '{"harbour":{"boat":{"name":["title"]}}}' >columns.json && expect 3 'columns.json: harbour: boat.name: expected an array of two words'
echo '{"harbour":{"boat":{"name":["title",""]}}}' >columns.json && expect 3 'columns.json: harbour: boat.name: expected an array of two words'
echo '{"harbour":{"boat":["ship",7]}}' >tables_too.json && expect 3 'tables_too.json: harbour: boat: expected an array of two words'
change columns.json 's/.$//' && expect 3 'columns.json: line'

# --- published records
rm published.jsonl && expect 3 'published.jsonl: No such file'
change published.jsonl 's/"query2":"b",//' && expect 3 'published.jsonl: line 1: expected strings "db_id"'
change published.jsonl 's/"boat : name "/3/' && expect 3 'published.jsonl: line 1: expected strings .*"schema_without_content"'
change published.jsonl 's/.$//' && expect 3 'published.jsonl: line 1'

# --- outputs and options
expect 2 '--kinds: expected letters' --kinds X
expect 2 '--materialise requires --db' --materialise new
expect 2 'materialise: tables.json is an input of this command' --materialise tables.json --db .
mkdir db && echo 'no database' >db/harbour.sqlite && expect 3 'db/harbour.sqlite: .*not a database' --db db

finish

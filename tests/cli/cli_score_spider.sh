#!/usr/bin/env bash
# Rules spider and bird of `ambit-data score`: the forms of gold and predictions, the measures on a small database, and the
# messages about malformed files.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

cat >tables.json <<'END'
[{"db_id":"harbour","table_names":["boat"],"table_names_original":["boat"],"column_names":[[-1,"*"],[0,"id"],[0,"name"],[0,"colour"]],
"column_names_original":[[-1,"*"],[0,"id"],[0,"name"],[0,"colour"]],"column_types":["text","number","text","text"],"primary_keys":[1],"foreign_keys":[]}]
END
mkdir db
sqlite3 db/harbour.sqlite "CREATE TABLE boat (id INTEGER, name TEXT, colour TEXT);
    INSERT INTO boat VALUES (1, 'Ada', 'red'), (2, 'Bea', 'red'), (3, 'Cleo', 'blue')"

spider() { data score --rule spider --gold "$gold_file" --pred "$pred_file" --tables tables.json "$@"; }
bird() { data score --rule bird --gold "$gold_file" --pred "$pred_file" --db db "$@"; }
gold_file=gold.sql pred_file=pred.sql

good() {
    printf '%s\tharbour\n' "SELECT name FROM boat WHERE colour = 'red'" 'SELECT name , colour FROM boat ORDER BY id' \
        'SELECT count(*) FROM boat UNION SELECT id FROM boat' >gold.sql
    # the first is equal but for its value, the second has another order, the third another set operator; a tab is ignored
    printf '%s\n' "select name from boat where colour = 'blue'	harbour" 'SELECT name, colour FROM boat ORDER BY name' \
        '  SELECT count(*) FROM boat EXCEPT SELECT id FROM boat' '' >pred.sql
    cat >gold.jsonl <<'END'
{"db_id":"harbour","question":"q","query":"SELECT name FROM boat WHERE colour = 'red'","sql":{"a":"parse tree"}}
{"db_id":"harbour","question":"q","SQL":"SELECT name , colour FROM boat ORDER BY id","difficulty":"moderate"}
{"db_id":"harbour","question":"q","sql":["SELECT count(*) FROM boat UNION SELECT id FROM boat"],"difficulty":"simple"}
END
    cat >pred.jsonl <<'END'
{"candidates":[{"sql":"SELECT id FROM boat","p":0.3},{"sql":"SELECT name FROM boat WHERE colour = 'red'","p":0.6}],"none_of_the_above":0.1}
{"sql":["SELECT colour, name FROM boat ORDER BY id DESC","SELECT colour, name FROM boat ORDER BY id"],"db_id":"harbour"}
{"t2s_outs":["SELECT 3 UNION SELECT id FROM boat","SELECT id FROM boat UNION SELECT count(*) FROM boat"]}
END
}

# value JSON PATH...: prints a value of the JSON, by its keys.
value() {
    local json=$1
    shift
    sqlite3 :memory: "SELECT json_extract(CAST(readfile('$json') AS TEXT), '$.$(printf '"%s".' "$@" | sed 's/\.$//')')"
}
# is WANTED JSON PATH...
is() {
    local wanted=$1 got
    shift
    got=$(value "$@")
    [ "$got" = "$wanted" ] || complain "$*" "expected $wanted, got $got"
}

good
run 0 spider --db db --json --per-example each.jsonl
is 3 shown all n
is 0.333333333 shown all exact
is 0.333333333 shown all execution
is 1.0 shown easy exact
is 0.0 shown easy execution
is 1 shown medium n
is 1 shown hard n
is "" shown extra exact
is 1.0 shown hard components select accuracy
is 0.0 shown hard components IUEN recall
is 1.0 shown all components order f1 # accuracy and recall are 0; the evaluator prints 1
[ "$(grep -c '"hardness":"easy","exact":true,"exact_any":true,"execution":false' each.jsonl)" = 1 ] || complain "per example" "$(cat each.jsonl)"
grep -q '"order":{"same":false,"predicted":1,"gold":1}' each.jsonl || complain "components of a record" "$(cat each.jsonl)"

run 0 spider
grep -q '^exact set match, top 1 .* 0.3333  *\[-\]' <(tr -s ' ' <shown) || complain "table" "$(cat shown)"

run 0 spider --errors --json --per-example each.jsonl
is 1 shown all classes correct n
is 1 shown all classes columns n
is 1 shown hard classes shape n
is 0 shown all classes columns repaired
grep -q '"hardness":"medium".*"class":"columns"' each.jsonl || complain "class of a record" "$(cat each.jsonl)"
run 0 spider --errors
grep -q '^columns 0 1 0 0 1 50.0 % 0$' <(tr -s ' ' <shown) || complain "table of classes" "$(cat shown)"
rm each.jsonl

# records: any of the first two; bird compares rows, and classes are those of "difficulty"
gold_file=gold.jsonl pred_file=pred.jsonl
run 0 spider --db db --json
is 0.333333333 shown all exact
is 0.666666667 shown all exact_any
is 0.666666667 shown all execution_any
run 0 spider --json --errors
is 1 shown all classes shape repaired
run 0 spider --db db --json -k 1
is 0.333333333 shown all exact_any
run 0 bird --json
is 0.666666667 shown all execution
is 1 shown simple n
is 1 shown moderate n
is 1.0 shown simple execution
grep -q exact shown && complain "rule bird has no exact match"

# --below: the probability of the best candidate is .6
sed -i '2,3d' pred.jsonl && sed -i '2,3d' gold.jsonl
run 0 spider --below 0.7 --json
is 1 shown all n
check "none below" 3 'pred.jsonl: no best candidate has a probability below 0.6' spider --below 0.6

# BIRD's object, over several lines and on one
good
gold_file=gold.jsonl pred_file=object.json
cat >object.json <<'END'
{
    "0": "SELECT name FROM boat WHERE id < 3\t----- bird -----\tharbour",
    "1": "SELECT name FROM boat\t----- bird -----\tharbour",
    "2": 0
}
END
run 0 bird --json
is 0.333333333 shown all execution
tr -d '\n' <object.json >line.json && mv line.json object.json
run 0 bird --json
is 0.333333333 shown all execution

# --- malformed files: exit code, message, nothing on standard output, no file left behind
gold_file=gold.sql pred_file=pred.sql
# refused CODE TEXT OPTION...
refused() {
    check "$2" "$1" "$2" spider --per-example new.jsonl "${@:3}"
    [ ! -s shown ] || complain "$2" "printed $(head -c 200 shown)"
    good
    gold_file=gold.sql pred_file=pred.sql
}
rm gold.sql && refused 3 "gold.sql: No such file"
: >gold.sql && refused 3 "gold.sql: expected statements, got none"
: >pred.sql && refused 3 "pred.sql: expected statements, got none"
echo '[]' >pred.sql && refused 3 "pred.sql: expected statements, got none"
sed -i '2s/\t.*//' gold.sql && refused 3 "gold.sql: line 2: expected a statement, a tab and a db_id, got no tab"
sed -i '2s/$/\tmore/' gold.sql && refused 3 "gold.sql: line 2: expected a statement, a tab and a db_id, got more than one tab"
printf 'select \xff\tharbour\n' >gold.sql && refused 3 "gold.sql: line 1: statement: expected text in UTF-8"
printf 'select 1\tharbour\0\n' >gold.sql && refused 3 "gold.sql: line 1: db_id: expected text in UTF-8"
sed -i '1d' pred.sql && refused 3 "pred.sql: line 2: expected 3 statements, as many as gold statements, got 2"
sed -i '2s/.*//' pred.sql && refused 3 "pred.sql: line 2: expected a statement, got a blank line"
pred_file=pred.jsonl gold_file=gold.jsonl
sed -i 's/"t2s_outs"/"outs"/' pred.jsonl && refused 3 'pred.jsonl: line 3: holds no predictions: expected field "sql", "candidates" or "t2s_outs"'
pred_file=pred.jsonl gold_file=gold.jsonl
sed -i 's/"p":0.6/"p":"x"/' pred.jsonl && refused 3 'pred.jsonl: line 1: candidates\[1\]: field "p"'
pred_file=pred.jsonl gold_file=gold.jsonl
sed -i '2s/"sql":\[/&7,/' pred.jsonl && refused 3 'pred.jsonl: line 2: field "sql"'
pred_file=pred.jsonl gold_file=gold.jsonl
sed -i '2s/"db_id":"harbour"/"db_id":"bay"/' pred.jsonl && refused 3 'pred.jsonl: line 2: field "db_id": expected "harbour", as in gold.jsonl: line 2, got "bay"'
pred_file=pred.jsonl gold_file=gold.jsonl
sed -i 's/^{/{"id":"a",/' pred.jsonl && refused 3 'pred.jsonl: line 2: field "id": a came before'
pred_file=pred.jsonl gold_file=gold.jsonl
sed -i 's/^{/{"id":[],/' pred.jsonl && refused 3 'pred.jsonl: line 1: field "id": expected a string or an integer, got an array'
pred_file=pred.jsonl gold_file=gold.jsonl
sed -i '1s/"query":"/"text":"/' gold.jsonl && refused 3 'gold.jsonl: line 1: expected one gold statement, a string in field "query", "SQL" or "sql"'
pred_file=pred.jsonl gold_file=gold.jsonl
sed -i '1s/"db_id":"harbour"/"db_id":7/' gold.jsonl && refused 3 'gold.jsonl: line 1: field "db_id": expected a string'
pred_file=pred.jsonl gold_file=gold.jsonl
refused 3 'pred.jsonl: line 2: expected field "candidates" with "p" or "logprob", which --below compares' --below 0.5
pred_file=object.json
echo '{"0": "select 1"}' >object.json && refused 3 'object.json: field "0": expected a text with a statement, a tab, "----- bird -----"'
echo '{}' >tables.json && refused 3 "tables.json"
cat >tables.json <<'END'
[{"db_id":"harbour","table_names":["boat"],"table_names_original":["boat"],"column_names":[[-1,"*"],[0,"id"],[0,"name"],[0,"colour"]],
"column_names_original":[[-1,"*"],[0,"id"],[0,"name"],[0,"colour"]],"column_types":["text","number","text","text"],"primary_keys":[1],"foreign_keys":[]}]
END

# --- the command line
without() { data score --rule "$1" --pred pred.sql "${@:2}"; }
expect 2 "rule spider requires --gold" without spider --tables tables.json
expect 2 "rule spider requires --tables" without spider --gold gold.sql
expect 2 "rule bird requires --db" without bird --gold gold.sql
expect 2 "errors requires --rule spider" without strict --gold gold.sql --db db --errors
expect 2 "below requires --rule spider or bird" without strict --gold gold.sql --db db --below 0.5

# --- records that cannot be scored, or only in part
sed -i '2s/name , colour/mast/' gold.sql
run 7 spider --json
grep -q "\"reason\":\"the gold statement is not in Spider's grammar: SELECT mast FROM boat" shown || complain "gold outside the grammar" "$(cat shown)"
is 2 shown all n
good
sed -i '1s/harbour/bay/' gold.sql
run 7 spider --json
grep -q 'gold.sql: line 1.*no schema \\"bay\\" in tables.json' shown || complain "no schema" "$(cat shown)"
run 7 bird --json
grep -q 'no database bay' shown || complain "no database" "$(cat shown)"
good
sed -i '1s/.*/SELECT name FROM boat WHERE load_extension(name) = 1\tharbour/' gold.sql
run 7 bird --json
grep -q 'execution: the gold statement fails, so that no prediction is right' shown || complain "a gold that fails" "$(cat shown)"
good
printf 'select %070000d\n' 1 >>pred.sql && printf 'select id from boat\tharbour\n' >>gold.sql && sed -i '4{/^$/d}' pred.sql
run 7 spider --json
grep -q 'prediction 1: longer than 65536 bytes' shown || complain "a long prediction" "$(cat shown)"

finish

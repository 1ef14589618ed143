#!/usr/bin/env bash
# ambit-data sql --statistics: counts of Spider's, AmbiQT's and AMBROSIA's forms, of a data folder, and bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

# table DB: a schema with the tables a (x, y) and b (z)
table() {
    printf '{"db_id":"%s","table_names":["a","b"],"table_names_original":["a","b"],"column_names":[[-1,"*"],[0,"x"],[0,"y"],[1,"z"]],' "$1"
    printf '"column_names_original":[[-1,"*"],[0,"x"],[0,"y"],[1,"z"]],"column_types":["text","text","text","text"],"primary_keys":[],"foreign_keys":[]}'
}
printf '[%s,%s,%s]' "$(table one)" "$(table two)" "$(table three)" >tables.json
# counts FILE NUMBERS...: of the row of the file
counts() {
    local numbers
    numbers=$(awk -v file="$1" '$NF == file { NF--; print }' shown)
    [ "$numbers" = "${*:2}" ] || complain "the row $1" "$(cat shown said)"
}
statistics() { data sql --statistics --schema tables.json "$@"; }

cat >spider.json <<'END'
[{"db_id": "one", "question": "How many?", "query": "SELECT count(*) FROM a JOIN b", "sql": {"from": {}}},
 {"db_id": "one", "question": "Which?", "query": "SELECT x FROM a WHERE y = (SELECT max(z) FROM b)", "sql": {}},
 {"db_id": "two", "question": "Which?", "query": "SELECT x FROM a, b AS c, b", "sql": {}}]
END
run 0 statistics spider.json
counts spider.json 3 0 0 2 4 6 3 2 3 0
counts tables.json 0 0 0 3 6 9 0 0 0 0
! grep -q warning said || complain "no warning" "$(cat said)"
cat >ambiqt.jsonl <<'END'
{"db_id":"one","question":"Which?","query1":"SELECT x FROM a","query2":"SELECT b_z FROM a JOIN b","orig_query":"SELECT 1"}
{"db_id":"three","question":"How many?","query1":"SELECT count(index) FROM a","query2":"SELECT count(z) FROM b"}
END
run 7 statistics ambiqt.jsonl
counts ambiqt.jsonl 2 2 0 2 4 6 3 1 1 1
grep -q 'warning: ambiqt.jsonl: line 2: .*index' said || complain "a statement that cannot be parsed" "$(cat said)"
cat >ambrosia.jsonl <<'END'
{"db":"one","question":"Which?","is_ambiguous":true,"gold_queries":["SELECT x FROM a","SELECT y FROM a"]}
{"db":"one","question":"Which x?","is_ambiguous":false,"gold_queries":["SELECT x FROM a"]}
END
run 0 statistics ambrosia.jsonl --json
[ "$(head -n 1 shown)" = '{"file":"ambrosia.jsonl","questions":2,"ambiguous":1,"unambiguous":1,"databases":1,"tables":2,"columns":3,"statements":3,"functions":0,"joins":0,"unparsed":0,"failed":0}' ] ||
    complain "--json" "$(cat shown)"
xz -k spider.json
run 0 statistics spider.json.xz
counts spider.json.xz 3 0 0 2 4 6 3 2 3 0
sqlite3 one.sqlite 'CREATE TABLE a (x, y); CREATE TABLE b (z)'
head -n 1 ambrosia.jsonl >own.jsonl
run 0 data sql --statistics --db one.sqlite own.jsonl
counts own.jsonl 1 1 0 1 2 3 2 0 0 0

# --- a folder: a row for each split, and one in which a database counts once
mkdir all
cp tables.json all
for split in train valid test; do
    printf '{"id":"1","db_id":"one","question":"%s?","sql":["SELECT sum(x) FROM a"],"ambiguous":%s}\n' $split "$([ $split = test ] && echo true || echo false)" >all/$split.jsonl
done
run 0 data sql --statistics all
counts all/train.jsonl 1 0 1 1 2 3 1 1 0 0
counts all/test.jsonl 1 1 0 1 2 3 1 1 0 0
counts all 3 1 2 1 2 3 3 3 0 0

# --- bad input: the records that cannot be counted, and the command line
{ cat ambrosia.jsonl; echo '{"db_id":"four","question":"?","query":"SELECT 1"}'; echo '{"db_id":"one","question":"?"}'; echo '{"db_id":"one","question":"?","query":7}'
    echo '{"db_id":"one","query":"SELECT 1"}'; echo '{"db_id":"one","question":"?","query":"SELECT 1","ambiguous":"maybe"}'; echo '{"question":'; } >bad.jsonl
run 7 statistics bad.jsonl --json
grep -q '"questions":2,.*"failed":6}' shown || complain "bad records" "$(cat shown)"
grep -q 'warning: bad.jsonl: line 3: .*four' said || complain "the first error" "$(cat said)"
expect 3 'nowhere.jsonl' statistics nowhere.jsonl
expect 3 'train.jsonl' data sql --statistics --schema tables.json .
expect 3 'none.json' data sql --statistics --schema none.json spider.json
expect 2 'cannot be used with --shard or --out' statistics spider.json -o out.jsonl
expect 2 'cannot be used with --shard or --out' statistics spider.json --shard 1/2 -o out.jsonl
expect 2 'json: expected --statistics' data sql --schema tables.json spider.json --json
expect 2 'cannot be used together' statistics spider.json --db one.sqlite
finish

#!/usr/bin/env bash
# Hostile SQL for ambit-data execute: each statement ends with the expected status within its time, and neither the databases nor
# the folder change.  The results are printed as a table.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

"$bin/ambit-data" practice -o practice --seed 1 >shown 2>said || exit 1
mkdir db
mv practice/db/bakery.sqlite db
rm -rf practice
listing() { find . -type f ! -name shown ! -name said ! -name in.json -exec sha256sum {} + | sort; }
before=$(listing)

# row CODE TEXT STATEMENT STATUS ANSWER GOT: prints a row of the report; CODE and TEXT are the expected ones
row() {
    local short=${3:0:90} answer=${5:0:110}
    begin "$short"
    echo "# | \`${short//|/\\|}\` | $4 | ${answer//|/\\|} | $6 |" | cat -v
    [ "$6" = "$1" ] || complain "$short" "expected exit code $1, got $6"
    [[ "$5" =~ $2 ]] || complain "$short" "expected \"$2\", got $5"
    [ "$before" = "$(listing)" ] || complain "$short" "files changed"
    point ok "$short"
}

# hostile STATUS TEXT SQL: the statement, written as in JSON, ends with the status and a message with the text
hostile() {
    local status got
    printf '{"id": 1, "db_id": "bakery", "sql": "%s"}\n' "$3" >in.json
    timeout 30 "$bin/ambit-data" execute --db db --vm-steps 2000000 --timeout 2 in.json >shown 2>said
    got=$?
    status=$(sed -nE 's/.*"status":"([a-z]*)".*/\1/p' shown)
    row 7 "$2" "$3" "${status:-error}" "$(sed -E 's/.*"(message|error)":"(.*)"\}$/\2/' shown)" $got
    [ "${status:-error}" = "$1" ] || complain "$3" "expected the status $1, got $status"
}

# dump TEXT DUMP: a published file whose database is hostile is refused with the text
dump() {
    local got
    printf '{"results":[{"db_file":"data/x/S/s.sqlite","question":"q","is_ambiguous":false,"db_dump":"%s",
        "gold_queries":["SELECT 1"],"interpretations":[]}]}' "$2" >in.json
    timeout 60 "$bin/ambit-data" score --rule dfpl --pred in.json >shown 2>said
    got=$?
    row 3 "$1" "$2" "no database" "$(sed -n '/^error/,$p' said | tr '\n' ' ' | sed 's/.*could be scored: //')" $got
}

# odd TEXT COMMAND...: a file that is no plain one is refused with the text, at once
odd() {
    local text=$1
    shift
    begin "$*"
    timeout -s KILL 10 "$bin/ambit-data" "$@" </dev/null >shown 2>said
    cat shown said odd/rows.jsonl 2>/dev/null | grep -q "$text" || complain "$*" "expected \"$text\", got $(head -c 300 said)"
}

mkdir odd
mkfifo odd/pipe
truncate -s 1T odd/sparse
ln -s /dev/zero odd/zero
printf '{"id": 1, "db_id": "x", "sql": "SELECT 1"}\n' >odd/in.json
for file in pipe:'expected a regular file' zero:'expected a regular file' sparse:'expected at most'; do
    ln -sf "${file%%:*}" odd/x.sqlite
    ln -sf "${file%%:*}" odd/x.xz
    odd "${file#*:}" execute --db odd odd/in.json
    odd "${file#*:}" execute --db odd odd/in.json -o odd/rows.jsonl
    odd "${file#*:}" sql --schema odd/x.xz odd/in.json
    rm -f odd/rows.jsonl*
done
rm -r odd

echo '# | statement | status | message | exit code |'
echo '# |---|---|---|---|'
while IFS='^' read -r status text sql; do
    [ -z "$status" ] || hostile "$status" "$text" "$sql"
done <<'END'
refused^ATTACH is not allowed^ATTACH 'new.db' AS other
refused^ATTACH is not allowed^ATTACH ':memory:' AS other
refused^DETACH is not allowed^DETACH main
refused^PRAGMA is not allowed^PRAGMA writable_schema = ON
refused^PRAGMA is not allowed^PRAGMA journal_mode = WAL
refused^PRAGMA is not allowed^PRAGMA hard_heap_limit = 0
refused^PRAGMA is not allowed^SELECT * FROM pragma_database_list
refused^INSERT is not allowed^INSERT INTO bread (name) VALUES ('x')
refused^INSERT is not allowed^REPLACE INTO bread (bread_id) VALUES (1) RETURNING *
refused^UPDATE is not allowed^UPDATE bread SET name = 'x' RETURNING name
refused^DELETE is not allowed^WITH a AS (SELECT 1) DELETE FROM bread WHERE bread_id IN a
failed^may not be modified^UPDATE sqlite_master SET sql = 'x'
refused^INSERT is not allowed^INSERT INTO sqlite_master VALUES ('table', 'x', 'x', 0, 'CREATE TABLE x (a)')
refused^DELETE is not allowed^DROP TABLE bread
refused^ALTER TABLE is not allowed^ALTER TABLE bread RENAME TO brot
refused^not allowed^CREATE TABLE new (a)
refused^not allowed^CREATE TEMP TABLE new AS SELECT * FROM bread
refused^not allowed^CREATE TRIGGER t AFTER INSERT ON bread BEGIN DELETE FROM baker; END
refused^not allowed^CREATE TEMP TRIGGER t AFTER INSERT ON bread BEGIN SELECT 1; END
refused^not allowed^CREATE VIEW new AS SELECT load_extension('x.so')
refused^not allowed^CREATE VIRTUAL TABLE new USING fts5(a)
refused^expected a SELECT statement^VACUUM INTO 'copy.db'
refused^expected a SELECT statement^REINDEX
refused^not allowed^ANALYZE
refused^transaction^BEGIN EXCLUSIVE
refused^SAVEPOINT^SAVEPOINT s
refused^EXPLAIN is not allowed^EXPLAIN QUERY PLAN SELECT 1
refused^load_extension is not allowed^SELECT load_extension('x.so')
failed^no such function^SELECT readfile('/etc/passwd')
failed^no such function^SELECT writefile('new', 'x')
failed^no such function^SELECT edit('x')
refused^not allowed^SELECT fts3_tokenizer('x', x'4141414141414141')
refused^not allowed^SELECT sqlite_log(1, 'x')
failed^no such table^SELECT * FROM sqlite_dbpage
failed^no such table^SELECT * FROM dbstat
refused^more than one statement^SELECT 1; DROP TABLE bread
refused^more than one statement^SELECT 1; -- a comment\n; DROP TABLE bread
refused^no statement^-- nothing
refused^no statement^/* that never ends
failed^syntax error^.shell touch new
failed^parameters^SELECT ?
stopped^more than 2000000 steps^WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c
stopped^more than^WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n FROM c) SELECT n FROM c
stopped^more than^WITH RECURSIVE c(n) AS (SELECT 1 UNION SELECT n + random() FROM c) SELECT max(n) FROM c
stopped^more than^SELECT count(*) FROM batch a, batch b, batch c, batch d, batch e, batch f, batch g
stopped^bytes^SELECT randomblob(2000000000)
stopped^bytes^SELECT zeroblob(2147483647)
stopped^bytes^SELECT hex(zeroblob(600000000))
stopped^would take too long^SELECT printf('%.*c', 1000000000, 'x')
stopped^more than^SELECT count(hex(zeroblob(400000)) || a.batch_id || b.batch_id LIKE '%0%0%0%0%0b') FROM batch a, batch b
stopped^memory|bytes|more than^WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT json_group_array(hex(zeroblob(100000)) || n) FROM c
stopped^memory|bytes|more than^WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c ORDER BY zeroblob(100000) || n
failed^malformed JSON^SELECT json_extract(replace(hex(zeroblob(200000)), '0', '['), '$')
error^u0000^SELECT 1\u0000; DROP TABLE bread
END
hostile error 'unable to decode' "$(printf 'SELECT \x27\xff\xfe\x27')"
deep=$(printf '%5000s' '' | tr ' ' '(')
hostile failed 'stack overflow|too deep|too large' "SELECT ${deep}1${deep//(/)}"
hostile failed 'too large' "SELECT 1$(printf '%5000s' '' | sed 's/ / + 1/g')"
hostile failed 'too many' "SELECT 1$(printf '%5000s' '' | sed 's/ /, 1/g')"
dump 'not allowed' "CREATE TABLE t (a);\\nINSERT INTO t (a) VALUES (load_extension('x.so'));"
dump 'no such function' "CREATE TABLE t (a);\\nINSERT INTO t (a) VALUES (readfile('/etc/passwd'));"
dump 'bytes' "CREATE TABLE t (a);\\nINSERT INTO t (a) VALUES (zeroblob(2000000000));"
dump 'reserved' "CREATE TABLE sqlite_master (name);\\nINSERT INTO sqlite_master (name) VALUES ('x');"

finish

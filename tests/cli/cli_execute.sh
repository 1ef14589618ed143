#!/usr/bin/env bash
# ambit-data execute: rows and statuses, order, both forms of a folder, bad records, a run that is killed and goes on.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
export OMP_NUM_THREADS=2

# execute CODE ARGUMENTS...: the exit code; with FILES=N no file grows beyond N KiB, as on a disk that is full
execute() {
    local code=$1 got
    shift
    (
        [ -z "${FILES:-}" ] || { trap '' XFSZ && ulimit -f "$FILES"; }
        exec "$bin/ambit-data" execute "$@"
    ) >shown 2>said
    got=$?
    [ $got = "$code" ] || complain "execute $*: expected exit code $code, got $got"
}

# line N TEXT: line N of out.jsonl holds the text
line() { sed -n "$1p" out.jsonl | grep -qF -- "$2" || complain "line $1 is $(sed -n "$1p" out.jsonl), expected $2"; }

"$bin/ambit-data" practice -o practice --seed 1 >shown 2>said || exit 1
mkdir -p db/boats
cp practice/db/bakery.sqlite db
cp practice/db/bakery.sqlite db/boats/boats.sqlite
: >db/empty.sqlite
before=$(find db -type f -exec sha256sum {} + | sort)

# --- the output records
cat >good.jsonl <<'END'
{"id": "a", "db_id": "bakery", "sql": "SELECT 1, 0.1, 'x', NULL, x'00ff', CAST(x'ff' AS TEXT), 9e999, \"English\""}
{"id": "b", "db_id": "boats", "sql": ["SELECT 2", "SELECT 3 WHERE 0"]}
{"id": "c", "db_id": "bakery", "sql": []}
END
execute 0 --db db good.jsonl -o out.jsonl
line 1 '"rows":[[1,0.1,"x",null,{"blob":"00ff"},{"text":"ff"},{"real":"inf"},"English"]]'
line 1 '"status":"ok"'
line 1 '"sqlite":"3.'
line 1 '"columns":["1","0.1",'
line 2 '"results":[{"status":"ok","columns":["2"],"rows":[[2]]},{"status":"ok","columns":["3"],"rows":[]}]'
line 3 '"results":[]'
[ "$(wc -l <out.jsonl)" = 3 ] || complain "not 3 lines"
[ ! -e out.jsonl.part ] || complain "out.jsonl.part is left"
execute 0 --db db good.jsonl
cmp -s shown out.jsonl || complain "standard output holds other lines"
execute 7 --db db --python-text good.jsonl -o out.jsonl
line 1 '"status":"failed","message":"Could not decode to UTF-8 column'

# --- records that fail beside one that does not
cat >bad.jsonl <<'END'
{"id": 1, "db_id": "nowhere", "sql": "SELECT 1"}
{"id": 2, "db_id": "../db/bakery", "sql": "SELECT 1"}
{"id": 3, "db_id": "bakery", "sql": 7}
{"id": 4, "db_id": "bakery"}
{"id": 5, "sql": "SELECT 1"}
{"id": 6, "db_id": "bakery", "sql": "SELECT 1\u0000"}
no JSON
{"id": 8, "db_id": "bakery", "sql": ["SELECT 1", "DELETE FROM x", "ATTACH 'new.db' AS new", null]}
{"id": 9, "db_id": "empty", "sql": "SELECT 1"}
{"db_id": "bakery", "sql": ["WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n FROM c) SELECT count(*) FROM c", "SELECT 5"]}
{"id": 11, "db_id": "bakery", "sql": "SELECT 1"}
END
execute 7 --db db --vm-steps 100000 bad.jsonl -o out.jsonl
line 1 'bad.jsonl: line 1: field \"db_id\": db: no database nowhere: neither db/nowhere.sqlite nor db/nowhere/nowhere.sqlite'
line 2 'line 2: field \"db_id\": expected the name of a database, got \"../db/bakery\"'
line 3 'line 3: field \"sql\"'
line 4 'line 4: field \"sql\"'
line 5 'line 5: field \"db_id\" is missing'
line 6 'line 6'
line 7 '{"id":7,"db_id":null,'
line 8 'line 8: field \"sql\"'
line 9 '"message":"db/empty.sqlite: the database has no tables"'
line 10 '{"id":10,"db_id":"bakery"'
line 10 '[{"status":"stopped","message":"more than 100000 steps"},{"status":"ok","columns":["5"],"rows":[[5]]}]'
line 11 '"rows":[[1]]'
grep -q '11 records, 10 failed' said || complain "does not say how many failed"
execute 2 good.jsonl -o new.jsonl
execute 2 --db db --vm-steps 0 good.jsonl -o new.jsonl
execute 2 --db db --resume good.jsonl
execute 3 --db db nothing.jsonl -o new.jsonl
execute 1 --db db good.jsonl -o nowhere/new.jsonl
execute 1 --db db good.jsonl -o /dev/full
[ -z "$(ls new* nowhere 2>/dev/null)" ] || complain "left behind: $(ls new*)"

# --- files that are none, and databases that are damaged
for bad in '[3' "$(printf '%5000s' '' | tr ' ' '[')" '[{"db_id":"bakery","sql":"SELECT 1"},'; do
    echo "$bad" >bad.json
    execute 3 --db db bad.json -o new.jsonl
    grep -qE 'bad.json: (line|record) [0-9]+' said || complain "does not say where: $bad"
done
mkdir folder
execute 3 --db db folder -o new.jsonl
grep -q 'folder: Is a directory' said || complain "does not say that it is a folder"
[ -z "$(ls new* 2>/dev/null)" ] || complain "left behind: $(ls new*)"
printf '{"id":1,"db_id":"bakery","sql":"SELECT \xff"}\n{"id":2,"db_id":"bakery","sql":"SELECT 2"}\n{"id":3' >bad.jsonl
execute 7 --db db bad.jsonl -o out.jsonl
line 1 'bad.jsonl: line 1, column 39: unable to decode byte 0xff'
line 2 '"rows":[[2]]'
line 3 '"error":"bad.jsonl: line 3, column'
mkdir damaged
head -c 6000 db/bakery.sqlite >damaged/cut.sqlite
head -c 9000 /dev/urandom >damaged/noise.sqlite
{ head -c 4096 db/bakery.sqlite && printf '\xff\xff\xff\xff' && tail -c +4101 db/bakery.sqlite; } >damaged/page.sqlite
for name in cut noise page; do
    echo "{\"id\": \"$name\", \"db_id\": \"$name\", \"sql\": [\"SELECT * FROM bread\", \"SELECT * FROM batch\", \"SELECT * FROM baker\"]}"
done >bad.jsonl
execute 7 --db damaged bad.jsonl -o out.jsonl
line 1 'malformed'
line 2 'file is not a database'
line 3 'database disk image is malformed'

# --- many, in order, the same as one thread's; equal queries in other spellings are run once
for i in $(seq 1000); do
    echo "{\"id\": $i, \"db_id\": \"bakery\", \"sql\": [\"SELECT $i\", \"select   count(*) from sqlite_master\", \"SELECT $((i % 7))\"]}"
done >many.jsonl
execute 0 --db db many.jsonl -o many.out
grep -q '1000 records, 0 failed, 0 of an earlier run; 100[0-9] queries run' said || complain "equal queries are run again"
OMP_NUM_THREADS=1 execute 0 --db db many.jsonl -o one.out
cmp many.out one.out || complain "one thread and two write other lines"
sed -E 's/.*"id":([0-9]+).*/\1/' many.out | cmp -s - <(seq 1000) || complain "not in order"

# --- a killed run is resumed; finished records are not executed again
for i in $(seq 270); do # lines are written 256 at a time; the last take a second, enough to be killed in
    echo "{\"id\": $i, \"db_id\": \"bakery\", \"sql\": \"WITH RECURSIVE c(n) AS (SELECT $i UNION ALL SELECT n + 1 FROM c WHERE n < $((i > 256 ? 100000 : 1000))) SELECT count(*) FROM c\"}"
done >slow.jsonl
execute 0 --db db slow.jsonl -o whole.out
for signal in KILL TERM; do
    rm -f slow.out slow.out.part
    "$bin/ambit-data" execute --db db slow.jsonl -o slow.out >shown 2>said &
    until [ -s slow.out.part ] || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
    kill -$signal $!
    wait $!
    code=$?
    case $code in 0 | 137 | 143) ;; *) complain "SIG$signal: exit code $code" ;; esac
    [ $code = 0 ] && echo "the run was over before SIG$signal" && continue
    [ ! -s slow.out.part ] && complain "SIG$signal: slow.out.part is not there"
    [ -e slow.out ] && complain "SIG$signal: slow.out is there, although not whole"
    cp slow.out.part kept.part
    printf 'half a line' >>slow.out.part
    execute 0 --db db --resume slow.jsonl -o slow.out
    grep -qE '270 records, 0 failed, [1-9][0-9]* of an earlier run' said || complain "SIG$signal: nothing is resumed"
    cmp slow.out whole.out || complain "SIG$signal: the resumed run ends with other lines"
    [ ! -e slow.out.part ] || complain "slow.out.part is left"
done

# --- a line of an earlier run is reused only if input, options and databases are unchanged
resumed() { # N ARGUMENTS...: of what kept.part holds N lines are taken
    local n=$1
    shift
    cp kept.part again.part
    execute 0 "$@" -o again --resume
    grep -q " $n of an earlier run" said || complain "$*: expected $n lines of an earlier run"
}
if [ -e kept.part ]; then
    kept=$(wc -l <kept.part)
    resumed "$kept" --db db slow.jsonl
    resumed 0 --db db slow.jsonl --vm-steps 10000000
    sed '100s/SELECT/select/' slow.jsonl >other.jsonl
    resumed 99 --db db other.jsonl
    head -n 50 slow.jsonl >first.jsonl
    resumed 50 --db db first.jsonl
    [ "$(wc -l <again)" = 50 ] || complain "lines beyond the input stay"
    sed -i '30s/"status":"ok"/"status":"OK"/' kept.part
    resumed 29 --db db slow.jsonl
    cmp again whole.out || complain "a damaged line is taken"
fi

# --- a disk that is full: whole lines stay, the run says so and goes on when there is room; nothing stays of half a line
left() { # OUT N: after the failure at hand, N lines are there to go on with, and nothing else
    grep -qE "$1(.part)?: cannot write: (File too large|No space left on device); $1.part keeps the finished results: add --resume" said || complain "$1: does not name the failure"
    [ "$(echo "$1"*)" = "$1.part" ] || complain "$1: $(echo "$1"*) left by a disk that is full"
    [ -z "$(tail -c 1 "$1.part")" ] || complain "$1.part ends with half a line"
    [ "$(wc -l <"$1.part")" = "$2" ] || complain "$1.part has $(wc -l <"$1.part") lines, expected $2"
}
FILES=64 execute 1 --db db many.jsonl -o limited.out
lines=$(wc -l <limited.out.part)
[ "$lines" -gt 100 ] || complain "only $lines lines fit"
left limited.out "$lines"
execute 0 --db db --resume many.jsonl -o limited.out
grep -q "1000 records, 0 failed, $lines of an earlier run" said || complain "not $lines lines are resumed"
cmp limited.out many.out || complain "after a full disk the resumed run ends with other lines"
echo '{"id": 1, "db_id": "bakery", "sql": "SELECT printf('"'%0100000d'"', 7)"}' >long.jsonl
FILES=64 execute 1 --db db long.jsonl -o long.out
grep -q 'long.out.part: cannot write: File too large$' said || complain "half a line is to go on with"
[ -z "$(ls long.out* 2>/dev/null)" ] || complain "left behind: $(ls long.out*)"
mkdir full
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=300k tmpfs full 2>/dev/null; then
    execute 1 --db db many.jsonl -o full/out # the lines fit, but not twice
    left full/out 1000
    mount -o remount,size=1m full
    execute 0 --db db --resume many.jsonl -o full/out
    grep -q '1000 of an earlier run; 0 queries run' said || complain "finished records are executed again"
    cmp full/out many.out || complain "after a full file system the resumed run ends with other lines"
    umount full
else
    echo "no small file system: a disk that is full is not tried"
fi

[ "$before" = "$(find db -type f -exec sha256sum {} + | sort)" ] || complain "the databases are not as they were"
finish

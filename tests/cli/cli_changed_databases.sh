#!/usr/bin/env bash
# Databases that change during a run.  execute reads committed rows, also in a read-only folder.  A service answers each
# request from the present file: rows, schema, values, and the schema that the detector reads.
# shellcheck disable=SC2016 # the $ are the database's
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

# --- execute
# rows WANTED DB: checks the rows of the statement; warnings go to the file "said"
rows() {
    begin "rows $*"
    data execute --db "$2" sum.jsonl -o out.jsonl 2>said
    grep -qF "$1" out.jsonl || complain "$2" "expected $1, got $(cat out.jsonl said)"
}
mentions() {
    begin "mentions $*"
    grep -qF -- "$1" said || complain said "nowhere says \"$1\": $(cat said)"
}
echo '{"id":1,"sql":"SELECT count(*), sum(price) FROM sale"}' >sum.jsonl
mkdir kept
sqlite3 live.sqlite >/dev/null <<'SQL'
PRAGMA journal_mode = WAL;
CREATE TABLE sale(id INTEGER PRIMARY KEY, price INT);
INSERT INTO sale VALUES (1, 10);
PRAGMA wal_checkpoint(TRUNCATE);
INSERT INTO sale VALUES (2, 20), (3, 30);
.shell cp live.sqlite live.sqlite-wal kept
SQL
before=$(cd kept && stat -c '%n %s %y %z %i' ./* && sha256sum ./*)
rows '[[3,60]]' kept/live.sqlite
mentions 'kept/live.sqlite: read together with the commits in its -wal file'
rows '[[3,60]]' live.sqlite
sqlite3 hot.sqlite >/dev/null <<'SQL'
CREATE TABLE sale(id INTEGER PRIMARY KEY, price INT);
INSERT INTO sale VALUES (1, 10);
PRAGMA cache_size = 1;
BEGIN;
WITH RECURSIVE r (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM r WHERE n < 9000) INSERT INTO sale SELECT n, 7 FROM r;
.shell cp hot.sqlite hot.sqlite-journal kept
SQL
rows '[[1,10]]' kept/hot.sqlite
mentions 'kept/hot.sqlite: an unfinished transaction in its -journal file was rolled back in memory; the file itself is unchanged'
rm kept/hot.sqlite*
begin "no file has changed"
[ "$(cd kept && stat -c '%n %s %y %z %i' ./* && sha256sum ./*)" = "$before" ] || complain kept "the files have changed"

# as a user with read permission only
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 755 . && chmod 555 kept && chmod 444 kept/* sum.jsonl
    if setpriv --reuid=65534 --regid=65534 --clear-groups "$bin/ambit-data" execute --db kept/live.sqlite sum.jsonl >out.jsonl 2>said ||
        [ -s out.jsonl ]; then
        begin "a folder to read alone"
        grep -qF '[[3,60]]' out.jsonl || complain "a folder to read alone" "$(cat out.jsonl said)"
        chmod 600 kept/live.sqlite-wal
        setpriv --reuid=65534 --regid=65534 --clear-groups "$bin/ambit-data" execute --db kept/live.sqlite sum.jsonl >out.jsonl 2>said
        begin "a -wal file that cannot be read"
        grep -qF 'live.sqlite-wal: Permission denied' out.jsonl said || complain "a -wal file that cannot be read" "$(cat out.jsonl said)"
    fi
fi

# --- a service
command -v curl >/dev/null || { echo "curl is not here"; exit 77; }
host=127.0.0.1
sqlite3 shop.sqlite "CREATE TABLE item(item_id INTEGER PRIMARY KEY, name TEXT, colour TEXT); INSERT INTO item VALUES (1, 'lamp', 'red')"
small_detector model
"$bin/ambit-infer" ask --db shop.sqlite --detector model --tagger heuristic --device cpu --serve "$host:0" 2>log &
server=$!
trap 'kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
await_service $server
# answers NAME PATTERN PATH FIELDS: checks a reply
answers() {
    local reply
    begin "$1"
    reply=$(curl -s --max-time 60 -H 'Content-Type: application/json' -d "{\"id\":1,\"db_id\":\"shop\",$4}" "http://$host:$port$3")
    grep -qE -- "$2" <<<"$reply" || complain "$1" "nowhere says \"$2\": ${reply:0:600}"
}
lamp='"question":"What is the colour of the lamp?"'
sale='"question":"What is the colour of the sofa?"'
pick='"candidates":["SELECT colour FROM item"]'
answers first '"rows":\[\["red"\]\]' /ask "$lamp,$pick"
sqlite3 shop.sqlite "UPDATE item SET colour = 'blue'"
answers "another program's UPDATE" '"rows":\[\["blue"\]\]' /ask "$lamp,$pick"
sqlite3 shop.sqlite "UPDATE item SET name = 'sofa'"
answers "a new value" '"value":"sofa"|item.name[^}]*sofa' /ask "$sale"
sqlite3 shop.sqlite "ALTER TABLE item ADD COLUMN weight INT; CREATE TABLE shelf(shelf_id INT)"
answers "a new column" '"weight"' /schema '"x":1'
answers "the detector's schema" 'weight' /detect "$lamp"
sqlite3 shop.sqlite >/dev/null "PRAGMA journal_mode = WAL; UPDATE item SET colour = 'green'"
answers "WAL turned on" '"rows":\[\["green"\]\]' /ask "$lamp,$pick"
sqlite3 other.sqlite "CREATE TABLE item(item_id INTEGER PRIMARY KEY, name TEXT, colour TEXT); INSERT INTO item VALUES (1, 'lamp', 'white')"
mv other.sqlite shop.sqlite
answers "another file under the name" '"rows":\[\["white"\]\]' /ask "$lamp,$pick"
echo garbage >shop.sqlite
answers garbage 'file is not a database' /ask "$lamp,$pick"
answers "garbage, the schema" 'file is not a database' /schema '"x":1'
answers "garbage, the detector" 'file is not a database' /detect "$lamp"
rm shop.sqlite
answers "no file" '"error"' /ask "$lamp,$pick"
sqlite3 shop.sqlite "CREATE TABLE item(item_id INTEGER PRIMARY KEY, colour TEXT); INSERT INTO item VALUES (1, 'black')"
answers "a file again" '"rows":\[\["black"\]\]' /ask "$lamp,$pick"

finish

#!/usr/bin/env bash
# ambit-infer ask --auto and clarify --auto: a choice by evidence, repaired statements, a question below the probability.  In
# files, at a terminal and over HTTP; the choice stays in a session; bad options.
# shellcheck disable=SC2015,SC2016
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
told=(said out.jsonl)

sqlite3 music.sqlite <<'SQL'
CREATE TABLE singer(singer_id INTEGER PRIMARY KEY, name TEXT, country TEXT, age INT);
CREATE TABLE song(song_id INTEGER PRIMARY KEY, title TEXT, singer_id INT REFERENCES singer(singer_id), sales INT);
INSERT INTO singer VALUES (1, 'Ida', 'France', 30), (2, 'Ole', 'Norway', 40), (3, 'Ann', 'Norway', 22);
INSERT INTO song VALUES (11, 'Rain', 1, 5), (12, 'Sun', 2, 7), (13, 'Fog', 1, 9);
SQL
all="SELECT name FROM singer"
cat >candidates.jsonl <<END
{"id":"value","db_id":"music","question":"Which singers are from Norway?","candidates":["$all WHERE country = 'norway'","$all"],"gold":["$all WHERE country = 'Norway'"]}
{"id":"number","db_id":"music","question":"Names of singers older than 25","candidates":["$all","$all WHERE age > 25"],"gold":["$all WHERE age > 25"]}
{"id":"names","db_id":"music","question":"Titles and singer names of all songs","candidates":["SELECT titel, name FROM songs","SELECT titel, name FROM songs"],"gold":["SELECT T1.title, T2.name FROM song AS T1 JOIN singer AS T2 ON T1.singer_id = T2.singer_id"]}
{"id":"rows","db_id":"music","question":"Ages of singers","candidates":["SELECT age FROM singer","SELECT age FROM singer WHERE age > 0"],"gold":["SELECT age FROM singer"]}
{"id":"even","db_id":"music","question":"What do they have?","candidates":["SELECT sales FROM song","SELECT title FROM song"],"gold":["SELECT title FROM song"]}
END
sed -E 's/,"candidates":.*/}/' candidates.jsonl >questions.jsonl
ask() { infer ask --device cpu --db music.sqlite --detector none "$@"; }
expect() { check "${*:3}" "$1" "$2" ask -o out.jsonl "${@:3}"; }
# has ID TEXT: the line of that record
has() {
    begin "$1 has $2"
    grep "^{\"id\":\"$1\"" out.jsonl | grep -qE -- "$2" || complain "$1" "does not say \"$2\": $(grep "^{\"id\":\"$1\"" out.jsonl | head -c 1500)"
}

# --- nobody is asked
expect 0 "5 records, 0 with an open question" --auto 0 --candidates candidates.jsonl questions.jsonl
has value '"stop":"confident".*"sql":"SELECT name FROM singer WHERE country = '"'Norway'"'","result":\{"status":"ok","columns":\["name"\],"rows":\[\["'
has value '"change":"\\"norway\\" was replaced by \\"Norway\\" of the column country"'
has value '"why":"This statement is preferred because [^"]*(\\"[^"]*)*It was repaired'
has number '"why":"This statement is preferred because the next one ignores the number 25.*"sql":"SELECT name FROM singer WHERE age > 25"'
has names '"sql":"SELECT title, singer.name FROM song JOIN singer ON song.singer_id = singer.singer_id","result":\{"status":"ok"'
has rows '"why":"All candidates return the same rows.","groups":\[\{"sql":"SELECT age FROM singer","candidates":\[0,1\],"vote":1.0'
cp out.jsonl first.jsonl
expect 0 "records" --auto 0 --candidates candidates.jsonl questions.jsonl
begin "the same bytes again"
cmp -s first.jsonl out.jsonl || complain "twice" "the outputs differ"

# --- a person is asked below the probability, and the answer decides
expect 0 "5 records, 3 with an open question" --auto 1 --candidates candidates.jsonl questions.jsonl
has even '"ask":\{"attribute".*"auto":\{"p":0\.[0-9]+,"none_of_the_above":0\.[0-9]+,.*"session":\{.*"auto":\{'
has rows '"ask":null,"stop":"settled"'
sed -E 's/\}$/,"answers":["title"]}/' <(grep '"even"' questions.jsonl) >answered.jsonl
expect 0 "1 records, 0 with an open question" --auto 1 --candidates candidates.jsonl answered.jsonl
has even '"answer":"value".*"sql":"SELECT title FROM song"'

# --- without a database: texts alone, and no repair
cat >schema.sql <<'SQL'
CREATE TABLE singer(singer_id INTEGER PRIMARY KEY, name TEXT, country TEXT, age INT);
CREATE TABLE song(song_id INTEGER PRIMARY KEY, title TEXT, singer_id INT REFERENCES singer(singer_id), sales INT);
SQL
check "clarify by schema" 7 "0 questions, 0 candidates left out, 1 records failed" infer clarify --schema schema.sql --auto 0 --candidates <(sed 's/"db_id":"music",//' candidates.jsonl) -o out.jsonl
check "clarify" 0 "5 records, 0 questions" infer clarify --db music.sqlite --auto 0 --candidates candidates.jsonl -o out.jsonl
has number '"stop":"confident".*"auto":\{"p":'

# --- simulated users: the groups and those that are right
check "simulate" 0 '"execution_match":true,"right_groups":\[0\]' infer clarify --db music.sqlite --auto 0 --simulate --noise 0 --candidates candidates.jsonl -o out.jsonl
expect 0 '"right_groups":\[0\]' --simulate --auto 0 candidates.jsonl

# --- at a terminal
begin "the terminal says why"
ask --auto 0 --candidates candidates.jsonl --question "Names of singers older than 25" >shown 2>said </dev/null
tr -s ' \n' ' ' <shown | grep -q "sure; that is sure enough. This statement is preferred because the next one ignores the number 25" || complain terminal "$(cat shown said)"

# --- over HTTP
if command -v curl >/dev/null; then
    AMBIT_LOG=info "$bin/ambit-infer" ask --detector none --db music.sqlite --candidates candidates.jsonl --device cpu --auto 0 --serve 127.0.0.1:0 2>log &
    server=$!
    trap 'kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
    await_service $server
    begin "HTTP says why"
    curl -s --max-time 60 -H 'Content-Type: application/json' -d '{"question":"Names of singers older than 25"}' "http://127.0.0.1:$port/ask" >shown
    grep -q '"stop":"confident".*"why":"This statement is preferred because the next one ignores the number 25.*"sql":"SELECT name FROM singer WHERE age > 25"' shown || complain HTTP "$(head -c 900 shown)"
    kill "$server"
    wait "$server"
fi

# --- a field of that name that a record brings has no effect
sed -E '/"names"/d; s/^\{/{"auto":{"why":"mine"},/' candidates.jsonl >own.jsonl
check "a record's own field auto" 0 "4 records" ask own.jsonl -o out.jsonl
begin "it is not in the output"
! grep -q '"auto"' out.jsonl || complain "auto" "$(head -c 600 out.jsonl)"

# --- bad options
expect 2 "auto" --auto 1.5 --candidates candidates.jsonl questions.jsonl
expect 2 "auto: expected neither --rewrite nor --confidence" --auto 0.5 --confidence 0.9 --candidates candidates.jsonl questions.jsonl
expect 2 "auto: expected neither --rewrite nor --confidence" --auto 0.5 --rewrite questions.jsonl
check "both" 2 "auto and --confidence cannot be used together" infer clarify --db music.sqlite --auto 0.5 --confidence 0.9 --candidates candidates.jsonl -o out.jsonl

finish

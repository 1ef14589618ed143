#!/usr/bin/env bash
# ambit-infer ask with a parser on a server that fails: a single failure is an error of its record, a lost server ends the run.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
# shellcheck source=tests/support/lm_server.sh
. "$support/lm_server.sh"
told=(said out.jsonl)

# has PATTERN NAME: the file out.jsonl
has() { grep -qE -- "$1" out.jsonl || complain "$2" "$(head -c 900 out.jsonl)"; }
# once PATTERN NAME: one line of standard error
once() { [ "$(grep -cE -- "$1" said)" = 1 ] || complain "$2" "not once: $(cat said)"; }

sqlite3 gym.sqlite "CREATE TABLE trainer(name TEXT, fee INT); INSERT INTO trainer VALUES ('Udo', 35), ('Suri', 42);"
echo '{"match":"name","texts":["SELECT name FROM trainer"]}' >answers.jsonl
for i in 1 2 3 4 5 6; do echo "{\"id\":$i,\"question\":\"name $i?\"}"; done >in.jsonl
ask() { infer ask --db gym.sqlite --device cpu --detector none --parser "$url" "$@"; }

# --- a single failure: an error of its record, and the others are answered
serve answers=answers.jsonl fault=400 every=3
check "single failures" 7 "6 records, .* 2 failed" ask in.jsonl -o out.jsonl
[ "$(grep -c '"error":"[^"]*the server answered 400' out.jsonl)" = 2 ] || complain "errors of records" "$(cat out.jsonl)"
[ "$(grep -c '"sql":"select name from trainer"' out.jsonl)" = 4 ] || complain "the other records" "$(cat out.jsonl)"
kill "$server"

# --- a server that refuses every further request: one error, and no output
rm out.jsonl
serve answers=answers.jsonl fault=401 every=3
check "a server that refuses" 1 "in.jsonl: line 3: .*the server answered 401" ask in.jsonl -o out.jsonl
once '401' "a server that refuses"
[ ! -e out.jsonl ] || complain "a server that refuses" "an output"
[ "$(requests)" = 3 ] || complain "a server that refuses" "$(requests) requests"
kill "$server"

# --- a server that dies within a run: the lines so far, and one error
serve answers=answers.jsonl
mkfifo questions
ask - <questions >out.jsonl 2>said &
run=$!
exec 3>questions
head -n 2 in.jsonl >&3
until [ "$(requests)" -ge 2 ]; do sleep 0.05; done
kill "$server"
wait "$server" 2>/dev/null
tail -n 4 in.jsonl >&3
exec 3>&-
wait $run
[ $? = 1 ] || complain "a server that dies" "exit code"
once 'line 3: .*is the server running' "a server that dies"
has '^\{"id":2,.*"sql":"select name from trainer"' "the lines before"
[ "$(wc -l <out.jsonl)" = 2 ] || complain "a server that dies" "$(cat out.jsonl)"

# --- at a terminal, the error ends the dialogue
serve answers=answers.jsonl fault=401 every=1
check "a dialogue" 1 "the server answered 401" ask --question "name?"
kill "$server"
finish

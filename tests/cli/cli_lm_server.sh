#!/usr/bin/env bash
# ambit-infer parse and ask with a language-model server: answers as models write them become candidates with probabilities,
# and `ask` leads from a question to its rows.  Faults, the cache, dry runs, keys, bad input.
# shellcheck disable=SC2016
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
# shellcheck source=tests/support/lm_server.sh
. "$support/lm_server.sh"
told=(said out.jsonl)

sqlite3 gym.sqlite "CREATE TABLE trainer(id INTEGER PRIMARY KEY, name TEXT, fee INT, cost INT); INSERT INTO trainer VALUES (1, 'Udo', 35, 28), (2, 'Suri', 42, 50);"
cat >answers.jsonl <<'END'
{"match":"Question: What does Udo charge?","texts":["<think>SELECT id? Two columns fit.</think>Sure:\n```sql\nSELECT fee FROM trainer WHERE name = 'Udo';\n```\nI hope this helps.","{select cost from trainer where name = 'Udo'}","{\"sql\": \"SELECT fee FROM trainer WHERE name = 'Udo'\"}","I do not know."]}
{"match":"Question: Who?","texts":["1. SELECT name FROM trainer\n2. SELECT id FROM trainer"]}
{"match":"Question: Lost?","texts":["I do not know."]}
END
cat >in.jsonl <<'END'
{"id":"a","db_id":"gym","question":"What does Udo charge?"}
{"id":5,"db_id":"gym","question":"Who?"}
END
# parse ARGUMENTS...; has FILE PATTERN NAME
parse() { infer parse --db gym.sqlite --lm "$url" "$@"; }
has() { grep -qE -- "$2" "$1" || complain "$3" "$(head -c 900 "$1")"; }
lacks() { grep -qE -- "$2" "$1" && complain "$3" "$(head -c 900 "$1")"; }

# --- shares of samples, without log-probabilities: 5 of 8 readable answers of 10 say fee
serve logprobs=0 answers=answers.jsonl
run 0 parse in.jsonl --write-candidates -o shares.jsonl
has shares.jsonl '^\{"id":"a",.*"candidates":\[\{"sql":"select fee from trainer where name = .Udo.","logprob":-0.470003629\},\{"sql":"select cost from trainer where name = .Udo.","logprob":-0.980829253\}\]' "shares of samples"
has shares.jsonl '^\{"id":"a",.*"errors":\[\{"completion":"I do not know.","error":"the answer holds no SQL statement"\}' "an answer that cannot be read"
has shares.jsonl '^\{"id":5,.*id from trainer","logprob":-0.693147181\},\{"sql":"select name from trainer","logprob":-0.693147181\}\]\}$' "two statements of one answer"
has said 'warning: 2 completions have no SQL statement' "the number of these answers"
has said 'asking: 2 done in .*tokens/s' "the progress in tokens"
run 0 parse in.jsonl --strategy list -o list.jsonl
has list.jsonl '^\{"id":5,"db_id":"gym","question":"Who\?","t2s_outs":\["select name from trainer","select id from trainer"\]\}$' "a list"
echo '{"id":"l","db_id":"gym","question":"Lost?"}' >lost.in
run 7 parse lost.in -o lost.jsonl
has lost.jsonl '^\{"id":"l",.*"error":"the answer holds no SQL statement","errors":\[\{"completion":"I do not know."' "a record without a statement"
kill "$server"

# --- log-probabilities of the tokens of the statement alone: 8 words, each 1/2
serve answers=answers.jsonl
run 0 parse in.jsonl --write-candidates --beams 3 --cache cache.jsonl -o logs.jsonl
has logs.jsonl '^\{"id":"a",.*fee from trainer where name = .Udo.","logprob":-5.54517744\}' "log-probabilities"
[ "$(requests)" = 2 ] || complain "one request for all samples" "got $(requests)"
run 0 parse in.jsonl --write-candidates --beams 3 --cache cache.jsonl -o again.jsonl
cmp -s logs.jsonl again.jsonl || complain "the cache" "gives other statements"
run 0 parse in.jsonl --beams 3 --cache cache.jsonl --dry-run
has said '^0 requests of 0 bytes would be sent, 2 completions are in the cache' "a dry run with a cache"
run 0 parse in.jsonl --beams 4 --cache cache.jsonl --dry-run
has said '^2 requests of [0-9]+ bytes would be sent, 0 completions are in the cache' "a dry run with other settings"
[ "$(requests)" = 2 ] || complain "the cache and dry runs" "ask the server"

# --- from a question to its rows
printf '2\n\n' | infer ask --db gym.sqlite --detector none --parser "$url" --question "What does Udo charge?" >shown 2>said
has shown '2  fee of trainer' "an option"
has shown '^SQL:    select fee from trainer where name = .Udo.$' "the statement"
[ "$(sed -n '/^Rows:/,$p' shown | head -n 2 | tr -s ' \n' ' ')" = "Rows: fee 35 " ] || complain "the rows" "$(cat shown)"
run 0 infer ask --db gym.sqlite --detector none --parser "$url" --parser-strategy list in.jsonl -o out.jsonl
has out.jsonl '^\{"id":5,.*"candidates":\{"from":"parser","n":2,' "a list as candidates"
kill "$server"

# --- thousands of questions, with faults of every kind: all are answered, and in order
serve fault=all every=101
awk 'BEGIN { for (i = 1; i <= 3000; i++) printf "{\"id\":%d,\"db_id\":\"gym\",\"question\":\"Question %d?\"}\n", i, i }' >many.jsonl
run 0 parse many.jsonl --beams 1 --timeout 1 --concurrency 16 -o many.out
[ "$(grep -c '"t2s_outs":\["select 1"\]' many.out)" = 3000 ] || complain "3,000 questions" "$(grep -v t2s_outs many.out | head -n 2)"
sed -E 's/^\{"id":([0-9]+),.*/\1/' many.out | cmp -s - <(seq 3000) || complain "3,000 questions" "out of order"
[ "$(requests)" -gt 3000 ] || complain "3,000 questions" "no request was repeated"
kill "$server"

# --- faults that last: errors of their records, and a run that goes on from the cache
serve fault=400 every=10
head -n 60 many.jsonl >some.jsonl
run 7 parse some.jsonl --beams 1 --concurrency 1 --cache some.cache -o some.out
[ "$(grep -c '"error":"[^"]*the server answered 400: the server has a fault"' some.out)" = 6 ] || complain "errors of records" "$(grep error some.out | head -n 2)"
kill "$server"
serve
run 0 parse some.jsonl --beams 1 --cache some.cache -o some.out
[ "$(requests)" = 60 ] || complain "another address" "took completions of another server"
run 0 parse some.jsonl --beams 1 --cache some.cache -o some.out
[ "$(requests)" = 60 ] || complain "the cache" "asks again"
kill "$server"
wait "$server" 2>/dev/null
run 1 parse some.jsonl --beams 1 --cache some.cache -o gone.out
has said 'is the server running' "a server that is gone"

# --- the key is sent, and is never shown
serve key=open-sesame
echo open-sesame >key
run 0 parse in.jsonl --key-file key -o keyed.jsonl
lacks said sesame "the key in a message"
AMBIT_LM_KEY=open-sesame run 0 parse in.jsonl -o keyed.jsonl
echo open >key
run 1 parse in.jsonl --key-file key -o keyed.jsonl
has said 'answered 401: wrong key, expected \*\*\*\*-sesame; --key-file or AMBIT_LM_KEY have the key' "a refused key"
kill "$server"

# --- several models, and bad input
serve models=2
expect 2 'the server lists 2 models: tiny-0, tiny-1; name one by --lm-model' parse in.jsonl -o bad
run 0 parse in.jsonl --lm-model tiny-1 -o named.jsonl
expect 2 'expected no --model' parse in.jsonl --model m
expect 2 'expected --strategy sample or list' parse in.jsonl --strategy beam
expect 2 'cannot be used with --write-prompts' parse in.jsonl --write-prompts list
expect 2 'expected --lm, the address of a server' infer parse --db gym.sqlite --model m --strategy list in.jsonl
expect 2 '--lm-model, --key-file, .*: expected --lm with the address' infer parse --db gym.sqlite --model m --cache c in.jsonl
expect 2 'expected an address such as http' infer parse --db gym.sqlite --lm gym.sqlite in.jsonl
expect 2 'expected an address such as http' infer parse --db gym.sqlite --lm http:// in.jsonl
expect 2 'expected neither user name nor query' infer parse --db gym.sqlite --lm http://me:you@localhost/v1 in.jsonl
expect 2 '--cache .*: expected a file' parse in.jsonl --lm-model tiny-0 --cache .
expect 3 'choose another file' parse in.jsonl --lm-model tiny-0 --cache answers.jsonl
expect 2 '--parser-strategy: expected sample or list' infer ask --db gym.sqlite --parser "$url" --parser-strategy beam in.jsonl
expect 2 '--parser-strategy list: expected --parser with the address' infer ask --db gym.sqlite --parser m --parser-strategy list in.jsonl
expect 2 'expected --parser with the address' infer ask --db gym.sqlite --parser-model m in.jsonl
finish

#!/usr/bin/env bash
# ambit-infer generate and infill, and ambit-train evaluate judge with a language-model server: completions, scores, interpretations,
# dry runs, runs that go on, bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
# shellcheck source=tests/support/lm_server.sh
. "$support/lm_server.sh"
told=(said out.jsonl)

# has FILE PATTERN NAME
has() { grep -qE -- "$2" "$1" || complain "$3" "$(head -c 900 "$1")"; }

cat >answers.jsonl <<'END'
{"match":"Hello","texts":["Good day","Good night to you"]}
{"match":"Question: What does Udo cost?\nAnswer:","texts":["<think>no?</think>\n**Yes**, two columns","Yes","No"]}
{"match":"Question: How many are there?\nAnswer:","texts":["no."]}
{"match":"List every distinct way","texts":["<think>Hm.</think>Here they are:\n1. What is the fee of Udo?"]}
{"match":"What is the fee of Udo?","texts":["```sql\nSELECT fee FROM trainer WHERE name = 'Udo'\n```"]}
{"match":"What is the cost of Udo?","texts":["SELECT cost FROM trainer WHERE name = 'Udo';"]}
END
sqlite3 gym.sqlite "CREATE TABLE trainer(id INTEGER PRIMARY KEY, name TEXT, fee INT, cost INT); INSERT INTO trainer VALUES (1, 'Udo', 35, 28), (2, 'Suri', 42, 50);"
cat >prompts.jsonl <<'END'
{"id":"a","messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"Hello"}]}
{"id":7,"prompt":"Hello again"}
{"id":"c","messages":[]}
{"id":"d","prompt":"Hello","adapter":"dir"}
END

# --- generate: one completion, several with their log-probabilities, errors of records
serve answers=answers.jsonl
run 7 infer generate prompts.jsonl --lm "$url" -o out.jsonl
printf '%s\n' '{"id":"a","text":"Good day","finish":"stop"}' '{"id":7,"text":"Good day","finish":"stop"}' >wanted
head -n 2 out.jsonl | cmp -s - wanted || complain "completions" "$(cat out.jsonl)"
has out.jsonl '^\{"id":"c","error":"prompts.jsonl: line 3: expected \\"prompt\\", a text, or \\"messages\\"' "a record without a prompt"
has out.jsonl '^\{"id":"d","error":"[^"]*: adapter: a server takes no adapter"\}' "a record with an adapter"
has said '^4 records, 2 failed, 0 of an earlier run$' "the counts"
head -n 2 prompts.jsonl >two.jsonl
run 0 infer generate two.jsonl --lm "$url" --n 3 --temperature 1 -o several.jsonl
has several.jsonl '^\{"id":"a","texts":\[\{"text":"Good (day","logprob":-1.38629436|night to you","logprob":-2.77258872),"finish":"stop"\},' "log-probabilities"
[ "$(grep -o '"text":' several.jsonl | wc -l)" = 6 ] || complain "three completions each" "$(cat several.jsonl)"
before=$(requests)
run 0 infer generate two.jsonl --lm "$url" --dry-run
has said '^2 requests of [0-9]+ bytes would be sent' "a dry run"
[ "$(requests)" = "$before" ] || complain "a dry run" "asks the server"

# --- an interrupted run goes on from its lines
kill "$server"
serve answers=answers.jsonl delay=30
awk 'BEGIN { for (i = 1; i <= 1500; i++) printf "{\"id\":%d,\"prompt\":\"Hello %d\"}\n", i, i }' >many.jsonl
"$bin/ambit-infer" generate many.jsonl --lm "$url" --concurrency 16 -o many.out --resume 2>said &
until [ "$(requests)" -gt 700 ]; do sleep 0.05; done
kill $!
wait $!
[ $? = 143 ] || complain "a run that is interrupted" "exit code"
has said 'add --resume to continue' "a run that is interrupted"
run 0 infer generate many.jsonl --lm "$url" --concurrency 64 -o many.out --resume
has said '^1500 records, 0 failed, 512 of an earlier run$' "lines of the interrupted run"
[ "$(wc -l <many.out)" = 1500 ] || complain "all lines" "$(wc -l <many.out)"
kill "$server"
serve answers=answers.jsonl

# --- judge: one completion counts with the probability of its word, three by their share
printf '%s\n' '{"id":"a","question":"What does Udo cost?","ambiguous":true}' '{"id":5,"question":"How many are there?","ambiguous":false}' >asked.jsonl
judge() { train evaluate judge --data asked.jsonl --db gym.sqlite "$@"; }
run 0 judge --lm "$url" --prompt schema -o scores.jsonl
printf '%s\n' '{"id":"a","score":0.5}' '{"id":"5","score":0.5}' | cmp -s - scores.jsonl || complain "scores by log-probabilities" "$(cat scores.jsonl)"
kill "$server"
serve answers=answers.jsonl logprobs=0
run 0 judge --lm "$url" --prompt schema --samples 3 -o scores.jsonl
printf '%s\n' '{"id":"a","score":0.666666667}' '{"id":"5","score":0.0}' | cmp -s - scores.jsonl || complain "scores by shares" "$(cat scores.jsonl)"
run 0 judge --lm "$url" --dry-run
has said '^2 requests of' "a dry run of judge"
sed 's/"no."/"Perhaps."/' -i answers.jsonl
kill "$server"
serve answers=answers.jsonl logprobs=0
run 7 judge --lm "$url" --prompt schema -o scores.jsonl
has scores.jsonl '^\{"id":"5","error":"the answer holds no yes or no as its first word","completion":"Perhaps."\}$' "an answer without yes or no"

# --- infill: default interpretations, added ones and SQL from the server
echo '{"id":1,"db_id":"gym","question":"What does Udo cost?"}' >question.jsonl
run 0 infer infill question.jsonl --db gym.sqlite --lm "$url" --default-model lm --sql-model lm -o filled.jsonl
has filled.jsonl '"readings":\[\{"text":"What is the fee of Udo\?",.*"sql":\["SELECT fee FROM trainer WHERE name = .Udo."' "an interpretation with its SQL"
has said '^1 records, 1 default readings, 0 added, 0 records failed' "the counts of infill"
echo '{"id":1,"db_id":"gym","question":"What does Udo cost?","readings":[{"text":"What is the cost of Udo?"}]}' >defaults.jsonl
run 0 infer infill question.jsonl --db gym.sqlite --lm "$url" --defaults defaults.jsonl --sql-model lm -o filled.jsonl
has filled.jsonl '"sql":\["SELECT cost FROM trainer WHERE name = .Udo.' "SQL of a given interpretation"

# --- bad input
expect 2 'expected --model or --lm' infer generate prompts.jsonl
expect 2 'expected no --model, --adapter' infer generate prompts.jsonl --lm "$url" --model m
expect 2 'expected no --beams, --constraint and --logprobs' infer generate prompts.jsonl --lm "$url" --beams 2
expect 2 'expected an address such as http' infer generate prompts.jsonl --lm folder
expect 2 'expected --lm with the address of a server' infer generate prompts.jsonl --model m --lm-model tiny
expect 2 'expected a stage that asks the server' infer infill question.jsonl --db gym.sqlite --lm "$url" --defaults defaults.jsonl
expect 2 'got an address' infer infill question.jsonl --db gym.sqlite --default-model "$url"
expect 2 'expected a folder for --model' infer infill question.jsonl --db gym.sqlite --lm "$url" --defaults defaults.jsonl --model lm --adapter a
expect 2 'expected one of --write-prompts, --answers and --lm' judge --lm "$url" --write-prompts schema
expect 2 'require --lm' judge --answers answers.jsonl --samples 2
finish

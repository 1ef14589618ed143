#!/usr/bin/env bash
# ambit-infer clarify and ask --lm: a language-model server words the questions.  Other options are rejected, a server that
# fails leaves the template's words, and bad options are refused.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
# shellcheck source=tests/support/lm_server.sh
. "$support/lm_server.sh"
told=(said out.jsonl)

# has PATTERN NAME: the file out.jsonl
has() { grep -qE -- "$1" "${3:-out.jsonl}" || complain "$2" "$(head -c 900 "${3:-out.jsonl}")"; }

sqlite3 firm.sqlite "CREATE TABLE employee(name TEXT, home_city TEXT, office_city TEXT); INSERT INTO employee VALUES ('Ida', 'Oslo', 'Bergen'), ('Per', 'Voss', 'Oslo');"
cat >candidates.jsonl <<'END'
{"id":1,"question":"Show the city of each employee.","candidates":["SELECT home_city FROM employee","SELECT office_city FROM employee"]}
{"id":2,"question":"Who lives where?","candidates":["SELECT name FROM employee","SELECT name, home_city FROM employee"]}
END
cat >answers.jsonl <<'END'
{"match":"question: Show the city of each employee.\nThe clarifying","texts":["<think>Short.</think>```json\n{\"question\":\"Home or office?\",\"options\":[\"home city of employee\",\"office city of employee\"]}\n```"]}
{"match":"question: Who lives where?\nThe clarifying","texts":["{\"question\":\"Just names?\",\"options\":[\"yes\",\"no\"]}"]}
END
clarify() { infer clarify --db firm.sqlite --candidates candidates.jsonl "$@"; }
ask() { infer ask --db firm.sqlite --device cpu --detector none "$@"; }

# --- clarify: the model's words, and the template's where the options differ
serve answers=answers.jsonl
run 0 clarify -o plain.jsonl
run 0 clarify --lm "$url" -o out.jsonl
has '^\{"id":1,.*"ask":\{"attribute":"[^"]*","text":"Home or office\?","worded_by":"model","options":\[\{"text":"home city of employee' "the model's words"
has '^\{"id":2,.*"wordings_rejected":\[\{"attribute":"[^"]*","error":"options\[0\]: expected \\"name of employee\\", got \\"yes\\""' "other options"
cmp -s <(sed -n '2s/"variables".*//p' out.jsonl) <(sed -n '2s/"variables".*//p' plain.jsonl) || complain "the template's words" "$(sed -n 2p out.jsonl)"
has 'requests, 0 of them repeated, 0 prompts without completion' "the numbers of requests" said

# --- a dialogue is read again for each turn, and the model is asked once
before=$(requests)
printf '2\n\n' | "$bin/ambit-infer" clarify --db firm.sqlite --candidates candidates.jsonl --id 1 --interactive --lm "$url" >shown 2>said
has '^1\. Home or office\?$' "a dialogue" shown
has '^SQL:    SELECT office_city FROM employee$' "the answer" shown
prompts=$(($(requests) - before))
infer clarify --db firm.sqlite --candidates <(head -n 1 candidates.jsonl) --write-wordings prompts.jsonl 2>said
[ $prompts = "$(wc -l <prompts.jsonl)" ] || complain "requests of a dialogue" "$prompts for $(wc -l <prompts.jsonl) questions"

# --- ask: candidates, and elements without a parser
check "ask" 0 "1 with an open question" ask --lm "$url" <(head -n 1 candidates.jsonl) -o out.jsonl
has '"text":"Home or office\?","worded_by":"model"' "ask with candidates"
check "ask" 0 "1 with an open question" ask --tagger heuristic --lm "$url" <(sed -n '1s/,"candidates":.*/}/p' candidates.jsonl) -o out.jsonl
has '"text":"Home or office\?","worded_by":"model".*"element":"employee.home_city"' "ask without candidates"

# --- a cache; a key for one server only
run 0 clarify --lm "$url" --cache cache.jsonl -o out.jsonl
before=$(requests)
run 0 clarify --lm "$url" --cache cache.jsonl -o out.jsonl
[ "$(requests)" = "$before" ] || complain "the cache" "is not used"
echo secret >key
check "ask, two servers and a key" 2 "expected one address" ask --lm "$url" --parser http://127.0.0.1:9/v1 --key-file key candidates.jsonl
check "ask, a model without a server" 2 "lm-model: expected --lm" ask --lm-model x candidates.jsonl
check "ask, a parser's model" 2 "parser-model: expected --parser" ask --lm "$url" --parser-model x candidates.jsonl
check "clarify, two models" 2 "cannot be used together" clarify --lm "$url" --wording-model x
check "clarify, words from a file" 2 "expected neither --wordings" clarify --lm "$url" --wordings answers.jsonl
check "clarify, no address" 2 "expected an address such as" clarify --lm nowhere
check "clarify, options of a server" 2 "expected --lm with the address" clarify --cache cache.jsonl

# --- a server that fails: the template's words, and one warning
kill "$server"
serve answers=answers.jsonl every=1 fault=400
run 0 clarify --lm "$url" -o out.jsonl
cmp -s out.jsonl plain.jsonl || complain "a server that fails" "$(cat out.jsonl)"
kill "$server"
serve answers=answers.jsonl every=1 fault=401
run 0 clarify --lm "$url" -o out.jsonl
cmp -s out.jsonl plain.jsonl || complain "a server that refuses" "$(cat out.jsonl)"
[ "$(grep -c 'the questions keep the words of the template' said)" = 1 ] || complain "a server that refuses" "not one warning: $(cat said)"
kill "$server"
check "clarify, no server" 1 "is the server running" clarify --lm "$url" -o out.jsonl
check "ask, no server" 1 "is the server running" ask --lm "$url" candidates.jsonl -o out.jsonl
finish

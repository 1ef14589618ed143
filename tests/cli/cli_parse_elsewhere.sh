#!/usr/bin/env bash
# ambit-infer parse with external models: prompts are written, completions of every form become statements, which get a score
# and a clarifying question; bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

sqlite3 gym.sqlite "CREATE TABLE trainer(id INTEGER PRIMARY KEY, name TEXT, fee INT, cost INT); INSERT INTO trainer VALUES (1, 'Udo', 35, 28), (2, 'Suri', 42, 50);"
cat >tables.json <<'END'
[{"db_id": "gym", "table_names": ["trainer"], "table_names_original": ["Trainer"], "column_names": [[-1, "*"], [0, "id"], [0, "name"], [0, "fee"], [0, "cost"]],
 "column_names_original": [[-1, "*"], [0, "ID"], [0, "name"], [0, "fee"], [0, "cost"]],
 "column_types": ["text", "number", "text", "number", "number"], "primary_keys": [1], "foreign_keys": []}]
END
cat >in.jsonl <<'END'
{"id":"a","db_id":"gym","question":"What does Udo cost?"}
{"id":5,"db_id":"gym","question":"How many are there?"}
END
gym() { infer parse --db gym.sqlite "$@"; }
# has FILE PATTERN NAME; line FILE N PATTERN NAME
has() { grep -qE -- "$2" "$1" || complain "$3" "$(head -c 900 "$1")"; }
line() { sed -n "$2p" "$1" | grep -qE -- "$3" || complain "$4" "$(sed -n "$2p" "$1")"; }

# --- prompts: the schema with values of the database, with the record's own, without any
run 0 gym in.jsonl --write-prompts list -o prompts.jsonl
[ "$(wc -l <prompts.jsonl)" = 2 ] || complain "prompts" "$(cat prompts.jsonl)"
line prompts.jsonl 1 '^\{"id":"a","messages":\[\{"role":"system",.*queries.*Database ID gym is:\\ntrainer : id \(1, 2\), name \(.Udo., .Suri.\), fee \(35, 42\), cost \(28, 50\)\\n.*\\nQuestion: What does Udo cost\?"\}\]' "a prompt for a list"
line prompts.jsonl 2 '^\{"id":5,' "an integer id"
run 0 gym in.jsonl --write-prompts one -o one.jsonl
has one.jsonl 'in braces.*Question: What does Udo cost' "a prompt for one statement"
run 0 infer parse --schema tables.json in.jsonl --write-prompts list -o plain.jsonl
has plain.jsonl 'is:\\ntrainer : id, name, fee, cost\\n' "a schema without values"
sed 's/"question"/"schema_with_content":"trainer : id (7)","schema_without_content":"trainer : id",&/' in.jsonl >own.jsonl
run 0 infer parse own.jsonl --write-prompts list -o plain.jsonl
has plain.jsonl 'is:\\ntrainer : id \(7\)\\n' "the record's own schema"
run 0 gym in.jsonl --write-prompts zero-shot -o zero.jsonl
has zero.jsonl '"content":"### Complete sqlite SQL query only.*# trainer\(id,name,fee,cost\)\\n#\\n### What does Udo cost\?\\nSELECT"' "the zero-shot prompt"
echo '{"id":"a","texts":[" fee FROM trainer WHERE id = 1","SELECT cost FROM trainer","I cannot tell it from the schema."]}' >continued.jsonl
head -n 1 in.jsonl >first.jsonl
run 0 gym first.jsonl --answers continued.jsonl -o continued.out.jsonl
has continued.out.jsonl '"t2s_outs":\["select fee from trainer where id = 1","select cost from trainer"\]' "a statement that goes on after SELECT"

# --- completions: a list, braces, several lines of one prompt, several texts; statements that fail are reported
fee='select fee from trainer where name = .Udo.' cost='select cost from trainer where name = .Udo.'
sed 's/\.Udo\./'"'Udo'/g" >answers.jsonl <<END
{"id":"a","text":"Sure: {\"queries\": [\"SELECT fee FROM trainer WHERE name = .Udo.\", \"$cost\", \"$fee\", \"select wage from trainer\"]}"}
{"id":"5","texts":[{"text":"{select count(*) from trainer}"},{"text":"{select count(*) from trainer }"}]}
{"id":5,"text":"{select count(id)\nfrom trainer}"}
{"id":"nobody","texts":["{select 1}"]}
{"id":"a","error":"too long"}
END
run 0 gym in.jsonl --answers answers.jsonl -o out.jsonl
line out.jsonl 1 "\"t2s_outs\":\[\"$fee\",\"$cost\",\"select wage from trainer\"\],\"errors\":\[\{\"sql\":\"select wage from trainer\",\"error\":\"[^\"]*wage" "statements of a list"
line out.jsonl 2 '"t2s_outs":\["select count\(\*\) from trainer","select count\(id\) from trainer"\]\}' "statements of several answers"
run 0 gym in.jsonl --answers answers.jsonl -k 1 -o one.jsonl
line one.jsonl 1 "\"t2s_outs\":\[\"$fee\"\]\}" "one statement"
gym in.jsonl --answers answers.jsonl --write-candidates 2>said | infer clarify --candidates - --db gym.sqlite >asked.jsonl 2>>said
line asked.jsonl 1 '"weights":"equal".*"ask":\{"attribute"' "a question from answers"
sed 1d answers.jsonl >fewer.jsonl
run 7 gym in.jsonl --answers fewer.jsonl -o out.jsonl
line out.jsonl 1 '"error":"no answer to its prompt in fewer.jsonl"' "a prompt without an answer"
line out.jsonl 2 't2s_outs' "a record beside it"

# --- a completion without a statement is an error of its record and keeps its text; the following commands report it
printf '%s\n' '{"id":"a","text":"<think>\nselect fee from trainer"}' '{"id":5,"texts":["I do not know.","{select count(*) from trainer}"]}' >lost.jsonl
run 7 gym in.jsonl --answers lost.jsonl -o out.jsonl
has said '2 records, 1 statements, 1 failed' "a lost answer is counted"
line out.jsonl 1 '"error":"the answer breaks off in its thought and holds no SQL statement","errors":\[\{"completion":"<think>.nselect fee from trainer","error":' "a lost answer"
line out.jsonl 2 '"t2s_outs":\["select count\(\*\) from trainer"\],"errors":\[\{"completion":"I do not know.","error":"the answer holds no SQL statement"\}\]' "one of two answers lost"
run 7 gym in.jsonl --answers lost.jsonl --write-candidates -o candidates.jsonl
line candidates.jsonl 1 '"question":"What does Udo cost\?","error":".*"completion":"<think>' "a lost answer among candidates"
run 7 infer clarify --candidates candidates.jsonl --db gym.sqlite -o asked.jsonl
line asked.jsonl 1 '"error":"candidates.jsonl: line 1: no candidates: the answer breaks off' "why there is nothing to clarify"
run 0 infer ask in.jsonl --candidates candidates.jsonl --db gym.sqlite -o asked.jsonl
line asked.jsonl 1 '"candidates":null,.*"stop":"no-candidates"' "a question without candidates"
run 0 infer ask candidates.jsonl --db gym.sqlite -o asked.jsonl
line asked.jsonl 1 '"candidates":null,.*"stop":"no-candidates"' "a record without candidates"

# --- strings keep their letters; -k counts statements
printf "%s\n" '{"id":"a","text":"[\"SELECT  name FROM trainer -- all\\nWHERE name = '"'A  B (C ) ,'"'\", \"SELECT 2\"]"}' >kept.jsonl
gym in.jsonl --answers kept.jsonl -k 1 -o out.jsonl 2>/dev/null
line out.jsonl 1 '"t2s_outs":\["select name from trainer where name = '"'A  B \(C \) ,'"'"\]' "a string with blanks"

# --- AmbiQT's records to their score
echo '{"id":"x","db_id":"gym","question":"What does Udo cost?","orig_query":"select fee from trainer","query1":"select fee from trainer","query2":"select cost from trainer","extra_map":{"trainer":{"fee":["fee","cost"]}},"schema_without_content":"trainer : id , name , fee , cost ","schema_with_content":"trainer : id (1)"}' >ambiqt.jsonl
echo '{"id":"x","text":"{\"queries\": [\"select cost from trainer\", \"select fee from trainer\"]}"}' >both.jsonl
run 0 infer parse --schema tables.json ambiqt.jsonl --answers both.jsonl -o predicted.jsonl
run 0 data score --rule ambiqt --pred predicted.jsonl --tables tables.json --json
has shown '"em":\{[^}]*"both":1' "both readings"

# --- ids that come twice

{ cat in.jsonl && echo '{"id":"a","db_id":"gym","question":"Who?"}'; } >twice.jsonl
run 7 gym twice.jsonl --answers answers.jsonl --window 1 -o out.jsonl
line out.jsonl 3 '"error":"the id a came before' "an id twice"
run 7 gym twice.jsonl --write-prompts one -o out.jsonl
[ "$(wc -l <out.jsonl)" = 2 ] || complain "an id twice" "$(cat out.jsonl)"
has said 'the id a came before' "an id twice, told"

# --- bad input
check "neither" 2 'one of --model, --lm, --write-prompts and --answers' gym in.jsonl -o out.jsonl
check "both" 2 'cannot be used together' gym in.jsonl --write-prompts one --answers answers.jsonl -o out.jsonl
check "a model too" 2 'expected no --model' gym in.jsonl --write-prompts one --model nowhere -o out.jsonl
check "a strategy too" 2 'expected no --model' gym in.jsonl --answers answers.jsonl --strategy beam -o out.jsonl
check "candidates of prompts" 2 'neither --write-candidates' gym in.jsonl --write-prompts one --write-candidates -o out.jsonl
check "a form" 2 'list.one.zero-shot' gym in.jsonl --write-prompts two -o out.jsonl
check "no answers" 3 'nowhere.jsonl' gym in.jsonl --answers nowhere.jsonl -o out.jsonl
bad() { # TEXT ANSWER
    echo "$2" >bad.jsonl
    check "$2" 3 "bad.jsonl: line 1: $1" gym in.jsonl --answers bad.jsonl -o out.jsonl
}
bad 'expected "text" or "texts"' '{"id":"a"}'
bad 'expected "text" or "texts"' '{"id":"a","texts":[{"text":7}]}'
bad 'field "id" is missing' '{"text":"{select 1}"}'
bad 'field "id" is missing' '{"id":1.5,"text":"{select 1}"}'
finish

#!/usr/bin/env bash
# ambit-infer clarify --write-wordings and --wordings: prompts for the questions of each record, and completions as their
# words.  Words with other options are rejected, and the template's words stay.  Bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
has() { grep -qE -- "$2" "$1" || complain "$3" "$(head -c 1200 "$1")"; }
lacks() { ! grep -qE -- "$2" "$1" || complain "$3" "$(grep -E -- "$2" "$1" | head -c 900)"; }

printf '[{"db_id":"hr","table_names":["staff"],"table_names_original":["staff"],"column_names":[[-1,"*"],[0,"name"],[0,"pay"],[0,"age"]],' >tables.json
printf '"column_names_original":[[-1,"*"],[0,"name"],[0,"pay"],[0,"age"]],"column_types":["text","text","number","number"],"primary_keys":[],"foreign_keys":[]}]' >>tables.json
cat >candidates.jsonl <<'END'
{"id":"a","db_id":"hr","question":"Who earns most?","gold":["SELECT name, pay FROM staff WHERE age > 9"],"candidates":[{"sql":"SELECT name FROM staff WHERE age > 9","p":0.4},{"sql":"SELECT name, pay FROM staff WHERE age > 9","p":0.3},{"sql":"SELECT name FROM staff WHERE age >= 9","p":0.3}]}
{"id":7,"db_id":"hr","question":"Who is \"old\"?","candidates":[{"sql":"SELECT name FROM staff","p":0.6},{"sql":"SELECT age FROM staff","p":0.4}]}
END
clarify() { infer clarify --schema tables.json "$@"; }

# --- prompts: one for each question
run 0 clarify --candidates candidates.jsonl --write-wordings prompts.jsonl
[ "$(grep -o '^{"id":"[^"]*"' prompts.jsonl | tr '\n' ' ')" = '{"id":"a/sel.arity" {"id":"a/where[age].op" {"id":"a/query" {"id":"7/sel#1" {"id":"7/query" ' ] ||
    complain "the prompts" "$(cut -c 1-60 prompts.jsonl)"
has prompts.jsonl '^\{"id":"a/where\[age\]\.op","messages":\[\{"role":"user","content":"A program asks .*question: Who earns most\?\\nThe clarifying question: .*\\nOptions:\\n1\. age [^"]*\\n2\. age [^"]*\\n\\nAnswer with one JSON object' "a prompt"
has prompts.jsonl 'Who is \\"old\\"\?' "the user's question"

# answer ID QUESTION [EDIT]: the completion that repeats the options of the prompt, changed by a command of sed
answer() {
    local options
    options=$(grep -F "{\"id\":\"$1\"" prompts.jsonl | sed -E 's/.*\\nOptions:\\n//; s/\\n\\nAnswer.*//; s/\\n/\n/g' | sed -E 's/^[0-9]+\. (.*)$/\\"\1\\"/' | sed "${3:-}" | paste -sd, -)
    printf '{"id":"%s","text":"{\\"question\\": \\"%s\\", \\"options\\": [%s]}"}\n' "$1" "$2" "$options"
}
{ answer 'a/sel.arity' 'Do you want names only?' && answer 'a/where[age].op' 'Older than 9, or 9 as well?' && answer '7/sel#1' 'Name or age?'; } >completions.jsonl

# --- the model's words, with the options of the template
run 0 clarify --candidates candidates.jsonl -o plain.jsonl
run 0 clarify --candidates candidates.jsonl --wordings completions.jsonl -o worded.jsonl
has said '3 questions in the words of a language model, 2 of the template: 0 completions rejected, 2 missing' "the numbers"
has worded.jsonl '^\{"id":"a",.*"ask":\{"attribute":"[^"]*","text":"(Do you want names only\?|Older than 9, or 9 as well\?)","worded_by":"model","options":' "the words"
has worded.jsonl '^\{"id":7,.*"text":"Name or age\?","worded_by":"model"' "an id that is a number"
sed -E 's/"text":"(Do you want names only\?|Older than 9, or 9 as well\?|Name or age\?)","worded_by":"model"/"text":"WORDS"/' worded.jsonl >a
sed -E 's/("ask":\{"attribute":"[^"]*",)"text":"[^"]*"/\1"text":"WORDS"/' plain.jsonl >b
cmp -s a b || complain "all but the words" "$(diff a b)"
printf '1\n\n' | "$bin/ambit-infer" clarify --schema tables.json --interactive --candidates candidates.jsonl --id 7 --wordings completions.jsonl >shown 2>said
has shown '^1\. Name or age\?$' "a dialogue"
run 0 clarify --candidates <(head -n 1 candidates.jsonl) --wordings completions.jsonl --simulate --noise 0 -o simulated.jsonl
[ "$(grep -o '"worded_by":"model"' simulated.jsonl | wc -l)" = 1 ] || complain "a simulated dialogue" "$(cat simulated.jsonl)"
has said 'completions.jsonl: 1 completions belong to no question' "completions of other records"
printf '{"op":"start","record":%s}\n' "$(tail -n 1 candidates.jsonl)" >requests
"$bin/ambit-infer" clarify --schema tables.json --serve-stdio --wordings completions.jsonl <requests >replies 2>said
has replies '"text":"Name or age\?","worded_by":"model"' "a service"
printf '{"op":"show","session":%s}\n' "$(sed 's/.*,"session"://; s/}$//' replies)" >requests
"$bin/ambit-infer" clarify --schema tables.json --serve-stdio --wordings completions.jsonl <requests >replies 2>said
has replies '"text":"Name or age\?","worded_by":"model"' "a session that goes on"

# --- words with other options are rejected, with the reason, and the template's words stay
rejected() {
    answer '7/sel#1' 'Name or age?' "$2" >completions.jsonl
    run 0 clarify --candidates candidates.jsonl --wordings completions.jsonl -o worded.jsonl
    has worded.jsonl "^\{\"id\":7,.*\"wordings_rejected\":\[\{\"attribute\":\"sel#1\",\"error\":\"$1" "$1"
    lacks worded.jsonl 'Name or age' "$1"
    lacks worded.jsonl worded_by "$1"
}
rejected 'options: expected 2, got 1' 1d
rejected 'options: expected 2, got 3' '1p'
rejected 'options\[0\]: expected .*, got ' '1{h;d};2{p;x}'
rejected 'options\[1\]: expected .*got .*wage' '2s/age/wage/'
echo '{"id":"7/sel#1","text":"I cannot."}' >completions.jsonl
run 0 clarify --candidates candidates.jsonl --wordings completions.jsonl -o worded.jsonl
has worded.jsonl '"error":"expected an object with \\"question\\" and \\"options\\""' "no object"
cmp -s <(sed -E 's/,"wordings_rejected":.*/}/' worded.jsonl | cut -c -400) <(cut -c -400 plain.jsonl) || complain "the output without words" "$(cat worded.jsonl)"

# --- answers have left other options: words for five options serve while their options are among those
{
    printf '{"id":"many","db_id":"hr","question":"Which?","gold":["SELECT name FROM staff LIMIT 6"],"candidates":['
    for n in 1 2 3 4 5 6 7; do printf '%s{"sql":"SELECT name FROM staff LIMIT %d","p":0.%d}' "$([ $n = 1 ] || echo ,)" $n $((n == 1 ? 4 : 1)); done
    echo ']}'
} >many.jsonl
run 0 clarify --candidates many.jsonl --write-wordings prompts.jsonl
{ answer 'many/limit' 'How many names?' && answer many/query 'Which one?'; } >completions.jsonl
run 0 clarify --candidates many.jsonl --wordings completions.jsonl --simulate --noise 0 -o simulated.jsonl
has simulated.jsonl '"turns":\[\{"attribute":"limit","text":"How many names\?","worded_by":"model",.*"chosen":"something else".*\{"attribute":"[^"]*","text":"[^"]*","options"' "other options"

# --- a model in place of the files: this one has random weights, so that all of its words are rejected
cp -r "$gold/llama/base" model && cp "$gold/bpe/llama/tokenizer.json" model
sed -i 's/"max_position_embeddings": *[0-9]*/"max_position_embeddings": 2048/' model/config.json
run 0 clarify --candidates candidates.jsonl --wording-model model --chat-template llama3-bare --device cpu -o worded.jsonl
has said '0 questions in the words of a language model, 5 of the template: ' "a model"
has worded.jsonl '"wordings_rejected":\[\{"attribute":"sel.arity","error":"' "a model's words"
cmp -s <(sed -E 's/,"wordings_rejected":.*/}/' worded.jsonl | cut -c -400) <(cut -c -400 plain.jsonl) || complain "the template's words" "$(cat worded.jsonl)"
expect 2 'wording-model and --lm: expected neither' clarify --candidates candidates.jsonl --wording-model model --wordings completions.jsonl
expect 6 'nowhere' clarify --candidates candidates.jsonl --wording-model nowhere --device cpu

# --- bad input
expect 3 'nowhere.jsonl' clarify --candidates candidates.jsonl --wordings nowhere.jsonl
echo '{"id":"a"}' >bad.jsonl
expect 3 'bad.jsonl: line 1' clarify --candidates candidates.jsonl --wordings bad.jsonl
run 7 clarify --candidates <(cat candidates.jsonl candidates.jsonl) --write-wordings twice.jsonl
has said 'the id a came before: wordings are told apart by it' "an id that came before"
[ "$(wc -l <twice.jsonl)" = 5 ] || complain "an id that came before" "$(wc -l <twice.jsonl) prompts"
expect 2 'write-wordings: expected none of' clarify --candidates candidates.jsonl --write-wordings p.jsonl -o out.jsonl
expect 2 'write-wordings: expected none of' clarify --candidates candidates.jsonl --write-wordings p.jsonl --wordings completions.jsonl
expect 2 'write-wordings: expected none of' clarify --candidates candidates.jsonl --write-wordings p.jsonl --simulate
expect 2 'at most one of' clarify --candidates - --wordings -
expect 2 'must be files' clarify --candidates candidates.jsonl --interactive --wordings -
finish

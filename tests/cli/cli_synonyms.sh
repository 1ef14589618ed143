#!/usr/bin/env bash
# ambit-data ambiguate --write-prompts, --answers and --lm: the published prompts, the filter of completions, the records with
# the names of a model.  A server is asked again, and its completions are cached.  Bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

cat >questions.jsonl <<'END'
{"db_id":"harbour","question":"Which names?","query":"SELECT name FROM boat"}
{"db_id":"harbour","question":"How old?","query":"SELECT age FROM crew WHERE age > 3"}
END
cat >tables.json <<'END'
[{"db_id":"harbour","table_names":["boat","crew"],"table_names_original":["Boat","crew"],
"column_names":[[-1,"*"],[0,"id"],[0,"name"],[1,"age"]],"column_names_original":[[-1,"*"],[0,"id"],[0,"Name"],[1,"age"]],
"column_types":["text","number","text","number"],"primary_keys":[1],"foreign_keys":[]},
{"db_id":"unused","table_names":["a"],"table_names_original":["a"],"column_names":[[-1,"*"],[0,"b"]],
"column_names_original":[[-1,"*"],[0,"b"]],"column_types":["text","text"],"primary_keys":[],"foreign_keys":[]}]
END
ambiguate() { data ambiguate --questions questions.jsonl --schema tables.json "$@"; }

# --- prompts: of the databases in use, of the types that are made
expect 0 '4 prompts' ambiguate --write-prompts -o prompts.jsonl
[ "$(grep -o '"id":"[^"]*"' prompts.jsonl | tr -d '\n')" = '"id":"harbour/Boat/columns""id":"harbour/Boat/table""id":"harbour/crew/columns""id":"harbour/crew/table"' ] || complain "ids" "$(cat prompts.jsonl)"
grep -qF '{"role":"user","content":"The database with database ID \"harbour\" has a table called \"Boat\". This table has columns with the following names:\n\"id\", \"Name\"\nGive me two alternate names for each column. Format your output as a json snippet' prompts.jsonl || complain "columns" "$(head -n 1 prompts.jsonl)"
grep -qF 'currently has tables with the names \"Boat\", \"crew\". Give me two alternate names for the table \"crew\". Print your output as a python list.' prompts.jsonl || complain "table" "$(tail -n 1 prompts.jsonl)"
grep -qF '{"role":"assistant","content":"[\"director\", \"maestro\"]"}' prompts.jsonl || complain "example" "$(tail -n 1 prompts.jsonl)"
expect 0 '2 prompts' ambiguate --write-prompts --kinds T -o tables.jsonl
[ "$(grep -c '/table"' tables.jsonl)" = 2 ] || complain "type T" "$(cat tables.jsonl)"

# --- completions: JSON with words around it, a Python list, the first of several that passes
answers() {
    cat >answers.jsonl <<'END'
{"id":"harbour/Boat/columns","text":"Here you are:\n```json\n{\"id\": [\"number\", \"code\", \"key\"], \"Name\": [\"Title\", \"full label\"]}\n```"}
{"id":"harbour/Boat/table","text":"['ship', 'vessel']"}
{"id":"harbour/crew/columns","texts":[{"text":"I cannot do that."},"{\"age\": [\"years\"]}","{\"age\": [\"years\", \"time_alive\"]}"]}
{"id":"harbour/crew/table","texts":["[\"sea staff\", \"team\"]","[\"staff\", \"team\"]"]}
END
}
answers
made() { ambiguate --answers answers.jsonl --kinds C,T -o "$1"; }
expect 0 '4 prompts, 0 without a completion' made records.jsonl
grep -qi '"query1":"select title from boat","query2":"select \\"full label\\" from boat"' records.jsonl || complain "columns" "$(cat records.jsonl)"
grep -qi '"query1":"select years from crew' records.jsonl || complain "the third completion" "$(cat records.jsonl)"
grep -qi '"query1":"select age from staff' records.jsonl || complain "the second list" "$(cat records.jsonl)"
[ "$(grep -c '"synonym_source":"model"' records.jsonl)" = "$(wc -l <records.jsonl)" ] || complain "source" "$(cat records.jsonl)"

# --- the filter: unread prompts are listed, their records are missing, and the exit code is 7
# rejects ID COMPLETION
rejects() {
    answers
    grep -v "\"$1\"" answers.jsonl >kept && mv kept answers.jsonl
    printf '{"id":"%s","text":%s}\n' "$1" "$2" >>answers.jsonl
    check "$2" 7 "4 prompts, 1 without" made fewer.jsonl
    grep -q "$1: no completion has two usable names" said || complain "$2" "is not listed"
}
rejects harbour/Boat/table '"[\"ship\"]"'
rejects harbour/Boat/table '"[\"ship\", \"Ship\"]"'
rejects harbour/Boat/table '"[\"ship\", \"boat\"]"'
rejects harbour/Boat/table '"[\"ship\", 7]"'
rejects harbour/Boat/table '"[\"ship\", \"the vessel\"]"'
rejects harbour/Boat/table '"ship, vessel"'
rejects harbour/Boat/table '"[\"\", \"vessel\"]"'
rejects harbour/Boat/columns '"{\"id\": [\"number\", \"code\"]}"'
rejects harbour/Boat/columns '"{\"id\": [\"number\", \"code\"], \"Name\": [\"a\\nb\", \"c\"]}"'
rejects harbour/Boat/columns '"[\"number\", \"code\"]"'
grep -qi '"query1":"select title from' fewer.jsonl && complain "rejected names" "are used"
answers && sed -i 1d answers.jsonl
check "no completion" 7 "harbour/Boat/columns: no completion$" made fewer.jsonl

# --- a server gives the same records as its completions in a file.  A prompt is asked until a completion passes the filter.
if [ -x "$bin/lm_server" ]; then
    # shellcheck source=tests/support/lm_server.sh
    . "$support/lm_server.sh"
    cat >texts.jsonl <<'END'
{"match":"a table called \"Boat\"","texts":["{\"id\": [\"number\", \"code\"], \"Name\": [\"Title\", \"full label\"]}"]}
{"match":"names for the table \"Boat\"","texts":["[\"ship\", \"vessel\"]"]}
{"match":"a table called \"crew\"","texts":["I cannot do that.","{\"age\": [\"years\"]}","{\"age\": [\"years\", \"time_alive\"]}"]}
{"match":"names for the table \"crew\"","texts":["[\"sea staff\", \"team\"]","[\"staff\", \"team\"]"]}
END
    asked() { ambiguate --lm "$url" --kinds C,T "$@"; }
    serve answers=texts.jsonl
    expect 0 '4 prompts, 0 without a completion' asked --cache cache.jsonl -o asked.jsonl
    cmp -s records.jsonl asked.jsonl || complain "a server's names" "$(diff records.jsonl asked.jsonl)"
    [ "$(requests)" = 7 ] || complain "prompts asked again" "$(requests) requests, expected 4 + 2 + 1"
    expect 0 '4 prompts, 0 without a completion' asked --cache cache.jsonl -o cached.jsonl
    cmp -s records.jsonl cached.jsonl || complain "cached names" "$(diff records.jsonl cached.jsonl)"
    [ "$(requests)" = 7 ] || complain "the cache" "$(requests) requests"
    expect 0 '2 prompts, 0 without a completion' asked --kinds T -o tables-only.jsonl
    expect 0 '4 prompts, 0 without a completion' asked --seed 5 -o seeded.jsonl
    kill "$server"
    sed -i '2s/vessel/Ship/' texts.jsonl
    serve answers=texts.jsonl
    expect 7 '4 prompts, 1 without a completion' asked --kinds C,T -o fewer.jsonl
    grep -q 'harbour/Boat/table: no completion has two usable names' said || complain "an unusable answer" "$(cat said)"
    [ "$(requests)" = 16 ] || complain "tries of a prompt" "$(requests) requests, expected 6 + 10"
    kill "$server"
    serve answers=texts.jsonl key=secret
    expect 1 'the server answered 401' asked -o new.jsonl
    kill "$server"
    expect 1 'is the server running' ambiguate --lm "$url" -o new.jsonl
    expect 2 'write-prompts and --lm cannot be used together' ambiguate --write-prompts --lm "$url" -o new.jsonl
    expect 2 'answers and --lm cannot be used together' ambiguate --answers answers.jsonl --lm "$url" -o new.jsonl
    expect 2 'lm and --synonyms cannot be used together' ambiguate --synonyms x.json --lm "$url" -o new.jsonl
    expect 2 'expected an address such as http' ambiguate --lm folder -o new.jsonl
    expect 2 'expected --lm with the address' ambiguate --lm-model tiny -o new.jsonl
fi

# --- bad input
answers && sed -i 's/Boat/pier/' answers.jsonl
expect 3 'answers.jsonl: field "id": expected the id of a prompt, got "harbour/pier/columns"' made new.jsonl
answers && sed -i '2s/"text":.*/"text":7}/' answers.jsonl
expect 3 'answers.jsonl: line 2: expected "text" or "texts"' made new.jsonl
answers && sed -i '3s/.*/{"text":"x"/' answers.jsonl
expect 3 'answers.jsonl: line 3' made new.jsonl
rm answers.jsonl && expect 3 'answers.jsonl: No such file' made new.jsonl
answers
expect 2 'write-prompts and --answers cannot be used together' ambiguate --write-prompts --answers answers.jsonl -o new.jsonl
expect 2 'answers and --synonyms cannot be used together' ambiguate --answers answers.jsonl --synonyms x.json -o new.jsonl
expect 2 'write-prompts: expected --kinds with C or T, got J' ambiguate --write-prompts --kinds J -o new.jsonl

finish

#!/usr/bin/env bash
# Control characters in names, cells and questions of strangers: none reaches the terminal, by whatever command.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

esc=$'\e]0;X\a' bidi=$'\u202e' csi=$'\u009b31m'
evil=$esc$bidi$csi
json='\u001b]0;X\u0007\u202e\u009b31m'
if ! command -v sqlite3 >/dev/null; then
    echo "no sqlite3 to make a database with"
    exit 77
fi
mkdir db
sqlite3 db/shop.sqlite "CREATE TABLE item(id INTEGER PRIMARY KEY, \"fee$evil\" TEXT, \"cost$evil\" TEXT, name TEXT);
    INSERT INTO item VALUES (1, 'red$evil', 'low$evil', 'a$evil'), (2, 'blue$evil', 'high$evil', 'b$evil'), (3, 'red', 'low', 'c')"
sqlite3 db/shop.sqlite .schema | grep -q $'\u202e' || { echo "no such names in this sqlite3" && exit 77; }

# unseen NAME: checks that none of these was printed
unseen() {
    begin "$1: nothing unseen"
    LC_ALL=C grep -aq $'[\e\a]\|\xc2\x9b\|\xe2\x80\xae' shown said && complain "$1" "prints: $(cat -v shown said | head -c 600)"
}
# shows NAME: checks that the characters are printed visibly
shows() {
    unseen "$1"
    grep -aqF "\\u001b]0;X" shown said || complain "$1" "does not show them: $(head -c 600 shown)"
}

echo "{\"id\":1,\"db_id\":\"shop\",\"question\":\"What is the fee$json of each red$json item?\",\"candidates\":[{\"sql\":\"SELECT \\\"fee$json\\\" FROM item\"},{\"sql\":\"SELECT \\\"cost$json\\\" FROM item\"}]}" >q.jsonl
echo "{\"id\":\"x$json\",\"db_id\":\"none$json\",\"question\":\"What?\",\"sql\":\"SELECT 1\"}" >none.jsonl

small_detector detector

infer detect --format text --model detector --device cpu --threshold 0 --db db q.jsonl >shown 2>said
shows "detect --format text"
infer detect --format text --model detector --device cpu --db db none.jsonl >shown 2>said
shows "detect --format text, an error"
infer detect --model detector --device cpu --db db q.jsonl >shown 2>said
grep -qi '\\u001b' shown || complain "detect" "its JSON is another"
infer tag --strategy heuristic --format text --db db q.jsonl >shown 2>said
shows "tag --format text"
infer tag --strategy heuristic --format text --db db none.jsonl >shown 2>said
unseen "tag --format text, an error"
for answer in 1 2 0; do
    printf '%s\n\n' $answer | infer ask --interactive --device cpu --tagger heuristic --detector detector --db db q.jsonl >shown 2>said
    unseen "ask at the terminal, $answer"
    grep -q 'fee' shown || complain "ask at the terminal" "asks nothing: $(head -c 300 said)"
    printf '%s\n\n' $answer | infer clarify --candidates q.jsonl --db db --interactive >shown 2>said
    unseen "clarify at the terminal, $answer"
    grep -q 'fee' shown || complain "clarify at the terminal" "asks nothing"
done

# --- files of models
header="{\"w$json\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"
{ printf "%b" "\\0$(printf %03o ${#header})\\0\\0\\0\\0\\0\\0\\0" && printf '%s' "$header" && printf '\0\0\0\0'; } >a.safetensors
train inspect a.safetensors >shown 2>said
shows "inspect"

# --- messages
data execute --db "db$evil" q.jsonl >shown 2>said
unseen "a folder that is not there"
grep -aqF '\u001b]0;X' said || complain "a message" "does not show the name"
data execute --db db none.jsonl -o out.jsonl >shown 2>said
unseen "execute"
data "exe$evil" >shown 2>said
shows "an unknown command"
data execute "--d$evil" >shown 2>said
shows "an unknown option"
echo "{\"id\":\"x$json\",\"db_id\":\"shop\",\"golds\":[{\"sql\":\"SELECT 1\"}]}" >gold.jsonl
data score --gold gold.jsonl --pred none.jsonl --db db >shown 2>said
unseen "score"
printf 'id,question\n1,%s\n' "$evil" >t.csv
infer tag --strategy heuristic --db db/shop.sqlite --format text t.csv >shown 2>said
shows "a table's question"
finish

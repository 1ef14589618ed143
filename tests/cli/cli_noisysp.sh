#!/usr/bin/env bash
# ambit-data noisysp: converts records with marked words to the published format and back.  Foreign examples; a tagger that
# learns from them; bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

has() { grep -qF -- "$2" "$1" || complain "$1 lacks" "$2: $(head -c 900 "$1")"; }
lacks() { ! grep -qF -- "$2" "$1" || complain "$1 has" "$2"; }

# --- there and back
cat >words.jsonl <<'JSONL'
{"id":"a","source":"wikisql","db_id":"game","question":"What was the score in São Paulo (2008)?","type":"noisysp","columns":[{"name":"our score","type":"number","values":["2008"]},{"name":"opponent score","type":"number","values":["2008"]},{"name":"played at","type":"text","values":["São Paulo"]}],"spans":[{"start":13,"end":18,"label":"AMB","alternatives":[{"column":0},{"column":1}]},{"start":22,"end":31,"label":"VAL","alternatives":[{"column":2,"value":"São Paulo"}]}],"concepts":[{"keyword":"MAX"},{"keyword":">="},{"column":0},{"column":1},{"column":2},{"column":2,"value":"São Paulo"}]}
{"id":"b","source":"wikisql__spider","db_id":"shop","question":"Show the warranty and the list prices of \"Tent\".","type":"noisysp","columns":[{"table":"product","name":"name","type":"text","values":["Tent"]},{"table":"product","name":"list price","type":"number","values":[]},{"table":"sale","name":"day","type":"time","values":[]},{"table":"sale","name":"paid","type":"boolean","values":[]}],"spans":[{"start":9,"end":17,"label":"UNK","alternatives":[]},{"start":26,"end":37,"label":"COL","alternatives":[{"column":1}]},{"start":42,"end":46,"label":"VAL","alternatives":[{"column":0,"value":"Tent"}]}],"concepts":[{"column":1},{"column":0,"value":"Tent"}]}
{"id":"c","source":"wikisql","db_id":"town","question":"Who lives in Rome?","type":"noisysp","columns":[{"name":"town","type":"text","values":["Rome"]},{"name":"birth town","type":"text","values":["Rome"]}],"spans":[{"start":13,"end":17,"label":"AMB","alternatives":[{"column":0,"value":"Rome"},{"column":1,"value":"Rome"}]}],"concepts":[{"keyword":"="},{"column":0},{"column":0,"value":"Rome"},{"column":1},{"column":1,"value":"Rome"}]}
JSONL
check "to the published form" 0 "3 records, 0 omitted as unresolved, 0 failed" data noisysp --to noisysp words.jsonl -o train.preproc.json
check "and back" 0 "3 records" data noisysp train.preproc.json -o back.jsonl
cmp -s words.jsonl back.jsonl || complain "there and back" "$(diff words.jsonl back.jsonl | head -n 6)"
has train.preproc.json '"question":{"text":"What was the score in São Paulo (2008)?","tokens":[{"token":"What","lemma":"what"},{"token":"was","lemma":"was"}'
has train.preproc.json '{"token":"score","term_type":"Ambiguity","term_value":"our score || opponent score","confidence":1.0}'
has train.preproc.json '{"token":"warranty","term_type":"Unknown","term_value":"","confidence":1.0}'
has train.preproc.json '{"token":"São","term_type":"Value","term_value":"played at::São Paulo","confidence":1.0}'
has train.preproc.json '{"token":"prices","term_type":"Column","term_value":"product::list price","confidence":1.0}'
has train.preproc.json '"schema":{"db_id":"shop","columns":[{"name":"name","tokens":[{"token":"name","lemma":"name"}],"data_type":0,"table":"product"}'
has train.preproc.json '"tables":[{"name":"product","tokens":[{"token":"product","lemma":"product"}],"columns":["product::name","product::list price"]}'
has train.preproc.json '"sql":{"db_id":"shop","tokens":[{"type":2,"field":0,"value":"product::list price"},{"type":3,"field":3,"value":"product::name::Tent"}],"sql_dict":{}}'
has train.preproc.json '{"name":"São Paulo","tokens":[{"token":"São","lemma":"são"},{"token":"Paulo","lemma":"paulo"}],"column":"played at","span":{"start":5,"end":6},"score":1.0}'
has train.preproc.json '"erased_ngrams":[{"start":0,"end":0},'
has train.preproc.json '"uuid":"a","unique_str":"a","value_resolved":true}'
if command -v python3 >/dev/null; then
    python3 -c 'import json; assert [len(x["binding_result"]) == len(x["question"]["tokens"]) for x in json.load(open("train.preproc.json"))] == [True] * 3' || complain "the array is none, or labels are missing"
fi
data noisysp --to noisysp words.jsonl 2>>log >shown
cmp -s shown train.preproc.json || complain "standard output differs"
: >none.jsonl
run 0 data noisysp --to noisysp none.jsonl -o none.json
[ "$(cat none.json)" = "[]" ] || complain "no records are no array"

has train.preproc.json '"tokens":[{"type":0,"field":0,"value":"MAX"},{"type":0,"field":0,"value":">="},{"type":2,"field":0,"value":"our score"}'
# without concepts: the SQL has the columns and values of the marked words
sed 's/,"concepts":.*$/}/' words.jsonl >marks.jsonl
run 0 data noisysp --to noisysp marks.jsonl -o marks.json
has marks.json '"sql":{"db_id":"shop","tokens":[{"type":2,"field":0,"value":"product::list price"},{"type":3,"field":3,"value":"product::name::Tent"}],"sql_dict":{}}'
sed 's/"type":0,"field":0,"value":"MAX"/"type":9,"field":0,"value":"MAX"/' train.preproc.json >badsql.json
check "a type of the SQL's tokens" 7 'field "type".*9' data noisysp badsql.json -o badsql.jsonl

# --- foreign files: words that differ from the text, no names of the ambiguous elements, unquoted numbers, missing names
item() { printf '{"token":"%s","term_type":"%s","term_value":"%s","confidence":0.9}' "$@"; }
# example BINDINGS [MORE FIELDS]
example() {
    printf '{"dataset":"wikitq__x","question":{"text":"%s","tokens":[%s]},' "${text:-show the score ( 3 )}" "${tokens:-{\"token\":\"show\",\"lemma\":\"show\"\},{\"token\":\"the\",\"lemma\":\"the\"\},{\"token\":\"score\",\"lemma\":\"score\"\},{\"token\":\"(\",\"lemma\":\"(\"\},{\"token\":\"3\",\"lemma\":\"3\"\},{\"token\":\")\",\"lemma\":\")\"\}}"
    printf '"schema":{"db_id":"t1","columns":[%s],"tables":null},"sql":{"db_id":"t1","tokens":[],"sql_dict":{}},' "${columns:-{\"name\":\"\",\"tokens\":[],\"data_type\":0\},{\"name\":\"town\",\"tokens\":[],\"data_type\":0\},{\"name\":\"our score\",\"tokens\":[],\"data_type\":1\},{\"name\":\"final score\",\"tokens\":[],\"data_type\":1\}}"
    printf '"matched_values":[{"name":3,"tokens":[],"column":"our score","span":{"start":4,"end":4},"score":1.0}],"erased_ngrams":[],"binding_result":%s%s}\n' "$1" "${2-,\"value_resolved\":true}"
}
all="[$(item show Null ""),$(item the Null ""),$(item score Ambiguity score),$(item "(" Keyword max),$(item 3 Value 'OUR score::\"3\"'),$(item ")" Null "")]"
example "$all" >other.json
run 0 data noisysp other.json -o other.jsonl
has other.jsonl '"id":"1","source":"wikitq__x","db_id":"t1","question":"show the score ( 3 )","type":"noisysp"'
has other.jsonl '"columns":[{"name":"town","type":"text","values":[]},{"name":"our score","type":"number","values":["3"]},{"name":"final score"'
has other.jsonl '"spans":[{"start":9,"end":14,"label":"AMB","alternatives":[{"column":1},{"column":2}]},{"start":17,"end":18,"label":"VAL","alternatives":[{"column":1,"value":"3"}]}]}'
text='Show the  score (3)' example "$all" >other.json
run 0 data noisysp other.json -o other.jsonl
has other.jsonl '"question":"Show the  score (3)"'
has other.jsonl '"start":10,"end":15,"label":"AMB"'
has other.jsonl '"start":17,"end":18,"label":"VAL"'
text='Show the score -LRB-3-RRB-' example "$all" >other.json
run 0 data noisysp other.json -o other.jsonl
has other.jsonl '"question":"show the score ( 3 )"'
example "${all/our score/no such column}" >other.json
run 0 data noisysp other.json -o other.jsonl
example "${all/OUR score/nothing}" >other.json
run 0 data noisysp other.json -o other.jsonl
lacks other.jsonl VAL
{ example "$all" && example "$all" ',"value_resolved":false' && example "$all" ''; } >other.json
check "an unresolved example" 0 "2 records, 1 omitted as unresolved, 0 failed" data noisysp other.json -o other.jsonl

# --- a tagger learns from them
mkdir spans
for i in $(seq 12); do sed "s/\"id\":\"/&$i/" words.jsonl; done >many.jsonl
data noisysp --to noisysp many.jsonl -o many.json 2>>log
data noisysp many.json -o spans/train.jsonl 2>>log
cp spans/train.jsonl spans/valid.jsonl
run 0 train tag --data spans --device cpu --encoder-hidden 32 --encoder-layers 1 --encoder-heads 2 --encoder-intermediate 32 --encoder-vocabulary 300 \
    --hidden 32 --epochs 1 --out run

# --- a bad example is skipped with a warning
# bad NAME TEXT EXAMPLE
bad() {
    { printf '%s\n' "$3" && example "$all"; } >bad.json
    check "$1" 7 "$2" data noisysp --format-in jsonl bad.json -o out.jsonl
    [ "$(wc -l <out.jsonl)" = 1 ] || complain "$1" "the other example did not go on"
}
good=$(example "$all")
bad "no data set" 'line 1: field "dataset"' "${good/\"dataset\"/\"dataser\"}"
bad "no question" 'line 1: field "question"' "${good/\"question\"/\"query\"}"
bad "no text" 'line 1: field "text"' "${good/\"text\"/\"words\"}"
bad "no words" 'field "tokens": expected words, got none' "$(tokens=' ' example "$all")"
bad "an empty word" 'field "token": expected a word' "${good/\"token\":\"show\"/\"token\":\"\"}"
bad "a word with a blank before it" 'tokens with blanks' "${good/\"token\":\"show\"/\"token\":\" show\"}"
bad "no schema" 'field "schema"' "${good/\"schema\"/\"scheme\"}"
bad "no name of a table" 'field "db_id"' "${good/\"db_id\":\"t1\"/\"db\":1}"
bad "a type" 'field "data_type".*0 to 3' "${good/\"data_type\":0/\"data_type\":9}"
bad "no columns" 'field "columns": expected one at least' "$(columns=' ' example "$all")"
bad "no labels" 'field "binding_result"' "$(example null)"
bad "a label too few" 'field "binding_result": expected one for each of 6 words, got 2' "$(example "[$(item show Null ""),$(item the Null "")]")"
bad "a label without a type" 'field "term_type"' "${good/\"term_type\"/\"type\"}"
printf '%s\n' '{"id":"1"}' >bad.jsonl
check "no record with marked words" 7 'line 1: field "source"' data noisysp --to noisysp bad.jsonl -o out.jsonl
echo '{"dataset":' >half.json
check "half an example" 3 'half.json: line 1' data noisysp half.json -o no.jsonl
check "no such file" 3 "no-such-file" data noisysp no-such-file.json -o no.jsonl
printf '[%s,' "$good" >half.json
check "half an array" 3 "half.json" data noisysp half.json -o no.jsonl
check "a form" 2 "marked-words.noisysp" data noisysp --to paper words.jsonl -o no.jsonl
check "the input as output" 2 "" data noisysp words.jsonl -o words.jsonl
finish

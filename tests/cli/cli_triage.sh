#!/usr/bin/env bash
# ambit-data triage: MMSQL, TriageSQL, EHRSQL, Mini-Interact and PRACTIQ in one form; score --rule triage; bad input of each reader.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

has() { grep -qF -- "$2" "$1" || complain "$1 lacks" "$2: $(head -c 900 "$1")"; }
lines() { [ "$(wc -l <"$1")" = "$2" ] || complain "$1: expected $2 lines" "$(cat "$1")"; }
convert() { data triage convert --force "$@"; }

echo '[{"db_id":"shop","table_names":["item"],"table_names_original":["item"],"column_names":[[-1,"*"],[0,"price"]],"column_names_original":[[-1,"*"],[0,"price"]],"column_types":["text","number"],"primary_keys":[],"foreign_keys":[]}]' >tables.json

# --- MMSQL: a question for each turn of the user, with the earlier ones
turn() { printf '{"isuser":%s,"text":"%s","%s":"%s"}' "$@"; }
dialogue() { printf '[{"id":0,"db_name":"%s","turns":[%s]}]' "$1" "$2"; }
dialogue shop "$(turn true "Hi!" type improper),$(turn false "Hello" query ""),$(turn true "Prices?" type answerable),$(turn false "" query "SELECT price FROM item")" >mmsql.json
check "MMSQL" 0 "1 answerable" convert --from mmsql mmsql.json --schema tables.json -o mmsql
lines mmsql/questions.jsonl 2
has mmsql/questions.jsonl '{"id":"1-1","db_id":"shop","question":"Hi!","class":"improper","source":"mmsql","source_class":"improper"}'
has mmsql/questions.jsonl '{"id":"1-3","db_id":"shop","question":"Prices?","class":"answerable","source":"mmsql","source_class":"answerable","sql":"SELECT price FROM item","context":["Hi!"]}'
has mmsql/tables.json '"db_id":"shop"'

# --- TriageSQL: its own tables become schemas; equal ones are one schema, others of the same name get a number
question() { printf '{"tables":%s,"databaseid":"d","type":"%s","question":"%s"}' "$@"; }
printf '[%s,%s,%s]' "$(question '{"t":["a","b"]}' ambiguous one)" "$(question '{"t":["a","b"]}' "lack data" two)" "$(question '{"t":["a"]}' "small talk" three)" >triagesql.json
check "TriageSQL" 0 "1 unanswerable" convert --from triagesql triagesql.json -o triagesql
has triagesql/questions.jsonl '{"id":1,"db_id":"d","question":"one","class":"ambiguous","source":"triagesql","source_class":"ambiguous"}'
has triagesql/questions.jsonl '"db_id":"d","question":"two","class":"unanswerable","source":"triagesql","source_class":"lack data"'
has triagesql/questions.jsonl '"db_id":"d_2","question":"three","class":"improper"'

# --- EHRSQL: a label "null" means unanswerable
mkdir -p ehr
echo '{"version":"v1","data":[{"id":"x","question":"Price?"},{"id":"y","question":"Weather?"}]}' >ehr/data.json
echo '{"x":"SELECT price FROM item","y":"null"}' >ehr/label.json
check "EHRSQL" 0 "1 unanswerable" convert --from ehrsql ehr --schema tables.json -o ehrsql
has ehrsql/questions.jsonl '{"id":"x","db_id":"shop","question":"Price?","class":"answerable","source":"ehrsql","source_class":"answerable","sql":"SELECT price FROM item"}'
has ehrsql/questions.jsonl '{"id":"y","db_id":"shop","question":"Weather?","class":"unanswerable"'

# --- Mini-Interact: an ambiguous question and the clear one
echo '{"instance_id":"alien_1","selected_database":"alien","amb_user_query":"good signals?","query":"signals above 5?","user_query_ambiguity":{"critical_ambiguity":[{"term":"good","sql_snippet":"x > 5","type":"semantic"}]}}' >mini.jsonl
check "Mini-Interact" 0 "1 ambiguous" convert --from mini-interact mini.jsonl -o mini
has mini/questions.jsonl '"question":"good signals?","class":"ambiguous","source":"mini-interact","source_class":"amb_user_query","ambiguities":[{"term":"good","type":"semantic"}]}'
has mini/questions.jsonl '{"id":"alien_1-clear","db_id":"alien","question":"signals above 5?","class":"answerable"'
! grep -q 'good signals.*"kind"' mini/questions.jsonl || complain "Mini-Interact" "has a kind of a semantic ambiguity"
sed 's/"semantic"/"schema_linking_ambiguity"/' mini.jsonl >mini-schema.jsonl
run 0 convert --from mini-interact mini-schema.jsonl -o mini-schema
grep -q '"class":"ambiguous".*"kind":"schema"' mini-schema/questions.jsonl || complain "Mini-Interact" "has no kind"
grep -q '"class":"answerable".*"kind":"answerable"' mini-schema/questions.jsonl || complain "Mini-Interact" "has no kind of the clear question"
[ ! -e mini/tables.json ] || complain "a folder of tasks without schemas" "has tables.json"

# --- PRACTIQ: each question has its category and its edits of a schema; equal edits make one schema
practiq() { printf '{"db_id":"%s","question":"old","query":"SELECT price FROM item","ambiguousUnanswerableCategory":"%s","schemaModification":%s,"finalConversation":[{"USER":"%s"},{"DB EXPERT":"x"}]}\n' "$@"; }
removed='{"removeColumn":[{"table":"ITEM","column":"Price"},{"table":"gone","column":"x"}]}'
doubled='{"removeColumn":[{"table":"item","column":"price"}],"addColumn":[{"table":"item","column":"list_price","type":"REAL","value":[1]},{"table":"item","column":"sale_price","type":"REAL","value":[2]}],"addCell":[]}'
{ practiq shop answerable '{}' One; practiq shop Nonexistent_SELECT_Column "$removed" Two; practiq shop Unsupported_Join "$removed" Three; practiq shop Ambiguous_SELECT_Column "$doubled" Four; practiq shop Ambiguous_Filter_Criteria '{}' Five; } >practiq.jsonl
check "PRACTIQ" 0 "2 unanswerable" convert --from practiq practiq.jsonl --schema tables.json -o practiq
has practiq/questions.jsonl '{"id":1,"db_id":"shop","question":"One","class":"answerable","source":"practiq","source_class":"answerable","sql":"SELECT price FROM item","kind":"answerable"}'
has practiq/questions.jsonl '{"id":2,"db_id":"shop_2","question":"Two","class":"unanswerable","source":"practiq","source_class":"Nonexistent_SELECT_Column","kind":"column"}'
has practiq/questions.jsonl '"question":"Three","class":"unanswerable","source":"practiq","source_class":"Unsupported_Join"}'
has practiq/questions.jsonl '"source_class":"Ambiguous_SELECT_Column","kind":"schema"}'
has practiq/questions.jsonl '"source_class":"Ambiguous_Filter_Criteria","kind":"aggregate"}'
has practiq/questions.jsonl '"db_id":"shop_2","question":"Three","class":"unanswerable"'
has practiq/questions.jsonl '"db_id":"shop_3","question":"Four","class":"ambiguous"'
has practiq/tables.json '"list_price"'
[ "$(grep -o '"price"' practiq/tables.json | wc -l)" = 2 ] || complain "the edited schemas" "still have the removed column"

# --- keywords: classes without a model, from a tables.json or from a database with values
printf '{"id":%d,"db_id":"shop","question":"%s"}\n' 1 "Show the price of each item." 2 "What is the warranty?" 3 "Thanks!" 4 "Which item is called Tent?" 5 "Which item is called Kettle?" >words.jsonl
printf '{"id":%d,"db_id":"shop","question":"q","class":"%s"}\n' 1 answerable 2 unanswerable 3 improper 9 ambiguous >gold5.jsonl
run 0 data triage keywords words.jsonl --schema tables.json
has shown '{"id":1,"db_id":"shop","question":"Show the price of each item.","triage":{"class":"answerable","kind":"answerable","confidence":1.0,"words":[],"sentence":"The database seems to have an answer to this question."}}'
has shown '"class":"unanswerable","kind":"table","confidence":1.0,"words":[{"text":"warranty","start":12,"end":20,"reason":"column"}]'
has shown '"class":"improper","kind":"improper","confidence":0.9,"words":[{"text":"Thanks","start":0,"end":6,"reason":"small-talk"}]'
sqlite3 shop.sqlite "CREATE TABLE item (name TEXT, price REAL); INSERT INTO item VALUES ('Tent', 5)"
run 0 data triage keywords words.jsonl --db shop.sqlite -o valued.jsonl
lines valued.jsonl 5
check "an unknown database" 7 "" data triage keywords <(echo '{"db_id":"ship","question":"Hi"}') --schema tables.json
run 7 data triage keywords <(echo '{"db_id":"shop"}') --schema tables.json
has shown '"error":"/dev/fd/'
has shown 'is missing, expected a string'
check "neither schema nor database" 2 "expected either --schema or --db" data triage keywords words.jsonl

# --- make: training questions of all classes; the same seed gives the same bytes
span() { printf '{"id":"%s","source":"wikisql","db_id":"%s","question":"%s","type":"%s","columns":[{"name":"price","type":"number","values":[]},{"name":"%s","type":"text","values":[]}],"spans":[{"start":0,"end":4,"label":"%s","alternatives":%s}],"edit":{"deleted":[],"added":[]}}\n' "$@"; }
for i in 1 2 3 4 5 6; do
    span "a$i" "one$i" "Show price $i?" plain name COL '[{"column":0}]'
    span "b$i" "two$i" "Show item $i?" doubled colour AMB '[{"column":0},{"column":1}]'
    span "c$i" "two$i" "Show wheel $i?" deleted maker UNK '[]'
    span "d$i" "two$i" "Show Tent $i?" value-deleted maker UNK '[]'
    printf '{"id":"e%d","source":"wikisql","db_id":"three%d","question":"Show Tent %d?","type":"plain","columns":[{"name":"maker","type":"text","values":["Tent"]}],"spans":[],"edit":{"deleted":[],"added":[]}}\n' $i $i $i
done >spans.jsonl
make_questions() { data triage make --spans spans.jsonl --questions 40 --force "$@"; }
check "make" 0 "3 improper" make_questions -o made
run 0 make_questions -o again
diff -r made again >/dev/null || complain "make" "differs for the same seed"
run 0 make_questions --seed 2 -o other
! cmp -s made/questions.jsonl other/questions.jsonl || complain "make" "is the same for another seed"
for class in answerable ambiguous unanswerable improper; do has made/questions.jsonl "\"class\":\"$class\""; done
has made/questions.jsonl '"class":"unanswerable","kind":"table","source":"made","source_class":"another database"'
check "no spans" 3 "expected records with marked words, got none" data triage make --spans /dev/null -o none
check "bad spans" 3 'bad.jsonl: ' data triage make --spans bad.jsonl -o none

has made/questions.jsonl '"class":"answerable","kind":"answerable","source":"made","source_class":"following","context":["'
for kind in '"ambiguous","kind":"schema","source":"made","source_class":"doubled"' '"ambiguous","kind":"aggregate","source":"made","source_class":"vague filter"' \
    '"answerable","kind":"answerable","source":"made","source_class":"exact filter"' '"unanswerable","kind":"column","source":"made","source_class":"deleted"' \
    '"unanswerable","kind":"knowledge","source":"made","source_class":"outside knowledge"' '"unanswerable","kind":"request","source":"made","source_class":"beyond SQL"'; do
    has made/questions.jsonl "\"class\":$kind"
done
grep -q '"kind":"value","source":"made","source_class":"value-deleted".*"by_values":true' made/questions.jsonl || complain "make" "does not mark kinds that depend on values"
! grep -q '"kind":"time"' made/questions.jsonl || complain "make" "asks for times of tables without such a column"
# A table that the question uses is gone, with all its columns; questions about times need a column of times.
for i in {1..60}; do
    printf '{"id":"f%d","source":"spider","db_id":"four%d","question":"Show the owner %d?","type":"plain","columns":[{"table":"boat","name":"{length}","type":"number","values":[]},{"table":"boat","name":"launch","type":"time","values":[]},{"table":"owner","name":"name","type":"text","values":[]},{"table":"owner","name":"ab語%d","type":"text","values":[]}],"spans":[{"start":9,"end":14,"label":"COL","alternatives":[{"column":2}]}],"edit":{"deleted":[],"added":[]}}\n' "$i" "$i" "$i" "$i"
done >tables.jsonl
run 0 data triage make --spans tables.jsonl --questions 1000 -o several
! grep -q '\[[0-9]\]' several/tables.json || complain "make" "cuts a name inside a character: $(cat several/tables.json)"
db_id=$(sed -n 's/.*"db_id":"\([a-z_0-9]*\)","question":"Show the owner [0-9]*?".*"source_class":"table deleted".*/\1/p' several/questions.jsonl | head -n 1)
[ -n "$db_id" ] || complain "make" "deletes no table"
sed -n "s/.*\"db_id\": *\"$db_id\".*/&/p" several/tables.json >without.json
! grep -q '"name"' without.json || complain "make" "keeps a column of the deleted table: $(cat without.json)"
grep -q '"question":"[^"]*{length}[^"]*".*vague filter' several/questions.jsonl || complain "make" "takes a brace of a name for a slot"
has several/questions.jsonl '"class":"ambiguous","kind":"time","source":"made","source_class":"vague time"'
has several/questions.jsonl '"class":"answerable","kind":"answerable","source":"made","source_class":"exact time"'
grep -q '"class":"answerable".*"values":\[{"column":0,"text":"Tent"' made/questions.jsonl || complain "make" "lists no stored values"
mkdir -p natural
cp tables.json natural
for split in train valid test; do
    printf '{"id":"%s-%d","db_id":"shop","source_db":"shop","question":"The price in %s?","sql":["SELECT price FROM item"],"slice":"custom","type":"scope","ambiguous":false,"alternatives":[],"source":"s","reason":"clear"}\n' "$split" 1 "$split" >"natural/$split.jsonl"
done
run 0 make_questions --natural natural --natural-split valid -o with
has with/questions.jsonl 'The price in valid?'
! grep -q 'The price in train?' with/questions.jsonl || complain "make" "reads another split"

# --- a head on the detector: trained, used by detect and ask, and refused by another detector
cp -r "$root/models/detector" detector
rm -f detector/triage.json
train_head() { train triage detector --data made --device cpu "$@"; }
run 0 train_head --valid other -o detector/triage.json
grep -q "of the validation questions are classified correctly" said || complain "train triage" "does not report its accuracy"
run 0 train_head --valid other -o twice.json
cmp -s detector/triage.json twice.json || complain "train triage" "writes other bytes the second time"
run 0 train_head --valid other --false-refusals 1 -o all.json
! cmp -s twice.json all.json || complain "train triage" "ignores --false-refusals"
run 0 infer detect --model detector --schema tables.json --device cpu --relevance none words.jsonl -o detected.jsonl
lines detected.jsonl 5
has detected.jsonl '"triage":{"class":"'
has detected.jsonl ',"kind":"'
run 7 data score --rule triage --gold gold5.jsonl --pred detected.jsonl --json
has shown '"aurc":0'
run 0 infer ask --detector detector --schema tables.json --device cpu words.jsonl -o asked.jsonl
has asked.jsonl '"triage":{"class":"'

# --- a question is refused only after its words were looked up: here, if more than half of its content words are unknown
numbers() { printf "$1%.0s," {1..52} | sed 's/,$//'; } # NUMBER
known=$(numbers 0 | sed 's/0/-10/28') zero=$(numbers 0)
hash=$(sed -n 's/.*"detector": "\([0-9a-f]*\)".*/\1/p' twice.json)
words=$(sed -n 's/.*"words": "\([0-9a-f]*\)".*/\1/p' twice.json)
weights=$(printf '"answerable":{"answerable":[%s]},"ambiguous":{"schema":[%s],"wording":[%s],"value":[%s],"time":[%s],"aggregate":[%s]},"unanswerable":{"column":[%s],"table":[%s],"value":[%s],"knowledge":[%s],"request":[%s]},"improper":{"improper":[%s]}' "$zero" "$zero" "$zero" "$zero" "$zero" "$zero" "$zero" "$zero" "$known" "$zero" "$zero" "$zero")
printf '{"detector":"%s","words":"%s","feature_set":4,"questions":1,"thresholds":{"ambiguous":2,"unanswerable":0.9,"improper":2},"mean":[%s],"scale":[%s],"weights":{%s},"bias":[0,-9,-9,-9,-9,-9,-9,-9,5,-9,-9,0]}' "$hash" "$words" "$zero" "$(numbers 1)" "$weights" >detector/triage.json
printf '{"id":%d,"db_id":"shop","question":"%s"}\n' 1 "Who has the Tent?" 2 "Who has the Kettle?" 3 "Prices?" >looked.jsonl
classes() { sed -n 's/.*"triage":{"class":"\([a-z]*\)".*/\1/p' "$1" | tr '\n' ' '; }
run 0 infer detect --model detector --schema tables.json --device cpu looked.jsonl -o unseen.jsonl
[ "$(classes unseen.jsonl)" = "unanswerable unanswerable answerable " ] || complain "detect --schema" "$(classes unseen.jsonl)"
run 0 infer detect --model detector --db shop.sqlite --threshold 1 --device cpu looked.jsonl -o seen.jsonl
[ "$(classes seen.jsonl)" = "answerable unanswerable answerable " ] || complain "detect --db" "$(classes seen.jsonl)"
has seen.jsonl '"words":[{"text":"Kettle","start":12,"end":18,"reason":"value"}],"sentence":"The database seems to have no answer to this question. No stored value is \"Kettle\". (9'
run 0 infer ask --detector detector --db shop.sqlite --threshold 1 --device cpu looked.jsonl -o asked.jsonl
[ "$(classes asked.jsonl)" = "answerable unanswerable answerable " ] || complain "ask --db" "$(classes asked.jsonl)"
run 0 infer detect --model detector --db shop.sqlite --device cpu looked.jsonl -o seen.csv
[ "$(sed -n 3p seen.csv | cut -d, -f10)" = unanswerable ] || complain "seen.csv" "$(cat seen.csv)"
run 7 infer detect --model detector --schema tables.json --device cpu <(echo '{"id":1,"db_id":"shop","question":"Prices?","context":"Hi"}')
has shown 'field \"context\": expected a list of earlier questions'

head_with() { sed "$1" twice.json >detector/triage.json; }
refuse_head() { check "$1" 6 "$2" infer detect --model detector --schema tables.json --device cpu words.jsonl; }
head_with 's/"detector": "[0-9a-f]*/"detector": "0000/'
refuse_head "a head of another detector" 'triage.json: expected a head of the detector with hash .*, got one of 0000'
head_with 's/"words": "[0-9a-f]*/"words": "0000/'
refuse_head "a head that read other labels of words" 'triage.json: expected a head that was trained beside the head for words with hash .*, got 0000; remove the file'
head_with '/"scale"/{n;d}'
refuse_head "a head with too few numbers" 'triage.json: field "scale": expected 52 numbers, got 51'
head_with '/"scale"/{n;s/[0-9].*,/0,/}'
refuse_head "a head that divides by zero" 'field "scale"\[0\]: expected a number from 1e-06'
head_with '/"thresholds"/,/}/s/"improper": [0-9.]*/"improper": 3/'
refuse_head "a threshold that is no probability" 'triage.json: field "improper": expected '
head_with 's/"feature_set": 4/"feature_set": 3/'
refuse_head "a head of other features" 'triage.json: field "feature_set": expected 4, got 3; remove the file, or train it again'
echo '{' >detector/triage.json
refuse_head "a head that is no JSON" 'triage.json: '
grep -v improper made/questions.jsonl >three.jsonl
mkdir -p three && mv three.jsonl three/questions.jsonl && cp made/tables.json three
rm detector/triage.json
check "a class without questions" 3 'three/questions.jsonl: expected questions of each class, got none that is improper' train triage detector --data three --valid other --device cpu -o none.json
sed 's/"class":"improper"/"class":"rude"/' made/questions.jsonl >three/questions.jsonl
check "an unknown class" 3 'expected a class, got "rude"' train triage detector --data three --valid other --device cpu -o none.json

sed 's/"kind":"[a-z]*",//' made/questions.jsonl >three/questions.jsonl
check "a question without a kind" 3 'expected field "kind" in training questions' train triage detector --data three --valid other --device cpu -o none.json
run 0 train triage detector --data made --valid three --device cpu -o kindless.json # they only choose thresholds
sed 's/"kind":"request"/"kind":"time"/' made/questions.jsonl >three/questions.jsonl
check "a kind of another class" 3 'field "kind": expected column, table, value, knowledge, request for the class unanswerable, got "time"' train triage detector --data three --valid other --device cpu -o none.json

# --- bad input names the place and the field, and writes nothing
refuse() { check "$1" 3 "$2" convert "${@:3}" -o none; [ ! -e none/questions.jsonl ] || complain "$1" "something was written"; }
dialogue shop "$(turn true "Hi!" type rude)" >bad.json
refuse "a type of MMSQL" 'bad.json: record 1: turns\[0\]: field "type": expected answerable, ambiguous, unanswerable or improper, got "rude"' --from mmsql bad.json
dialogue ship "$(turn true "Hi!" type improper)" >bad.json
refuse "a database of MMSQL" 'bad.json: record 1: expected a database of tables.json, got "ship"' --from mmsql bad.json --schema tables.json
echo '[{"db_name":"shop","turns":[{"text":"Hi!"}]}]' >bad.json
refuse "a turn without a speaker" 'turns\[0\]: field "isuser"' --from mmsql bad.json
printf '[%s]' "$(question '{"t":["a"]}' odd one)" >bad.json
refuse "a type of TriageSQL" 'bad.json: record 1: field "type": expected answerable, ambiguous, lack data' --from triagesql bad.json
printf '[%s]' "$(question '{"t":["a",7]}' ambiguous one)" >bad.json
refuse "a column of TriageSQL" 'field "tables": expected names of columns in "t", got an integer|field "tables": expected names of columns in "t", got' --from triagesql bad.json
refuse "a folder without data" 'missing/data.json' --from ehrsql missing --schema tables.json
mkdir -p gap
cp ehr/data.json gap
echo '{"x":"SELECT price FROM item"}' >gap/label.json
refuse "a question without a label" 'gap/data.json: data\[1\]: expected a label of "y" in label.json' --from ehrsql gap --schema tables.json
echo '[]' >gap/label.json
refuse "labels that are no object" 'gap/label.json: expected an object of labels' --from ehrsql gap --schema tables.json
echo '{"instance_id":"a","selected_database":"d","amb_user_query":"q","user_query_ambiguity":{}}' >bad.jsonl
refuse "a task without ambiguities" 'bad.jsonl: line 1: field "critical_ambiguity"' --from mini-interact bad.jsonl
practiq shop Odd '{}' One >bad.jsonl
refuse "a category of PRACTIQ" 'bad.jsonl: line 1: field "ambiguousUnanswerableCategory": expected answerable, Ambiguous_' --from practiq bad.jsonl --schema tables.json
practiq ship answerable '{}' One >bad.jsonl
refuse "a database of PRACTIQ" 'expected a database of tables.json, got "ship"' --from practiq bad.jsonl --schema tables.json
practiq shop Nonexistent_Value '{"removeColumn":[{"table":"item","column":7}]}' One >bad.jsonl
refuse "an edit of PRACTIQ" 'bad.jsonl: line 1: field "column"' --from practiq bad.jsonl --schema tables.json
practiq shop Ambiguous_SELECT_Column '{"addColumn":[{"table":"item","column":"x"}]}' One >bad.jsonl
refuse "an added column of PRACTIQ" 'field "type"' --from practiq bad.jsonl --schema tables.json
cut() { head -c "$2" "$1"; } # FILE BYTES: a truncated copy
refuse_ehrsql() { refuse "$1" "$2" --from ehrsql gap --schema tables.json; }
cut ehr/data.json 40 >gap/data.json
refuse_ehrsql "truncated questions of EHRSQL" 'gap/data.json: line 1'
cp ehr/data.json gap
cut ehr/label.json 20 >gap/label.json
refuse_ehrsql "truncated labels of EHRSQL" 'gap/label.json: line 1'
cp ehr/label.json gap
echo '{"data":[7]}' >gap/data.json
refuse_ehrsql "a question of EHRSQL that is no object" 'gap/data.json: data\[0\]: '
echo '{"data":{"x":1}}' >gap/data.json
refuse_ehrsql "questions of EHRSQL that are no list" 'gap/data.json: field "data"'
printf '{"data":[{"id":"x","question":"\377"}]}' >gap/data.json
refuse_ehrsql "bytes of EHRSQL that are no text" 'gap/data.json: line 1.*0xff'
# Hostile files: nested too deeply; parts that are of another type; output that grows with the square of the input.
deep=$(printf '[%.0s' {1..5000}; printf ']%.0s' {1..5000})
echo "$deep" >deep.json
mkdir -p deep
cp deep.json deep/data.json
refuse "deep lists of EHRSQL" 'deep/data.json: line 1.*depth' --from ehrsql deep --schema tables.json
for set in mmsql triagesql mini-interact practiq; do
    schema=()
    [ "$set" != practiq ] || schema=(--schema tables.json)
    printf '[{"db_name": "sh' >cut.json
    refuse "a truncated file of $set" 'cut.json: ' --from "$set" cut.json "${schema[@]}"
    printf '[7]' >cut.json
    refuse "a record of $set that is no object" 'cut.json: record 1: ' --from "$set" cut.json "${schema[@]}"
    printf '[{"db_name":"\377"}]' >cut.json
    refuse "bytes of $set that are no text" 'cut.json: record 1: line 1.*0xff' --from "$set" cut.json "${schema[@]}"
    refuse "deep lists of $set" 'deep.json: record 1: line 1.*depth' --from "$set" deep.json "${schema[@]}"
done
dialogue shop "$(for i in {1..1001}; do printf '{"isuser":true,"text":"Hi!","type":"improper"},'; done | sed 's/,$//')" >bad.json
refuse "a dialogue of MMSQL without an end" 'field "turns": expected at most 1000 turns, got 1001' --from mmsql bad.json
printf '[%s]' "$(question '{"t":"ab"}' ambiguous one)" >bad.json
refuse "columns of TriageSQL that are no list" 'field "tables": expected a list of columns in "t", got a string' --from triagesql bad.json
printf '[{"tables":{"t\\u0000":["a"]},"databaseid":"d","type":"ambiguous","question":"q"}]' >bad.json
refuse "a name of TriageSQL with a zero byte" 'bad.json: record 1: .*u0000' --from triagesql bad.json
echo '{"instance_id":"a","selected_database":"d","amb_user_query":"q","query":7,"user_query_ambiguity":{"critical_ambiguity":[]}}' >bad.jsonl
refuse "a clear question of Mini-Interact that is no text" 'bad.jsonl: line 1: field "query"' --from mini-interact bad.jsonl
practiq shop Nonexistent_Value '{"removeColumn":7}' One >bad.jsonl
refuse "edits of PRACTIQ that are no list" 'bad.jsonl: line 1: field "removeColumn": expected an array, got an integer' --from practiq bad.jsonl --schema tables.json
practiq shop Nonexistent_Value '"all"' One >bad.jsonl
refuse "edits of PRACTIQ that are no object" 'bad.jsonl: line 1: field "schemaModification"' --from practiq bad.jsonl --schema tables.json
check "PRACTIQ without a schema" 2 "from practiq requires --schema" convert --from practiq practiq.jsonl -o none
check "EHRSQL without a schema" 2 "from ehrsql requires --schema" convert --from ehrsql ehr -o none
check "TriageSQL with a schema" 2 "cannot be used together" convert --from triagesql triagesql.json --schema tables.json -o none

# --- scores: classes, lines of detect and tag, probabilities; a worked example
gold() { printf '{"id":%d,"db_id":"%s","question":"q","class":"%s"}\n' "$@"; }
{ gold 1 a answerable; gold 2 a answerable; gold 3 b ambiguous; gold 4 b unanswerable; gold 5 c improper; } >gold.jsonl
printf '%s\n' '{"id":1,"class":"answerable"}' '{"id":2,"ambiguous":true,"score":0.75}' '{"id":3,"classes":{"ambiguous":0.6,"answerable":0.4}}' '{"id":4,"status":["ambiguous","unanswerable"]}' '{"id":5,"class":"ambiguous"}' >pred.jsonl
run 0 data score --rule triage --gold gold.jsonl --pred pred.jsonl --json --per-example each.jsonl
# F1: answerable 2/3, ambiguous 1/2, unanswerable 1, improper 0; their mean is .541667
has shown '"macro_f1":0.541666667'
has shown '"accuracy":0.6'
has shown '"aurc":null'
has each.jsonl '{"id":"2","db_id":"a","gold":"answerable","class":"ambiguous","correct":false}'
# Answered surest first: right, right, wrong, wrong; the risks are 0, 0, 1/3 and 1/2, and their mean is 5/24.
printf '{"id":%d,"class":"%s","confidence":%s}\n' 1 answerable 0.9 3 ambiguous 0.8 2 ambiguous 0.7 4 improper 0.6 >sure.jsonl
run 7 data score --rule triage --gold gold.jsonl --pred sure.jsonl --json
has shown '"aurc":0.208333333'
has shown '"reason":"it has no prediction"'
run 7 data score --rule triage --gold gold.jsonl --pred <(printf '%s\n' '{"id":1,"class":"odd"}' '{"id":1,"class":"improper"}' '{"id":9,"class":"improper"}' '{"id":3,"error":"x"}' '{"id":4,"confidence":2,"class":"improper"}')
has shown 'expected answerable, ambiguous, unanswerable or improper, got "odd"'
has shown "its id is none of the gold records'"
has shown 'it is an error'
has shown 'field "confidence"'
# By kind: schema 1 right, time taken for schema, column without a kind; F1 2/3, 0 and 0. Record 4 has no gold kind.
kinded() { printf '{"id":%d,"db_id":"%s","class":"%s","kind":"%s"}\n' "$@"; }
{ kinded 1 a ambiguous schema; kinded 2 a ambiguous time; kinded 3 b unanswerable column; gold 4 b answerable; } >gold-kinds.jsonl
{ kinded 1 a ambiguous schema; kinded 2 a ambiguous schema; } >pred-kinds.jsonl
printf '{"id":%d,"triage":{"class":"%s"%s}}\n' 3 unanswerable '' 4 answerable ',"kind":"answerable"' >>pred-kinds.jsonl
run 0 data score --rule triage --gold gold-kinds.jsonl --pred pred-kinds.jsonl --json --per-example each-kinds.jsonl
has shown '"by_kind":{"records":3,"macro_f1":0.222222222,'
has shown '"kinds":{"ambiguous":{"schema":{"questions":1,"precision":0.5,"recall":1.0,"f1":0.666666667},"time":{"questions":1,"precision":0.0,'
has each-kinds.jsonl '{"id":"2","db_id":"a","gold":"ambiguous","gold_kind":"time","class":"ambiguous","kind":"schema","correct":true}'
run 0 data score --rule triage --gold gold-kinds.jsonl --pred pred-kinds.jsonl
has shown 'ambiguous      schema              1     0.500     1.000     0.667'
has shown 'macro F1 by kind 0.222'
run 0 data score --rule triage --gold gold-kinds.jsonl --pred <(sed 's/,"kind":"[a-z]*"//' pred-kinds.jsonl) --json
! grep -q by_kind shown || complain "score" "measures kinds that are not predicted"
run 7 data score --rule triage --gold gold-kinds.jsonl --pred <(sed 's/"kind":"schema"/"kind":"odd"/' pred-kinds.jsonl)
has shown 'field "kind": expected schema, wording, value, time, aggregate for the class ambiguous, got "odd"'
check "a gold kind of another class" 3 'line 1: field "kind": expected answerable for the class answerable, got "time"' data score --rule triage --gold <(kinded 1 a answerable time) --pred pred-kinds.jsonl
check "no gold" 2 "rule triage requires --gold" data score --rule triage --pred pred.jsonl
# Reliability: 1 right, 3 and 5 justified abstentions, 2 a wrong statement and 4 one for an unanswerable question: 3 - 2 c of 5.
printf '%s\n' '{"id":1,"class":"answerable"}' '{"id":2,"class":"answerable","correct":false}' '{"id":3,"class":"ambiguous"}' '{"id":4,"triage":{"class":"answerable"},"class":"odd"}' '{"id":5,"class":"unanswerable"}' >reliable.jsonl
run 0 data score --rule triage --gold gold.jsonl --pred reliable.jsonl --json
has shown '"reliability":{"0":0.6,"10":-3.4,"N":-1.4}'
has shown '"refused_answerable":0.0'
run 0 data score --rule triage --gold gold.jsonl --pred <(sed 's/"class":"answerable"}$/"class":"improper"}/' reliable.jsonl) --json
has shown '"refused_answerable":0.5'
finish

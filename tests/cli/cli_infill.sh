#!/usr/bin/env bash
# ambit-infer infill: records without a model, files in place of models, the score of the result, and the messages about bad
# input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
told=(shown said)

# --- records from ambiguous questions: rewrite, annotate, split
data practice -o all --seed 1 >/dev/null 2>&1 || exit 1
cat >questions.json <<'END'
[{"db_id": "bakery", "question": "What are the names of all bakers?", "query": "SELECT name FROM baker"},
 {"db_id": "bakery", "question": "List the shift of each baker.", "query": "SELECT shift FROM baker"},
 {"db_id": "bakery", "question": "How many bakers are there?", "query": "SELECT count(*) FROM baker"}]
END
data ambiguate --kinds C,T --questions questions.json --schema all/tables.json --db all/db --seed 1 --materialise dbs -o ambiguous.jsonl 2>said ||
    complain ambiguate "fails"
expect 0 'wrote [1-9][0-9]* ambiguous and [0-9]+ unambiguous records' data infilling rewrite ambiguous.jsonl --db dbs --seed 1 -o readings.jsonl
expect 0 'ambiguous records' data infilling rewrite ambiguous.jsonl --db dbs --seed 1 -o again.jsonl
cmp -s readings.jsonl again.jsonl || complain rewrite "the same seed, other bytes"
cat ambiguous.jsonl ambiguous.jsonl >twice.jsonl
expect 0 'rejected .* [1-9][0-9]* duplicates' data infilling rewrite twice.jsonl --db dbs --seed 1 -o twice.readings.jsonl
[ "$(grep -ho '"db_id":"[^"]*".*"question":"[^"]*"' twice.readings.jsonl | sed 's/"source_db.*"question"/"question"/' | sort | uniq -d | wc -l)" = 0 ] ||
    complain rewrite "a question of one database twice"
expect 0 'records' data infilling annotate readings.jsonl --db dbs --context compact -o infilling.jsonl
grep -q '"error"' infilling.jsonl && complain annotate "$(grep -m1 '"error"' infilling.jsonl)"
grep -q '"source_db":"bakery","type":"' infilling.jsonl || complain annotate "does not say where records come from"
sed 's/"source_db":"bakery"/"source_db":"other"/' infilling.jsonl >more.jsonl && cat infilling.jsonl >>more.jsonl
expect 0 'train: [1-9][0-9]* records of 1 databases' data split more.jsonl --valid-share 0 --test-share .5 -o folds
[ "$(cat folds/*.jsonl | wc -l)" = "$(wc -l <more.jsonl)" ] || complain split "records are lost"
cmp -s folds/valid.jsonl /dev/null || complain split "valid.jsonl is missing or not empty"
[ "$(grep -ho '"source_db":"[a-z]*"' folds/test.jsonl | sort -u | wc -l)" = 1 ] || complain split "a database in two files"
{ echo '{"id":1,"db_id":null,"error":"unreadable"}' && cat more.jsonl; } >failed.jsonl
expect 0 'train: [1-9][0-9]* records of 1 databases' data split failed.jsonl --valid-share 0 --test-share .5 -o folds
expect 0 'train: 0 records' data split more.jsonl --valid-share .5 --test-share .5 -o folds --force

# other words in the same records
expect 0 'wrote [1-9][0-9]* examples; 9 of [1-9][0-9]* words were never replaced' data infilling substitute infilling.jsonl --copies 2 --common 9 --seed 1 -o words.jsonl
expect 0 'wrote [0-9]+ examples' data infilling substitute infilling.jsonl --copies 2 --common 9 --seed 1 -o again.jsonl
cmp -s words.jsonl again.jsonl || complain substitute "the same seed, other bytes"
[ "$(wc -l <words.jsonl)" = $((2 * $(wc -l <infilling.jsonl))) ] || complain substitute "records are lost"
[ "$(grep -ho '"id":"[^"]*"' words.jsonl | sort -u | wc -l)" = "$(wc -l <words.jsonl)" ] || complain substitute "an id twice"
grep -q '^{"id":"[^"]*-words2","messages":\[{"role":"user","content":".*"},{"role":"assistant","content":".*"}\]}$' words.jsonl ||
    complain substitute "$(tail -1 words.jsonl)"
[ "$(cut -d'"' -f13- words.jsonl | sort | uniq -d | wc -l)" -lt 3 ] || complain substitute "copies are the same"
expect 0 'wrote 0 examples; 0 of 0 words' data infilling substitute /dev/null -o empty.jsonl

# --- files in place of models: first with no addition, then with the missing interpretations
infill() { infer infill infilling.jsonl --db dbs --defaults infilling.jsonl "$@"; }
score() { data score --rule dfpl --db dbs --json --pred "$@"; }
expect 0 ' 0 added, 0 records failed' infill -o without.jsonl
expect 0 '"ambiguous":\{"n":[1-9]' score without.jsonl
sed -E 's/.*"id":("[^"]*").*"target":("[^"]*").*/{"id":\1,"text":\2}/' infilling.jsonl >answers.jsonl
expect 0 ' [1-9][0-9]* added, 0 records failed' infill --infilled answers.jsonl --sqls infilling.jsonl -o with.jsonl
expect 0 '"ambiguous":\{"n":[0-9]+,"recall":1.0,.*"all_found":1.0' score with.jsonl
expect 0 '"published":true' infill --infilled answers.jsonl --sqls infilling.jsonl --published
expect 0 '"recall"' score with.jsonl --published
expect 0 '"ambiguous":\{.*"interval":\{"recall":null.*"unambiguous"' score without.jsonl
sed '1s/"source_db":"bakery"/"source_db":"other"/' without.jsonl >sources.jsonl
expect 0 '"ambiguous":\{.*"interval":\{"recall":\[[0-9.]+,[0-9.]+\].*"unambiguous"' score sources.jsonl
sed 's/"source_db":"bakery"/"source_db":5/' without.jsonl >sources.jsonl
expect 3 'sources.jsonl: line 1: field .source_db.: expected a string, got an integer' score sources.jsonl
expect 0 '"added"|readings' infill --infilled answers.jsonl
grep -q '"reason":"no SQL"' shown || complain infill "does not drop what has no SQL"
infill --infilled answers.jsonl --sqls infilling.jsonl 2>&1 >/dev/null | grep -q 'no SQL' && complain infill "readings with SQL have none"
expect 0 'warn.*: [1-9][0-9]* readings have no SQL and are dropped; expected it in --sqls' infill --infilled answers.jsonl

# --- answers in which nothing is found are errors of their records, and their text stays
head -n 1 infilling.jsonl >first.jsonl
id=$(sed -E 's/.*"id":("[^"]*").*/\1/' first.jsonl)
# lost OPTION ANSWER: of the first record
lost() {
    local option=$1
    printf '{"id":%s,"text":"%s"}\n' "$id" "$2" >lost.jsonl
    shift 2
    infer infill first.jsonl --db dbs "$option" lost.jsonl "$@"
}
expect 7 '"error":"default readings: the answer breaks off in its thought and holds no reading","defaults_completion":"<think>' lost --defaults '<think>\nNames?'
expect 7 '"error":"default readings: the answer is empty and holds no reading","defaults_completion":""' lost --defaults ''
expect 7 '"error":"readings as SQL: the answer holds no SQL statement","defaults_completion":"I cannot say."' lost --e2e 'I cannot say.'
expect 7 '"readings":\[\{.*"infilled_completion":"<think>hm".*"error":"infilled readings: the answer breaks off' lost --infilled '<think>hm' --defaults infilling.jsonl
expect 0 '"readings":\[\{' lost --infilled '<think>hm</think>All possible interpretations are covered.' --defaults infilling.jsonl
expect 7 '"error":"corrected readings: the answer is empty' lost --corrected ' ' --defaults infilling.jsonl
for option in --defaults --e2e; do # a question without an answer counts as zero, in every row of a table
    expect 7 '"error":"[^"]*answer is empty.*"question":"[^"]*","ambiguous":true,"golds":\[.*"readings":\[\]' lost $option ''
    cp shown lost.out
    expect 0 '"ambiguous":\{"n":1,"recall":0.0,"precision":0.0.*"skipped":\[\]' score lost.out
done
printf '{"id":%s,"error":"longer than the model"}\n' "$id" >lost.jsonl
expect 7 '"error":"lost.jsonl: no completion: longer than the model".*"golds":\[.*"readings":\[\]' infer infill first.jsonl --db dbs --e2e lost.jsonl
cp shown lost.out
expect 0 '"ambiguous":\{"n":1,"recall":0.0.*"skipped":\[\]' score lost.out
printf '{"id":%s,"text":"1. Who?"}\n' "$id" >>lost.jsonl
expect 0 '1 prompts' infer infill first.jsonl --db dbs --defaults lost.jsonl --write-prompts sql -o sql.prompts
lost --infilled '<think>hm' --defaults infilling.jsonl >lost.out 2>said
expect 0 '"ambiguous":\{"n":1,"recall":1.0,.*"skipped":\[\]' score lost.out
expect 0 '"readings":\[\]' lost --defaults '' --published
expect 0 '1 prompts' lost --defaults '1. Who?' --write-prompts sql -o sql.prompts
sed -E 's/^\{("id":"[^"]*").*/{\1,"text":"<think>SELECT 1"}/' sql.prompts >sql.answers
expect 7 '"dropped":\[\{"text":"Who\?",.*"sql_completion":"<think>SELECT 1"\}\].*"error":"SQL of a reading: the answer breaks off' lost --defaults '1. Who?' --sqls sql.answers
expect 0 '"dropped":\[\{"text":"Who\?"' lost --defaults '1. Who?' --sqls sql.answers --published

# --- bad input: the command line
expect 2 '--defaults' infer infill infilling.jsonl --db dbs
expect 2 '--db' infer infill infilling.jsonl --defaults infilling.jsonl
expect 2 '--temperature: expected --model,' infill --temperature 1
expect 2 '--top-p: expected a --temperature above 0' infill --model nowhere --top-p 0.9
expect 2 'dump.compact' infill --context long -o new
expect 2 'dbs: expected def.txt' infill --prompt-dir dbs -o new
expect 3 'nowhere.jsonl: No such file' infer infill nowhere.jsonl --db dbs --defaults infilling.jsonl -o new
expect 3 'nowhere.jsonl: No such file' infer infill infilling.jsonl --db dbs --defaults nowhere.jsonl -o new
expect 3 'nowhere.jsonl: No such file' infill --infilled nowhere.jsonl -o new
expect 3 'nowhere.jsonl: No such file' infill --sqls nowhere.jsonl -o new
expect 1 'cannot write' infill -o nowhere/new
expect 2 'rule dfpl requires --db' data score --rule dfpl --pred without.jsonl
expect 2 '--gold is not read' score without.jsonl --gold infilling.jsonl

# --- records: each line fails alone
while IFS='|' read -r text line; do
    { head -n 1 infilling.jsonl && echo "$line"; } >bad.jsonl
    expect 7 "\"error\":\"[^}]*$text" infer infill bad.jsonl --db dbs --defaults infilling.jsonl
    [ "$(wc -l <shown)" = 2 ] || complain "$line" "not a line for each record"
done <<'END'
bad.jsonl: line 2: field .*id.*: expected a string or an integer|{"id": [], "db_id": "bakery", "question": "Which?"}
line 2: field .*db_id.* is missing|{"id": 1, "question": "Which?"}
line 2: field .*question.* is missing|{"id": 1, "db_id": "bakery"}
no database shop|{"id": 1, "db_id": "shop", "question": "Which?"}
expected the name of a database|{"id": 1, "db_id": "../bakery", "question": "Which?"}
golds|{"id": 1, "db_id": "bakery", "question": "Which?", "golds": "SELECT 1"}
gold_queries|{"id": 1, "db": "bakery", "question": "Which?", "gold_queries": "SELECT 1"}
line 2, column|{"id": 1,
END

# --- files of stages
stage() { echo "$3" >stage.jsonl && expect 3 "stage.jsonl: line 1[^}]*$2" infill "$1" stage.jsonl -o new; }
stage --infilled 'readings' '{"db_id": "bakery", "question": "Which?"}'
stage --infilled '.*id.*' '{"text": "Which?"}'
stage --infilled 'text.*integer' '{"id": 1, "text": 5}'
stage --infilled 'question' '{"db_id": "bakery", "readings": []}'
stage --sqls 'golds' '{"db_id": "bakery", "sql": "SELECT 1"}'
stage --sqls 'sql' '{"db_id": "bakery", "text": "Which?"}'
stage --sqls 'db_id' '{"text": "Which?", "sql": "SELECT 1"}'
stage --sqls 'golds 1.*sql' '{"db_id": "bakery", "golds": [{"text": "Which?", "sql": 5}]}'
cat answers.jsonl answers.jsonl >twice.jsonl
expect 3 'duplicate id' infill --infilled twice.jsonl -o new
head -n 1 answers.jsonl >one.jsonl
expect 7 'one.jsonl has no readings of this question' infill --infilled one.jsonl

# --- rewrite and split
expect 3 'expected a record of ambit-data ambiguate or a row' data infilling rewrite questions.json --db dbs -o new
sed 's/"db_file":"[^"]*",*//' ambiguous.jsonl >bad.jsonl
expect 3 'made without --materialise: .*db_file' data infilling rewrite bad.jsonl --db dbs -o new
sed 's/"db_file":"[^"]*"/"db_file":"gone.sqlite"/' ambiguous.jsonl >bad.jsonl
expect 3 'no database gone' data infilling rewrite bad.jsonl --db dbs -o new
echo '{"db": "bakery", "question": "q", "gold_queries": ["SELECT 1", "SELECT 2"]}' >bad.jsonl
expect 3 'line 1: field "gold_interpretations": expected a text for gold 1' data infilling rewrite bad.jsonl --db dbs -o new
expect 2 '--db' data infilling rewrite ambiguous.jsonl -o new
expect 3 'folds/test.jsonl: expected records of at least 3 databases, one for each split, got 1; use --valid-share 0' data split folds/test.jsonl -o new
expect 3 'at least 2 databases, one for each split, got 1' data split folds/test.jsonl --test-share 0 -o new
expect 3 'at least 2 databases, one for each split, got 1' data split folds/test.jsonl --valid-share .5 --test-share .5 -o new
expect 2 'expected a sum of at most 1' data split more.jsonl --valid-share .6 --test-share .6 -o new
echo '{"question": "q"}' >questions.jsonl
expect 3 'line 1: field .db_id. is missing' data split questions.jsonl -o new
expect 2 'expected a file, got -' data infilling substitute - -o new
expect 2 'copies.*0' data infilling substitute infilling.jsonl --copies 0 -o new
expect 3 'questions.jsonl: line 1: field .messages. is missing' data infilling substitute questions.jsonl -o new
echo '{"id":1,"prompt":"a"}' >pair.jsonl
expect 3 'pair.jsonl: line 1: field .completion. is missing' data infilling substitute pair.jsonl -o new
echo '{"id":"a","messages":[{"role":"user"}]}' >bad.jsonl
expect 3 'bad.jsonl: line 1: field .content. is missing' data infilling substitute bad.jsonl -o new
echo '{"id":{},"messages":[{"role":"user","content":"two words"}]}' >bad.jsonl
expect 3 'bad.jsonl: line 1: field .id.: expected a string or an integer' data infilling substitute bad.jsonl -o new
expect 2 '--out' data split more.jsonl
expect 1 'more.jsonl: cannot make the folder' data infilling prompts -o more.jsonl

finish

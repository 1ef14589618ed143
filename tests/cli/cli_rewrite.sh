#!/usr/bin/env bash
# The stages around infilling: questions rewritten for each gold statement and checked by execution, corrected default
# interpretations, and examples in the end-to-end prompt.  The training records of the three systems; bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
told=(shown said)

data practice -o all --seed 1 >/dev/null 2>&1 || exit 1
cat >in.jsonl <<'END'
{"id": "r1", "db_id": "bakery", "question": "What is the label of each bread?", "golds": [{"sql": "SELECT flour FROM bread", "word": "flour"}, {"sql": "SELECT weight FROM bread", "word": "weight"}]}
END
infill() { infer infill in.jsonl --db all/db "$@"; }

# answer ID TEXT: to a prompt
answer() { printf '{"id":"%s","text":"%s"}\n' "$1" "$2"; }
# sql TEXT SQL: of a question
sql() { printf '{"db_id":"bakery","text":"%s","sql":"%s"}\n' "$1" "$2"; }

# --- stage 0, in rounds: only records without an accepted question are asked again
expect 0 '1 records, 2 prompts, 0 records failed' infill --write-prompts rewrite -o p1.jsonl
grep -q '"id":"r1/1/1".*label of each bread?.n.nPlease rewrite using ."flour."' p1.jsonl || complain "rewrite" "$(cat p1.jsonl)"
grep -q '"id":"r1/2/1".*rewrite using ."weight."' p1.jsonl || complain "rewrite" "no prompt of the second gold"
{ answer r1/1/1 " What is the flour of each bread?\n" && answer r1/2/1 "What is the price of each bread?"; } >answers.jsonl
expect 0 '2 prompts' infill --rewrites answers.jsonl --write-prompts sql -o sql.prompts
grep -q '"id":"sql-[0-9a-f]*".*Answer the following:.nWhat is the flour of each bread?.n.n"' sql.prompts || complain "sql" "$(cat sql.prompts)"
expect 7 'gold 1 \(flour\): its SQL of try 1 is missing' infill --rewrites answers.jsonl --sqls /dev/null
{ sql "What is the flour of each bread?" "SELECT flour FROM bread" && sql "What is the price of each bread?" "SELECT price FROM bread"; } >sqls.jsonl
expect 7 '"id":"r1",.*gold 2 \(weight\): the question of try 2 is missing' infill --rewrites answers.jsonl --sqls sqls.jsonl
expect 0 '1 records, 1 prompts' infill --rewrites answers.jsonl --sqls sqls.jsonl --write-prompts rewrite -o p2.jsonl
grep -q '^{"id":"r1/2/2",' p2.jsonl || complain "rewrite" "the second round: $(cat p2.jsonl)"
answer r1/2/2 "What is the weight of each bread?" >>answers.jsonl
sql "What is the weight of each bread?" "SELECT weight FROM bread" >>sqls.jsonl
expect 0 '1 records, 1 with a question for every gold, 0 failed' infill --rewrites answers.jsonl --sqls sqls.jsonl -o rewritten.jsonl
grep -q '"text":"What is the flour of each bread?","tries":1}.*"text":"What is the weight of each bread?","tries":2}' rewritten.jsonl ||
    complain "rewrite" "$(cat rewritten.jsonl)"
expect 0 '1 with a question' infill --rewrites answers.jsonl --sqls sqls.jsonl --published -o published.jsonl
expect 0 '0 prompts' infill --rewrites answers.jsonl --sqls sqls.jsonl --write-prompts rewrite -o p3.jsonl
# two statements, of which one gives other rows, are no F1 of 1
sed 's/"SELECT weight FROM bread"}/["SELECT weight FROM bread", "SELECT price FROM bread"]}/' sqls.jsonl >two.jsonl
expect 7 'gold 2 \(weight\): the question of try 3' infill --rewrites answers.jsonl --sqls two.jsonl
# tries end
for k in 1 2 3 4 5 6; do answer "r1/2/$k" "What is the price of each bread?"; done >bad.jsonl
grep r1/1 answers.jsonl >>bad.jsonl
expect 7 'gold 2 \(weight\): none of 5 questions has its rows, the last .*price' infill --rewrites bad.jsonl --sqls sqls.jsonl
expect 7 'none of 2 questions' infill --rewrites bad.jsonl --sqls sqls.jsonl --tries 2
expect 7 '0 prompts, 1 records failed' infill --rewrites bad.jsonl --sqls sqls.jsonl --write-prompts rewrite -o p4.jsonl

# --- the training records of the three systems from one record
sed 's/$/\n/' rewritten.jsonl >records.jsonl
expect 0 '"target":"SELECT flour FROM bread.n.nSELECT weight FROM bread".*"task":"e2e".*Answer the following:.nWhat is the label' data infilling annotate records.jsonl --db all/db --target e2e
expect 0 '"target":"What is the flour of each bread\?.nWhat is the weight of each bread\?".*"task":"gold","messages".*"content":"."Provide all' data infilling annotate records.jsonl --db all/db --target gold
expect 0 '"existing":\[\].*"target":"What is the flour of each bread\?.nWhat is the weight of each bread\?".*"task":"infill"' data infilling annotate records.jsonl --db all/db

# --- golds in words as the authors publish them: one JSON list, whose name has no extension
mkdir altered && cp all/db/bakery.sqlite altered/bakery_column_bread_label.sqlite
cat >interpretations_tbl_col_train <<'END'
[
    {
        "db_file": "data/AmbiQT/db-content/database_syn_eval/bakery_column_bread_label/bakery_column_bread_label.sqlite",
        "db_dump": "CREATE TABLE bread (\n    flour text\n);",
        "question": "What is the label of each bread?",
        "interpretations": [["What is the flour_name of each bread?", true], ["What is the weight of each bread?", true]],
        "gold_queries": ["SELECT flour FROM bread", "SELECT weight FROM bread"],
        "is_ambiguous": true
    },
    {
        "db_file": "data/AmbiQT/db-content/database_syn_eval/bakery_column_bread_label/bakery_column_bread_label.sqlite",
        "db_dump": "",
        "question": "Label all.",
        "interpretations": [["Name all.", true], ["Weigh all.", false]],
        "gold_queries": ["SELECT flour FROM bread", "SELECT weight FROM bread"],
        "is_ambiguous": true
    }
]
END
told=(stage0.jsonl)
published() { data infilling annotate interpretations_tbl_col_train --db altered "$@"; }
expect 7 '"id":1,"db_id":"bakery_column_bread_label".*"source_db":"bakery".*"target":"What is the flour name of each bread\?.nWhat is the weight of each bread\?"' published --target gold -o stage0.jsonl
expect 7 '"error":"interpretations_tbl_col_train: record 2: gold 2: its SQL rejects the text ..?Weigh all' published --target gold -o stage0.jsonl
told=(shown said)
expect 7 'skips the first 2 records' published --published
expect 7 '1 prompts, 1 records failed' infer infill interpretations_tbl_col_train --db altered --write-prompts def -o def.prompts
expect 0 '"target":"What is the flour name' data infilling annotate <(head -n 1 stage0.jsonl) --db altered

# --- default interpretations reviewed: correct candidates keep their SQL, missing interpretations are added, others go
echo '{"db_id":"bakery","question":"What is the label of each bread?","readings":[{"text":"The flour of each bread","sql":"SELECT flour FROM bread"},{"text":"The bakers","sql":"SELECT name FROM baker"}]}' >defaults.jsonl
expect 0 '1 prompts' infill --defaults defaults.jsonl --write-prompts correct -o correct.prompts
grep -q 'Candidate interpretations:.n.nThe flour of each bread.nThe bakers.n.nProvide the interpretations that' correct.prompts ||
    complain "correct" "$(cat correct.prompts)"
answer r1 "1. the flour of each bread.\n2. The weight of each bread\nNo other interpretations are missing." >corrected.jsonl
echo '{"db_id":"bakery","text":"The weight of each bread","sql":"SELECT weight FROM bread"}' >weight.jsonl
expect 0 '2 default readings, 0 added' infill --defaults defaults.jsonl --corrected corrected.jsonl --sqls weight.jsonl -o final.jsonl
grep -q '"text":"The flour of each bread","from":"default","sql":\["SELECT flour FROM bread"\].*"text":"The weight of each bread","from":"corrected".*"dropped":\[{"text":"The bakers","from":"default","reason":"self-correction omits it"}\].*"corrected_completion":"1. the' final.jsonl ||
    complain "correct" "$(cat final.jsonl)"
answer r1 "All candidate interpretations are correct, and none is missing." >kept.jsonl
expect 0 '"text":"The flour of each bread","from":"default".*"text":"The bakers","from":"default"' infill --defaults defaults.jsonl --corrected kept.jsonl
answer r1 "None of the candidate interpretations is correct." >none.jsonl
expect 7 '"error":"corrected readings: the answer holds no reading"' infill --defaults defaults.jsonl --corrected none.jsonl
expect 0 '1 prompts' infill --defaults defaults.jsonl --corrected corrected.jsonl --write-prompts sql -o more.prompts
expect 7 'corrected.jsonl has no answer to this question' infer infill <(sed 's/r1/r2/' in.jsonl) --db all/db --defaults defaults.jsonl --corrected corrected.jsonl

# --- examples
cat >examples.jsonl <<'END'
{"id": 1, "db_id": "bakery", "question": "Label the breads.", "golds": [{"sql": "SELECT flour FROM bread", "text": "The flours"}, {"sql": "SELECT weight FROM bread", "text": "The weights"}]}
{"id": 2, "db_id": "bakery", "question": "List the staff.", "golds": [{"sql": "SELECT name FROM baker", "text": "The names"}, {"sql": "SELECT shift FROM baker"}]}
{"id": 3, "db_id": "bakery", "question": "What is the label of each bread?", "golds": [{"sql": "SELECT 1"}, {"sql": "SELECT 2"}]}
{"id": 4, "db_id": "bakery", "question": "How many bakers?", "golds": [{"sql": "SELECT count(*) FROM baker"}]}
{"id": 5, "db_id": "bakery", "question": "Price them.", "golds": [{"sql": "SELECT price FROM bread"}, {"sql": "SELECT price + 1 FROM bread"}]}
END
shots() { infill --write-prompts e2e --examples examples.jsonl --shots 2 "$@"; }
expect 0 'similar problems:.n.nExample 1:.nGiven the following SQLite database schema:.n.nCREATE TABLE' shots --seed 1
expect 0 'SQL query\(s\):.nSELECT [a-z]+ FROM (bread|baker).n.n' shots --seed 1
shots --seed 1 -o shots.jsonl 2>/dev/null
shots --seed 1 -o again.jsonl 2>/dev/null
cmp -s shots.jsonl again.jsonl || complain "shots" "the same seed, other bytes"
grep -q 'Example 2:' shots.jsonl || complain "shots" "fewer than asked"
grep -q 'Example 3:' shots.jsonl && complain "shots" "more than asked"
[ "$(grep -o 'What is the label of each bread?' shots.jsonl | wc -l)" = 1 ] || complain "shots" "its own question is an example"
grep -q 'How many bakers' shots.jsonl && complain "shots" "an example that is not ambiguous"
for seed in 1 2 3 4 5 6 7 8; do shots --seed $seed 2>/dev/null; done | sort -u >drawn
[ "$(wc -l <drawn)" -gt 2 ] || complain "shots" "the seed changes nothing"
unset seed
# an example about bread shows no table of bakers: the question's own database has both, an example only its own
sed -n 1p examples.jsonl >one.jsonl
infill --write-prompts e2e --examples one.jsonl --shots 1 -o one.prompts 2>/dev/null
[ "$(grep -o 'CREATE TABLE .\{0,3\}baker\b' one.prompts | wc -l)" = 1 ] || complain "shots" "a table that no SQL says: $(cat one.prompts)"
[ "$(grep -o 'CREATE TABLE .\{0,3\}bread\b' one.prompts | wc -l)" = 2 ] || complain "shots" "a table that the SQL says is missing"

# --- databases as the authors split them anew
for i in 1 2 3 4 5 6 7 8 9 10; do
    echo "{\"db_file\":\"data/d$i.sqlite\",\"question\":\"$i a\"}"
    echo "{\"db_file\":\"data/d$i.sqlite\",\"question\":\"$i b\"}"
done >rows.jsonl
expect 0 'test: 2 records of 1 databases' data split rows.jsonl --published -o folds
# numpy.random.seed(42) puts ten names in the order 8 1 5 0 7 2 9 4 3 6, counted from 0
grep -q 'd4.sqlite' folds/test.jsonl || complain "split --published" "test: $(cat folds/test.jsonl)"
grep -q 'd7.sqlite' folds/valid.jsonl || complain "split --published" "valid: $(cat folds/valid.jsonl)"

# --- bad input
head -n 9 rows.jsonl >few.jsonl
expect 3 'expected records of at least 10 databases' data split few.jsonl --published -o few

# --- ambrosia.csv as published: interpretations are rows of their own, found by their SQL, else by their order
cat >ambrosia.csv <<'END'
db_file,db_dump,question,ambig_question,ambig_type,is_ambiguous,gold_queries,split
data/vague/Food/bakery.sqlite,"CREATE TABLE x (
a);",Label the breads.,Label the breads.,vague,True,"SELECT flour
FROM bread

SELECT weight FROM bread",test
data/vague/Food/bakery.sqlite,,Weigh the breads.,Label the breads.,vague,False,SELECT weight FROM bread,test
data/vague/Food/bakery.sqlite,,Which flours?,Label the breads.,vague,False,"SELECT flour
FROM bread",test
data/vague/Food/bakery.sqlite,,List all.,List all.,scope,True,"SELECT 1

SELECT 2",test
data/vague/Food/bakery.sqlite,,List one.,List all.,scope,False,SELECT 1 + 0,test
data/vague/Food/bakery.sqlite,,List two.,List all.,scope,False,SELECT 1 + 1,test
data/vague/Food/bakery.sqlite,,Nothing more?,Nothing more?,vague,True,"SELECT 3

SELECT 4",test
END
csv() { data split "$@" --valid-share 0 --test-share 0 -o rows --force; }
expect 0 'train: 7 records of 1 databases' csv ambrosia.csv
told=(rows/train.jsonl)
has() { grep -qE -- "$1" rows/train.jsonl || complain "ambrosia.csv" "no $1 in $(cat rows/train.jsonl)"; }
has '^\{"db":"bakery","question":"Label the breads\.","is_ambiguous":true,"ambig_type":"vague","split":"test","gold_queries":\["SELECT flour.nFROM bread","SELECT weight FROM bread"\],"gold_interpretations":\[\{"sql":"SELECT flour.nFROM bread","questions":\["Which flours\?"\]\},\{"sql":"SELECT weight FROM bread","questions":\["Weigh the breads\."\]\}\]\}$'
has '"question":"List all\.".*"questions":\["List one\."\].*"questions":\["List two\."\]'
has '"question":"Nothing more\?".*"gold_queries":\["SELECT 3","SELECT 4"\]\}$'
told=(shown said)
expect 0 '"target":"Which flours\?.nWeigh the breads\."' data infilling annotate <(head -n 1 rows/train.jsonl) --db all/db --target gold
# bad TEXT SED: a changed file is refused
bad() { sed "$2" ambrosia.csv >bad.csv && expect 3 "$1" csv bad.csv; }
bad 'bad.csv: .*"is_ambiguous": expected True or False, got maybe' 's/scope,True/scope,maybe/'
bad 'bad.csv: .*"is_ambiguous" is missing' 's/is_ambiguous/ambiguous/'
bad 'bad.csv: .*"db_file" is missing' 's/db_file/file/'
bad 'bad.csv: .*"gold_queries": expected SQL, got nothing' 's/SELECT 1 + 0/ /'
bad 'bad.csv: .*"ambig_type" is missing' 's/ambig_type/type/'
expect 2 '--published cannot be used together with --valid-share' data split rows.jsonl --published --valid-share 0.2 -o few
expect 2 '--interpretations requires --target infill' data infilling annotate records.jsonl --db all/db --target e2e --interpretations defaults.jsonl
expect 2 '--target' data infilling annotate records.jsonl --db all/db --target all
expect 7 'gold 1: --target gold requires a text' data infilling annotate examples.jsonl --db all/db --target gold
expect 2 'rewriting takes --rewrites' infill --rewrites answers.jsonl --sqls sqls.jsonl --defaults defaults.jsonl
expect 2 'rewriting: expected --sqls or --sql-model' infill --rewrites answers.jsonl
expect 2 '--rewrites: expected --write-prompts rewrite or sql' infill --rewrites answers.jsonl --write-prompts fill
expect 2 '--tries: expected --rewrites' infill --defaults defaults.jsonl --tries 3
expect 2 '--tries' infill --rewrites answers.jsonl --sqls sqls.jsonl --tries 0
expect 2 '--corrected and --correct-model cannot be used together' infill --defaults defaults.jsonl --corrected corrected.jsonl --correct-model none
expect 2 '--examples: expected --write-prompts e2e' infill --defaults defaults.jsonl --examples examples.jsonl
expect 2 '--shots: expected --examples' infill --write-prompts e2e --shots 2
expect 3 'examples.jsonl: expected at least 5 ambiguous records, got 4' infill --write-prompts e2e --examples examples.jsonl --shots 5
expect 3 'gold 1: field "sql"' infill --write-prompts e2e --shots 1 --examples <(echo '{"db_id": "bakery", "question": "q", "golds": [{}, {}]}')
expect 3 'of no prompt for SQL' infill --rewrites answers.jsonl --sqls answers.jsonl
cat answers.jsonl answers.jsonl >answers.twice
expect 3 'answers.twice: .*duplicate' infill --rewrites answers.twice --sqls sqls.jsonl
# records of stage 0: each fails alone, and says why
while IFS='|' read -r text line; do
    { cat in.jsonl && echo "$line"; } >more.jsonl
    expect 7 "\"error\":\".*$text" infer infill more.jsonl --db all/db --rewrites answers.jsonl --sqls sqls.jsonl
    [ "$(wc -l <shown)" = 2 ] || complain "$line" "not a line for each record"
done <<'END'
field ..golds..: expected at least two, got 1|{"id": 2, "db_id": "bakery", "question": "q", "golds": [{"sql": "SELECT 1", "word": "a"}]}
gold 2: field ..word.. is missing|{"id": 2, "db_id": "bakery", "question": "q", "golds": [{"sql": "SELECT 1", "word": "a"}, {"sql": "SELECT 2"}]}
field ..word.. is empty|{"id": 2, "db_id": "bakery", "question": "q", "golds": [{"sql": "SELECT 1", "word": ""}, {"sql": "SELECT 2", "word": "b"}]}
golds 1 and 2 give the same result|{"id": 2, "db_id": "bakery", "question": "q", "golds": [{"sql": "SELECT 1", "word": "a"}, {"sql": "SELECT 1.0", "word": "b"}]}
gold 1 gives no rows|{"id": 2, "db_id": "bakery", "question": "q", "golds": [{"sql": "SELECT name FROM baker WHERE 0", "word": "a"}, {"sql": "SELECT 2", "word": "b"}]}
gold 2 does not execute|{"id": 2, "db_id": "bakery", "question": "q", "golds": [{"sql": "SELECT 1", "word": "a"}, {"sql": "SELECT nothing", "word": "b"}]}
expected a record of ambit-data ambiguate of kind C or T|{"id": 2, "db_id": "bakery", "question": "q"}
no database shop|{"id": 2, "db_id": "shop", "question": "q", "golds": [{"sql": "SELECT 1", "word": "a"}, {"sql": "SELECT 2", "word": "b"}]}
the question of try 2 is missing|{"id": "r1", "db_id": "bakery", "question": "q", "golds": [{"sql": "SELECT 1", "word": "a"}, {"sql": "SELECT 2", "word": "b"}, {"sql": "SELECT 3", "word": "c"}]}
END
finish

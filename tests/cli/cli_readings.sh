#!/usr/bin/env bash
# score --rule strict, score --rule dfpl and annotate: their output, and their messages about bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
told=(shown said)

# shown TEXT...: the output of the last command holds them too
shown() {
    local text
    for text; do
        grep -qE -- "$text" shown || complain "the same" "does not show \"$text\": $(head -c 900 shown)"
    done
}

data practice -o all --seed 1 >/dev/null 2>&1 || exit 1
mkdir -p flat nested/bakery
cp all/db/bakery.sqlite flat
cp all/db/bakery.sqlite nested/bakery

# --- strict: three records, the second answered in half, the third not at all; its golds cannot be told apart on a fourth
cat >gold.jsonl <<'END'
{"id": "a", "db_id": "bakery", "sql": ["SELECT 1 UNION ALL SELECT 2", "SELECT 3"]}
{"id": 7, "db_id": "bakery", "sql": ["SELECT 1", "SELECT 'x', 2 ORDER BY 1"]}
{"id": "c", "db_id": "bakery", "sql": "SELECT 5"}
END
cat >pred.jsonl <<'END'
{"id": "a", "sql": ["SELECT 3", "SELECT 2 UNION ALL SELECT 1", "SELECT 1, 2"]}
{"id": "7", "sql": ["SELECT 1", "SELECT 1.0", "SELECT nowhere"]}
END
strict() { data score --gold gold.jsonl --pred pred.jsonl --db flat "$@"; }
expect 0 '"ambiguous":\{"n":2,"recall":0.75,"precision":0.5,"f1":0.6,"one_found":1.0,"all_found":0.5,"interval"' strict --json
shown '"unambiguous":\{"n":1,"recall":0.0,' '"without_predictions":1' '"skipped":\[\]' '"sqlite":"3\.'
expect 0 '^ambiguous +2  0\.7500 +\[-\]' strict
shown '^\[-\]: no interval can be had of records that are all of one database'
expect 0 '"recall":0.5,"precision":1.0' strict --json -k 1
expect 0 '"n":2,"recall":0.75' data score --rule strict --gold gold.jsonl --pred pred.jsonl --db nested --json
# without ids records meet by their places, whatever the forms of the two files
sed -E 's/"id": [^,]*, //' gold.jsonl >places.jsonl
{ echo '[' && sed -E 's/"id": [^,]*, //; 1s/$/,/' pred.jsonl && echo ']'; } >places.json
expect 0 '"ambiguous":\{"n":2,"recall":0.75,.*"without_predictions":1' data score --gold places.jsonl --pred places.json --db flat --json
expect 0 '"n":2' strict --json --per-example evidence.jsonl
[ "$(wc -l <evidence.jsonl)" = 3 ] || complain evidence "not a line for each record"
grep -q '"covered_by":\[\[1\],\[0\]\]' evidence.jsonl || complain evidence "$(head -n 1 evidence.jsonl)"

# gold LINE, pred LINE: the files above with a line more
gold() { { cat gold.jsonl && echo "$1"; } >more.jsonl; }
pred() { { cat pred.jsonl && echo "$1"; } >more.jsonl; }
more_gold() { data score --gold more.jsonl --pred pred.jsonl --db flat --json --per-example evidence.jsonl; }
more_pred() { data score --gold gold.jsonl --pred more.jsonl --db flat --json; }
while IFS='|' read -r text line; do
    gold "$line" && expect 7 "\"reason\":\"[^}]*$text" more_gold
    shown '"ambiguous":\{"n":2,' '"record":"more.jsonl: line 4"'
    [ "$(grep -c '"recall":' evidence.jsonl)" = 3 ] || complain "$line" "scored in $(cat evidence.jsonl)"
done <<'END'
give the same result|{"id": "d", "db_id": "bakery", "sql": ["SELECT 1", "SELECT 1.0"]}
gold 2 does not execute|{"id": "d", "db_id": "bakery", "sql": ["SELECT 1", "SELECT nowhere"]}
gold 1 does not execute|{"id": "d", "db_id": "bakery", "sql": "ATTACH 'x' AS y"}
no gold|{"id": "d", "db_id": "bakery", "sql": []}
no database shop: neither|{"id": "d", "db_id": "shop", "sql": ["SELECT 1"]}
.id..: 7 came before|{"id": "7", "db_id": "bakery", "sql": ["SELECT 1"]}
.id..: expected a string or an integer|{"id": [], "db_id": "bakery", "sql": ["SELECT 1"]}
.db_id.. is missing|{"id": "d", "sql": ["SELECT 1"]}
.sql..: expected a string or a list|{"id": "d", "db_id": "bakery", "sql": ["SELECT 1", 2]}
.sql..: expected a string or a list|{"id": "d", "db_id": "bakery"}
line 4, column|{"id": "d",
expected an object, got an array|["d"]
END
sed 's/"SELECT 3"\]/"SELECT nowhere"]/' gold.jsonl >more.jsonl
expect 7 '"ambiguous":\{"n":1,.*"reason":"gold 2 does not execute' more_gold
grep -q '^{"id":"a",.*"error":"gold 2 does not execute[^}]*"queries":\[{"sql":"SELECT 3","rows":1}' evidence.jsonl ||
    complain "a skipped record" "$(head -n 1 evidence.jsonl)"
while IFS='|' read -r record text line; do
    pred "$line" && expect 7 "\"record\":\"$record\",\"reason\":\"[^}]*$text" more_pred
done <<'END'
e|a prediction without a gold|{"id": "e", "sql": ["SELECT 1"]}
more.jsonl: line 3|.id..: a came before|{"id": "a", "sql": ["SELECT 1"]}
more.jsonl: line 3|.id..: expected a string or an integer|{"id": 1.5, "sql": ["SELECT 1"]}
more.jsonl: line 3|expected a string or a list|{"id": "c", "sql": {"SELECT": 1}}
more.jsonl: line 3|line 3, column|{"id": "c", "sql": "SELECT
END
echo '{"id": "c", "db_id": "bakery", "sql": "SELECT nowhere"}' >only.jsonl
expect 3 "no record could be scored: gold 1 does not execute" data score --gold only.jsonl --pred pred.jsonl --db flat
: >empty.jsonl
expect 3 "no record could be scored: no records" data score --gold empty.jsonl --pred empty.jsonl --db flat
expect 3 "nowhere.jsonl: No such file" data score --gold nowhere.jsonl --pred pred.jsonl --db flat
expect 2 "rule strict requires --gold" data score --pred pred.jsonl --db flat
expect 2 "rule strict requires --db" data score --gold gold.jsonl --pred pred.jsonl
expect 2 "--published and --rule strict cannot be used together" strict --published
expect 1 "cannot write" strict --per-example nowhere/evidence.jsonl
head -c 100 flat/bakery.sqlite >nested/bakery/bakery.sqlite
expect 3 "no record could be scored: .*bakery.sqlite" data score --gold gold.jsonl --pred pred.jsonl --db nested

# --- dfpl: a file as published, with a database that lost a column
cat >published.json <<'END'
{"results": [
 {"db_file": "data/x/Shop/shop.sqlite", "question": "Which one?", "is_ambiguous": true,
  "db_dump": "CREATE TABLE t (\n  a TEXT,\n);\nINSERT INTO \"t\" (a,b) VALUES ('x',1),('y',2);",
  "gold_queries": ["SELECT a FROM t", "SELECT b FROM t"],
  "interpretations": [{"interpretation": "All letters", "sql_queries": ["SELECT a FROM t ORDER BY a DESC"]},
                      {"interpretation": "All, PLEASE WITH SUGAR", "sql_queries": ["SELECT a, b FROM t", "SELECT c FROM t"]}],
  "interpretation_level_metrics": {"recall": 0.5, "num_queries": 3}},
 {"db_file": "data/x/Shop/shop.sqlite", "question": "Which none?", "is_ambiguous": false,
  "db_dump": "CREATE TABLE t (a TEXT, b INT);\nINSERT INTO \"t\" (a,b) VALUES ('x',1),('y',2);",
  "gold_queries": ["SELECT a FROM t WHERE b > 2"],
  "interpretations": [{"interpretation": "None at all", "sql_queries": ["SELECT a FROM t WHERE b > 3"]}]}]}
END
dfpl() { data score --rule dfpl --json --pred "$@"; }
changed() {
    sed "$1" published.json >changed.json
    cmp -s published.json changed.json && complain "$1" "changes nothing in published.json"
    true
}
expect 0 '"ambiguous":\{"n":1,"recall":0.5,"precision":0.333333333,"f1":0.4,"one_found":1.0,"all_found":0.0' dfpl published.json --published
shown '"unambiguous":\{"n":1,"recall":0.0' '"stored":\{"metrics":1,"metrics_differ":0,'
expect 0 '"unambiguous":\{"n":1,"recall":1.0' dfpl published.json
shown '"empty_golds":1'
expect 0 '^ambiguous +1  0.5000' data score --rule dfpl --pred published.json
changed 's/SELECT b FROM t"\]/SELECT d FROM t"]/' && expect 7 '"n":0,.*"reason":"gold 2 does not execute' dfpl changed.json
changed 's/SELECT b FROM t"\]/SELECT d FROM t"]/' && expect 0 '"ambiguous":\{"n":1,"recall":0.0.*"failed":\[\{"record":"example 1"' dfpl changed.json --published --per-example evidence.jsonl
grep -q '^{"record":"example 1",.*"error":"gold 2 does not execute.*"queries":' evidence.jsonl || complain evidence "$(cat evidence.jsonl)"
changed "s/(a TEXT, b INT);/(a TEXT, b INT); SELECT 'x/" && expect 7 '"record":"example 2","reason":"dump, line 2: holds what no SQL' dfpl changed.json
changed 's/CREATE TABLE t (a TEXT, b INT);//' && expect 0 '"unambiguous":\{"n":1,"recall":1.0' dfpl changed.json
changed 's/(a TEXT, b INT)/(a TEXT, b INT) WITHOUT/; s/VALUES (.x.,1),(.y.,2);",$/SELECT 1, 2;",/' &&
    expect 3 'INSERT, expected VALUES' dfpl changed.json
changed 's/"db_dump": "CREATE TABLE t (a/"dump": "CREATE TABLE t (a/' && expect 3 'example 2: field "db_dump" is missing' dfpl changed.json
changed 's/"is_ambiguous": false/"is_ambiguous": "no"/' && expect 3 'example 2: field "is_ambiguous": expected true or false, got a string' dfpl changed.json
changed 's/"interpretation": "None at all", //' && expect 3 'example 2, interpretation 1: field "interpretation" is missing' dfpl changed.json
changed 's/"results"/"records"/' && expect 3 'changed.json: field "results" is missing' dfpl changed.json
changed 's/\["SELECT a FROM t WHERE b > 2"\]/"SELECT a FROM t"/' && expect 3 'example 2: field "gold_queries": expected an array, got a string' dfpl changed.json
head -c 700 published.json >changed.json && expect 3 'changed.json: line [0-9]+, column' dfpl changed.json
expect 0 '"ambiguous":\{"n":1,"recall":0.5,"precision":1.0' dfpl published.json --published --filter --per-example evidence.jsonl
grep -q '"kept":\[0\]' evidence.jsonl || complain evidence "$(head -n 1 evidence.jsonl)"
expect 2 "--filter requires --rule dfpl" strict --filter
expect 2 "--gold is not read" dfpl published.json --gold gold.jsonl
expect 2 "--db is not read" dfpl published.json --db flat

# --- annotate
cat >in.jsonl <<'END'
{"id": "q1", "db_id": "bakery", "question": "Which one?", "golds": [{"sql": "SELECT 1", "text": "The first?"}, {"sql": "SELECT 2", "text": "The second?"}], "readings": [{"text": "The first one of all?", "sql": ["SELECT 1"]}, {"text": "Number one?", "sql": "SELECT 1.0"}]}
{"db": "bakery", "question": "Say five.", "ambig_type": "scope", "gold_queries": ["SELECT 5"]}
END
echo '{"db_id": "bakery", "question": "Say five.", "readings": [{"text": "Five, say it", "sql": "SELECT 5"}]}' >readings.jsonl
annotate() { data infilling annotate --db flat "$@"; }
sed 's/five/six/' readings.jsonl >other.jsonl
expect 7 'other.jsonl has no readings of this question of bakery' annotate in.jsonl --interpretations other.jsonl
expect 0 '"id":"q1",.*"existing":\["The first one of all\?"\].*"target":"The second\?".*"same_as":0' annotate in.jsonl --interpretations readings.jsonl
shown '"id":2,"db_id":"bakery",.*"target":"All possible interpretations are covered"'
expect 0 '"id":2,.*"existing":\[\],"existing_text":"No existing interpretations available".*"target":"Say five\."' annotate in.jsonl
expect 0 '"existing":\["(The first one of all|Number one)\?"\],.*"target":"The second' annotate in.jsonl --published
# the examples that infilling learns from
expect 0 '"messages":\[\{"role":"user","content":"The task is to review[^"]*\\"All' annotate in.jsonl --interpretations readings.jsonl
shown 'context:.n.nCREATE TABLE' 'Existing interpretations:.n.nThe first one of all\?.n.nProvide' '\{"role":"assistant","content":"The second\?"\}\]'
expect 0 'context:.n.n[a-z ]+: [a-z ,]+.n[a-z ]+: ' annotate in.jsonl --context compact
expect 0 'INSERT INTO' annotate in.jsonl --rows 1
expect 0 'CREATE TABLE' annotate in.jsonl --rows 0
grep -q 'INSERT INTO' shown && complain "--rows 0" "shows rows"
expect 0 'nine prompts' data infilling prompts -o prompts
[ "$(find prompts -name '*.txt' | wc -l)" = 9 ] || complain "prompts" "does not write nine files"
printf 'D:{}\nQ:{}\nE:{}\nM:' >prompts/fill.txt
expect 0 '.nQ:Which one\?.nE:The first one of all\?.nM:"' annotate in.jsonl --prompt-dir prompts
printf '{} {}' >prompts/fill.txt
expect 2 'fill.txt: expected 3 slots [{][}], got 2' annotate in.jsonl --prompt-dir prompts
expect 2 'flat: expected def.txt' annotate in.jsonl --prompt-dir flat
expect 2 '--context' annotate in.jsonl --context long
expect 2 '--rows' annotate in.jsonl --rows many
line() { { cat in.jsonl && echo "$1"; } >more.jsonl; }
while IFS='|' read -r text line; do
    line "$line" && expect 7 "\"error\":\"more.jsonl: line 3[^}]*$text" annotate more.jsonl
    [ "$(wc -l <shown)" = 3 ] || complain "$line" "not a line for each record"
done <<'END'
golds 1 and 2 give the same|{"db_id": "bakery", "question": "q", "golds": [{"sql": "SELECT 1"}, {"sql": "SELECT 1.0"}]}
gold 1: expected a text|{"db_id": "bakery", "question": "q", "golds": [{"sql": "SELECT 1"}, {"sql": "SELECT 2"}]}
no database shop|{"db_id": "shop", "question": "q", "golds": [{"sql": "SELECT 1"}]}
.golds.. is missing|{"db_id": "bakery", "question": "q"}
gold_interpretations 1|{"db": "bakery", "question": "q", "gold_queries": ["SELECT 1"], "gold_interpretations": [{"sql": "SELECT 1"}]}
.db.. is missing|{"question": "q", "gold_queries": ["SELECT 1"]}
reading 1: field .*text.* is missing|{"db_id": "bakery", "question": "q", "golds": [{"sql": "SELECT 1"}], "readings": [{"sql": "SELECT 1"}]}
.readings..: expected an array, got a string|{"db_id": "bakery", "question": "q", "golds": [{"sql": "SELECT 1"}], "readings": "none"}
column|{"db_id": "bakery"
END
cat readings.jsonl readings.jsonl >twice.jsonl
expect 3 "twice.jsonl: line 2: duplicate database and question" annotate in.jsonl --interpretations twice.jsonl
expect 3 "gold.jsonl: line 1: field \"question\" is missing" annotate in.jsonl --interpretations gold.jsonl
head -c 300 published.json >changed.json && expect 3 "changed.json: line" annotate in.jsonl --interpretations changed.json
expect 2 "--db" data infilling annotate in.jsonl
expect 3 "nowhere.jsonl: No such file" annotate nowhere.jsonl
expect 1 "cannot write" annotate in.jsonl -o nowhere/out.jsonl

finish

#!/usr/bin/env bash
# ambit-data plans: the records of the models, splits that share no database, constraints, bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

# table DB: an entry of tables.json, of two tables that a key joins
table() {
    cat <<END
{"db_id": "$1", "table_names": ["singer", "song"], "table_names_original": ["Singer", "Song"],
 "column_names": [[-1, "*"], [0, "id"], [0, "name"], [0, "age"], [1, "title"], [1, "singer id"]],
 "column_names_original": [[-1, "*"], [0, "ID"], [0, "Name"], [0, "Age"], [1, "Title"], [1, "Singer_ID"]],
 "column_types": ["text", "number", "text", "number", "text", "number"], "primary_keys": [1], "foreign_keys": [[5, 1]]}
END
}
# question DB QUESTION SQL
question() { printf '{"db_id": "%s", "question": "%s", "query": "%s"}\n' "$1" "$2" "$3"; }

mkdir spider
{ echo '[' && table choir && echo ',' && table opera && echo ',' && table radio && echo ']'; } >spider/tables.json
{
    question choir 'How old is each singer , by name ?' "SELECT Name ,  Age FROM Singer"
    question choir 'Which singers are older than 20?' "SELECT Name FROM Singer WHERE Age > 20"
    question opera 'Which songs has Ann?' 'SELECT T2.Title FROM Singer AS T1 JOIN Song AS T2 ON T1.ID = T2.Singer_ID WHERE T1.Name = \"Ann\"'
} >spider/train_spider.json
question radio 'Which songs did Tim Lee sing?' 'SELECT T2.Title FROM Singer AS T1 JOIN Song AS T2 ON T1.ID = T2.Singer_ID WHERE T1.Name = '"'Tim Lee'" >spider/dev.json

# line FILE N TEXT: a record is this one
line() { [ "$(sed -n "$2p" "$1")" = "$3" ] || complain "$1: line $2" "$(sed -n "$2p" "$1")"; }

# --- every string as published
expect 0 "test: 1 records for each model" data plans --spider spider -o plans --valid-share 0.5 --seed 1 --constraints
schema='singer : id, name, age | song : title, singer_id'
template='select column from table as t1 join table as t2 on column = column where column = string'
sql="select t2.title from singer as t1 join song as t2 on t1.id = t2.singer_id where t1.name = 'Tim Lee'"
asks='Which songs did Tim Lee sing?'
line plans/t2s.test.jsonl 1 "{\"id\":\"dev-0\",\"db_id\":\"radio\",\"prompt\":\"semantic parse: $asks | radio | $schema\",\"completion\":\"radio | $sql\"}"
line plans/direct.test.jsonl 1 "{\"id\":\"dev-0\",\"db_id\":\"radio\",\"prompt\":\"semantic parse: $asks | radio | $schema\",\"completion\":\"radio | 1 joins @ 1 selects @ $sql\"}"
line plans/template-gen.test.jsonl 1 "{\"id\":\"dev-0\",\"db_id\":\"radio\",\"prompt\":\"template generation: $asks | radio | $schema\",\"completion\":\"radio | 1 joins @ 1 selects @ $template\"}"
line plans/template-fill.test.jsonl 1 "{\"id\":\"dev-0\",\"db_id\":\"radio\",\"prompt\":\"template fill: $asks | radio | $schema @ $template\",\"completion\":\"radio | $sql\"}"
cat plans/t2s.train.jsonl plans/t2s.valid.jsonl | grep -qF '"prompt":"semantic parse: How old is each singer, by name ? | choir' || complain "a question's blanks" "stay"
cat plans/t2s.train.jsonl plans/t2s.valid.jsonl | grep -qF '"completion":"choir | select name, age from singer"' || complain "a query's blanks" "stay"
cat plans/template-fill.{train,valid}.jsonl | grep -qF 'How old is each singer , by name ? |' || complain "a filler's question" "is changed"

# --- fractions: literal as in the program, or a placeholder as in the paper
sed -i 's/Age > 20/Age > 20.5/; s/older than 20/older than 20.5/' spider/train_spider.json
for any in '' --any-number; do
    run 0 data plans --spider spider -o "fractions$any" --valid-share 0.5 --seed 1 --constraints $any
done
cat fractions/template-gen.{train,valid}.jsonl | grep -qF 'where column > 20.5"' || complain "a fraction" "is no literal"
cat fractions--any-number/template-gen.{train,valid}.jsonl | grep -qF 'where column > number"' || complain "a fraction" "is no placeholder"
sed -i 's/20\.5/20/g' spider/train_spider.json

# --- a database stands in one split, every question once
databases() { grep -oE '"db_id":"[a-z]+"' "plans/t2s.$1.jsonl" | sort -u; }
[ -z "$(comm -12 <(databases train) <(databases valid))" ] || complain "splits" "share a database"
[ "$(cat plans/t2s.{train,valid}.jsonl | wc -l)" = 3 ] || complain "splits" "lose questions"

# --- constraints: one for each record, which accepts the gold text
grep -qF '{"template":"select {row10} from singer as t1 join song as t2 on {join11} where {column10} = {string}"' plans/template-fill.test.constraints.jsonl || complain "constraint" "$(head -c 600 plans/template-fill.test.constraints.jsonl)"
grep -qF '"join11":["t1.id = t2.singer_id","t2.singer_id = t1.id"]' plans/template-fill.test.constraints.jsonl || complain "constraint" "has other keys"
grep -qF '\"Tim Lee\"' plans/template-fill.test.constraints.jsonl || complain "constraint" "has other strings"
grep -q '"id":"dev-0"' plans/template-fill.test.constraints.jsonl || complain "constraint" "has no id"

# --- a model that knows nothing writes statements of the schema, and nothing else
cp -r "$gold/llama/base" model && cp "$gold/bpe/llama/tokenizer.json" model
sed -i 's/"eos_token_id": 1,/"eos_token_id": 1007,/' model/config.json model/generation_config.json
echo '{"id":"dev-0","prompt":"select"}' >prompts.jsonl
run 0 infer generate prompts.jsonl --model model --device cpu --constraint plans/template-fill.test.constraints.jsonl --beams 4 --n 4 --max-new 150 -o filled.jsonl
key='(t1\.id = t2\.singer_id|t2\.singer_id = t1\.id)'
swapped='(t2\.id = t1\.singer_id|t1\.singer_id = t2\.id)'
from="(singer as t1 join song as t2 on $key|song as t1 join singer as t2 on $swapped)"
either='(\*|(t[12]\.)?(id|name|age|title|singer_id))'
grep -qE "^\{\"id\":\"dev-0\",\"texts\":\[(\{\"text\":\"select $either from $from where $either = \\\\\"[^{]*\"finish\":\"stop\"\},?){4}\]\}$" filled.jsonl || complain "generate" "$(cat filled.jsonl)"

# --- the same seed, the same bytes; messages; schemas in another order
expect 0 "" data plans --spider spider -o again --valid-share 0.5 --seed 1 --constraints
diff -r plans again >said || complain "the same seed" "other bytes"
expect 0 "" data plans --spider spider -o chat --valid-share 0 --prompt chat
line chat/template-gen.test.jsonl 1 "{\"id\":\"dev-0\",\"db_id\":\"radio\",\"messages\":[{\"role\":\"user\",\"content\":\"Database radio: $schema\\nQuestion: $asks\\nWrite how many joins the SQL statement that answers the question has and how many items it selects, then its template: the statement with the words table, column, string and number in the places of names and values.\"},{\"role\":\"assistant\",\"content\":\"1 joins @ 1 selects @ $template\"}]}"
[ ! -s chat/t2s.valid.jsonl ] || complain "--valid-share 0" "holds questions out"
expect 0 "" data plans --spider spider -o mixed --valid-share 0 --schema-text ambiqt --seed 3
grep -qE '\| radio \| singer : [a-z]+ , [a-z]+ , [a-z]+  \| song : [a-z_]+ , [a-z_]+"' mixed/t2s.test.jsonl || complain "--schema-text ambiqt" "$(cat mixed/t2s.test.jsonl)"
expect 0 "" data plans --spider spider -o named --valid-share 0 --schema-text named --seed 3
for name in t2s template-gen template-fill direct; do
    grep -F 'older than 20' named/$name.train.jsonl | grep -qE '\| choir \| singer : [a-z]+ , [a-z]+ , [a-z]+( @|")' || complain "--schema-text named" "$(cat named/$name.train.jsonl)"
    grep -F 'has Ann' named/$name.train.jsonl | grep -qF '  | song : ' || complain "--schema-text named" "a join loses a table"
    grep -qF '  | song : ' named/$name.test.jsonl || complain "--schema-text named" "the test lost a table"
done

# --- tables that a statement reads, in whatever quotes, and not those that a string or an alias is called like
mkdir quoted
cp spider/tables.json spider/dev.json quoted
question choir 'Who sings?' 'SELECT Name AS Song FROM Singer WHERE Name = \"song\" OR EXISTS (SELECT 1 FROM [Singer])' >quoted/train_spider.json
question opera 'Who sings what?' 'SELECT Singer.Name FROM Singer, \"Song\"' >>quoted/train_spider.json
expect 0 "" data plans --spider quoted -o read --valid-share 0 --schema-text named --seed 3
grep -F 'Who sings?' read/t2s.train.jsonl | grep -qE '\| choir \| singer : [a-z]+ , [a-z]+ , [a-z]+"' || complain "--schema-text named" "$(cat read/t2s.train.jsonl)"
grep -F 'Who sings what?' read/t2s.train.jsonl | grep -qF '  | song : ' || complain "--schema-text named" "$(cat read/t2s.train.jsonl)"

# --- records of AmbiQT, two each, on their own schema
cat >joins.jsonl <<'END'
{"db_id": "radio", "question": "Which names are there?", "orig_query": "select name from singer", "query1": "select name from singer", "query2": "select t2.name from singer as t1 join singer_name as t2 on t1.id = t2.id", "split_map": {"singer": "name"}, "primary_key": {"singer": "id"}, "schema_without_content": "singer : name , id  | singer_name : id , name "}
END
expect 0 "ambiqt: 2 records" data plans --spider spider --ambiqt joins.jsonl -o both --valid-share 0 --constraints
line both/template-gen.ambiqt.jsonl 2 '{"id":"1-2","db_id":"radio","prompt":"template generation: Which names are there? | radio | singer : name , id  | singer_name : id , name ","completion":"radio | 1 joins @ 1 selects @ select column from table as t1 join table as t2 on column = column"}'
allowed=both/template-fill.ambiqt.constraints.jsonl
sed -n 1p $allowed | grep -qF '{"template":"select {row10} from singer_name","slots":{"row10":["*","id","name"]}}' || complain "a reading's constraint" "$(sed -n 1p $allowed)"
sed -n 2p $allowed | grep -qF 'from singer as t1 join singer_name as t2 on' || complain "the other's" "$(sed -n 2p $allowed)"

# --- bad input
expect 2 "plans/.*exists with other contents; add --force" data plans --spider spider -o plans --valid-share 0.5 --seed 1 --prompt chat
expect 2 "--db requires --constraints" data plans --spider spider -o new --db spider
expect 2 "--prompt: expected one of seq2seq" data plans --spider spider -o new --prompt raw
expect 3 "nowhere/tables.json" data plans --spider nowhere -o new
mkdir one && cp spider/tables.json spider/dev.json one && grep choir spider/train_spider.json >one/train_spider.json
expect 3 "1 training databases are too few for a validation split" data plans --spider one -o new --valid-share 0.5
mkdir bad && cp spider/tables.json bad && cp spider/train_spider.json bad
question nowhere 'q' 'SELECT 1' >bad/dev.json
expect 3 "bad/dev.json: record 0: db_id \"nowhere\" is not in tables.json" data plans --spider bad -o new --valid-share 0
echo '{"db_id": "radio", "question": "q"}' >none.jsonl
expect 3 "none.jsonl: line 1: expected a record of AmbiQT" data plans --spider spider --ambiqt none.jsonl -o new --valid-share 0

finish

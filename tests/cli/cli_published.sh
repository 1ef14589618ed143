#!/usr/bin/env bash
# ambit-infer parse by the published rules: a small T5 that knows the records (tests/gold/make_published.py) generates in one
# stage the texts of transformers; a template that no beam completes is reported.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

cat >in.jsonl <<'END'
{"id":"a","db_id":"concert","question":"count","schema_without_content":"singer : id , name , age , country , song_name  | concert : id , name , year , singer_id"}
{"id":"b","db_id":"club","question":"singer of club","schema_without_content":"club : id , name , year  | singer : id , club , age "}
END
parse() { infer parse --model "$gold/published" --device cpu --dtype f32 --max-new 60 "$@"; }

# has LINE PATTERN NAME
has() { sed -n "$1p" out.jsonl | grep -qE -- "$2" || complain "$3" "$(sed -n "$1p" out.jsonl | head -c 900)"; }

run 0 parse --strategy single-stage in.jsonl -o out.jsonl
has 1 '"joins":0,"selects":2,"sqls":\[\{"sql":"select country, count\(\*\) from singer group by country","logprob":0\.831[67][0-9]*\},\{"sql":"select age, count\(\*\) from singer group by age","logprob":0\.814[0-9]*\}' "both statements of a plan"
has 2 '"joins":1,"selects":1,"sqls":\[\{"sql":"select t2\.age from club as t1 join singer as t2 on t1\.id = t2\.club"' "the likeliest of a plan with a join"
run 0 parse --published in.jsonl -o out.jsonl
has 1 '"error":"no beam ended in a statement of the template"' "a template that nothing fills"

sed -i '1s/"question":"count"/"question":"name","template":"select column from table"/' in.jsonl
run 0 parse --published in.jsonl -o out.jsonl
has 1 '"template":"select column from table","logprob":0.0,"sqls":\[\{"sql":"select song_name from singer","logprob":0\.6258[0-9]*\},\{"sql":"select name from singer","logprob":0\.558' "a template that the record has"

# --- the model of templates sees the original schema; it repeats elements of a schema that it has not seen in training
cat >tables.json <<'END'
[{"db_id": "club", "table_names": ["club"], "table_names_original": ["club"], "column_names": [[-1, "*"], [0, "age"]],
  "column_names_original": [[-1, "*"], [0, "age"]], "column_types": ["text", "number"], "primary_keys": [], "foreign_keys": []}]
END
sed -n 2p in.jsonl >one.jsonl
for schema in own original; do
    run 0 parse --schema tables.json --strategy two-stage --template-schema $schema one.jsonl -o $schema.jsonl
    grep -o '"t2s_outs":\["[^"]*"' $schema.jsonl >$schema.plain
    grep -o '"templates":.*' $schema.jsonl >$schema.templates
done
cmp -s own.plain original.plain || complain "statements without templates" "see another schema"
! cmp -s own.templates original.templates || complain "templates" "see the same schema"
run 7 parse --schema tables.json --template-schema original in.jsonl -o out.jsonl
has 1 'line 1: .*concert' "a database without an original schema"

expect 2 "--template-schema original: expected --schema or --db" parse --template-schema original in.jsonl -o out.jsonl
expect 2 "--published: expected --strategy logical-beam" parse --published --strategy plans in.jsonl -o out.jsonl
expect 2 "--beams: expected 10" parse --published --beams 4 in.jsonl -o out.jsonl
finish

#!/usr/bin/env bash
# ambit-infer parse: every strategy with an untrained encoder-decoder and an untrained decoder, in any batch.  Restricted
# infilling follows template and schema.  AmbiQT's records get scores, candidates get questions; resumption; bad input.
kills=1
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
# shellcheck source=tests/support/part_kill.sh
. "$support/part_kill.sh"

cp -r "$gold/t5/flan" t5 && cp -r "$gold/llama/base" lm
cp "$gold/bpe/llama/tokenizer.json" t5 && cp "$gold/bpe/llama/tokenizer.json" lm
sed -i 's/"eos_token_id": 1,/"eos_token_id": 1007,/' {t5,lm}/config.json {t5,lm}/generation_config.json
cat >tables.json <<'END'
[{"db_id": "choir", "table_names": ["singer", "song"], "table_names_original": ["Singer", "Song"],
 "column_names": [[-1, "*"], [0, "id"], [0, "name"], [0, "age"], [1, "title"], [1, "singer id"]],
 "column_names_original": [[-1, "*"], [0, "ID"], [0, "Name"], [0, "Age"], [1, "Title"], [1, "Singer_ID"]],
 "column_types": ["text", "number", "text", "number", "text", "number"], "primary_keys": [1], "foreign_keys": [[5, 1]]}]
END
asks='"question":"Which songs did Tim Lee sing?"'
joined='select column from table as t1 join table as t2 on column = column where column = string'
cat >in.jsonl <<END
{"id":"a","db_id":"choir",$asks,"template":"$joined"}
{"id":"b","db_id":"choir","question":"Who is older than 20?","template":["select column from table where column > number","select count(column) from table"]}
{"id":"c","db_id":"choir","question":"How many?"}
{"id":"d","db_id":"choir","question":"Who sings?","schema_without_content":"artist : id , name , age  | song : title , singer_id ","template":"select column from table as t1 join table as t2 on column = column"}
END

parse() { infer parse --device cpu --dtype f32 --beams 3 --max-new 60 "$@"; }

# made FILE ARGUMENTS...: the records of a run
made() {
    local out=$1
    shift
    run 0 parse "$@" -o "$out"
}

# has FILE PATTERN NAME: checks that a line matches
has() { grep -qE -- "$2" "$1" || complain "$3" "$(head -c 600 "$1")"; }

# same A B NAME
same() { cmp -s "$1" "$2" || complain "$3" "$(diff "$1" "$2" | head -n 2)"; }

# --- every strategy: all records in order, with distinct statements and a log p for each, whatever the neighbours are
number='-[0-9.]+' string='"([^"\\]|\\.)*"'
for model in t5 lm; do
    for strategy in beam sample direct two-stage plans logical-beam; do
        made out.jsonl --model $model --schema tables.json --strategy $strategy in.jsonl
        [ "$(cut -c8 out.jsonl | tr -d '\n')" = abcd ] || complain "$model $strategy" "lacks records"
        ! grep -vE "\"t2s_outs\":\[$string(,$string){0,4}\],\"logprobs\":\[$number(,$number){0,4}\]" out.jsonl || complain "$model $strategy" "$(head -c 600 out.jsonl)"
        made alone.jsonl --model $model --schema tables.json --strategy $strategy in.jsonl --batch 1 --window 1 --tokens 16
        same out.jsonl alone.jsonl "$model $strategy, one record at a time"
    done
done
made draws.jsonl --model lm --schema tables.json --strategy sample --seed 1 in.jsonl
made again.jsonl --model lm --schema tables.json --strategy sample --seed 1 in.jsonl
same draws.jsonl again.jsonl "the same draws"
made other.jsonl --model lm --schema tables.json --strategy sample --seed 2 in.jsonl
! cmp -s draws.jsonl other.jsonl || complain "another seed" "draws the same"

# --- the published rules: each template alone, and in one stage two statements at most of each plan
head -n 2 in.jsonl >two.jsonl
made out.jsonl --model t5 --schema tables.json --published --beams 10 two.jsonl
made alone.jsonl --model t5 --schema tables.json --published --beams 10 two.jsonl --window 1
same out.jsonl alone.jsonl "published, one record at a time"
made other.jsonl --model t5 --schema tables.json --beams 10 two.jsonl
! cmp -s out.jsonl other.jsonl || complain "--published" "changes nothing"
made out.jsonl --model lm --schema tables.json --strategy single-stage <(sed -n 3p in.jsonl)
has out.jsonl '"joins":0,"selects":1,"sqls":\[.*"joins":1,"selects":1,"sqls":\[.*"joins":0,"selects":2,"sqls":\[' "plans in one stage"

# --- restricted: the template, the schema's names, keys that join, values of the question
made out.jsonl --model lm --schema tables.json in.jsonl --max-new 100
grep -oE '"templates":.*' out.jsonl | sed 's/,"errors":.*//' >templates
sqls() { sed -n "$1p" templates | grep -oE "\"sql\":$string" | sed 's/^"sql"://; s/\\"/"/g; s/^"//; s/"$//'; }
key='(t1\.id = t2\.singer_id|t2\.singer_id = t1\.id|t1\.singer_id = t2\.id|t2\.id = t1\.singer_id)'
name='(\*|t[12]\.(id|name|age|title|singer_id))' own='t[12]\.(id|name|age|title|singer_id)'
# only N PATTERN: line n has statements, all of them such
only() { { [ -n "$(sqls "$1")" ] && ! sqls "$1" | grep -qvE "^($2)$"; } || complain "fills of record $1" "$(sqls "$1" | grep -vE "^($2)$"; sed -n "$1p" templates | head -c 600)"; }
only 1 "select $name from (singer as t1 join song as t2|song as t1 join singer as t2) on $key where $own = ['\"].*['\"]"
only 2 'select [a-z_*]+ from (singer|song) where [a-z_]+ > [0-9]+|select count\([a-z_*]+\) from (singer|song)'
only 4 "select $name from (artist as t1 join song as t2|song as t1 join artist as t2) on $key"
has out.jsonl '"joins":0,"selects":1,"template".*"joins":1,"selects":1,"template".*"joins":0,"selects":2,"template"' "templates of plans near to one"
has out.jsonl '"errors":\[\{"(plan|template)":' "a plan that cannot be read"
# one join in its four spellings is one statement, as likely as all of them
echo '{"id":"a","db_id":"choir","question":"Which songs?","template":"select count(*) from table as t1 join table as t2 on column = column"}' >join.jsonl
made out.jsonl --model lm --schema tables.json join.jsonl --beams 10 --max-new 100 -k 9
grep -o '"templates":.*' out.jsonl | grep -o '"logprob":-[0-9.]*' | cut -d : -f 2 >four
[[ $(wc -l <four) == 4 && $(grep -o '"t2s_outs".*"logprobs"' out.jsonl | grep -o ' join ' | wc -l) == 1 ]] || complain "spellings of a join" "$(cat out.jsonl)"
{ sed 's/.*"logprobs":\[//; s/\].*//; s/.*,//' out.jsonl && cat four; } | awk 'NR == 1 { all = $1; next } { sum += exp($1 - all) } END { exit sum < 0.999999 || sum > 1.000001 }' ||
    complain "the probability of all spellings" "$(cat out.jsonl)"
# the templates are filled by a second model
made filled.jsonl --model lm --fill-model t5 --schema tables.json in.jsonl --max-new 100
! cmp -s out.jsonl filled.jsonl || complain "--fill-model" "changes nothing"

# --- AmbiQT's records as published, to its score
record() {
    cat <<END
{"id":"$1","db_id":"choir",$asks,"orig_query":"select title from song","query1":"select title from song","query2":"select headline from song","extra_map":{"song":{"title":["title","headline"]}},"schema_without_content":"singer : id , name , age  | song : title , headline , singer_id ","schema_with_content":"singer : id","template":"select column from table"}
END
}
{ record 1 && record 2; } >ambiqt.jsonl
made predicted.jsonl --model t5 --schema tables.json ambiqt.jsonl
run 0 data score --rule ambiqt --pred predicted.jsonl --tables tables.json --json
has shown '"rows":2,"em":' "a score"

# --- candidates to a question, in one pipe
made candidates.jsonl --model lm --schema tables.json --write-candidates -k 10 ambiqt.jsonl
has candidates.jsonl "^\{\"id\":\"1\",\"db_id\":\"choir\",\"question\":$string,\"candidates\":\[\{\"sql\":$string,\"logprob\":$number\}" "candidates"
run 0 infer clarify --candidates candidates.jsonl --schema tables.json -o asked.jsonl
has asked.jsonl '"variables":\[\{' "what candidates disagree on"
run 0 data calibrate candidates.jsonl --schema tables.json -o calibration.json

# --- a database: its values appear in statements, which run; a pipe leads from a question to the difference of candidates
sqlite3 shop.sqlite "CREATE TABLE singer(id INTEGER PRIMARY KEY, name TEXT, age INT); CREATE TABLE song(title TEXT, singer_id INT REFERENCES singer(id));
    INSERT INTO singer VALUES (1, 'Tim Lee', 30), (2, 'Ann Bo', 20); INSERT INTO song VALUES ('La', 1), ('Lu', 2);"
echo '{"id":"a","question":"What did he sing?","template":"select column from table where column = string"}' >shop.jsonl
made out.jsonl --model lm --db shop.sqlite --beams 10 -k 12 shop.jsonl
has out.jsonl '"sql":"select [a-z_*]+ from (singer|song) where [a-z_]+ = [^,]*(Ann Bo|Tim Lee)' "a value of the database"
! grep -qE '"sql":"select [^}]*"error"' out.jsonl || complain "a filled template" "does not run: $(cat out.jsonl)"
echo '{"id":"a","question":"Who?","template":"select column from table"}' >shop.jsonl
parse --model lm --db shop.sqlite --write-candidates -k 9 shop.jsonl 2>said | infer clarify --candidates - --db shop.sqlite >asked.jsonl 2>>said
has asked.jsonl '"db_id":"shop".*"variables":\[\{' "candidates in a pipe"

# --- interrupted runs are resumed and end with the bytes of an undisturbed run
for i in {1..12}; do sed "s/\"id\":\"/&$i-/" in.jsonl; done >many.jsonl
echo '{"id":"e","db_id":"opera","question":"Who?"}' >>many.jsonl
go() { # of part_kill.sh
    exec "$bin/ambit-infer" parse --device cpu --dtype f32 --beams 3 --max-new 60 --model lm --schema tables.json --window 2 --resume many.jsonl -o "$2"
}
from=$(date +%s%N)
(go "" whole.jsonl) >shown 2>said
[ $? = 7 ] || complain "an undisturbed run" "$(cat said)"
span=$(($(date +%s%N) - from))
stop_and_resume parse whole.jsonl

made whole.jsonl --model lm --schema tables.json in.jsonl
{ cat in.jsonl && echo '{"id":"e","db_id":"choir","question":"Who?"'; } >torn.jsonl
run 7 parse --model lm --schema tables.json torn.jsonl -o torn.out
has torn.out '"error":' "a bad line"
head -n 4 torn.out >first && same first whole.jsonl "records before a bad line"

# --- a dry run: all records are read, each model's memory is reported once, no model runs and no file is written
dry() { check "$1" "$2" "$3" parse --model lm --schema tables.json -o dry.out --dry-run "${@:4}"; }
dry "a dry run" 0 '^lm: [0-9]+ MiB of weights, [0-9]+ MiB of keys and values, .* in all' in.jsonl
has said '^4 records, 0 of them cannot be used' "a dry run"
[ "$(grep -c 'MiB of weights' said)" = 1 ] || complain "a dry run" "tells of one model twice"
dry "two models" 0 '^t5: [0-9]+ MiB of weights' in.jsonl --fill-model t5
has said '^lm: ' "two models"
dry "a model not asked" 0 '^lm: ' in.jsonl --template-model lm --strategy direct
dry "bad records" 7 'torn.jsonl: line 5' torn.jsonl --window 1
has said '^5 records, 1 of them cannot be used' "bad records"
dry "a folder of no model" 6 'nowhere' in.jsonl --fill-model nowhere
dry "no records" 0 '^0 records' <(:)
! ls dry.out* >shown 2>&1 || complain "a dry run" "writes"

# --- bad input
good=(parse --model lm --schema tables.json in.jsonl -o out.jsonl)
check "no model" 2 "--model" infer parse --schema tables.json in.jsonl
check "both schemas" 2 "--schema and --db cannot be used together" "${good[@]}" --db tables.json
check "a strategy" 2 "--strategy" "${good[@]}" --strategy oracle
check "no beams" 2 "--beams" "${good[@]}" --beams 1
check "k of none" 2 "-k: expected 1 to" "${good[@]}" -k 0
check "draws of beams" 2 "--strategy sample" "${good[@]}" --top-k 5
check "templates of beams" 2 "--template-model cannot be used with" "${good[@]}" --strategy beam --template-model lm
check "published beams" 2 "--published: expected" "${good[@]}" --strategy plans --published
check "published candidates" 2 "--write-candidates: expected neither" "${good[@]}" --published --write-candidates
check "fills of direct" 2 "--fill-model cannot be used with" "${good[@]}" --strategy direct --fill-model lm
check "resume to nowhere" 2 "--resume: expected --out" parse --model lm --schema tables.json in.jsonl --resume
check "a folder of no model" 6 "nowhere" parse --model nowhere --schema tables.json in.jsonl -o out.jsonl
check "another folder of no model" 6 "nowhere" parse --model lm --fill-model nowhere --schema tables.json in.jsonl -o out.jsonl
check "words for an encoder-decoder" 0 "" parse --model t5 --prompt chat --schema tables.json in.jsonl -o out.jsonl
check "beams of the published program" 2 "--beams: expected 10" "${good[@]}" --published --beams 5
check "penalty of draws" 2 "--length-penalty: expected another" "${good[@]}" --strategy sample --length-penalty 0
check "no original" 2 "--template-schema original: expected" parse --model lm in.jsonl --template-schema original -o out.jsonl
echo '[{"db_id": "choir"' >half.json && echo "no database" >text.sqlite
check "half a tables.json" 3 "half.json" parse --model lm --schema half.json in.jsonl -o out.jsonl
check "no file or folder" 3 "nowhere.sqlite" parse --model lm --db nowhere.sqlite in.jsonl -o out.jsonl
check "no database" 3 "text.sqlite: file is not a database" parse --model lm --db text.sqlite in.jsonl -o out.jsonl
check "no input" 3 "nowhere.jsonl" parse --model lm --schema tables.json nowhere.jsonl -o out.jsonl
check "no tables.json" 3 "none.json" parse --model lm --schema none.json in.jsonl -o out.jsonl

# wrong RECORD TEXT: the record alone fails, and says why
wrong() {
    echo "$1" >bad.jsonl
    run 7 parse --model lm --schema tables.json bad.jsonl -o bad.out
    has bad.out "$2" "$1"
}
wrong '{"db_id":"choir"}' 'question'
wrong '{"db_id":"opera","question":"Who?"}' 'opera'
wrong '{"db_id":"opera","question":"Who?","schema":"singer"}' 'expected \\"table : column'
wrong '{"db_id":"opera","question":"Who?","schema":7}' 'schema'
wrong '{"db_id":"choir","question":"Who?","template":[3]}' 'template: expected a text'
wrong '{"db_id":"choir","question":"Who?","template":["a","b","c","d","e","f"]}' 'template: expected at most 5, got 6'
wrong '{"db_id":"choir","question":["Who?"]}' 'question'
wrong '{"db_id":7,"question":"Who?"}' 'db_id'
wrong '["Who?"]' 'expected'
wrong "{\"db_id\":\"choir\",\"question\":\"$(printf 'who %.0s' {1..400})\"}" 'positions|tokens'
echo '{"question":"Who?"}' >bad.jsonl # the only schema is meant
run 0 parse --model lm --schema tables.json bad.jsonl -o bad.out
has bad.out '"db_id":"choir"'
echo '{"id":1,"db_id":"opera","question":"Who?"}' >bad.jsonl
run 7 parse --model lm bad.jsonl -o bad.out
has bad.out 'no schema: expected --schema, --db or' "no schema at all"
# templates that nothing fits
echo '{"id":1,"db_id":"choir","question":"Who?","template":["select frob column","select column from table as t1 join table as t2 on column = column join table as t3 on column = column join table as t4 on column = column"]}' >bad.jsonl
run 0 parse --model lm --schema tables.json bad.jsonl -o bad.out --max-new 6
has bad.out '"sqls":\[\],"error":"template: \\"frob\\" is neither' "a template that is no SQL"
has bad.out 'no statement ended within --max-new tokens' "a template that is too long"

finish

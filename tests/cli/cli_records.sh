#!/usr/bin/env bash
# People's records: every form, with ids of each kind or none, in the commands that read them; pipes, endless input, and
# memory that does not grow with the file.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
told=(said shown out.jsonl)

small_detector detector
mkdir db
cp all/db/bakery.sqlite db
q1='What is the name, and the city, of each baker?' q2='How many "breads" are there?'

# the same two questions with SQL in each form; forms: name, id of the first, id of the second
lines() { printf '{"id":%s,"db_id":"bakery","question":"%s","sql":"SELECT 1","prompt":"x"}%s' "$1" "${2//\"/\\\"}" "$3"; }
{ lines 7 "$q1" $'\n' && lines 8 "$q2" $'\n'; } >integer.jsonl
{ lines '"a"' "$q1" $'\n' && lines '"b"' "$q2" ''; } >string.jsonl
{ printf '\xef\xbb\xbf' && lines 7 "$q1" $'\r\n' && lines null "$q2" $'\r\n'; } >bom.jsonl
sed 's/"id":[78],//' integer.jsonl >none.jsonl
{ echo '[' && lines 7 "$q1" ',' && lines '"b"' "$q2" ']'; } >array.json
printf 'id,question,db_id,sql\n7,"%s",bakery,SELECT 1\n,"%s",bakery,"SELECT\n1"\n' "$q1" "${q2//\"/\"\"}" >table.csv
printf 'id\tquestion\tdb_id\tsql\r\n7\t%s\tbakery\tSELECT 1\r\nb\t%s\tbakery\tSELECT 1\r\n' "$q1" "$q2" >table.tsv
gzip -c integer.jsonl >integer.jsonl.gz
xz -c string.jsonl >string.jsonl.xz
cp string.jsonl.xz unnamed
zstd -q -c table.csv >table.csv.zst 2>/dev/null || cp table.csv table.csv.zst

# ids FILE FIRST SECOND COMMAND...: the command answers both records of the file under these ids
ids() {
    local file=$1 want="$2 $3" got
    shift 3
    begin "$* $file"
    rm -f out.jsonl
    "$bin/ambit-$1" "${@:2}" "$file" -o out.jsonl >shown 2>said || complain "$* $file" "exit code $?"
    got=$(sed -E 's/^\{"id":("[^"]*"|[0-9]+),.*/\1/' out.jsonl 2>/dev/null | tr '\n' ' ')
    [ "$got" = "$want " ] || complain "$* $file" "expected the ids $want, got $got"
    grep -q '"error"' out.jsonl && complain "$* $file" "has an error"
}

# all COMMAND...: every form
all() {
    ids integer.jsonl 7 8 "$@"
    ids string.jsonl '"a"' '"b"' "$@"
    ids bom.jsonl 7 "$second" "$@"
    ids none.jsonl "$first" "$second" "$@"
    grep -q 'none.jsonl: line 1: no "id": records without an id are numbered' said || complain "$*" "does not say that it numbers"
    ids array.json 7 '"b"' "$@"
    ids integer.jsonl.gz 7 8 "$@"
    ids string.jsonl.xz '"a"' '"b"' "$@"
    ids unnamed '"a"' '"b"' "$@"
}
tables() {
    ids table.csv '"7"' "$third" "$@"
    ids table.tsv '"7"' '"b"' "$@"
    cmp -s table.csv table.csv.zst || ids table.csv.zst '"7"' "$third" "$@"
}
few_tables all/tables.json integer.jsonl >few.json
cp -r "$gold/llama/base" model && cp "$gold/bpe/llama/tokenizer.json" model

# a record without an id: its line, its place in an array
first=1 second=2 third=3
all infer detect --db db/bakery.sqlite --model detector --device cpu
tables infer detect --db db/bakery.sqlite --model detector --device cpu
printf '%s\n' "$q1" "$q2" >plain.txt
ids plain.txt 1 2 infer detect --db db/bakery.sqlite --model detector --device cpu
all infer generate --model model --device cpu --max-new 1
all data execute --db db
tables data execute --db db
all data sql --schema few.json
tables data sql --schema few.json
for q in "$q1" "$q2"; do
    printf '{"db_id":"bakery","question":"%s","readings":[{"text":"All.","sql":"SELECT 1"}]}\n' "${q//\"/\\\"}"
done >readings.jsonl
all infer infill --db db --defaults readings.jsonl
tables infer infill --db db --defaults readings.jsonl

# --- standard input has no file name
printf 'question,id\n%s,x\n' 'Which?' | infer detect --db db/bakery.sqlite --model detector --device cpu - >shown 2>said
grep -q '^{"id":"x",.*"question":"Which?"' shown || complain "CSV on standard input"
gzip -c string.jsonl | data execute --db db - >shown 2>said
grep -q '^{"id":"b",.*"rows":\[\[1\]\]' shown || complain "gzip on standard input"
cp string.jsonl strings.csv
expect 0 '"id":"b"' data execute --db db --format-in jsonl strings.csv
expect 3 'strings.csv: line 1: field 2: text behind a closing quote' data execute --db db strings.csv

# --- candidates: nested lists, in JSON only; ids and strings of SQL as they come, also in a dialogue
for id in '"a"' 7; do
    printf '{"id":%s,"db_id":"bakery","question":"Who?","candidates":["SELECT name FROM baker","SELECT baker_id FROM baker"]}\n' \
        "$id" >candidates.jsonl
    expect 0 "^\\{\"id\":$id,.*\"weights\":\"equal\".*\"ask\":\\{" infer clarify --candidates candidates.jsonl --db db
    expect 0 "^\\{\"id\":$id,.*\"p\":0.5" data candidates candidates.jsonl
    printf '1\n\n' | infer clarify --candidates candidates.jsonl --db db --interactive --id "${id//\"/}" >shown 2>said ||
        complain "interactive --id $id"
    grep -q 'Result:' shown || complain "interactive --id $id" "no result"
    printf '{"op":"start","id":1,"record":%s}\n' "$(cat candidates.jsonl)" | infer clarify --db db --serve-stdio >shown 2>said
    grep -q "\"ask\":{.*\"id\":$id," shown || complain "serve, id $id"
done
sed 's/"id":7,//' candidates.jsonl >none.jsonl
expect 0 '^{"id":1,.*"ask":\{' infer clarify --candidates none.jsonl --db db
expect 7 'table.csv: line 2: field \\"candidates\\" is missing' infer clarify --candidates table.csv --db db

# --- ids that are none, files that end too early
echo '{"id":1.5,"db_id":"bakery","sql":"SELECT 1"}' >bad.jsonl
expect 7 'bad.jsonl: line 1: field \\"id\\": expected a string or an integer, got a real number' data execute --db db bad.jsonl
head -c 60 integer.jsonl.gz >cut.jsonl.gz
expect 3 'cut.jsonl.gz: the file is truncated' data execute --db db cut.jsonl.gz
expect 3 'cut.jsonl.gz: the file is truncated' infer detect --db db/bakery.sqlite --model detector --device cpu cut.jsonl.gz -o new
sed '$s/.$//' array.json >cut.json
expect 3 "cut.json: record 2: line 2: expected ']' at the end of the array" infer infill --db db --defaults readings.jsonl cut.json -o new
for form in auto jsonl json csv text; do
    expect 3 '/dev/zero: ' data execute --db db --format-in $form /dev/zero -o new
done
head -c 80000000 /dev/zero | gzip -1 >zeros.gz
expect 3 'zeros.gz: line 1: longer than 67108864 bytes' data execute --db db zeros.gz -o new

# --- damaged files: the records before the damage may be read, but nothing takes it for the end
awk 'BEGIN {
    srand(1)
    for (i = 0; i < 600; i++)
        printf "{\"id\":%d,\"db_id\":\"bakery\",\"question\":\"q%d\",\"sql\":\"SELECT %d\",\"prompt\":\"x\",\"candidates\":[\"SELECT 1\"]}\n", i, rand() * 1e9, rand() * 1e9
}' >whole.jsonl
# damaged NAME PLACE: the file without one byte's value, counted from the end where PLACE is negative
damaged() {
    local size
    cp "whole.$1" "damaged.$1"
    size=$(stat -c %s "damaged.$1")
    printf '\125\252\063' | dd of="damaged.$1" bs=1 seek=$((($2 < 0 ? size : 0) + $2)) conv=notrunc 2>dd.said
}
gzip -k whole.jsonl && xz -k whole.jsonl
for place in gz:3000 gz:-7 xz:3000 xz:-40; do
    damaged "jsonl.${place%:*}" "${place#*:}"
    for command in "infer detect --db db/bakery.sqlite --model detector --device cpu" "infer tag --strategy heuristic --db db" \
        "infer infill --db db --defaults readings.jsonl" "infer clarify --db db --candidates" "infer ask --detector none --db db" \
        "data execute --db db" "data sql --schema few.json" "data candidates"; do
        begin "$command damaged.jsonl.${place%:*}, byte ${place#*:}"
        # shellcheck disable=SC2086 # a command and its options
        $command "damaged.jsonl.${place%:*}" -o new >shown 2>said
        [ $? = 3 ] || complain "$command damaged.jsonl.$place" "expected the exit code 3"
        grep -q "damaged.jsonl.${place%:*}: is damaged" said || complain "$command damaged.jsonl.$place" "does not say why"
        [ -e new ] && complain "$command damaged.jsonl.$place" "leaves an output file"
        rm -f new new.part
    done
done

# --- memory is that of a record, not of the file
awk 'BEGIN { # 24000 records of 2 KB
    for (i = 0; i < 250; i++) note = note "not read "
    print "[" >"many.json"
    print "id,db_id,query,note" >"many.csv"
    for (i = 0; i < 24000; i++) {
        sql = "SELECT name FROM baker WHERE baker_id = " i
        printf "{\"id\":%d,\"db_id\":\"bakery\",\"query\":\"%s\",\"note\":\"%s\"}%s\n", i, sql, note, i < 23999 ? "," : "]" >"many.json"
        print i ",bakery," sql "," note >"many.csv"
    }
}'
gzip -1 many.csv
[ -n "${ASAN_OPTIONS:-}" ] || for file in many.json many.csv.gz; do # which wants address space without end
    begin "$file in 120 MB"
    (ulimit -v 120000 && exec "$bin/ambit-data" sql --schema few.json "$file" -o out.jsonl) >shown 2>said ||
        complain "$file in 120 MB" "exit code $?"
    [ "$(wc -l <out.jsonl)" = 24000 ] || complain "$file" "not a line for each record"
done
finish

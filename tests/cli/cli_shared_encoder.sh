#!/usr/bin/env bash
# A detector with a head for words: detect, tag, ask and clarify read the words from one record; scores do not change; what
# lacks the head says so.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
own=$root/models/detector n=0
same() { cmp -s "$1" "$2" || complain "$3" "$(diff "$1" "$2" | head -n 4 | cut -c 1-300)"; }
has() { grep -qE -- "$2" "$1" || complain "$1 lacks" "$2: $(head -c 700 "$1")"; }
# spans FILE: the spans of each record of detect or tag
spans() { sed -E 's/.*"spans":(.*\]),"sentence":"([^"\\]|\\.)*"(,"(triage|heat|relevance)".*)?}$/\1/' "$1"; }
without() { sed -E 's/"spans":.*,"sentence":/"sentence":/' "$1"; }

# --- a head of a few questions, in a copy of the detector's folder
# record ID QUESTION WORDS LABEL ALTERNATIVES COLUMN...: a question with the marked words
record() {
    local id=$1 question=$2 words=$3 label=$4 alternatives=$5 list='' before c
    shift 5
    for c in "$@"; do list+=",{\"table\":\"product\",\"name\":\"$c\",\"type\":\"text\",\"values\":[\"x$id\"]}"; done
    before=${question%%"$words"*}
    printf '{"id":"%s","source":"own","db_id":"d%s","type":"own","question":"%s","columns":[%s],"spans":[{"start":%s,"end":%s,"label":"%s","alternatives":[%s]}]}\n' \
        "$id" "$id" "$question" "${list#,}" ${#before} $((${#before} + ${#words})) "$label" "$alternatives"
}
for ask in "Show the % of each product." "List the % of all products." "What is the % of the product?" "Give me the % of products."; do
    for word in maker name owner colour; do
        n=$((n + 1))
        record "c$n" "${ask/\%/$word}" $word COL '{"column":1}' "list $word" $word size
        record "a$n" "${ask/\%/$word}" $word AMB '{"column":0},{"column":1}' "list $word" "sale $word" size
        record "u$n" "${ask/\%/warranty}" warranty UNK '' "list $word" "sale $word" $word
    done
    record "p$n" "${ask/\%/price}" price AMB '{"column":0},{"column":1}' "list price" "sale price" maker
    record "m$n" "${ask/\%/maker}" maker COL '{"column":2}' "list price" "sale price" maker name
done >known.jsonl
mkdir det bare
cp "$own"/* det
cp "$own"/* bare
rm -f {det,bare}/{words.h5,triage.json} # a head for classes belongs to a head for words
run 0 train words bare --data known.jsonl --valid known.jsonl --epochs 40 --hidden 16 --dropout 0 --device cpu -o det/words.h5

# --- a shop
sqlite3 shop.sqlite <<'SQL' || exit 1
CREATE TABLE product(product_id INTEGER PRIMARY KEY, name TEXT, list_price REAL, sale_price REAL, maker TEXT);
INSERT INTO product VALUES (1, 'Lantern', 35, 28, 'Bright & Co'), (2, 'Tent', 142, 99, 'Hillside');
CREATE TABLE delivery(delivery_id INTEGER PRIMARY KEY, product_id INT REFERENCES product(product_id), city TEXT);
CREATE TABLE visitor(visitor_id INTEGER PRIMARY KEY, nickname TEXT);
SQL
sqlite3 shop.sqlite .schema >shop.sql
cat >questions.jsonl <<'JSONL'
{"id": "q1", "db_id": "shop", "question": "Show the price of each product."}
{"id": "q2", "db_id": "shop", "question": "Show the warranty of each product."}
{"id": 3, "db_id": "shop", "question": "Show the maker of each product."}
{"id": "q4", "db_id": "shop", "question": 7}
JSONL
detect() { infer detect --device cpu "$@"; }
tag() { infer tag --device cpu "$@"; }

begin "detect writes spans, and nothing else changes"
run 7 detect --db shop.sqlite --model det questions.jsonl -o found.out
run 7 detect --db shop.sqlite --model bare questions.jsonl -o bare.out
without found.out >rest.out
same rest.out bare.out "the head changes predictions"
has found.out '"id":"q1".*"spans":\[\{"start":9,"end":14,"text":"price","label":"AMB","probability":[0-9.]*,"alternatives":\[\{"concept":"product.(list|sale)_price","type":"column","score":[0-9.]*,"values":\[\]\},\{"concept":"product.(list|sale)_price".*"nearest":\[\],"category":"column-ambiguity"\}\],"sentence"'
has found.out '"id":"q2".*"text":"warranty","label":"UNK".*"alternatives":\[\],"nearest":\[\{"concept":".*"category":"column-unanswerable"'
has found.out '"id":3.*"text":"maker","label":"COL".*"alternatives":\[\{"concept":"product.maker"'
run 7 detect --db shop.sqlite --model det questions.jsonl --format text -o found.txt
run 7 detect --db shop.sqlite --model bare questions.jsonl --format text -o bare.txt
has found.txt "^    Sorry, we can't find an answer: \"warranty\" cannot be mapped to any concept of the database \(closest: \"[a-z_.]*\", \"[a-z_.]*\", \"[a-z_.]*\"\)\.$"
grep -v '^    Sorry' found.txt >rest.txt
same rest.txt bare.txt "the text has something else"
run 7 detect --db shop.sqlite --model det questions.jsonl --format csv -o found.csv
run 7 detect --db shop.sqlite --model bare questions.jsonl --format csv -o bare.csv
same found.csv bare.csv "the table has something else"

begin "tag reads the same words from the first layers"
run 7 detect --schema shop.sql --model det questions.jsonl -o found.out
run 7 tag --schema shop.sql --model det questions.jsonl -o tagged.out
same <(spans found.out | head -n 3) <(spans tagged.out | head -n 3) "detect and tag differ"
has tagged.out '^\{"id":"q1","db_id":"shop",.*"status":\["ambiguous"\],"problem":0.*"triage":\{"class":"ambiguous","kind":"schema","words":\[\{"text":"price"'
head -n 1 questions.jsonl >one.jsonl
run 0 tag --schema shop.sql --model det one.jsonl -o one.out
has one.out '"text":"price","label":"AMB"'

begin "a database has values"
run 7 tag --db shop.sqlite --model det questions.jsonl --format html -o page.html
has page.html '<span class="AMB">price</span>'
run 7 tag --db shop.sqlite --model det questions.jsonl -o tagged.out
has tagged.out '"concept":"product.maker","type":"column","score":[0-9.]*,"values":\["Bright & Co","Hillside"\]'
run 7 tag --db shop.sqlite --model det --threshold 1 questions.jsonl -o sure.out
! grep -qE '"label":"(AMB|UNK)"' sure.out || complain "--threshold 1" "marks a problem: $(head -c 500 sure.out)"

begin "columns of records, and errors of single records"
sed -E 's/"spans".*/"x":1}/; s/"table":"product",//g' known.jsonl | grep -E '"id":"(m4|p4|u1)"' >columns.jsonl
echo '{"id":"empty","question":"","columns":[{"name":"a","type":"text"}]}' >>columns.jsonl
run 7 tag --model det columns.jsonl -o columns.out
has columns.out '"id":"m4".*"concept":"maker"'
has columns.out '"id":"p4".*"concept":"(list|sale) price".*"concept":"(list|sale) price"'
has columns.out '"id":"u1".*"label":"UNK".*"nearest":\[\{"concept":"[a-z ]*","type":"column"'
has columns.out '^\{"id":"empty","error":"'

begin "a wide schema: a question reads its own part"
{
    echo "CREATE TABLE product(product_id INTEGER PRIMARY KEY, list_price REAL, sale_price REAL, maker TEXT);"
    for i in $(seq 60); do echo "CREATE TABLE t$i(a$i TEXT, b$i TEXT, c$i TEXT, d$i TEXT, e$i TEXT);"; done
} >wide.sql
sed 's/"shop"/"wide"/' questions.jsonl >wide.jsonl
run 7 tag --schema wide.sql --model det wide.jsonl -o wide.out
has wide.out '"id":"q1".*"label":"AMB".*"concept":"product.(list|sale)_price".*"concept":"product.(list|sale)_price"'
run 7 detect --schema wide.sql --model det wide.jsonl -o wide.detected.out
same <(spans wide.out | head -n 3) <(spans wide.detected.out | head -n 3) "detect and tag differ in a wide schema"
has wide.detected.out '"schema_cut":\{"kept":'

begin "lines are reused only with the same head"
head -n 3 questions.jsonl >good.jsonl
run 0 detect --db shop.sqlite --model det good.jsonl -o whole.out
cp -r det other
run 0 train words bare --data known.jsonl --valid known.jsonl --epochs 40 --hidden 16 --dropout 0 --seed 2 --device cpu -o other/words.h5
# shellcheck disable=SC2086 # $command is a command and its options
for command in "detect --relevance none" tag; do
    for ((i = 0; i < 70; i++)); do sed -n $((i % 3 + 1))p good.jsonl | sed "s/\"id\": [^,]*/\"id\": $i/"; done >many.jsonl
    rm -f pipe && mkfifo pipe
    "$bin/ambit-infer" $command --device cpu --db shop.sqlite --model det pipe -o part.out 2>>log &
    pid=$!
    exec 3<>pipe
    cat many.jsonl >&3
    for ((i = 0; i < 200; i++)); do
        [ ! -e part.out.part ] || [ "$(wc -l <part.out.part)" -lt 64 ] || break
        sleep 0.05
    done
    kill -9 $pid
    wait $pid 2>/dev/null
    exec 3>&-
    cp part.out.part kept
    check "$command resumed" 0 "70 questions.* [1-9][0-9]* of an earlier run" $command --db shop.sqlite --model det many.jsonl -o part.out --resume
    mv kept part.out.part
    rm part.out
    check "$command with another head" 0 "70 questions.* 0 of an earlier run" $command --db shop.sqlite --model other many.jsonl -o part.out --resume
    rm part.out
done

begin "ask asks as before, and takes the words from the same pass if told to"
ask() { infer ask --db shop.sqlite --device cpu good.jsonl "$@"; }
run 0 ask --detector det -o asked.out
run 0 ask --detector bare -o bare.out
same asked.out bare.out "the head changes what ask asks"
run 0 ask --detector det --tagger detector -o pass.out
run 0 ask --detector det --tagger det -o twice.out
same pass.out twice.out "one pass and two differ"
has pass.out '"tagger":\{"status":\["ambiguous"\],"problem":0.*"spans":\[\{"start":9,"end":14,"text":"price"'
has pass.out '"id":"q2".*"sentence":"Sorry, we can.t find an answer: ..warranty'
check "ask without a head" 6 "tagger detector: bare has no head for words" ask --detector bare --tagger detector
check "ask without a detector" 2 "tagger detector: expected a detector, got --detector none" ask --detector none --tagger detector

begin "clarify takes spans of detect as those of tag"
cat >candidates.jsonl <<'JSONL'
{"id":"q1","db_id":"shop","question":"Show the price of each product.","candidates":["SELECT list_price FROM product","SELECT sale_price FROM product"]}
JSONL
run 0 detect --db shop.sqlite --model det candidates.jsonl -o predictions.out
run 0 tag --schema shop.sql --model det candidates.jsonl -o spans.out
for file in predictions spans; do
    run 0 infer clarify --candidates candidates.jsonl --spans $file.out --db shop.sqlite -o clarified.$file.out
done
same clarified.predictions.out clarified.spans.out "clarify reads other spans"
has clarified.spans.out 'Two columns fit what you wrote, ..price'
run 0 infer detect --device cpu --db shop.sqlite --model bare candidates.jsonl -o bare.out
check "spans of a detector without a head" 3 "bare.out: line 1: field \"spans\"" infer clarify --candidates candidates.jsonl --spans bare.out --db shop.sqlite

begin "what lacks a head, or is no detector"
check "no head" 6 "bare: the detector has no head for words, the file words.h5; train one with ambit-train words" tag --db shop.sqlite --model bare good.jsonl
check "eta" 6 "expected a run of ambit-train tag, got a detector" tag --db shop.sqlite --strategy eta --model det good.jsonl
head -c 3000 other/words.h5 >cut.h5 && mv cut.h5 other/words.h5
check "a damaged head" 6 "other/words.h5" detect --db shop.sqlite --model other good.jsonl
for i in 1 2 3 4 5 6; do
    echo "{\"id\": \"a$i\", \"db_id\": \"shop\", \"question\": \"List $i prices of products.\", \"ambiguous\": true}"
    echo "{\"id\": \"b$i\", \"db_id\": \"shop\", \"question\": \"List $i makers of products.\", \"ambiguous\": false}"
done >labels.jsonl
run 0 train adapt det --support labels.jsonl --db shop.sqlite --device cpu --method threshold -o shop.adapter
run 0 detect --adapter shop.adapter --db shop.sqlite --model det good.jsonl -o adapted.out
! grep -q '"spans"' adapted.out || complain "an adapted detector" "has a head for words"
finish

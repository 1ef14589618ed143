#!/usr/bin/env bash
# ambit-infer tag: its records, text and page; offsets; results that depend neither on the order nor on the neighbours;
# untrusted tables; interrupted runs; bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

sqlite3 shop.sqlite <<'SQL' || exit 1
CREATE TABLE product(product_id INTEGER PRIMARY KEY, name TEXT, list_price REAL, sale_price REAL, maker TEXT);
INSERT INTO product VALUES (1, 'Lantern', 35, 28, 'Bright & Co'), (2, 'Tent', 142, 99, 'Hillside'), (3, 'Café Crème', 28, 28, 'Hillside');
CREATE TABLE delivery(delivery_id INTEGER PRIMARY KEY, product_id INT REFERENCES product(product_id), city TEXT, quantity INT);
INSERT INTO delivery VALUES (1, 1, 'Paris', 3), (2, 2, 'Oslo', 1), (3, 2, 'Lyon', 2);
SQL
mark() { infer tag --strategy heuristic "$@"; }
ask() { printf '{"id":"q","question":"%s"}\n' "$1" | mark --db shop.sqlite --quiet - "${@:2}"; }
# has FILE TEXT: in so many words
has() { grep -qF -- "$2" "$1" || complain "$1 lacks" "$2: $(head -c 700 "$1")"; }
lacks() { ! grep -qF -- "$2" "$1" || complain "$1 has" "$2"; }
same() { cmp -s "$1" "$2" || complain "$3" "$(diff "$1" "$2" | head -n 4 | cut -c 1-300)"; }
# marks FILE: START-END LABEL CONCEPTS of each span, in order
marks() {
    grep -oE '"id":("[^"]*"|[0-9]+)|"start":[0-9]+|"end":[0-9]+|"label":"[A-Z]*"|"concept":"([^"\\]|\\.)*"|"error":"([^"\\]|\\.)*"' "$1"
}

# --- three forms
cat >questions.jsonl <<'JSONL'
{"id": "q1", "question": "What is the price of the Tent?"}
{"id": "q2", "question": "What is the warranty of the Tent?"}
{"id": 3, "question": "What is the maker of each product?"}
{"id": "q4", "question": 7}
JSONL
check "records" 7 "4 questions, 1 ambiguous, 1 unanswerable, 1 failed" mark --db shop.sqlite questions.jsonl -o out.jsonl
cp out.jsonl records.jsonl
has out.jsonl '{"id":"q1","db_id":"shop","question":"What is the price of the Tent?","status":["ambiguous"],"problem":0.9,"spans":[{"start":12,"end":17,"text":"price","label":"AMB","probability":0.9,"alternatives":[{"concept":"product.list_price","type":"column","score":0.9,"values":["35.0","142.0","28.0"]},{"concept":"product.sale_price"'
has out.jsonl '{"start":25,"end":29,"text":"Tent","label":"VAL","probability":1.0,"alternatives":[{"concept":"product.name","type":"value","score":1.0,"values":["Tent"]}],"nearest":[]}'
has out.jsonl '"status":["unanswerable"],"problem":0.5,"spans":[{"start":12,"end":20,"text":"warranty","label":"UNK"'
has out.jsonl '{"id":3,"db_id":"shop"'
has out.jsonl '{"id":"q4","error":"questions.jsonl: line 4: field \"question\": expected a string, got an integer"}'
check "text" 7 "1 failed" mark --db shop.sqlite questions.jsonl --format text -o text.txt
has text.txt 'What is the [price|AMB] of the [Tent|VAL]?'
has text.txt '    Oops, this question has multiple semantic meanings: "price" may refer to either "product.list_price" or "product.sale_price".'
has text.txt 'error: questions.jsonl: line 4'
check "a page" 7 "1 failed" mark --db shop.sqlite questions.jsonl --format html -o page.html
has page.html '<span class="AMB">price</span>'
has page.html '<p class="error">questions.jsonl: line 4'
[ "$(tail -n 1 page.html)" = "</main></body></html>" ] || complain "the page has no end"
run 7 mark --db shop.sqlite questions.jsonl -o -
cmp -s shown records.jsonl || complain "standard output differs"

# --- offsets count code points, and the span's text lies between them
ask 'x😀ý What is the price of the café crème, and of TENT?' >out.jsonl
has out.jsonl '"start":17,"end":22,"text":"price"'
has out.jsonl '"start":30,"end":40,"text":"café crème","label":"VAL"'
has out.jsonl '"start":49,"end":53,"text":"TENT","label":"VAL"'
ask "$(printf 'cafe\314\201 price of the \360\237\221\251\342\200\215\360\237\232\200 Tent')" >out.jsonl
has out.jsonl '"start":6,"end":11,"text":"price"'
has out.jsonl '"start":23,"end":27,"text":"Tent"'
ask 'price' >out.jsonl
has out.jsonl '"start":0,"end":5,"text":"price","label":"AMB"'
ask '   ' >out.jsonl
has out.jsonl '"spans":[]'
ask '' >out.jsonl
has out.jsonl '"spans":[]'
ask '\u0001\u001b[31mprice\n\t?' --format text >out.txt
LC_ALL=C grep -q $'[\001-\010\013-\037]' out.txt && complain "control characters reach the terminal"
ask '<script>price</script> & \"' --format html >out.html
has out.html '&lt;script&gt;'
lacks out.html '<script>'
ask "$(printf 'word %.0s' {1..3000}) price" >out.jsonl
has out.jsonl '"id":"q"'

# --- one question on the command line is tagged as one of a file
printf 'What is the price of the Tent?\n' >one.txt
run 0 mark --db shop.sqlite one.txt -o wanted.out
run 0 mark --db shop.sqlite --question "What is the price of the Tent?" -o one.out
same wanted.out one.out "a question of the command line"
has one.out '"text":"price","label":"AMB"'
run 0 mark --db shop.sqlite --question "What is the price of the Tent?" --format text -o one.out
has one.out 'What is the [price|AMB] of the [Tent|VAL]?'

# --- numbers are values of columns that hold them
run 0 mark --db shop.sqlite --question "Which deliveries have a quantity of 3 in 2023?" -o number.out
has number.out '"text":"3","label":"VAL","probability":1.0,"alternatives":[{"concept":"delivery.quantity","type":"value","score":1.0,"values":["3"]}]'
lacks number.out '"text":"2023"'

# --- a view of one table's columns is that table; one that joins tables is not
cp shop.sqlite views.sqlite
sqlite3 views.sqlite "CREATE VIEW cheap AS SELECT name, maker FROM product; CREATE VIEW sent AS SELECT name, city FROM product NATURAL JOIN delivery;" || exit 1
printf '{"id":"q","question":"What is the maker of the Lantern?"}\n' >views.jsonl
run 0 mark --db views.sqlite views.jsonl -o views.out
lacks views.out '"concept":"cheap.'
has views.out '"label":"AMB","probability":1.0,"alternatives":[{"concept":"product.name","type":"value","score":1.0,"values":["Lantern"]},{"concept":"sent.name"'

# --- no answer depends on its neighbours or their order
for i in $(seq 150); do
    printf '{"id":%d,"question":"What is the %s of the %s %d?"}\n' "$i" "$(cut -d ' ' -f $((i % 5 + 1)) <<<"price warranty maker city quantity")" \
        "$(cut -d ' ' -f $((i % 3 + 1)) <<<"Tent Lantern Paris")" "$i"
done >many.jsonl
run 0 mark --db shop.sqlite many.jsonl -o many.out
tac many.jsonl >reversed.jsonl
run 0 mark --db shop.sqlite reversed.jsonl -o reversed.out
tac reversed.out >turned.out
same many.out turned.out "the order of questions matters"
sed -n 77p many.jsonl >one.jsonl
run 0 mark --db shop.sqlite one.jsonl -o one.out
sed -n 77p many.out >wanted.out
same wanted.out one.out "the neighbours of a question matter"
xz -k many.jsonl
run 0 mark --db shop.sqlite many.jsonl.xz -o xz.out
same many.out xz.out "a compressed file differs"

# --- nor on the order of columns: the heuristic's records are equal, the model's marks and links are equal
columns=('{"name":"late fee","type":"number"}' '{"name":"entry fee","type":"number"}' '{"name":"exam fee","type":"number"}'
    '{"name":"member fee","type":"number"}' '{"name":"town","type":"text","values":["Rome","Bonn"]}' '{"name":"birth town","type":"text","values":["Rome"]}')
# shuffled ORDER...: two questions about the columns in this order
shuffled() {
    local list
    list=$(for i in "$@"; do printf '%s,' "${columns[i]}"; done)
    for what in "Show each fee of those in Rome who are over 30." "What is the salary of those from the town?"; do
        printf '{"id":"%s","question":"%s","columns":[%s]}\n' "${what:0:4}" "$what" "${list%,}"
    done
}
shuffled 0 1 2 3 4 5 | mark - --quiet >as-is.out
has as-is.out '"label":"AMB"'
for order in "5 4 3 2 1 0" "3 0 5 1 4 2" "2 4 1 5 0 3"; do
    # shellcheck disable=SC2086 # one argument each
    shuffled $order | mark - --quiet >other.out
    same as-is.out other.out "columns in the order $order"
done

# --- a model: tiny, of these records; its answers alone, in a group, with columns turned round, and its page
for i in $(seq 24); do
    fee='{"name":"late fee","type":"number"},{"name":"entry fee","type":"number"}' means='"AMB","alternatives":[{"column":1},{"column":2}]'
    [ $((i % 2)) = 0 ] || { fee='{"name":"fee","type":"number"}' means='"COL","alternatives":[{"column":1}]'; }
    printf '{"id":"%d","source":"own","db_id":"d%d","type":"made","question":"Show the fee of club %d.","columns":[{"name":"town","type":"text"},%s],"spans":[{"start":9,"end":12,"label":%s}]}\n' "$i" "$i" "$i" "$fee" "$means"
done >all.jsonl
mkdir spans
head -n 16 all.jsonl >spans/train.jsonl
tail -n 8 all.jsonl >spans/valid.jsonl
train tag --data spans --device cpu --encoder-hidden 32 --encoder-layers 1 --encoder-heads 2 --encoder-intermediate 64 --encoder-vocabulary 300 \
    --encoder-dropout 0 --dropout 0 --hidden 32 --batch 8 --lr 3e-3 --head-lr 3e-3 --grounding spans --epochs 30 --out run 2>>log || fail "no tagger"
model() { infer tag --model run --device cpu "$@"; }
run 0 model spans/valid.jsonl -o valid.out
[ "$(grep -c '"label":"AMB"' valid.out)" = 4 ] || complain "the tagger has learnt nothing" "$(cut -c 1-200 valid.out)"
tac spans/valid.jsonl | model - --quiet | tac >turned.out
same <(marks valid.out) <(marks turned.out) "a model's answers depend on their order"
for i in 1 5 8; do
    sed -n ${i}p spans/valid.jsonl | model - --quiet >one.out
    same <(sed -n ${i}p valid.out | marks /dev/stdin) <(marks one.out) "a model's answers depend on their neighbours"
done
sed -E 's/"columns":\[(\{[^}]*\}),(.*)\],"spans".*/"columns":[\2,\1]}/' spans/valid.jsonl | model - --quiet >turned.out
same <(marks valid.out | grep -v concept) <(marks turned.out | grep -v concept) "a model's answers depend on the order of columns"
same <(marks valid.out | grep concept | sort) <(marks turned.out | grep concept | sort) "a model's links depend on the order of columns"
run 0 model --format html spans/valid.jsonl -o model.html
has model.html 'style="background:rgba('
run 0 model --threshold 1 spans/valid.jsonl -o sure.out
lacks sure.out '"label":"AMB"'
run 0 model --strategy eta spans/valid.jsonl -o eta.out
[ "$(wc -l <eta.out)" = 8 ] || complain "eta's lines"

# --- tables of strangers
awk 'BEGIN { printf "CREATE TABLE wide(id INT"; for (i = 1; i < 1999; i++) printf ", column_%d TEXT", i; print ", the_fee INT); INSERT INTO wide(id, column_7) VALUES (1, '\''Zanzibar'\'');" }' | sqlite3 wide.sqlite || exit 1
printf '{"id":1,"question":"Show the fee in Zanzibar."}\n' >strange.jsonl
run 0 mark --db wide.sqlite strange.jsonl -o wide.out
has wide.out '"concept":"wide.the_fee"'
has wide.out '"concept":"wide.column_7","type":"value"'
run 0 model --db wide.sqlite strange.jsonl -o wide.out
has wide.out '"status":'
sqlite3 odd.sqlite <<'SQL' || exit 1
CREATE TABLE "a ""table"" <b>"("the ""fee""" INT, "<img src=x>
fee" TEXT, "" TEXT, " " TEXT, "fée 😀" TEXT);
INSERT INTO "a ""table"" <b>" VALUES (1, hex(zeroblob(500000)), 'Zanzibar', 'x' || char(0) || 'y', cast(x'ff41ff' AS TEXT)), (2, 'Zanzi' || char(0) || 'bar', x'00ff', NULL, '');
CREATE TABLE empty(fee INT);
SQL
for format in jsonl text html; do
    run 0 mark --db odd.sqlite strange.jsonl --format $format -o "odd.$format"
    run 0 model --db odd.sqlite strange.jsonl --format $format -o "odd.model.$format"
    [ "$(wc -c <"odd.$format")" -lt 20000 ] || complain "cells of a megabyte are written"
    lacks "odd.$format" '<img'
done
has odd.jsonl 'a \"table\" <b>.the \"fee\"'
has odd.html 'a &quot;table&quot; &lt;b&gt;.the &quot;fee&quot;'
lacks odd.html '<b>'
has odd.jsonl '"values":["Zanzibar"]'
printf '{"id":1,"question":"Show the fee.","columns":[{"name":"fee","type":"number"},{"name":"fee","type":"number"},{"name":"Fee","type":"text","values":["","fee","\\n"]}]}\n' >twice.jsonl
run 0 mark twice.jsonl -o twice.out
has twice.out '"label":"AMB"'
run 0 model twice.jsonl -o twice.out
sqlite3 big.sqlite "CREATE TABLE t(name TEXT); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) INSERT INTO t SELECT 'place number ' || i || ' of the country' FROM n" || exit 1
check "more values than fit" 0 "the index holds the first" mark --db big.sqlite --index-mib 1 strange.jsonl -o out.jsonl

# --- stopped and gone on with
run 0 mark --db shop.sqlite many.jsonl -o whole.out
mkfifo pipe
"$bin/ambit-infer" tag --strategy heuristic --db shop.sqlite pipe -o part.out 2>>log &
pid=$!
exec 3>pipe
head -n 100 many.jsonl >&3
for ((i = 0; i < 200; i++)); do
    [ ! -e part.out.part ] || [ "$(wc -l <part.out.part)" -lt 64 ] || break
    sleep 0.05
done
kill -9 $pid
wait $pid 2>/dev/null
exec 3>&-
[[ -e part.out.part && ! -e part.out ]] || complain "no part was left"
check "resumed" 0 "150 questions.* [1-9][0-9]* of an earlier run" mark --db shop.sqlite many.jsonl -o part.out --resume
same whole.out part.out "gone on with"
check "another threshold" 0 " 0 of an earlier run" mark --db shop.sqlite --name 0.95 many.jsonl -o part.out --resume

# --- records that fail
# bad NAME TEXT RECORD [OPTION...]: the record gets the error, the next one is processed, and the exit code is 7
bad() {
    printf '%s\n' "$3" '{"id":"good","db_id":"shop","question":"price"}' >bad.jsonl
    told=(out.jsonl)
    check "$1" 7 "$2" mark "${@:4}" bad.jsonl -o out.jsonl
    told=(said)
    has out.jsonl '"label":"AMB"'
}
db=(--db shop.sqlite)
bad "no question" 'line 1: field \\"question\\" is missing' '{"id":1}' "${db[@]}"
bad "a question that is a list" 'field \\"question\\": expected a string, got an array' '{"id":1,"question":["price"]}' "${db[@]}"
bad "half a record" 'line 1' '{"id":1,"question":}' "${db[@]}"
bad "no object" 'line 1' '17' "${db[@]}"
bad "no UTF-8" 'line 1' "$(printf '{"id":1,"question":"pri\377ce"}')" "${db[@]}"
bad "NUL" 'line 1' '{"id":1,"question":"pri\u0000ce"}' "${db[@]}"
bad "an id that is a list" 'line 1: field \\"id\\"' '{"id":[1],"question":"price"}' "${db[@]}"
mkdir folder
cp shop.sqlite folder/
bad "another database" 'no-such-shop' '{"id":1,"db_id":"no-such-shop","question":"price"}' --db folder
bad "no database" 'field \\"db_id\\" is missing' '{"id":1,"question":"price"}' --db folder
bad "a way out of the folder" 'line 1' '{"id":1,"db_id":"../shop","question":"price"}' --db folder
echo "this is no database" >folder/none.sqlite
bad "what is no database" 'none.sqlite' '{"id":1,"db_id":"none","question":"price"}' --db folder
own='{"id":"good","question":"fee","columns":[{"name":"late fee","type":"number"},{"name":"exam fee","type":"number"}]}'
# bad_columns NAME TEXT COLUMNS
bad_columns() {
    printf '{"id":1,"question":"fee","columns":%s}\n%s\n' "$3" "$own" >bad.jsonl
    told=(out.jsonl)
    check "$1" 7 "$2" mark bad.jsonl -o out.jsonl
    told=(said)
    has out.jsonl '"label":"AMB"'
}
bad_columns "no columns" 'field \\"columns\\": expected one at least, got none' '[]'
bad_columns "columns that are none" 'field \\"columns\\": expected an array' '"fee"'
bad_columns "a column that is a string" 'column 0' '["fee"]'
bad_columns "a column without a name" 'column 0: field \\"name\\" is missing' '[{"type":"text"}]'
bad_columns "a column with an empty name" 'column 1: field \\"name\\": expected the name of a column' '[{"name":"a","type":"text"},{"name":"","type":"text"}]'
bad_columns "a column without a type" 'field \\"type\\" is missing' '[{"name":"fee"}]'
bad_columns "a type that is none" 'field \\"type\\": expected text, number' '[{"name":"fee","type":"money"}]'
bad_columns "values that are numbers" 'field \\"values\\": expected strings, got' '[{"name":"fee","type":"text","values":[1]}]'
bad_columns "a table that is a number" 'field \\"table\\": expected a string' '[{"name":"fee","type":"text","table":1}]'

# --- bad files and options
refuse() { check "$1" "$2" "$3" infer tag "${@:4}" -o no.out; }
refuse "no model" 2 "strategy eta: expected --model RUN, a tagger of ambit-train tag" --db shop.sqlite --strategy eta questions.jsonl
refuse "no questions" 2 "expected either IN.jsonl or a question" --strategy heuristic --db shop.sqlite
refuse "two inputs" 2 "expected either IN.jsonl or a question" --strategy heuristic --db shop.sqlite --question price questions.jsonl
refuse "a question that is no UTF-8" 2 "question" --strategy heuristic --db shop.sqlite --question $'pri\377ce'
refuse "two schemas" 2 "--schema and --db cannot be used together" --strategy heuristic --db shop.sqlite --schema tables.json questions.jsonl
refuse "a strategy" 2 "dte.eta.heuristic" --strategy guess questions.jsonl
refuse "a format" 2 "jsonl.text.html" --strategy heuristic --format xml questions.jsonl
refuse "a threshold" 2 "0 to 1" --model run --threshold 1.5 questions.jsonl
refuse "an index of nothing" 2 "1 to 4095" --strategy heuristic --index-mib 0 questions.jsonl
refuse "no such file" 3 "no-such.jsonl" --strategy heuristic --db shop.sqlite no-such.jsonl
refuse "no such database" 3 "no-such.sqlite" --strategy heuristic --db no-such.sqlite questions.jsonl
refuse "no such schema" 3 "no-such.json" --strategy heuristic --schema no-such.json questions.jsonl
refuse "no such model" 6 "no-such-run" --model no-such-run --db shop.sqlite questions.jsonl
refuse "another's model" 6 "spans" --model spans --db shop.sqlite questions.jsonl
refuse "no such device" 4 "cuda:99" --model run --device cuda:99 --db shop.sqlite questions.jsonl
refuse "nothing to tune on" 3 "no-such-records" --strategy heuristic --tune no-such-records.jsonl --db shop.sqlite questions.jsonl
refuse "records without marks" 3 "questions.jsonl" --strategy heuristic --tune questions.jsonl --db shop.sqlite questions.jsonl
check "the input as output" 2 "" infer tag --strategy heuristic --db shop.sqlite many.jsonl -o many.jsonl
check "resume without a file" 2 "resume" infer tag --strategy heuristic --db shop.sqlite many.jsonl --resume -o -
check "a folder that is not there" 1 "no-such-folder" infer tag --strategy heuristic --db shop.sqlite many.jsonl -o no-such-folder/out.jsonl
if [ -e /dev/full ]; then
    check "a full disk" 1 "/dev/full|write|space" infer tag --strategy heuristic --db shop.sqlite many.jsonl -o /dev/full
fi
finish

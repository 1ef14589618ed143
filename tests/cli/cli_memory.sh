#!/usr/bin/env bash
# --memory of clarify and ask: choices are learnt, answer the next question, are taken back, unlearnt, listed and deleted.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
told=(said shown out.jsonl)

sqlite3 shop.sqlite <<'SQL'
CREATE TABLE purchase (purchase_id INTEGER PRIMARY KEY, placed_on TEXT, billing_address TEXT, shipping_address TEXT);
INSERT INTO purchase VALUES (1, '2024-03-01', 'Mill Lane 2', 'Harbour 9');
CREATE TABLE invoice (invoice_id INTEGER PRIMARY KEY, status TEXT, total INT, net_total INT);
CREATE TABLE shipment (shipment_id INTEGER PRIMARY KEY, status TEXT, weight INT);
INSERT INTO invoice VALUES (1, 'open', 12, 10);
INSERT INTO shipment VALUES (1, 'sent', 3);
SQL
cat >candidates.jsonl <<'END'
{"id":"each","db_id":"shop","question":"Show the address of each purchase.","candidates":[{"sql":"SELECT billing_address FROM purchase","p":0.6},{"sql":"SELECT shipping_address FROM purchase","p":0.4}]}
{"id":"late","db_id":"shop","question":"Which addresses are of 2024 or later?","candidates":[{"sql":"SELECT billing_address FROM purchase WHERE placed_on >= '2024'","p":0.6},{"sql":"SELECT shipping_address FROM purchase WHERE placed_on >= '2024'","p":0.4}]}
{"id":"list","db_id":"shop","question":"List the addresses.","candidates":[{"sql":"SELECT billing_address FROM purchase","p":0.4},{"sql":"SELECT shipping_address FROM purchase","p":0.3},{"sql":"SELECT placed_on, shipping_address FROM purchase","p":0.3}]}
{"id":"two","db_id":"shop","question":"List the addresses, the first ones first.","candidates":[{"sql":"SELECT billing_address FROM purchase ORDER BY placed_on","p":0.25},{"sql":"SELECT shipping_address FROM purchase ORDER BY placed_on","p":0.25},{"sql":"SELECT billing_address FROM purchase ORDER BY purchase_id","p":0.25},{"sql":"SELECT shipping_address FROM purchase ORDER BY purchase_id","p":0.25}]}
{"id":"total","db_id":"shop","question":"What is the highest total?","candidates":[{"sql":"SELECT max(total) FROM invoice","p":0.5},{"sql":"SELECT max(net_total) FROM invoice","p":0.5}]}
{"id":"from","db_id":"shop","question":"Which invoices are from 12 on?","candidates":[{"sql":"SELECT invoice_id FROM invoice WHERE total >= 12","p":0.5},{"sql":"SELECT invoice_id FROM invoice WHERE total > 12","p":0.5}]}
END

# talk ANSWERS [OPTION...]: a dialogue of clarify about the first record, with the answers as lines.
talk() { printf '%b' "$1" >answers && infer clarify --candidates candidates.jsonl --db . --memory memory --interactive "${@:2}" <answers; }
# dialogue NAME TEXT ANSWERS [OPTION...]: the dialogue, with a line that matches TEXT.
dialogue() {
    begin "$1"
    talk "$3" "${@:4}" >shown 2>said || complain "$1" "exit code $?"
    tr '\n' ' ' <shown | grep -qE -- "$2" || complain "$1" "expected \"$2\": $(cat shown)"
}
# memory TEXT: the file has one line that matches TEXT, in whole.
memory() {
    begin "memory: $1"
    [ "$(grep -cE -- "^\{$1\}$" memory)" = 1 ] || complain "the memory" "expected a line \"$1\": $(cat memory)"
}
today=$(date -u +%F)

# --- an answer is learnt at the end of its dialogue, answers the next question, and can be taken back
dialogue "asks at first" '1\. What should the result show.*SQL:    SELECT shipping_address' '2\n\n'
memory '"db_id":"shop","words":"address","meant":"purchase.shipping_address","times":1,"otherwise":0,"weight":1.0,"last":"'"$today"'"'
cp memory once
dialogue "says so the next time" 'Last time you meant purchase.shipping_address by "address". Type undo to be asked. *Result: show shipping address' '\n'
dialogue "for other words around them" 'Last time you meant purchase.shipping_address.*SQL:    SELECT shipping_address FROM purchase WHERE' '\n' --id late
begin "an answer from memory is not learnt"
cmp -s memory once || complain "the memory" "$(cat memory)"
dialogue "left before the end" '1\. What should' 'undo\n'
begin "an unfinished dialogue is not learnt"
cmp -s memory once || complain "the memory" "$(cat memory)"
dialogue "is asked after undo" 'Last time.*undo *1\. What should the result show\? *1  billing.*SQL:    SELECT billing' 'undo\nbilling\n\n'
memory '.*"meant":"purchase.shipping_address","times":1,"otherwise":1,"weight":0.2,.*'
memory '.*"meant":"purchase.billing_address","times":1,"otherwise":1,"weight":1.0,.*'

# --- a wrong memory is unlearnt within three answers: it is asked about after one, and answered after three
dialogue "the second answer" 'in words; "help" says what else can be said. *1\. What' '1\n\n'
dialogue "the third answer" '1\. What' 'undo\nbilling\n\n'
dialogue "unlearnt" 'Last time you meant purchase.billing_address by "address"' '\n'

# --- other questions are asked all the same
dialogue "other words" '1\. .*total of invoice' 'net\n\n' --id total
memory '"db_id":"shop","words":"total","meant":"invoice.net_total",.*'
dialogue "among more candidates" 'Last time you meant purchase.billing_address.*SQL:    SELECT billing_address FROM purchase ' '\n' --id list
dialogue "beside another question" 'Last time you meant purchase.billing_address.*1\. .*placed on.*SQL:    SELECT billing_address' '1\n\n' --id two
dialogue "values are not remembered" '1\. .*12' '1\n\n' --id from
begin "no constant in the memory"
! grep -qE '"(words|meant)":"[^"]*12' memory || complain "the memory" "$(cat memory)"

# --- a transcript holds the answer from memory, and is continued without the file
dialogue "transcript" 'Last time' '1\n' --transcript dialogue.json --id two
begin "replay"
printf 'undo\nundo\nshipping\n1\n\n' >answers
infer clarify --interactive --replay dialogue.json --db . <answers >shown 2>said || complain "replay" "$(cat said)"
tr '\n' ' ' <shown | grep -q 'Last time.*undo *1\. What.*SQL:    SELECT shipping_address' || complain "replay" "$(cat shown)"

# --- many records, and another program
check "a batch" 0 '"id":"late".*"ask":null,"stop":"settled".*"recalled":\[\{"words":"address","meant":"purchase.billing_address","times":[0-9]+,"otherwise":1,.*"sentence":"Last time you meant purchase.billing_address by \\"address\\"."' \
    infer clarify --candidates candidates.jsonl --db . --memory memory -o out.jsonl
check "without a memory" 0 '"id":"late".*"ask":\{' infer clarify --candidates candidates.jsonl --db . -o out.jsonl
rm memory
serve() { infer clarify --serve-stdio --db . --memory memory; }
start='{"op":"start","record":'$(head -n 1 candidates.jsonl)'}'
begin "serve"
session=$(serve <<<"$start" 2>said | sed 's/.*,"session"://; s/}$//')
serve <<<'{"op":"answer","session":'"$session"',"answer":"shipping"}' >shown 2>said
grep -q '"choice":{"words":"address","meant":"purchase.shipping_address","options":\["purchase.billing_address","purchase.shipping_address"\]}' shown || complain "serve" "$(cat shown)"
memory '.*"meant":"purchase.shipping_address","times":1,"otherwise":0,.*'
begin "serve answers from memory"
session=$(serve <<<"$start" 2>said | tee shown | sed 's/.*,"session"://; s/}$//')
grep -q '"ask":null,"stop":"settled".*"recalled":\[{' shown || complain "serve" "$(cat shown)"
serve <<<'{"op":"undo","session":'"$session"'}' >shown 2>said
grep -q '"ask":{.*"turn":1,' shown || complain "undo" "$(cat shown)"
begin "an answer that is taken back after the end is not remembered"
cp memory learnt
ended=$(sed 's/.*,"session"://; s/}$//' shown)
serve <<<'{"op":"answer","session":'"$ended"',"answer":"the bill"}' 2>said >shown
memory '.*"meant":"purchase.billing_address","times":1,"otherwise":1,"weight":1.0,.*'
ended=$(sed 's/.*,"session"://; s/}$//' shown)
serve <<<'{"op":"undo","session":'"$ended"'}' >shown 2>said
grep -q '"ask":{.*"turn":1,' shown || complain "undo" "$(cat shown)"
cmp -s memory learnt || complain "the memory" "$(cat memory)"
begin "a session that was edited"
serve <<<'{"op":"show","session":'"${session/\"option\":2/\"option\":9}"'}' >shown 2>said
grep -q '"error":{"type":"session","text":".*turns\[0\]' shown || complain "edited" "$(cat shown)"

# --- ask: choices between tables and columns, in records and at a terminal
rm memory
ask() { infer ask --device cpu --detector none --tagger heuristic --db shop.sqlite --memory memory "$@"; }
cat >questions.jsonl <<'END'
{"id":1,"question":"Show the address of each purchase.","answers":[2]}
{"id":2,"question":"Show the address of each purchase."}
{"id":3,"question":"Show the address of each purchase.","answers":["undo","billing"]}
{"id":4,"question":"Show the address of each purchase."}
END
check "ask" 0 '"id":1,.*"rewrite":\{"question":"Show the purchase.shipping_address of each' ask questions.jsonl -o out.jsonl
begin "records of ask"
grep -qE '^\{"id":2,.*"recalled":\[\{.*"rewrite":\{"question":"Show the purchase.shipping_address' out.jsonl || complain "record 2" "$(sed -n 2p out.jsonl)"
grep -qE '^\{"id":3,.*"rewrite":\{"question":"Show the purchase.billing_address' out.jsonl || complain "record 3" "$(sed -n 3p out.jsonl)"
grep -qE '^\{"id":4,.*"ask":\{' out.jsonl || complain "record 4" "$(sed -n 4p out.jsonl)"
begin "ask at a terminal"
printf '1\n\n' >answers
ask --question "Show the address of each purchase." <answers >shown 2>said || complain "ask" "$(cat said)"
printf '1\n\n' >answers
ask --question "Show the address of each purchase." <answers >shown 2>said || complain "ask" "$(cat said)"
printf '\n' >answers
ask --question "Show the address of each purchase." <answers >shown 2>said || complain "ask" "$(cat said)"
tr '\n' ' ' <shown | grep -q 'Last time you meant purchase.billing_address by "address". Type undo to be asked.*Rewritten question: Show the purchase.billing' || complain "ask" "$(cat shown)"

# --- the choices are listed and deleted
check "list" 0 '^shop: "address" meant purchase.billing_address 3 times and something else 1 times, last on '"$today" data memory memory
check "list some" 0 '^shop: "address" meant purchase.shipping' data memory memory --words "the Addresses" --meant purchase.shipping_address
begin "one line"
[ "$(wc -l <shown)" = 1 ] || complain "the list" "$(cat shown)"

# --- labelled questions for adapt: an ambiguous one of the words, clear ones of the names that they fit
check "labels" 0 '^\{"id":1,"db_id":"shop","question":"Show the address of each purchase.","ambiguous":true,"alternatives":\["purchase.billing_address","purchase.shipping_address"\]\}' \
    data memory memory --db shop.sqlite --labels out.jsonl
begin "clear questions"
[ "$(sed 1d out.jsonl | tr '\n' ' ')" = '{"id":2,"db_id":"shop","question":"Show the billing address of each purchase.","ambiguous":false} {"id":3,"db_id":"shop","question":"Show the shipping address of each purchase.","ambiguous":false} ' ] || complain "the labels" "$(cat out.jsonl)"
check "labels of other words" 3 'memory: expected a choice of a table or column, found none' data memory memory --db shop.sqlite --words total --labels none.jsonl
check "labels without a schema" 2 'expected --db or --schema, and not --delete' data memory memory --labels none.jsonl
check "a schema without labels" 2 'expected --db or --schema, and not --delete' data memory memory --db shop.sqlite
echo '{"db_id":"shop","words":"address","meant":"purchase.shipping_address","times":1,"otherwise":0,"weight":1.0,"last":"2026-01-01"}
{"db_id":"shop","words":"total","meant":"the largest total of invoice","times":1,"otherwise":0,"weight":1.0,"last":"2026-01-01"}
{"db_id":"shop","words":"total","meant":"invoice.net_total","times":1,"otherwise":0,"weight":0.2,"last":"2026-01-01"}
{"db_id":"shop","words":"statu","meant":"shipment.status","times":3,"otherwise":0,"weight":1.24,"last":"2026-01-01"}
{"db_id":"shop","words":"bill","meant":"invoice","times":1,"otherwise":0,"weight":1.0,"last":"2026-01-01"}' >several
check "labels of several words" 0 '^\{"id":1,"db_id":"shop","question":"List all bill.","ambiguous":true\}' data memory several --db shop.sqlite --labels out.jsonl
begin "options in words are left out"
[ "$(cut -d, -f3- out.jsonl | tr '\n' ' ')" = '"question":"List all bill.","ambiguous":true} "question":"Show the status of each shipment.","ambiguous":true} "question":"Show the address of each purchase.","ambiguous":true,"alternatives":["purchase.shipping_address","purchase.billing_address"]} "question":"List all invoice.","ambiguous":false} "question":"Show the shipping address of each purchase.","ambiguous":false} "question":"Show the billing address of each purchase.","ambiguous":false} ' ] || complain "the labels" "$(cat out.jsonl)"
begin "adapt reads them"
"$bin/ambit-train" adapt --support out.jsonl --db shop.sqlite --device cpu --method threshold -o adapter >shown 2>said || complain "adapt" "$(cat said)"
grep -q '^6 questions' shown || complain "adapt" "$(cat shown)"
check "delete some" 0 '^1 choices deleted, 1 left' data memory memory --meant purchase.billing_address --delete
check "delete the others" 0 '^1 choices deleted, 0 left' data memory memory --db-id shop --delete
check "delete nothing" 2 'expected --db-id, --words or --meant' data memory memory --delete
check "no file" 3 'nowhere: No such file' data memory nowhere
begin "asked again"
ask --question "Show the address of each purchase." </dev/null >shown 2>said
grep -q '^1\. Two columns fit' shown || complain "asked again" "$(cat shown)"

# --- simulated users with a preference: one question for each choice, and one more when the preference changes
stream() {
    local i
    for ((i = 1; i <= $1; i++)); do
        sed -n "$((1 + i % 2))p" candidates.jsonl | sed -E "s/^\{\"id\":\"[a-z]*\"/{\"id\":\"$2$i\"/; s/(.*\{\"sql\":\"([^\"]*billing[^\"]*)\".*\{\"sql\":\"([^\"]*shipping[^\"]*)\".*)\}$/\1,\"gold\":[\"\\$3\"]}/"
    done
}
{ stream 6 a 2 && stream 6 b 3; } >stream.jsonl
rm memory
check "simulate" 0 '"id":"a1",.*"recalled":0,"taken_back":0' infer clarify --simulate --candidates stream.jsonl --db . --memory memory -o out.jsonl
begin "questions of simulated users"
sed -nE 's/^\{"id":"([ab][0-9])".*"correct":true.*"turns":\[(\{)?.*"recalled":([01]),"taken_back":([01]).*/\1\2\3\4/p' out.jsonl >asked
[ "$(tr '\n' ' ' <asked)" = "a1{00 a210 a310 a410 a510 a610 b1{01 b2{00 b3{00 b410 b510 b610 " ] || complain "the questions" "$(cat asked)"
rm memory
check "ask simulates" 0 '"id":"a1",.*"recalled":0,"taken_back":0' infer ask --device cpu --detector none --simulate --db . --memory memory stream.jsonl -o out.jsonl
sed -nE 's/^\{"id":"([ab][0-9])".*"correct":true.*"turns":\[(\{)?.*"recalled":([01]),"taken_back":([01]).*/\1\2\3\4/p' out.jsonl >again
begin "the same questions"
cmp -s asked again || complain "the questions" "$(cat again)"
check "report" 2 'memory and --report' infer clarify --simulate --candidates stream.jsonl --db . --memory memory --report report.html -o out.jsonl

# --- bad files
echo '{"db_id":"shop","words":"address","meant":"purchase.shipping_address","times":1,"otherwise":0,"weight":7,"last":"2026-01-01"}' >bad
check "a bad memory" 3 'bad: line 1: field "weight"' data memory bad
check "a bad memory" 3 'bad: line 1: field "weight"' ask --memory bad --question "Show the address of each purchase." -o out.jsonl
check "a bad memory" 3 'bad: line 1: field "weight"' infer clarify --candidates candidates.jsonl --db . --memory bad -o out.jsonl
check "a folder" 3 'expected a plain file' infer clarify --candidates candidates.jsonl --db . --memory . -o out.jsonl
check "another file" 3 'candidates.jsonl: line 1: field "words" is missing' infer clarify --candidates candidates.jsonl --db . --memory candidates.jsonl -o out.jsonl
cp once kept
check "the output" 2 'once is an input of this command' infer clarify --candidates candidates.jsonl --schema tables.json --memory once -o once
begin "no folder for the memory"
talk '2\n\n' --memory nowhere/memory >shown 2>said && complain "no folder" "exit code 0"
grep -q 'make the folder nowhere first' said || complain "no folder" "$(cat said)"
finish

#!/usr/bin/env bash
# Questions with several ambiguities: detected, made, scored, and asked about one after the other by expected information
# gain, with candidates and without.  Answers are taken back across them.
# shellcheck disable=SC2015
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
told=(said out.jsonl)

sqlite3 gym.sqlite <<'SQL'
CREATE TABLE trainer(trainer_id INTEGER PRIMARY KEY, name TEXT, trainer_fee INT, fee_of_trainer INT, home_address TEXT,
    work_address TEXT);
INSERT INTO trainer VALUES (1, 'Udo', 35, 28, 'Mill Lane 2', 'Harbour 9'), (2, 'Suri', 42, 50, 'Elm 3', 'Harbour 9'),
    (3, 'Rik', 28, 28, 'Oak 1', 'Pier 4');
SQL
both="What is the fee and the address of each trainer?"

ask() { infer ask --device cpu --detector none --db gym.sqlite "$@"; }
# answered REST ANSWERS [OPTIONS]: the record of the question with more fields, and the user's answers
answered() {
    printf '{"id":"r","question":"%s",%s,"answers":%s}\n' "$both" "$1" "$2" >in.jsonl
    check "answers $2" 0 "^1 records" ask in.jsonl -o out.jsonl "${@:3}"
}
has() {
    begin "has $1"
    grep -qE -- "$1" out.jsonl || complain "the record" "does not say \"$1\": $(head -c 2000 out.jsonl)"
}
hasnt() {
    begin "does not have $1"
    ! grep -qE -- "$1" out.jsonl || complain "the record" "says \"$1\": $(head -c 2000 out.jsonl)"
}

# --- with candidates, the product of two independent ambiguities: even odds are asked about before odds of 4 to 1.  The
# answer to one question leaves the probabilities of the other.
# product P...: a candidate for each pair of fee and address, with its probability
product() {
    local sql=("trainer_fee, home_address" "trainer_fee, work_address" "fee_of_trainer, home_address" "fee_of_trainer, work_address") list='' i
    for i in 0 1 2 3; do list+=,$(printf '{"sql":"SELECT %s FROM trainer","p":%s}' "${sql[i]}" "${@:i+1:1}"); done
    printf '"candidates":[%s]' "${list#,}"
}
# twice FIRST SECOND LIKELY P...: two questions, the first about FIRST with even odds, the second about SECOND
twice() {
    local first=$1 second=$2 likely=$3 answer list
    list=$(product "${@:4}")
    answered "$list" "[]" --noise 0
    has "\"ask\":\{[^[]*\"options\":\[\{\"text\":\"[^\"]*${first}[^\"]*\",\"p\":0.5,[^]]*\],\"turn\":1,[^}]*\"eig\":1.0\}"
    hasnt "\"options\":\[[^]]*\"text\":\"[^\"]*$second"
    for answer in 1 2; do
        answered "$list" "[$answer]" --noise 0
        has "\"options\":\[\{\"text\":\"${likely}[^\"]*\",\"p\":0.8,[^]]*\"p\":0.2,[^]]*\],\"turn\":2,[^}]*\"eig\":0.721928\}"
        answered "$list" "[$answer,2]" --noise 0
        has '"ask":null,"stop":"settled".*"confidence":1.0'
    done
}
twice fee address "home address" 0.4 0.1 0.4 0.1
has '"sql":"SELECT fee_of_trainer, work_address FROM trainer"'
twice address fee "fee of trainer" 0.1 0.1 0.4 0.4
has '"sql":"SELECT trainer_fee, work_address FROM trainer"'

# --- without candidates: the choice with the highest entropy comes first, and statement and rewritten question follow
# from all of them
# span START END A B P: ambiguous words
span() {
    printf '{"start":%d,"end":%d,"label":"AMB","probability":%s,"alternatives":[{"concept":"trainer.%s"},{"concept":"trainer.%s"}]}' \
        "$1" "$2" "$5" "$3" "$4"
}
# spans FEE ADDRESS: the spans of both words, with these probabilities
spans() { printf '"spans":[%s,%s]' "$(span 12 15 trainer_fee fee_of_trainer "$1")" "$(span 24 31 home_address work_address "$2")"; }
for odds in "0.9 0.3 fee address" "0.3 0.9 address fee" "0.7 0.7 fee address"; do
    read -r fee address first second <<<"$odds"
    answered "$(spans "$fee" "$address")" '[]'
    has "\"ask\":\{[^[]*\"text\":\"Two columns fit what you wrote, ..$first..\. .*\"turn\":1,.*\"rewrite\":null"
    answered "$(spans "$fee" "$address")" '[2]'
    has "\"ask\":\{[^[]*\"text\":\"Two columns fit what you wrote, ..$second..\. .*\"turn\":2,.*\"turns\":\[\{[^]]*\}\],\"rewrite\":null"
    answered "$(spans "$fee" "$address")" '[2,2]'
    has '"rewrite":\{"question":"What is the trainer.fee_of_trainer and the trainer.work_address of each trainer\?","elements":\[\{"words":"fee","element":"trainer.fee_of_trainer"\},\{"words":"address"'
    has '"sql":"SELECT fee_of_trainer, work_address FROM trainer","result":\{"status":"ok"'
done
both_spans=$(spans 0.9 0.9)

# --- answers are taken back, also that of the choice before
answered "$both_spans" '[2,"undo"]'
has '"ask":\{[^[]*fee[^[]*"options":.*"turn":1,.*"turns":\[\],"rewrite":null'
answered "$both_spans" '[2,"undo",1,2]'
has '"sql":"SELECT trainer_fee, work_address FROM trainer"'
answered "$both_spans" '["none","undo",1,"either"]'
has '"sql":"SELECT trainer_fee, home_address FROM trainer"'
printf '{"id":"r","question":"%s",%s,"answers":[1,"undo","undo"]}\n' "$both" "$both_spans" >in.jsonl
check "nothing to take back" 7 "answers\[2\]: .*expected an answer to take back" ask in.jsonl -o out.jsonl

# --- --max-turns counts the questions about all choices
answered "$both_spans" '[]' --max-turns 0
has '"ask":null,"stop":"turns".*"turns":\[\],"rewrite":\{.*"element":null\},.*"element":null\}\]\},"sql":null'
answered "$both_spans" '[2]' --max-turns 1
has '"ask":null,"stop":"turns".*"rewrite":\{"question":"What is the trainer.fee_of_trainer and the address of each trainer\?","elements":\[\{"words":"fee","element":"trainer.fee_of_trainer"\},\{"words":"address","element":null\}\]\},"sql":null'
answered "$both_spans" '["none"]' --max-turns 1
has '"ask":null,"stop":"turns".*"question":"What is the fee and the address of each trainer\?"'
answered "$both_spans" '[2,1]' --max-turns 2
has '"sql":"SELECT fee_of_trainer, home_address FROM trainer"'
printf '{"id":"r","question":"%s",%s,"answers":[2,1]}\n' "$both" "$both_spans" >in.jsonl
check "one question alone" 7 "answers\[1\]: no question is open any more \(turns\)" ask in.jsonl -o out.jsonl --max-turns 1

# --- simulated without candidates: the user chooses the elements of the meant statement, among wrong and missing ones
# golds SQL...: the field "gold" with these columns of the table
golds() {
    local list=''
    printf -v list ',"SELECT %s FROM trainer"' "$@"
    printf '"gold":[%s]' "${list#,}"
}
product=("trainer_fee, home_address" "fee_of_trainer, home_address" "trainer_fee, work_address" "fee_of_trainer, work_address")
{
    printf '{"id":"two","question":"%s",%s,%s}\n' "$both" "$both_spans" "$(golds "${product[@]}")"
    printf '{"id":"one","question":"%s","spans":[%s],%s}\n' "$both" "$(span 12 15 trainer_fee fee_of_trainer 0.9)" "$(golds "${product[@]}")"
    printf '{"id":"false","question":"%s",%s,%s}\n' "$both" "$both_spans" "$(golds "name, home_address")"
    printf '{"id":"clear","question":"%s",%s}\n' "$both" "$(golds name)"
    printf '{"id":"both","question":"%s",%s,%s}\n' "$both" "$both_spans" "$(golds "trainer_fee, fee_of_trainer" home_address)"
    printf '{"id":"bad","question":"%s",%s,%s}\n' "$both" "$both_spans" "$(golds fee)"
} >in.jsonl
simulate() { check "simulate $*" 0 "^6 records" ask --simulate --user-noise 0 in.jsonl -o out.jsonl "$@"; }
# dialogue ID GOLD PATTERN: what the dialogue about that gold statement of the record has
dialogue() {
    begin "dialogue $1 $2 has $3"
    grep "^{\"id\":\"$1\"" out.jsonl | grep -qE -- "\{\"gold\":$2,$3" || complain "dialogue" "$(grep "\"$1\"" out.jsonl)"
}
simulate
for i in 0 1 2 3; do
    fee=${product[i]%,*} address=${product[i]#*, }
    dialogue two $i "\"reached\":true,\"questions\":2,\"turns\":\[[^]]*\][^]]*\"chosen\":\"trainer.$fee\"\},[^]]*\][^]]*\"chosen\":\"trainer.$address\"\}\]"
    dialogue one $i "\"reached\":false,\"questions\":1,"
done
dialogue false 0 '"reached":true,"questions":2,"turns":\[[^]]*\][^]]*"answer":"none"\},[^]]*\][^]]*"chosen":"trainer.home_address"\}\]'
dialogue clear 0 '"reached":true,"questions":0,"turns":\[\]'
dialogue both 0 '"reached":false,"questions":2,"turns":\[[^]]*\][^]]*"answer":"unknown"\},[^]]*\][^]]*"answer":"none"\}\]'
dialogue both 1 '"reached":true,"questions":2,'
dialogue bad 0 '"error":"SQL at line 1, column 8: no column fee'
# 12 dialogues: 4 reached of "two" and 1 of "both" after two questions; the two records with one gold need none
has '^\{"subject":"elements",.*"metrics":\{"dialogues":12,"reached":\[\{"mean":0.166667,[^}]*\},\{"mean":0.166667,[^}]*\},\{"mean":0.583333,.*"questions":\{"mean":1.5,"interval":null,"n":12\},"databases":1,"gold_errors":1,'
has '"by_golds":\[\{"dialogues":2,"reached":\[\{"mean":1.0,.*"questions":\{"mean":1.0,"interval":null,"n":2\},"golds":1\},\{"dialogues":2,.*"golds":2\},\{"dialogues":8,'
simulate --max-turns 1
dialogue two 0 '"reached":false,"questions":1,'
simulate --max-turns 0
dialogue two 0 '"reached":false,"questions":0,'
dialogue false 0 '"reached":true,"questions":0,'
simulate --user-unknown 1
dialogue two 0 '"reached":false,"questions":2,'
simulate --seed 2 --user-noise 0.5
cp out.jsonl first.jsonl
simulate --seed 2 --user-noise 0.5
cmp -s first.jsonl out.jsonl || complain "the same seed" "$(head -c 1000 out.jsonl)"
printf '{"id":"r","question":"%s"}\n' "$both" >plain.jsonl
check "no gold" 7 'field ..gold.. is missing' ask --simulate --tagger heuristic plain.jsonl -o out.jsonl

# --- a person, with the heuristic tagger
talk() { printf '%s' "$1" | timeout 60 "$bin/ambit-infer" ask --device cpu --detector none --tagger heuristic --db gym.sqlite --question "$both" "${@:2}" >shown 2>said || complain dialogue "exit code $?"; }
# shows TEXT...: the lines that a person sees, in this order
shows() {
    begin "shows $*"
    [ "$(grep -oE '^(There is no|[0-9]\. .*"(fee|address)"|SQL: .*)' shown)" = "$(printf '%s\n' "$@")" ] || complain "dialogue" "$(head -c 3000 shown)"
}
fee='1. Two columns fit what you wrote, "fee"' address='2. Two columns fit what you wrote, "address"'
talk $'2\n1\n\n'
shows "$fee" "$address" "SQL:    SELECT trainer_fee, home_address FROM trainer"
talk $'2\nundo\n1\n\n' --max-turns 1
shows "$fee" "$fee"
[ "$(grep -c 'The question stays ambiguous, so that there is no statement' shown)" = 2 ] || complain "one question" "$(cat shown)"
grep -q 'Rewritten question: What is the trainer.fee_of_trainer and the address of each' shown || complain "one question" "$(cat shown)"
talk $'undo\n2\nundo\n1\n2\nundo\nundo\n2\n1\n\n'
shows "$fee" "There is no" "$address" "$fee" "$address" "SQL:    SELECT fee_of_trainer, work_address FROM trainer" "$address" "$fee" "$address" "SQL:    SELECT trainer_fee, home_address FROM trainer"

# --- the detector finds both ambiguities, each with its words, and ask takes both from it
detected() { infer detect --device cpu --db gym.sqlite "$@"; }
printf '{"id":1,"question":"%s"}\n{"id":2,"question":"What is the address of each trainer?"}\n{"id":3,"question":"What is the name of each trainer?"}\n' "$both" >three.jsonl
check "two ambiguities" 0 "^3 questions, 2 ambiguous" detected three.jsonl -o out.jsonl
has '"id":1,.*"alternatives":\["trainer.home_address","trainer.work_address"\],"ambiguities":\[\{"type":"C","alternatives":\["trainer.home_address","trainer.work_address"\],"score":[0-9.]+,"words":"address","start":24,"end":31\},\{"type":"C","alternatives":\["trainer.trainer_fee","trainer.fee_of_trainer"\],"score":[0-9.]+,"words":"fee","start":12,"end":15\}\],"spans":\[.*\],"sentence":"This question may mean [^"]*"'
has '"id":2,.*"ambiguities":\[\{"type":"C","alternatives":\["trainer.home_address","trainer.work_address"\],"score":[0-9.]+,"words":"address","start":12,"end":19\}\],'
has '"id":3,.*"alternatives":\[\],"ambiguities":\[\],'
check "a higher threshold" 0 "^3 questions, 2 ambiguous" detected --threshold 0.8 three.jsonl -o out.jsonl
has '"id":1,.*"ambiguities":\[\{"type":"C","alternatives":\["trainer.home_address","trainer.work_address"\],[^]]*\}\],"spans":\[.*\],"sentence"'
printf '{"id":1,"question":"%s","answers":[2,1]}\n' "$both" >in.jsonl
check "ask by the detector" 0 "^1 records" infer ask --device cpu --db gym.sqlite in.jsonl -o out.jsonl
has '"rewrite":\{"question":"What is the trainer.trainer_fee and the trainer.work_address of each trainer\?"'
printf '{"id":1,"db_id":"gym","question":"%s",%s}\n' "$both" "$(product 0.25 0.25 0.25 0.25)" >in.jsonl
infer detect --quiet --device cpu --db gym.sqlite in.jsonl -o predicted.jsonl
check "clarify by predictions" 0 "^1 records" infer clarify --candidates in.jsonl --predictions predicted.jsonl --db . -o out.jsonl
has '"name":"sel#1"[^}]*"support":[0-9.]*[1-9].*"name":"sel#2"[^}]*"support":[0-9.]*[1-9]'
for bad in 's/"start":12/"start":99/@ambiguities.1.: .*start' 's/"trainer.fee_of_trainer"\]/"trainer.age"]/@ambiguities.1.: .*trainer.age' \
    's/"ambiguities":\[/"ambiguities":7,"old":[/@ambiguities'; do
    sed -E "${bad%%@*}" predicted.jsonl >broken.jsonl
    cmp -s predicted.jsonl broken.jsonl && complain "${bad%%@*}" "changes nothing"
    check "${bad%%@*}" 7 "${bad#*@}" infer clarify --candidates in.jsonl --predictions broken.jsonl --db . -o out.jsonl
done

# --- made: questions with none, one and two ambiguities, whose statements run and differ
mkdir -p corpus/db
sqlite3 corpus/db/shop.sqlite <<'SQL'
CREATE TABLE orders(order_id INTEGER PRIMARY KEY, price INT, date TEXT, city TEXT, status TEXT, email TEXT, address TEXT, quantity INT);
INSERT INTO orders VALUES (1, 3, '2024-01-01', 'Oslo', 'paid', 'a@x', 'Elm 1', 2), (2, 5, '2024-02-01', 'Voss', 'open', 'b@x', 'Oak 2', 3),
    (3, 7, '2024-03-01', 'Moss', 'sent', 'c@x', 'Ash 3', 5), (4, 9, '2024-04-01', 'Bodo', 'lost', 'd@x', 'Fir 4', 7);
SQL
names=order_id,price,date,city,status,email,address,quantity
columns='[-1, "*"]'
for name in ${names//,/ }; do columns+=", [0, \"$name\"]"; done
cat >corpus/tables.json <<JSON
[{"db_id": "shop", "table_names": ["orders"], "table_names_original": ["orders"], "column_names": [${columns//_/ }], "column_names_original": [$columns], "column_types": ["text", "number", "number", "time", "text", "text", "text", "text", "number"], "primary_keys": [1], "foreign_keys": []}]
JSON
cat >corpus/train_spider.json <<'JSON'
[{"db_id": "shop", "question": "Show the price and the date of each order.", "query": "SELECT price, date FROM orders"},
 {"db_id": "shop", "question": "List the city and the status of all orders.", "query": "SELECT city, status FROM orders"},
 {"db_id": "shop", "question": "What are the email and the address of the orders?", "query": "SELECT email, address FROM orders"},
 {"db_id": "shop", "question": "How many orders are there?", "query": "SELECT count(*) FROM orders"}]
JSON
several() { data natural corpus --several 10 --test-share 0.8 --valid-share 0 "$@"; }
check "make questions" 0 "corpus: 2 questions with two or three" several -o made --materialise rows
cp made/test.jsonl out.jsonl
[ "$(grep -c '"reason":"no ambiguity"' out.jsonl)" = 4 ] || complain "clear questions" "$(cat out.jsonl)"
[ "$(grep -c '"reason":"one ambiguity"' out.jsonl)" = 2 ] || complain "one ambiguity" "$(cat out.jsonl)"
[ "$(grep -cE '"sql":\[("[^"]*",){3}"[^"]*"\].*"ambiguities":\[\{[^}]*\},\{[^}]*\}\].*"reason":"two ambiguities"' out.jsonl)" = 2 ] ||
    complain "two ambiguities" "$(cat out.jsonl)"
name='"[a-z_]*\.[a-z_]*"'
has "\"ambiguities\":\[\{\"type\":\"[CJ]\",\"alternatives\":\[$name,$name\],\"words\":\"price\",\"start\":9,\"end\":14\},\{\"type\":\"[CJ]\",\"alternatives\":\[$name,$name\],\"words\":\"date\",\"start\":23,\"end\":27\}\]"
grep '"reason":"two' made/test.jsonl | sed -E 's/"(slice|type|alternatives|ambiguities|source|reason|ambiguous)":.*/"x":1}/' >statements.jsonl
check "run the statements" 0 '' data execute --db rows statements.jsonl -o out.jsonl
[ "$(grep -o '"rows":\[\[[^}]*' out.jsonl | sort -u | wc -l)" = 8 ] || complain "rows" "$(cat out.jsonl)"
check "the same bytes" 0 "corpus: 2 questions" several -o again
cmp -s made/test.jsonl again/test.jsonl || complain "again" "other records"
check "existing databases" 3 "rows/shop__several_1.sqlite: exists already" several -o third --materialise rows
check "no databases of others" 2 "expected --several as well" data natural corpus -o third --materialise rows
told=(shown)
check "the probe" 0 "question only +0.500 +0.500" data probe --data made

# --- scored: gold itself, one ambiguity too few, one too many, spans, bad lines
grade() { data score --rule several --gold made/test.jsonl --pred "$@"; }
# graded BY PATTERN: the row of that number of ambiguities
graded() {
    begin "row $1 has $2"
    grep -qE -- "\{\"ambiguities\":$1,\"records\":[0-9]+,$2" shown || complain "row $1" "$(cat shown)"
}
check "gold against itself" 0 '' grade made/test.jsonl --json
graded 2 '"all_found":\{"value":1.0,"interval":null\},"one_found":\{"value":1.0,.*"right_words":\{"value":1.0,'
graded 0 '"all_found":null,"one_found":null,"right_words":null,"extra":\{"value":0.0,"interval":null\},"questions":\{"value":0.0'
sed -E 's/("ambiguities":\[\{[^}]*\}),\{[^}]*\}/\1/; s/"start":([0-9]),/"start":0,/' made/test.jsonl >fewer.jsonl
check "one of two" 0 '' grade fewer.jsonl --json --per-example each.jsonl
graded 2 '"all_found":\{"value":0.0,.*"one_found":\{"value":1.0,'
grep -q '"gold":2,"predicted":1,"found":1,"right_words":0,"extra":0' each.jsonl || complain "per example" "$(cat each.jsonl)"
sed -E 's/"ambiguities":\[\]/"ambiguities":[{"alternatives":["orders.City","orders.x"]}]/' made/test.jsonl >more.jsonl
check "a false one" 0 '' grade more.jsonl --json
graded 0 '.*"extra":\{"value":1.0,"interval":null\},"questions":\{"value":1.0'
sed -E 's/"ambiguities":.*$/"spans":[{"label":"AMB","start":9,"end":14,"alternatives":[{"concept":"Orders.unit price"},{"concept":"orders.total_price"}]},{"label":"COL","start":0,"end":1,"alternatives":[]}]}/' made/test.jsonl >spans.jsonl
check "spans" 0 "2 ambiguities, 2 records" grade spans.jsonl
{ head -n 1 made/test.jsonl && head -n 1 made/test.jsonl && echo '{"id":"z","ambiguities":[]}' && sed -n '2s/"ambiguities":/"ambiguities":7,"old":/p' made/test.jsonl; } >bad.jsonl
check "bad lines" 7 'its id came before' grade bad.jsonl
check "bad lines" 7 "its id is none of the gold records'" grade bad.jsonl
check "bad lines" 7 'field "ambiguities": expected an array' grade bad.jsonl
told=(said out.jsonl)
sed 's/"ambiguities"/"none"/' made/test.jsonl >nothing.jsonl
check "gold without the field" 3 'field "ambiguities"' data score --rule several --gold nothing.jsonl --pred made/test.jsonl

# --- over HTTP: the session has the answers to earlier choices, which are checked
command -v curl >/dev/null || finish
AMBIT_LOG=info "$bin/ambit-infer" ask --db gym.sqlite --device cpu --detector none --serve 127.0.0.1:0 2>log &
server=$!
trap 'kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
until port=$(sed -nE 's/^listening on .*:([0-9]+)$/\1/p' log) && [ -n "$port" ]; do
    kill -0 $server 2>/dev/null || { grep -q 'no libmicrohttpd' log && finish; fail "no service: $(cat log)"; }
    sleep 0.05
done
post() { curl -s --max-time 60 -H 'Content-Type: application/json' -d "$2" "http://127.0.0.1:$port$1" >out.jsonl; }
session() { sed -E 's/^.*,"session":(\{.*\})(,"id":[^}]*)?\}$/\1/' out.jsonl; }
post /ask "{\"question\":\"$both\",$both_spans}"
post /answer "{\"session\":$(session),\"answer\":2}"
has '"ask":\{[^[]*address'
second=$(session)
post /undo "{\"session\":$second}"
has '"ask":\{[^[]*fee[^[]*"options":.*"turns":\[\],'
post /answer "{\"session\":$(session),\"answer\":1}"
post /answer "{\"session\":$(session),\"answer\":\"work\"}"
has '"sql":"SELECT trainer_fee, work_address FROM trainer"'
for bad in 's/"element_turns":\[\[/"element_turns":[7,[/@element_turns: expected a list for each choice before choice 1' \
    's/"element_turns":\[\[.*\]\],"none/"element_turns":[7],"none/@element_turns.0.: expected an array, got an integer' \
    's/"element_turns":\[\[.*\]\],"none/"element_turns":[],"none/@element_turns: expected a list for each choice' \
    's/"element_turns":/"turns_of_elements":/@element_turns' \
    's/"probability":0.9/"probability":9/@probability.*expected 0 to 1, got 9' \
    's/"element_turns":\[\[\{"attribute":"sel#1"/"element_turns":[[{"attribute":"sel#7"/@sel#7.*is no question then'; do
    broken=$(sed -E "${bad%%@*}" <<<"$second")
    [ "$broken" != "$second" ] || complain "${bad%%@*}" "changes nothing in $second"
    post /undo "{\"session\":$broken}"
    has "\"error\":.*${bad#*@}"
done
finish

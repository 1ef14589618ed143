#!/usr/bin/env bash
# ambit-infer ask without a parser: it asks about tables and columns, rewrites the question, and answers plain questions.
# --rewrite does so for another program: in files, at a terminal and over HTTP.
# shellcheck disable=SC2015
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
told=(said out.jsonl)

sqlite3 firm.sqlite <<'SQL'
CREATE TABLE employee(name TEXT, home_city TEXT, office_city TEXT, email TEXT);
INSERT INTO employee VALUES ('Ida', 'Oslo', 'Bergen', 'ida@example.org'), ('Per', 'Voss', 'Oslo', 'per@example.org');
CREATE TABLE orders(id INT, status TEXT, total INT);
INSERT INTO orders VALUES (1, 'paid', 3), (2, 'open', 4);
CREATE TABLE shipment(id INT, status TEXT, weight INT);
INSERT INTO shipment VALUES (1, 'sent', 2);
SQL
city="Show the city of each employee."
both="Show the city of each employee and the status."

ask() { infer ask --device cpu --db firm.sqlite "$@"; }
# record QUESTION [ANSWERS]: asks about one record
record() {
    printf '{"id":"r","question":"%s"%s}\n' "$1" "${2:+,\"answers\":$2}" >in.jsonl
    check "$1 ${*:2}" 0 "^1 records" ask in.jsonl -o out.jsonl "${@:3}"
}
# has PATTERN, hasnt PATTERN: the output
has() {
    begin "has $1"
    grep -qE -- "$1" out.jsonl || complain "the record" "does not say \"$1\": $(head -c 1500 out.jsonl)"
}
hasnt() {
    begin "does not have $1"
    ! grep -qE -- "$1" out.jsonl || complain "the record" "says \"$1\": $(head -c 1500 out.jsonl)"
}

# --- the detector's alternatives: an open question, each kind of answer, questions about which nothing is asked
# line ID PATTERN: the record
line() {
    begin "record $1 has $2"
    grep "^{\"id\":$1," all.out | grep -qE -- "$2" || complain "record $1" "does not say \"$2\": $(grep "^{\"id\":$1," all.out | head -c 1500)"
}
id=0
for answers in '' '[2]' '["office"]' '["the office city"]' '["either"]' '["none"]' "[\"don't know\"]"; do
    id=$((id + 1))
    printf '{"id":%d,"question":"%s"%s}\n' $id "$city" "${answers:+,\"answers\":$answers}"
done >all.jsonl
cat >>all.jsonl <<'END'
{"id":8,"question":"Which employees have a city in Norway?","answers":[1]}
{"id":9,"question":"Show the email of each employee."}
{"id":10,"question":"Which email is the longest?"}
END
check "the detector's alternatives" 0 "^10 records, 1 with an open question" ask all.jsonl -o all.out
line 1 '"candidates":null,.*"ask":\{[^[]*"text":"Two columns fit what you wrote, \\"city\\". Which one is meant\?"'
line 1 '"options":\[\{"text":"home city of employee \(such as .Oslo., .Voss.\)","p":0.5,"element":"employee.home_city"\},\{"text":"office'
line 1 '"rewrite":null,"sql":null,"result":null,"session":\{"version":1'
for id in 2 3 4; do
    line $id '"rewrite":\{"question":"Show the employee.office_city of each employee.","elements":\[\{"words":"city","element":"employee.office_city"\}\]\}'
    line $id '"sql":"SELECT office_city FROM employee","result":\{"status":"ok","columns":\["office_city"\],"rows":\[\["Bergen"\],\["Oslo"\]\]'
done
line 5 '"rewrite":\{"question":"Show the employee.home_city of'
for id in 6 7; do
    line $id '"rewrite":\{"question":"Show the city of each employee.","elements":\[\{"words":"city","element":null\}\]\},"sql":null,"result":null'
done
line 8 '"rewrite":\{"question":"Which employees have a employee.home_city in Norway\?",.*"sql":null,"result":null'
line 9 '"ask":null,"stop":"no-candidates","rewrite":\{"question":"Show the email of each employee.","elements":\[\]\},"sql":"SELECT email FROM employee","result":\{"status":"ok"'
line 10 '"rewrite":\{"question":"Which email is the longest\?","elements":\[\]\},"sql":null,"result":null\}$'
cp all.out out.jsonl
hasnt '"best":|"wording":'
record "$city" "" --gate 1
has '"gated":true,"ask":null,"stop":"gate","rewrite":\{"question":"Show the city of each employee.","elements":\[\]\},"sql":null'
record "$city" "" --detector none
has '"sentence":null,.*"ask":null,"stop":"no-candidates","rewrite":null,"sql":null'
record "$city" "" --detector none --tagger heuristic --max-turns 0
has '"ask":null,"stop":"turns".*"element":null\}\]\},"sql":null'

# --- two choices of the tagger, the surer one first; a value keeps its words
heuristic=(--detector none --tagger heuristic)
record "$both" '[]' "${heuristic[@]}"
has '"ask":\{[^[]*"text":"Two columns fit what you wrote, \\"status\\". Which records are meant\?".*"rewrite":null'
record "$both" '[2]' "${heuristic[@]}"
has '"ask":\{[^[]*"text":"Two columns fit what you wrote, \\"city\\". Which one is meant\?".*"rewrite":null'
record "$both" '["shipment",2]' "${heuristic[@]}"
has '"rewrite":\{"question":"Show the employee.office_city of each employee and the shipment.status.","elements":\[\{"words":"city","element":"employee.office_city"\},\{"words":"status","element":"shipment.status"\}\]\},"sql":null'
record "$both" '[1,"none"]' "${heuristic[@]}"
has '"rewrite":\{"question":"Show the city of each employee and the orders.status.","elements":\[\{"words":"city","element":null\},'
record "Who works in Oslo?" '[2]' "${heuristic[@]}"
has '"rewrite":\{"question":"Who works in Oslo \(employee.office_city\)\?"'
check "one answer too many" 7 'answers\[2\]: no question is open any more' ask "${heuristic[@]}" <(printf '{"id":1,"question":"%s","answers":[1,1,1]}\n' "$both") -o out.jsonl

# --- alternatives of the record itself, whose words are unknown
cat >own.jsonl <<'END'
{"id": 1, "question": "How heavy is it?", "ambiguous": true, "alternatives": ["shipment.weight", "orders.total"], "answers": [2]}
END
check "alternatives of the record" 0 "^1 records" ask --detector none own.jsonl -o out.jsonl
has '"rewrite":\{"question":"How heavy is it\? \(orders.total is meant, not shipment.weight\)","elements":\[\{"words":null,"element":"orders.total"\}\]\},"sql":null'

# --- a person
talk() { printf '%s' "$1" | timeout 60 "$bin/ambit-infer" ask --device cpu --db firm.sqlite "${@:2}" >shown 2>said || complain dialogue "exit code $?"; }
says() {
    begin "says $1"
    grep -qE -- "$1" shown || complain "dialogue" "does not say \"$1\": $(head -c 1500 shown)"
}
silent() {
    begin "does not say $1"
    ! grep -qE -- "$1" shown || complain "dialogue" "says \"$1\": $(head -c 1500 shown)"
}
talk $'sql\n2\n\n' "$city"
says 'The options are tables and columns: no statement'
says '^Rewritten question: Show the employee.office_city of each employee.$'
says '^SQL:    SELECT office_city FROM employee$'
says '^Rows: *office_city$'
silent 'sure'
talk $'2\nundo\n1\n\n' "${heuristic[@]}" "$city"
says '^SQL:    SELECT home_city FROM employee$'
talk $'2\n1\n\n' "${heuristic[@]}" "$both"
says '^1. Two columns fit what you wrote, "status". Which records'
says '^2. Two columns fit what you wrote, "city". Which one'
says '^Rewritten question: Show the employee.home_city of each employee and the$'
says 'There is no statement: the question asks for more than columns of one table'
talk '' "${heuristic[@]}" "$city"
says 'The question stays ambiguous, so that there is no statement'
silent 'Rewritten'
talk $'1\nquit\n' "${heuristic[@]}" "$both"
says '^Rewritten question: Show the city of each employee and the orders.status.$'
says 'The question stays ambiguous'
talk '' "${heuristic[@]}" "Show the email of each employee."
says '^SQL:    SELECT email FROM employee$'
talk '' --detector none "Who is it?"
says 'There is no statement: the question asks for more'
talk $'1\n1\n\n' "${heuristic[@]}" --interactive in.jsonl -o out.jsonl
has '"ended":"accepted"'

# --- the rewritten question alone, for another program
rewrite() { printf '%s' "$1" | timeout 60 "$bin/ambit-infer" ask --rewrite --device cpu --db firm.sqlite "${@:2}" 2>said; }
# gives TEXT ANSWERS ARGUMENTS...
gives() {
    local got
    begin "$*"
    got=$(rewrite "${@:2}") || complain rewrite "exit code $?"
    [ "$got" = "$1" ] || complain "rewrite ${*:3}" "got \"$got\""
}
gives "Show the employee.office_city of each employee." $'2\n' "$city"
grep -q '1  home city of employee' said || complain rewrite "no question on standard error"
grep -q 'SELECT' said && complain rewrite "a statement"
gives "Show the employee.home_city of each employee and the shipment.status." $'2\n1\n' "${heuristic[@]}" "$both"
gives "$city" $'none\n' "${heuristic[@]}" "$city"
gives "$city" '' "${heuristic[@]}" "$city"
gives "Which email is the longest?" '' "${heuristic[@]}" "Which email is the longest?"
printf '{"id":1,"question":"%s"}\n{"id":2,"question":"Who?"}\n' "$city" >two.jsonl
gives $'Show the employee.office_city of each employee.\nWho?' $'2\n' "${heuristic[@]}" --interactive two.jsonl
record "$city" '[2]' "${heuristic[@]}" --rewrite
has '"rewrite":\{"question":"Show the employee.office_city of each employee.",.*"sql":null,"result":null'
sed -i 's/}$/,"candidates":["SELECT name FROM employee"]}/' in.jsonl
check "candidates are left out" 0 "^1 records" ask "${heuristic[@]}" --rewrite in.jsonl -o out.jsonl
has '"candidates":null.*"rewrite":\{"question":"Show the employee.office_city'
for bad in "--parser x" "--candidates x" "--simulate"; do
    # shellcheck disable=SC2086
    check "--rewrite $bad" 2 "expected none of --parser, --candidates and --simulate" ask --rewrite $bad in.jsonl
done
check "--rewrite without a part" 2 "expected a detector or --tagger" ask --rewrite --detector none in.jsonl
check "--simulate without gold" 7 "field ..gold.. is missing" ask --simulate --detector none two.jsonl -o out.jsonl

# --- over HTTP: the session is the whole state, and is checked
command -v curl >/dev/null || finish
AMBIT_LOG=info "$bin/ambit-infer" ask --db firm.sqlite --device cpu "${heuristic[@]}" --serve 127.0.0.1:0 2>log &
server=$!
trap 'kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
until port=$(sed -nE 's/^listening on .*:([0-9]+)$/\1/p' log) && [ -n "$port" ]; do
    kill -0 $server 2>/dev/null || { grep -q 'no libmicrohttpd' log && finish; fail "no service: $(cat log)"; }
    sleep 0.05
done
post() { curl -s --max-time 60 -H 'Content-Type: application/json' -d "$2" "http://127.0.0.1:$port$1" >out.jsonl; }
session() { sed -E 's/^.*,"session":(\{.*\})(,"id":[^}]*)?\}$/\1/' out.jsonl; }
post /ask "{\"question\":\"$both\"}"
has '"ask":\{.*"element":"orders.status".*"rewrite":null'
post /answer "{\"session\":$(session),\"answer\":\"orders\"}"
has '"ask":\{.*"text":"Two columns fit what you wrote, \\"city\\"'
open=$(session)
post /answer "{\"session\":$open,\"answer\":2}"
has '"ask":null,"stop":"settled".*"rewrite":\{"question":"Show the employee.office_city of each employee and the orders.status."'
ended=$(session)
post /undo "{\"session\":$ended}"
has '"ask":\{.*"text":"Two columns fit what you wrote, \\"city\\"'
for bad in 's/"element_choice":0/"element_choice":2/@element_choice.*expected 0 to 1, got 2' \
    's/"end":13,"alternatives"/"end":99,"alternatives"/@\\"end\\": expected 9 to 46, got 99' \
    's/"element":"orders.status"/"element":"orders.age"/@expected the name of a table or of a table.column' \
    's/"element_choices":\[/"element_choices":[7,/@element_choices'; do
    broken=$(sed "${bad%%@*}" <<<"$open")
    [ "$broken" != "$open" ] || complain "${bad%%@*}" "changes nothing in $open"
    post /answer "{\"session\":$broken,\"answer\":1}"
    has "\"error\":.*${bad#*@}"
done
post /rows "{\"session\":$ended}"
has 'the dialogue has no statement: it only rewrites the question'
post /ask "{\"question\":\"$city\"}"
post /answer "{\"session\":$(session),\"answer\":1}"
has '"sql":"SELECT home_city FROM employee"'
post /rows "{\"session\":$(session)}"
[ "$(cat out.jsonl)" = $'home_city\nOslo\nVoss' ] || complain "rows" "$(cat out.jsonl)"
post /ask '{"question":"Show the email of each employee."}'
has '"ask":null,"stop":"no-candidates","rewrite":\{.*"sql":"SELECT email FROM employee","result":\{"status":"ok"'
finish

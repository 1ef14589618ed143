#!/usr/bin/env bash
# ambit-infer clarify --predictions --spans: the output of detect and tag, unchanged, joined by id.  Evidence changes some fields
# and keeps the others byte for byte; bad files are reported with file, line and field.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
told=(said out.jsonl)

sqlite3 gym.sqlite <<'SQL'
CREATE TABLE trainer(trainer_id INTEGER PRIMARY KEY, name TEXT, trainer_fee INT, fee_of_trainer INT, "a.b" TEXT);
INSERT INTO trainer VALUES (1, 'Udo', 35, 28, 'rope'), (2, 'Suri', 42, 50, 'x'), (3, 'Rik', 28, 28, 'x');
CREATE TABLE workout(workout_id INTEGER PRIMARY KEY, trainer_id INT REFERENCES trainer(trainer_id), machine TEXT);
INSERT INTO workout VALUES (1, 1, 'bike'), (2, 2, 'rope'), (3, 2, 'bench');
SQL
fee="Which trainer has the highest fee?" used="Which machines are used?" rope="Wer trainiert am Gerät rope?"
# candidate ID QUESTION SQL P SQL P ...
candidate() {
    printf '{"id":%s,"db_id":"gym","question":"%s","candidates":[{"sql":"%s","p":%s}' "$1" "$2" "$3" "$4"
    shift 4
    for (( ; $#; )); do
        printf ',{"sql":"%s","p":%s}' "$1" "$2"
        shift 2
    done
    printf ']}\n'
}
best="SELECT name FROM trainer ORDER BY"
{
    candidate '"q1"' "$fee" "$best trainer_fee DESC LIMIT 1" 0.66 "SELECT * FROM trainer ORDER BY trainer_fee DESC LIMIT 1" 0.3 \
        "$best fee_of_trainer DESC LIMIT 1" 0.04
    candidate '"q2"' "$used" "SELECT machine FROM workout" 0.4 "SELECT DISTINCT machine FROM workout" 0.6
    candidate 3 "$rope" "SELECT trainer_id FROM trainer WHERE [a.b] = 'rope'" 0.6 \
        "SELECT trainer_id FROM trainer WHERE name = 'rope'" 0.4
} >candidates.jsonl
# finding ID QUESTION AMBIGUOUS KIND ALTERNATIVES
finding() {
    printf '{"id":%s,"db_id":"gym","question":"%s","score":0.9,"ambiguous":%s,"type":%s,"alternatives":%s,"sentence":"."}\n' "$@"
}
two='["trainer.trainer_fee","trainer.fee_of_trainer"]'
{ finding '"q1"' "$fee" true '"C"' "$two" && finding '"q2"' "$used" false null '[]'; } >findings.jsonl
# a tagged line: ID QUESTION SPANS
tagged() {
    printf '{"id":%s,"db_id":"gym","question":"%s","status":[],"problem":0.5,"spans":[%s],"sentence":"."}\n' "$@"
}
# span START END TEXT LABEL CONCEPT/KIND...
span() {
    printf '{"start":%s,"end":%s,"text":"%s","label":"%s","probability":0.95,"alternatives":[' "${@:1:4}"
    local sep=
    for concept in "${@:5}"; do
        printf '%s{"concept":"%s","type":"%s","score":0.7,"values":["rope"]}' "$sep" "${concept%/*}" "${concept#*/}"
        sep=,
    done
    printf '],"nearest":[]}'
}
amb=$(span 30 33 fee AMB trainer.trainer_fee/column trainer.fee_of_trainer/column)
value=$(span 23 27 rope AMB trainer.a.b/value trainer.name/value trainer.fee_of_trainer/value)
{ tagged '"q1"' "$fee" "$amb" && tagged '"q2"' "$used" "" && tagged 3 "$rope" "$value"; } >spans.jsonl

clarify() { infer clarify --db gym.sqlite --candidates candidates.jsonl "$@"; }
# expect CODE TEXT ARGUMENTS...: a line of standard error or of the output has the text
expect() { check "${*:3}" "$1" "$2" clarify -o out.jsonl "${@:3}"; }
# asks LINE TEXT: that line's question and options
asks() {
    begin "line $1 asks $2"
    sed -n "$1p" out.jsonl | grep -o '"ask":.*"stop"' | grep -qE -- "$2" || complain "line $1" "does not ask \"$2\": $(sed -n "$1p" out.jsonl)"
}

# --- without the files, and with files that know nothing of a record, nothing changes
expect 0 '"attribute":"sel.arity"'
cp out.jsonl plain.jsonl
grep -q support plain.jsonl && complain plain "support of nothing"
: >empty.jsonl
finding 9 "$fee" true '"C"' "$two" >others.jsonl
{ finding '"q1"' "$fee" false null '[]' && echo '{"id":3,"error":"no"}'; } >nothing.jsonl
for files in "--predictions empty.jsonl --spans empty.jsonl" "--predictions others.jsonl" "--predictions nothing.jsonl"; do
    # shellcheck disable=SC2086 # words that are split
    expect 0 '"attribute":"sel.arity"' $files
    cmp -s plain.jsonl out.jsonl || complain "$files" "another output than without"
done
expect 0 'others.jsonl: none of its ids is that of a record' --predictions others.jsonl

# --- a finding: asked first though the parser is all but sure; the word is not known
expect 0 '"support":0.9' --predictions findings.jsonl
asks 1 '"attribute":"order#1.expr","text":"Two columns fit your question. What should the result be sorted by\?"'
diff <(sed 1d plain.jsonl) <(sed 1d out.jsonl) >said || complain findings "a record without a finding has changed"
grep -q '"eig":0.136579,"support":0.9' out.jsonl || complain findings "bits are not those of the candidates"

# --- marked words: the same, in the user's words; a value is that of columns, one of which no candidate has
expect 0 '"support":0.95' --spans spans.jsonl
asks 1 '"text":"Two columns fit what you wrote, ..fee..\. What should the result be sorted by\?"'
asks 3 '"text":"Three columns have what you wrote, ..rope..\. Where should .rope. be looked for\?"'
asks 3 '"p":0.0,"sql":null,"found":"trainer.fee_of_trainer"'
diff <(sed -n 2p plain.jsonl) <(sed -n 2p out.jsonl) >said || complain spans "a record without a mark has changed"

# --- both; evidence inside the record gives the same question
expect 0 '"support":0.95' --predictions findings.jsonl --spans spans.jsonl
asks 1 '"text":"Two columns fit what you wrote, ..fee..\.'
cp out.jsonl both.jsonl
{
    sed -n '1s/}$//p' candidates.jsonl | tr -d '\n'
    printf ',"type":"C","score":0.9,"ambiguous":true,"alternatives":%s,"spans":[%s]}\n' "$two" "$amb"
} >own.jsonl
run 0 infer clarify --db gym.sqlite --candidates own.jsonl -o own.out
cmp -s own.out <(sed -n 1p both.jsonl) || complain own "another question than by files"
xz -k findings.jsonl
run 0 clarify --predictions findings.jsonl.xz --spans spans.jsonl -o again.jsonl
cmp -s both.jsonl again.jsonl || complain xz "not the same"
run 0 bash -c "'$bin/ambit-infer' clarify --db gym.sqlite --candidates candidates.jsonl --predictions - --spans spans.jsonl -o again.jsonl <findings.jsonl"
cmp -s both.jsonl again.jsonl || complain pipe "not the same"

# --- golds keep their own label; dialogues, and one that goes on
sed 's/}$/,"ambiguous":false,"gold":["SELECT machine FROM workout"]}/' candidates.jsonl | sed -n 2p >gold.jsonl
finding '"q2"' "$used" true '"C"' '["workout.machine","trainer.name"]' >alarm.jsonl
run 0 infer clarify --db gym.sqlite --candidates gold.jsonl --predictions alarm.jsonl --simulate --noise 0 -o simulated.jsonl
grep -q '"overhead":{"mean":1' simulated.jsonl || complain simulate "a finding hides a question that was not needed: $(tail -1 simulated.jsonl)"
printf '2\n' | clarify --interactive --predictions findings.jsonl --spans spans.jsonl --transcript t.json >shown 2>said
grep -q 'Two columns fit what you wrote, "fee"' shown || complain interactive "not in the user's words"
printf '1\n\n' | infer clarify --interactive --db gym.sqlite --replay t.json --transcript t.json >shown 2>said
grep -q 'ORDER BY fee_of_trainer' shown || complain replay "it does not go on: $(cat shown)"

# --- of another question or database: the record fails, the others go on
bad() { # TEXT: on the first line alone
    expect 7 "\"id\":\"q1\",\"error\":\"$1" "${@:2}"
    diff <(sed 1d plain.jsonl) <(sed 1d out.jsonl) >said || complain "$1" "others suffered"
}
finding '"q1"' "$used" true '"C"' "$two" >bad.jsonl
bad "bad.jsonl: line 1: field ..question..: expected ..${fee%\?}..., as in candidates.jsonl: line 1, got ..${used%\?}..." --predictions bad.jsonl
finding '"q1"' "$fee" true '"C"' "$two" | sed 's/"gym"/"spa"/' >bad.jsonl
bad 'bad.jsonl: line 1: field ..db_id..: expected ..gym.., as in candidates.jsonl: line 1, got ..spa..' --predictions bad.jsonl
finding '"q1"' "$fee" true '"C"' '["trainer.fee","trainer.name"]' >bad.jsonl
bad 'bad.jsonl: line 1: alternatives.0.: ..trainer.fee.. is neither a table nor a table.column' --predictions bad.jsonl
tagged '"q1"' "$fee" "$(span 30 33 fee AMB trainer.fee/column trainer.name/column)" >bad.jsonl
bad 'bad.jsonl: line 1: spans.0.: ..trainer.fee.. is neither a table nor a table.column' --spans bad.jsonl
tagged '"q1"' "$used" "$(span 6 14 machines COL workout.machine/column)" >bad.jsonl
bad 'bad.jsonl: line 1: field ..question..: expected' --spans bad.jsonl

# --- spans of a record with its own columns: names without a table, which only one table has
printf '{"id":"q1","question":"%s","columns":[{"name":"trainer fee","type":"number"},{"name":"Fee_of_trainer","type":"number"}]}\n' "$fee" |
    infer tag --strategy heuristic - -o own.jsonl
grep -q '"concept":"Fee_of_trainer"' own.jsonl || complain own "tag names: $(cat own.jsonl)"
tagged '"q1"' "$fee" "$amb" >same.jsonl
sed 's/"trainer.trainer_fee"/"trainer fee"/; s/"trainer.fee_of_trainer"/"Fee_of_trainer"/' same.jsonl >bare.jsonl
run 0 clarify --spans same.jsonl -o named.jsonl
run 0 clarify --spans bare.jsonl -o out.jsonl
cmp named.jsonl out.jsonl || complain own "names without tables are asked otherwise"
cmp -s plain.jsonl out.jsonl && complain own "names without tables say nothing"
run 0 clarify --spans own.jsonl -o out.jsonl
cmp -s plain.jsonl out.jsonl && complain own "what tag wrote says nothing"

# --- files that are none: nothing is written
# file OPTION TEXT: bad.jsonl, whose second line is from standard input
file() {
    { if [ "$1" = spans ]; then tagged 8 "$fee" "$amb"; else finding 8 "$fee" false null '[]'; fi && cat; } >bad.jsonl
    expect 3 "bad.jsonl: line 2: $2" "--$1" bad.jsonl
}
whole=$(finding '"q1"' "$fee" true '"C"' "$two")
file predictions 'field "id": expected a string or an integer, got nothing' <<<"${whole/\"id\":\"q1\",/}"
file predictions 'field "id": expected a string or an integer, got a real' <<<"${whole/\"q1\"/1.5}"
file predictions 'field "id": expected each id once, got "8" again, as in bad.jsonl: line 1' <<<"${whole/\"q1\"/\"8\"}"
file predictions 'field "question"' <<<"${whole/question/text}"
file predictions 'field "db_id": expected a string, got an integer' <<<"${whole/\"gym\"/7}"
file predictions 'field "ambiguous"' <<<"${whole/true/\"yes\"}"
file predictions 'field "score".*0 to 1' <<<"${whole/0.9/1.5}"
file predictions 'field "type": expected null or one of C, .*, got X' <<<"${whole/\"C\"/\"X\"}"
file predictions 'field "alternatives"' <<<"${whole/alternatives/others}"
file predictions 'field "alternatives": expected at most 2, got 3' <<<"${whole/\"alternatives\":[/\"alternatives\":[\"trainer\",}"
file predictions 'alternatives\[1\]: expected a string, got null' <<<"${whole/\"trainer.fee_of_trainer\"/null}"
file predictions 'field "ambiguous"' < <(tagged '"q1"' "$fee" "$amb")
file spans 'field "spans"' <<<"$whole"
marked=$(tagged '"q1"' "$fee" "$amb")
file spans 'spans\[0\]: field "end": expected 31 to 34, got 35' <<<"${marked/\"end\":33/\"end\":35}"
file spans 'spans\[0\]: field "end": expected 31 to 34, got 30' <<<"${marked/\"end\":33/\"end\":30}"
file spans 'spans\[0\]: field "start": expected 0 to 33, got -1' <<<"${marked/\"start\":30/\"start\":-1}"
file spans 'spans\[0\]: field "text": expected "fee", which stands there, got "fees"' <<<"${marked/\"fee\"/\"fees\"}"
file spans 'spans\[0\]: field "text"' <<<"${marked/\"text\"/\"words\"}"
file spans 'spans\[0\]: field "label": expected COL, VAL, AMB or UNK, got "BOTH"' <<<"${marked/AMB/BOTH}"
file spans 'spans\[0\]: field "probability".*0 to 1' <<<"${marked/0.95/-0.95}"
file spans 'spans\[0\]: field "alternatives"' <<<"${marked/alternatives/links}"
file spans 'spans\[0\]: alternatives\[0\]: field "concept"' <<<"${marked/concept/name}"
file spans 'spans\[0\]: alternatives\[1\]: field "type": expected table, column or value, got "view"' <<<"${marked/fee_of_trainer\",\"type\":\"column/fee_of_trainer\",\"type\":\"view}"
file spans 'spans\[0\]: expected an object' <<<"${marked/\"spans\":[/\"spans\":[7,}"
file spans '.*expected an object|column' <<<'[1]'
expect 3 'nowhere.jsonl' --spans nowhere.jsonl

# --- options that do not go together
expect 2 'at most one of --candidates, --predictions, --spans and --wordings to be standard input' --predictions - --spans -
expect 2 'must be files' --interactive --predictions -
check serve 2 'takes no --candidates|expected --candidates as well' infer clarify --db gym.sqlite --serve-stdio --predictions findings.jsonl
check replay 2 'expected --candidates as well' infer clarify --db gym.sqlite --interactive --replay t.json --spans spans.jsonl

finish

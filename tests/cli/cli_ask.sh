#!/usr/bin/env bash
# ambit-infer ask: detector, tagger, parser and dialogue in one process give the results of the separate commands.  Answers,
# the gate, a detector's alternatives, candidates after "none", and bad input.
# shellcheck disable=SC2015,SC2016
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
told=(said out.jsonl)

# --- a database with one pair of columns that may be confused, a detector that knows next to nothing
sqlite3 gym.sqlite <<'SQL'
CREATE TABLE trainer(name TEXT PRIMARY KEY, trainer_fee INT, fee_of_trainer INT);
INSERT INTO trainer VALUES ('Udo', 35, 28), ('Suri', 42, 50), ('Rik', 28, 29);
CREATE TABLE visit(day INT PRIMARY KEY);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000) INSERT INTO visit SELECT i FROM n;
SQL
small_detector model

fee="Which trainer has the highest fee?"
best="SELECT name FROM trainer ORDER BY trainer_fee DESC LIMIT 1"
cat >candidates.jsonl <<END
{"id":"q1","db_id":"gym","question":"$fee","candidates":[{"sql":"$best","p":0.9},{"sql":"SELECT * FROM trainer ORDER BY trainer_fee DESC LIMIT 1","p":0.1}]}
{"id":"q2","db_id":"gym","question":"Who trains?","candidates":[{"sql":"SELECT name FROM trainer","p":1}]}
{"id":3,"db_id":"gym","question":"When do people come?","candidates":["SELECT day FROM visit","SELECT count(*) FROM visit"]}
END
sed -E 's/,"candidates":.*/}/' candidates.jsonl >questions.jsonl
echo '{"id":"q4","db_id":"gym","question":"Who knows?"}' >>questions.jsonl

ask() { infer ask --device cpu --db gym.sqlite --detector none "$@"; }
# expect CODE TEXT ARGUMENTS...: a line of standard error or of the output has the text
expect() { check "${*:3}" "$1" "$2" ask -o out.jsonl "${@:3}"; }
# has LINE TEXT: that line of the output
has() {
    begin "line $1 has $2"
    sed -n "$1p" out.jsonl | grep -qE -- "$2" || complain "line $1" "does not say \"$2\": $(sed -n "$1p" out.jsonl | head -c 1500)"
}

# --- without a model: the question of clarify, and the rows; missing parts are null
expect 0 "4 records, 2 with an open question, 0 where nobody is asked" --candidates candidates.jsonl questions.jsonl
infer clarify --db gym.sqlite --candidates candidates.jsonl -o clarified.jsonl 2>said
for line in 1 3; do
    asks=$(sed -n "${line}p" clarified.jsonl | grep -o '"ask":{"attribute":"[^"]*","text":"[^"]*"')
    has $line "$(sed 's/[][\.*^$(){}?+|/]/\\&/g' <<<"$asks")"
done
has 1 '"detector":null,"tagger":null,"candidates":\{"from":"file","n":2,"added":0,"raised":0\},"gated":false'
has 1 '"result":\{"status":"ok","columns":\["name"\],"rows":\[\["Suri"\]\],"truncated":false\},"session":\{"version":1'
has 2 '"ask":null,"stop":"settled".*"sql":"SELECT name FROM trainer","result":\{"status":"ok","columns":\["name"\],"rows":\[\["Rik"\],\["Suri"\],\["Udo"\]\],"truncated":false\}\}$'
has 4 '"id":"q4",.*"candidates":null,"gated":false,"ask":null,"stop":"no-candidates","rewrite":null,"sql":null,"result":null\}$'
cp out.jsonl plain.jsonl
expect 0 "records" candidates.jsonl # those of the records themselves
cmp -s <(head -n 3 plain.jsonl | sed 's/"from":"file"/"from":"record"/') out.jsonl || complain "own candidates" "another output"
expect 0 "records" --candidates candidates.jsonl --max-rows 1 questions.jsonl
has 2 '"rows":\[\["Rik"\]\],"truncated":true'
has 3 '"columns":\["day"\],"rows":\[\[1\]\],"truncated":true' # 30,000 rows are more than are taken
expect 0 "records" --candidates candidates.jsonl --max-rows 0 questions.jsonl
has 2 '"rows":\[\],"truncated":true'

# --- answers: numbers or words, as many as there are questions
answered() { sed -E "1s/\}\$/,\"answers\":$1}/;q" questions.jsonl >answered.jsonl; }
answered '[2]'
expect 0 "0 with an open question" --candidates candidates.jsonl answered.jsonl
has 1 '"turns":\[\{"attribute":"sel.arity","answer":"value",.*"option":2,.*"sql":"SELECT \* FROM trainer ORDER BY'
answered '["name of trainer"]'
expect 0 "records" --candidates candidates.jsonl answered.jsonl
has 1 '"turns":\[\{[^]]*"option":1,.*"rows":\[\["Suri"\]\]'
answered '["none"]'
expect 0 "records" --candidates candidates.jsonl answered.jsonl
has 1 '"stop":"escalated".*"sql":null,"result":null'
for bad in '[7]@answers\[0\].*expected 1 to 2, got 7' '["xyz"]@answers\[0\]' '[1,1]@answers\[1\]: no question is open any more' \
    '{}@field \\"answers\\": expected an array, got an object' '[null]@expected the number of an option, or words' '["undo"]@expected an answer to take back'; do
    answered "${bad%%@*}"
    expect 7 "${bad#*@}" --candidates candidates.jsonl answered.jsonl
done

# --- a finding: as detect has it; the other alternative is a candidate, and asked about first
infer detect --device cpu --model model --db gym.sqlite --threshold 0 --relevance none questions.jsonl -o findings.jsonl 2>said
expect 0 "records" --detector model --threshold 0 --candidates candidates.jsonl questions.jsonl
score_of() { sed -nE '1s/.*"score":([0-9.e-]+),.*/\1/p' "$1"; }
# detect reads four questions at once, ask one after the other: sums may be rounded otherwise
score=$(score_of findings.jsonl)
awk -v a="$score" -v b="$(score_of out.jsonl)" 'BEGIN { exit !(a > 0 && a - b < 1e-5 && b - a < 1e-5) }' ||
    complain "line 1" "score $(score_of out.jsonl) where detect says $score"
has 1 "\"detector\":\\{\"score\":[0-9.e-]+,\"ambiguous\":true,\"type\":\"C\",\"alternatives\":\\[\"trainer.trainer_fee\",\"trainer.fee_of_trainer\"\\],\"ambiguities\":\\[.*\\],\"sentence\":"
has 1 '"candidates":\{"from":"file","n":4,"added":2,"raised":0\}'
has 1 '"ask":\{"attribute":"order#1.expr","text":"Two columns fit your question.*"sql":"SELECT name FROM trainer ORDER BY fee_of_trainer DESC LIMIT 1"'
has 2 '"candidates":\{"from":"file","n":1,"added":0,"raised":0\}'
expect 0 "records" --detector model --threshold 0 --alternatives off --candidates candidates.jsonl questions.jsonl
has 1 '"candidates":\{"from":"file","n":2,"added":0,"raised":0\}'
expect 0 "records" --detector model --threshold 1 --candidates candidates.jsonl questions.jsonl
same() { sed -E 's/"sentence":.*"tagger"//; s/"rewrite":(null|\{[^}]*\})//' "$1"; }
cmp -s <(same plain.jsonl) <(same out.jsonl) ||
    complain "nothing found" "other than without a detector"
half() { awk -v p="$1" -v q="$score" 'BEGIN { printf "%.6f", p * q / 2 }'; }
infer ask --device cpu --db gym.sqlite --detector model --threshold 0 --candidates candidates.jsonl --max-turns 0 questions.jsonl -o out.jsonl 2>said
has 1 "\"confidence\":$(awk -v h="$(half 0.9)" 'BEGIN { printf "%.3f", int((0.9 - h) * 1000) / 1000 }')"

# --- one that is there is as likely as the finding says, and no less likely than it was
sed -E "1s/^(.*)\]\}\$/\1,{\"sql\":\"SELECT name FROM trainer ORDER BY fee_of_trainer DESC LIMIT 1\",\"p\":0}]}/;q" candidates.jsonl >there.jsonl
infer ask --device cpu --db gym.sqlite --detector model --threshold 0 --max-turns 0 there.jsonl -o out.jsonl 2>said
has 1 '"candidates":\{"from":"record","n":4,"added":1,"raised":1\}'
has 1 "\"confidence\":$(awk -v h="$(half 0.9)" 'BEGIN { printf "%.3f", int((0.9 - h) * 1000) / 1000 }')"
sed -E 's/"p":0.9/"p":0.55/; s/"p":0\}/"p":0.35}/' there.jsonl >likely.jsonl
infer ask --device cpu --db gym.sqlite --detector model --threshold 0 --max-turns 0 likely.jsonl -o out.jsonl 2>said
has 1 '"added":1,"raised":0\}.*"confidence":0.55,'

# --- a schema that is read in parts, found by meaning too: detect's scores
for ((t = 0; t < 60; t++)); do echo "CREATE TABLE noise$t (list$t TEXT, year$t TEXT, city$t TEXT, student$t TEXT, class$t TEXT);"; done >noise.sql
cp gym.sqlite wide.sqlite && sqlite3 wide.sqlite <noise.sql
sed 's/"gym"/"wide"/' questions.jsonl >wide.jsonl
scores() { sed -E 's/.*"score":([0-9.e-]+),.*/\1/' "$1"; }
for name in words meaning; do
    option=()
    [ $name = meaning ] && option=(--retriever "$gold/embed")
    run 0 infer detect --device cpu --db wide.sqlite --model model --relevance none "${option[@]}" wide.jsonl -o $name.jsonl
    grep -q '"schema_cut":{"kept":256,' $name.jsonl || complain "a wide schema" "is not cut"
    run 0 infer ask --device cpu --db wide.sqlite --detector model "${option[@]}" wide.jsonl -o out.jsonl
    paste <(scores $name.jsonl) <(scores out.jsonl) | awk '{ d = $1 - $2 } d > 1e-5 || d < -1e-5 { exit 1 }' ||
        complain "a wide schema, by $name" "ask says $(scores out.jsonl), detect $(scores $name.jsonl)"
done
cmp -s words.jsonl meaning.jsonl && complain "--retriever" "finds nothing else than words do"


# --- the gate: no question is asked and no candidate added; the likeliest statement is the result
expect 0 "4 where nobody is asked" --detector model --threshold 0 --gate 1 --candidates candidates.jsonl questions.jsonl
has 1 '"candidates":\{"from":"file","n":2,"added":0,"raised":0\},"gated":true,"ask":null,"stop":"gate".*"rows":\[\["Suri"\]\]'
expect 0 " 0 where nobody is asked" --detector model --threshold 0 --gate 0 --candidates candidates.jsonl questions.jsonl

# --- a tagger: as tag has it
infer tag --strategy heuristic --db gym.sqlite questions.jsonl -o spans.jsonl 2>said
expect 0 "records" --tagger heuristic --candidates candidates.jsonl questions.jsonl
spans=$(sed -nE '1s/.*("spans":\[.*\]),"sentence".*/\1/p' spans.jsonl)
grep -qF -- "$spans" <(sed -n 1p out.jsonl) || complain tagger "other spans than tag's: $spans"

# --- simulated users: with the finding the second fee can be reached, without it cannot
sed -E '1s/\}$/,"gold":["SELECT name FROM trainer ORDER BY fee_of_trainer DESC LIMIT 1"]}/;q' candidates.jsonl >golden.jsonl
expect 0 '"metrics":' --simulate --noise 0 --detector model --threshold 0 golden.jsonl
has 1 '"dialogues":\[\{"gold":0,"covered":true,"correct":true'
expect 0 '"metrics":' --simulate --noise 0 --detector model --threshold 0 --alternatives off golden.jsonl
has 1 '"dialogues":\[\{"gold":0,"covered":false,"correct":false'
expect 0 '"metrics":' --simulate --noise 0 --detector model --threshold 0 --gate 1 golden.jsonl
has 1 '"gated":true.*"turns":\[\]'
expect 7 'field ..gold.. is missing' --simulate questions.jsonl

# --- a person
talk() { printf '%s' "$1" | timeout 60 "$bin/ambit-infer" ask --device cpu --db gym.sqlite --detector none "${@:2}" >shown 2>said; }
says() {
    begin "says $1"
    grep -qE -- "$1" shown || complain "dialogue" "does not say \"$1\": $(head -c 1500 shown)"
}
talk $'2\n1\n\n' --detector model --threshold 0 --candidates candidates.jsonl --question "$fee" || complain dialogue "exit code $?"
says 'This question may mean the column trainer.trainer_fee or trainer.fee_of_trainer'
says '\(2 more readings were made of what the detector found.\)'
says '^SQL: .*ORDER BY fee_of_trainer'
says '^Rows: *name$'
says '^ *Suri$'
talk $'none\n\n' --candidates candidates.jsonl --question "$fee" || complain dialogue "exit code $?"
says 'No detector: whether the question is ambiguous is not known'
says 'There is no parser that could be asked for others'
talk '' --question "$fee" || complain dialogue "exit code $?"
says 'There is no statement: the question asks for more'

# detector and tagger have one voice
silent() {
    begin "does not say $1"
    grep -qE -- "$1" shown && complain "dialogue" "says \"$1\": $(head -c 1500 shown)"
}
# voice QUESTION SENTENCE OTHER ARGUMENTS...: the dialogue and the record have the first sentence only
voice() {
    talk '' --tagger heuristic --question "$1" "${@:4}" || complain dialogue "exit code $?"
    says "$2"
    silent "$3"
    expect 0 "record" --tagger heuristic --question "$1" "${@:4}"
    has 1 "\"sentence\":\"$2"
}
name="Show the name of each trainer."
voice "$name" 'Nothing ambiguous or unanswerable was found' 'No detector'
voice "$name" 'This question (may mean|is ambiguous)' 'Nothing ambiguous' --detector model --threshold 0
voice "$name" 'No ambiguity' 'Nothing ambiguous' --detector model --threshold 1
voice "Show the fee." 'Oops, this question has multiple semantic meanings: .*fee' 'No ambiguity' --detector model --threshold 1
voice "Show the fee." 'This question may mean' 'Oops' --detector model --threshold 0
talk $'1\n\n' --interactive --candidates candidates.jsonl --id q1 questions.jsonl -o out.jsonl || complain dialogue "exit code $?"
has 1 '"id":"q1",.*"ended":"accepted"'
talk $'\n' --interactive --candidates candidates.jsonl questions.jsonl -o out.jsonl || complain dialogue "exit code $?"
[ "$(wc -l <out.jsonl)" = 4 ] || complain dialogue "$(wc -l <out.jsonl) lines of 4 questions"

# --- bad input
expect 2 "expected either --db or --schema" --schema all/tables.json questions.jsonl
expect 2 "expected either IN.jsonl or a question"
expect 2 "expected either IN.jsonl or a question" --question x questions.jsonl
expect 2 "--parser and --candidates cannot be used together" --parser x --candidates candidates.jsonl questions.jsonl
expect 2 "--interactive and --simulate cannot be used together" --interactive --simulate questions.jsonl
expect 2 "id: expected --interactive" --id q1 questions.jsonl
expect 2 "gate, --threshold, --adapter and --retriever: expected a detector, .* got --detector none" --gate 0.2 questions.jsonl
expect 2 "gate, --threshold, --adapter and --retriever: expected a detector, .* got --detector none" --retriever "$gold/embed" questions.jsonl
expect 6 "nowhere/config.json: No such file" --detector model --retriever nowhere questions.jsonl
expect 2 "expected 0 to 1, got 2" --gate 2 --detector model questions.jsonl
expect 2 "expected IN.jsonl with gold statements" --simulate --question x
expect 2 "candidates: expected a file" --candidates - -
expect 3 "nowhere.jsonl: No such file" --candidates nowhere.jsonl questions.jsonl
expect 3 "nowhere.jsonl: No such file" nowhere.jsonl
expect 3 "no record has the id \"q9\"" --interactive --id q9 questions.jsonl
expect 6 "nowhere" --detector nowhere questions.jsonl
cat candidates.jsonl candidates.jsonl >twice.jsonl
expect 3 'twice.jsonl: line 4: field "id": expected each id once, got "q1" again' --candidates twice.jsonl questions.jsonl
sed 's/highest/lowest/' candidates.jsonl >other.jsonl
expect 7 'field \\"question\\" is \\"Which trainer has the highest fee.\\", but the candidates of that id in other.jsonl have' --candidates other.jsonl questions.jsonl
echo '{"id":1,"question":7}' >bad.jsonl
expect 7 'bad.jsonl: line 1: field \\"question\\": expected a string, got an integer' bad.jsonl
echo '{"id":1,"question":"Who?","db_id":"bank"}' >bad.jsonl
expect 7 'bank' bad.jsonl
echo '{"id":1,"question":"Who?","candidates":["SELECT x FROM y"]}' >bad.jsonl
expect 7 'none can be read; the first: ' bad.jsonl
echo '{"id":1,"question":"Who?","candidates":["DELETE FROM trainer"]}' >bad.jsonl
expect 7 'none can be read; the first: ' bad.jsonl
echo '{"id":1,"question":"Who?","candidates":[]}' >bad.jsonl
expect 0 '"candidates":null,.*"stop":"no-candidates"' bad.jsonl
echo '{"id":1,"question":}' >bad.jsonl
expect 7 'bad.jsonl: line 1' bad.jsonl
finish

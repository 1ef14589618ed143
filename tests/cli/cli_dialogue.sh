#!/usr/bin/env bash
# Dialogues: ambit-infer clarify --serve-stdio driven as by a chat program, killed between turns and resumed; and
# --interactive with answers from a pipe.
# shellcheck disable=SC1112,SC2001,SC2015,SC2016,SC2059 # what users type, sed on sessions, printf of \n
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

"$bin/ambit-data" practice -o practice --seed 1 >said 2>&1 || complain practice "exit code $?"
: >said
db=practice/db
more=()
# clarify ARGUMENTS...: at most 60 seconds, so that a hanging dialogue fails
clarify() { timeout 60 "$bin/ambit-infer" clarify --db "$db" "${more[@]}" "$@"; }
serve() { AMBIT_LOG=error clarify --serve-stdio; }

bands="SELECT T1.name FROM band AS T1 JOIN concert AS T2 ON T1.band_id = T2.band_id WHERE T2.price"
record='{"id":"m1","db_id":"music_label","question":"Which bands have a price of 20 or so?","candidates":[
 {"sql":"'$bands' > 20","p":0.35},{"sql":"'${bands/T1.name/T1.name, T2.price}' > 20","p":0.25},
 {"sql":"'$bands' >= 20","p":0.2},{"sql":"SELECT name FROM album WHERE sales > 20","p":0.2}],"spans":[{"start":22,"end":27,"label":"AMB"}]}'
record=${record//$'\n'/}
echo "$record" >in.jsonl
: >empty.jsonl

# --- the protocol
# ask REQUEST...: the replies of one server
ask() { printf '%s\n' "$@" | serve; }
# session REPLY: its value
session() {
    local value=${1#*,\"session\":}
    echo "${value%\}}"
}
# says NAME TEXT REPLY
says() {
    begin "$1 says $2"
    grep -qE -- "$2" <<<"$3" || complain "$1" "nowhere says \"$2\": ${3:0:1500}"
}
answer() { printf '{"op":"answer","session":%s,"answer":%s}' "$1" "$2"; }

first=$(ask '{"op":"start","record":'"$record"'}')
says start '^\{"ask":\{"attribute":"sel.arity","text":"What should the result show\?","options":\[\{"text":"name of band \(such as .Grey Owls.' "$first"
says start '"turn":1,"question_type":"[a-z]*","eig":[0-9.]+\},"stop":null,' "$first"
says start '"rejected":\[\{"candidate":3,"sql":"SELECT name FROM album WHERE sales > 20","error":"SQL at line 1, column 8: no column name' "$first"
says start '"session":\{"version":1,"record":\{"id":"m1",' "$first"
s0=$(session "$first")
second=$(ask "$(answer "$s0" 1)")
says answer '"eliminated":1,"plausible":2,' "$second"
says answer '"ask":\{"attribute":"where\[price\].op",.*"turn":2' "$second"
says answer '"turns":\[\{"attribute":"sel.arity","answer":"value","text":"What[^}]*","option":1,"chosen":"name of band' "$second"
s1=$(session "$second")

# statements with the same rows are one candidate from the start; rejected statements stay in every reply
twice='{"id":"t","db_id":"music_label","question":"Which bands?","candidates":[{"sql":"SELECT name FROM band","p":0.4},
 {"sql":"SELECT name FROM band WHERE band_id = band_id","p":0.2},{"sql":"SELECT style FROM band","p":0.3},{"sql":"SELECT x","p":0.1}]}'
reply=$(ask '{"op":"start","record":'"${twice//$'\n'/}"'}')
once='"record":\{[^[]*"candidates":\[\{"sql":"SELECT name FROM band","p":0.6\},\{"sql":"SELECT style FROM band","p":0.3\}\],"none_of_the_above":0.1,'
says "the same rows" "$once" "$reply"
reply=$(ask "$(answer "$(session "$reply")" 2)")
says "the same rows" "$once" "$reply"
says "rejected" '"rejected":\[\{"candidate":3,"sql":"SELECT x","error":' "$reply"
says "the end" '"stop":"settled".*"best":"SELECT style FROM band"' "$reply"

# answers may be words, and a number may be spelled out
for said in '"name of band"' '"Name of Band."' '"option 1"' '" the first one. "' '"1"'; do
    begin "$said"
    [ "$(ask "$(answer "$s0" "$said")")" = "$second" ] || complain "$said" "not the same as 1"
done
says unknown '"answer":"unknown"' "$(ask "$(answer "$s0" '"I don’t know"')")"
says either '"free_choice":true' "$(ask "$(answer "$s0" '"either is fine"')")"
says none '"stop":"escalated"' "$(ask "$(answer "$s0" '"none of these"')")"
says undo '"turns":\[\]' "$(ask "$(answer "$s1" '"undo"')")"
says undo "$(printf '%s' "${first:0:60}" | sed 's/[][\.*^$(){}?+|/]/\\&/g')" "$(ask '{"op":"undo","session":'"$s1"'}')"
says show '"turn":2' "$(ask '{"op":"show","session":'"$s1"'}')"
says rules '"stop":"confident"' "$(ask '{"op":"start","rules":{"confidence":0.3},"record":'"$record"'}')"
says id '"id":"x7"\}$' "$(ask '{"op":"show","id":"x7","session":'"$s1"'}')"
says id '^\{"error":.*"id":7\}$' "$(ask '{"op":"hide","id":7}')"

# one server for a whole dialogue, one for each turn, one that is killed after each turn: the same replies
whole() {
    local reply=$first
    while [[ $reply == '{"ask":{'* ]]; do
        reply=$("$1" "$(answer "$(session "$reply")" 1)")
        echo "$reply"
    done
}
killed() {
    local reply
    coproc server { exec "$bin/ambit-infer" clarify --db "$db" --serve-stdio 2>/dev/null; }
    # shellcheck disable=SC2154 # set by coproc
    echo "$1" >&"${server[1]}"
    read -r reply <&"${server[0]}"
    # shellcheck disable=SC2154
    kill -KILL "$server_PID"
    wait "$server_PID" 2>/dev/null
    echo "$reply"
}
whole ask >each.txt
whole killed >killed.txt 2>/dev/null
cmp -s each.txt killed.txt || complain "killed between turns" "$(diff each.txt killed.txt | head -c 900)"
says "the end" '"stop":"(turns|settled|little-gain)"' "$(tail -n 1 each.txt)"
says "the end" '"wording":"show name of band' "$(tail -n 1 each.txt)"
last=$(session "$(tail -n 1 each.txt)")
for strategy in random max-probability min-probability info-gain-values info-gain-candidates path; do
    first=$(ask '{"op":"start","rules":{"strategy":"'$strategy'","noise":0,"repeat":true},"record":'"$record"'}')
    says $strategy '"stop":"' "$(whole ask | tail -n 1)"
done

# --- a bad request gets an error, and the next request is answered
# wrong KIND TEXT REQUEST
wrong() {
    local replies
    replies=$(printf '%s\n' "$3" '{"op":"show","session":'"$s0"'}' | serve)
    says "${3:0:300}" "^\{\"error\":\{\"type\":\"$1\",\"text\":\".*$2" "$(head -n 1 <<<"$replies")"
    [ "$(wc -l <<<"$replies")" = 2 ] || complain "${3:0:300}" "not two replies"
    says "after ${3:0:300}" '^\{"ask":\{"attribute":"sel.arity"' "$(tail -n 1 <<<"$replies")"
}
wrong request 'standard input: line 1, column 4' '{"op'
wrong request 'line 1: expected an object, got an array' '[]'
wrong request 'line 1, column 7: .* expected near' '"start"'
wrong request 'line 1, column 5: .* expected near' 'start please'
wrong request '\\"op\\" is missing' '{}'
wrong request '\\"op\\": expected .*, got an integer' '{"op":7}'
wrong request '\\"op\\": expected start, answer, undo or show, got \\"resume\\"' '{"op":"resume"}'
wrong request 'duplicate' '{"op":"show","op":"show"}'
wrong request '\\"record\\" is missing' '{"op":"start"}'
wrong request '\\"session\\": expected .*, got a string' '{"op":"show","session":"s1"}'
wrong request '\\"session\\" is missing' '{"op":"answer","answer":1}'
wrong request 'longer than 4194304 bytes' "$(head -c 4194400 /dev/zero | tr '\0' 'x')"
wrong record 'candidates' '{"op":"start","record":{"id":"a","db_id":"music_label","question":"Who?"}}'
wrong record 'candidates: expected 1 to 1000, got 0' '{"op":"start","record":{"db_id":"music_label","question":"Who?","candidates":[]}}'
wrong record 'expected the name of a database, got \\"../music_label\\"' '{"op":"start","record":'"${record/music_label/..\/music_label}"'}'
wrong record 'candidates\[0\]: field \\"p\\": expected 0 to 1000000, got -0.3' '{"op":"start","record":'"${record/0.35/-0.3}"'}'
wrong record 'unknown rule \\"other\\"' '{"op":"start","rules":{"other":1},"record":'"$record"'}'
wrong record '\\"confidence\\": expected .*, got a string' '{"op":"start","rules":{"confidence":"1"},"record":'"$record"'}'
wrong record '\\"noise\\": expected 0 to 0.5, got 0.6' '{"op":"start","rules":{"noise":0.6},"record":'"$record"'}'
wrong record '\\"max_turns\\": expected 0 to 100, got 101' '{"op":"start","rules":{"max_turns":101},"record":'"$record"'}'
wrong record '\\"strategy\\": expected random|.*, got \\"best\\"' '{"op":"start","rules":{"strategy":"best"},"record":'"$record"'}'
wrong record '\\"rules\\": expected an object' '{"op":"start","rules":[],"record":'"$record"'}'
wrong record 'spans\[0\]: field \\"end\\": expected .* got 99' '{"op":"start","record":'"${record/\"end\":27/\"end\":99}"'}'
show() { wrong session "$1" '{"op":"show","session":'"$2"'}'; }
show '\\"version\\" is 2, this program knows sessions of 1' "${s1/\"version\":1/\"version\":2}"
show '\\"version\\": expected .*, got a string' "${s1/\"version\":1/\"version\":\"1\"}"
show '\\"version\\" is missing' '{}'
show '\\"record\\" is missing' "${s1/\"record\"/\"other\"}"
show '\\"rules\\" is missing' "${s1/\"rules\"/\"other\"}"
show '\\"confidence\\" is missing' "${s1/\"confidence\"/\"other\"}"
show 'the session was made with another schema, another database or another program' "${s1/> 20/> 21}"
show '\\"attributes\\" is missing' "${s1/\"attributes\"/\"other\"}"
show '\\"turns\\": expected .*, got an object' "$(sed 's/"turns":.*/"turns":{}}/' <<<"$s1")"
show 'turns: expected at most 100, got 101' "$(sed 's/"turns":.*/"turns":[/' <<<"$s1")$(yes '7,' | head -n 100 | tr -d '\n')7]}"
show 'turns\[0\]: expected .*, got an integer' "$(sed 's/"turns":.*/"turns":[7]}/' <<<"$s1")"
show 'turns\[0\]: field \\"attribute\\" is \\"sel#9\\", which is no question then' "$(sed 's/"attribute":"sel.arity"/"attribute":"sel#9"/' <<<"$s1")"
show 'turns\[0\]: field \\"answer\\": expected .*, got \\"maybe\\"' "${s1/\"answer\":\"value\"/\"answer\":\"maybe\"}"
show 'turns\[0\]: field \\"option\\": expected 1 to 2, got 3' "${s1/\"option\":1/\"option\":3}"
show 'turns\[0\]: field \\"option\\" is missing' "${s1/\"option\"/\"other\"}"
reply() { wrong "$1" "$2" "$(answer "$3" "$4")"; }
reply answer '\\"answer\\": expected 1 to 2, got 0' "$s0" 0
reply answer '\\"answer\\": expected 1 to 2, got 3' "$s0" 3
reply answer '\\"answer\\": expected the number of an option, or words' "$s0" 1.5
reply answer '\\"answer\\": expected the number' "$s0" null
wrong answer '\\"answer\\": expected the number' '{"op":"answer","session":'"$s0"'}'
reply answer 'no option 7: the numbers go from 1 to 2' "$s0" '"7"'
reply answer 'no option 999999999' "$s0" '"123456789012345678901234567890"'
reply answer 'no option -1: the numbers go from 1 to 2' "$s0" '"-1"'
reply answer 'no option -2: the numbers go from 1 to 2' "$s0" '" option -2 "'
reply answer 'I did not understand that' "$s0" '"banana"'
reply answer 'More than one option has these words. Please type 1 or 2' "$s0" '"of"'
reply answer 'is no answer to the question' "$s0" '"help"'
reply answer 'is no answer to the question' "$s0" '""'
reply ended 'no question is open: the dialogue has ended' "$last" 1
rare='{"op":"start","rules":{"noise":0,"min_gain":0},"record":{"id":"c","db_id":"music_label","question":"Which?","candidates":[
 {"sql":"SELECT name FROM band","p":0.9999999},{"sql":"SELECT style FROM band","p":1e-7}]}}'
reply contradiction 'does not fit what was said before; nothing has changed' "$(session "$(ask "${rare//$'\n'/}")")" 2
wrong undo 'expected an answer to take back' '{"op":"undo","session":'"$s0"'}'

# --- signals and ends
if ! serve </dev/null >said 2>&1 || [ -s said ]; then
    complain "no request" "a failure, or a reply"
fi
printf '%s' '{"op":"hide"}' | serve >said 2>&1 || complain "no newline at the end" "exit code $?"
grep -q '"type":"request"' said || complain "no newline at the end" "no reply"
mkfifo open
exec 7<>open # which never ends
for signal in TERM:143 INT:130; do
    # a server that waits ends at once
    "$bin/ambit-infer" clarify --db "$db" --serve-stdio <open >said 2>&1 &
    waiting=$!
    sleep 0.5
    kill -"${signal%:*}" $waiting
    SECONDS=0
    wait $waiting
    got=$?
    begin "signal $signal"
    [ $got = "${signal#*:}" ] && [ $SECONDS -lt 10 ] || complain "$signal" "exit code $got after $SECONDS seconds"
done

# --- interactive
# talk CODE TEXT ANSWERS ARGUMENTS...: checks the exit code and a text of the output
talk() {
    local code=$1 text=$2 answers=$3 got
    shift 3
    begin "clarify --interactive $*, answers $answers"
    printf "$answers" | AMBIT_LOG=error clarify --interactive "$@" >said 2>&1
    got=$?
    [ $got = "$code" ] || complain "$answers" "expected exit code $code, got $got"
    tr '\n' ' ' <said | tr -s ' ' | grep -qE -- "$text" || complain "$answers" "nowhere says \"$text\""
}
with=(--candidates in.jsonl)
talk 0 '1\. What should the result show\? 1 name of band \(such as' '' "${with[@]}"
talk 0 'It can be read in 3 ways' '' "${with[@]}"
talk 0 '\(1 more could not be read and is left out\.\)' '' "${with[@]}"
talk 0 '-> name of band \(1 set aside\) 2\. ' '1\n' "${with[@]}"
talk 0 'You left before a statement was chosen.* was not run: Likeliest: show name of band; only where .*SQL: SELECT T1.name .* sure\.' '1\nquit\n' "${with[@]}"
talk 0 "don't know leaves it open" '?\n' "${with[@]}"
talk 0 'I did not understand that\. Please type a number from 1 to 2' 'banana\n' "${with[@]}"
talk 0 'Arrows and other special keys' '\033[A\n' "${with[@]}"
talk 0 'too long for an answer. > 1 -> name of band' "$(head -c 5000 /dev/zero | tr '\0' a)\n1\n" "${with[@]}"
talk 0 'There is no answer to take back' 'undo\n' "${with[@]}"
talk 0 "> none -> none of these None of the ways .* -> none of these Enter to finish" 'none\n' "${with[@]}"
talk 0 '1 SELECT T1.name FROM band' 'sql\n' "${with[@]}"
talk 0 "-> don't know 2\. .*-> either is fine " 'dont know\neither\n' "${with[@]}"
echo "${rare//$'\n'/}" | sed 's/.*"record"://;s/.$//' >rare.jsonl
talk 0 'does not fit what you said before: Nothing has changed. Please give another' '2\n' --candidates rare.jsonl --noise 0 --min-gain 0
talk 0 'Please press Enter, or type undo\. Enter to finish' 'none\nhm\n' "${with[@]}"
talk 0 'that is sure enough' '' "${with[@]}" --confidence 0.3
talk 0 'more questions would tell hardly anything' '' "${with[@]}" --min-gain 9
talk 0 'another question would cost more than it tells' '' "${with[@]}" --second-cost 1
talk 0 'that was the last question' '1\n' "${with[@]}" --max-turns 1
awk 'length > 80' said | grep -q . && complain "width" "$(awk 'length > 80' said)"

years=$(for year in 2001 2002 2003 2004 2005 2006 2007 2008; do
    printf ',{"sql":"SELECT title FROM album WHERE release_date = %s","p":0.125}' "$year"
done)
echo '{"id":"y","db_id":"music_label","question":"Which albums?","candidates":['"${years#,}]}" >years.jsonl
talk 0 "> 2004 -> release date of album is 2004" '2004\n' --candidates years.jsonl
talk 0 'no option 1999: the numbers go from 1 to 6' '1999\n' --candidates years.jsonl
talk 0 '> 6 -> something else \(5 set aside\) 2\. Which .* 1 release date of album is 2006 2 [a-z ]*2007 3 [a-z ]*2008 4 something else >' '6\n' --candidates years.jsonl

# the outcome and the transcript, which replays
talk 0 'Result' '1\n1\n1\n\n' "${with[@]}" --transcript t.json -o outcome.jsonl
grep -q '"best":"SELECT T1.name.*"ended":"accepted"}$' outcome.jsonl || complain outcome "$(head -c 900 outcome.jsonl)"
cp t.json before.json
sed -n '/^1\. /,/^Result/p' said | grep -v '^>' >dialogue.txt
talk 0 'Result' '\n' --replay t.json --transcript t.json
sed -n '/^1\. /,/^Result/p' said | grep -v '^>' >replayed.txt
cmp -s dialogue.txt replayed.txt || complain replay "$(diff dialogue.txt replayed.txt | head -c 900)"
cmp -s before.json t.json || complain replay "the transcript is another one"
# killed after one answer, and gone on with
"$bin/ambit-infer" clarify --db "$db" --interactive "${with[@]}" --transcript k.json <open >said 2>&1 &
talking=$!
echo 1 >&7
for _ in $(seq 100); do
    grep -qs '"chosen"' k.json && break
    sleep 0.1
done
kill -KILL $talking
wait $talking 2>/dev/null
talk 0 'Result' '1\n1\n\n' --replay k.json --transcript k.json
cmp -s before.json k.json || complain "killed" "$(diff before.json k.json | head -c 900)"

# --- at a terminal: arrow keys move in the line, Up brings back the lines before, Ctrl-C ends with 130.
# keys CODE TEXT KEYS...: types the keys, with a pause before each, at a terminal that `script` makes.  At that
# terminal, `timeout` would pass on a second Ctrl-C, which ends a program at once.
keys() {
    local code=$1 text=$2 key got
    shift 2
    begin "keys $*"
    for key; do
        sleep 0.4
        printf "$key"
    done | TERM=xterm timeout 60 script -qec "$bin/ambit-infer clarify --interactive --db $db ${with[*]}" /dev/null >said 2>&1
    got=${PIPESTATUS[1]}
    [ "$got" = "$code" ] || complain "keys $*" "expected exit code $code, got $got"
    tr -d '\r' <said >shown
    [ "$(grep -cE -- "$text" shown)" -ge "${times:-1}" ] || complain "keys $*" "expected $text"
}
if ldd "$bin/ambit-infer" | grep -q libedit && command -v script >/dev/null; then
    keys 0 '^   -> name of band, price of concert$' 'pice of\033[D\033[D\033[D\033[D\033[D\033[Dr\r' '1\r' '\r'
    times=2 keys 0 '^   -> name of band, price of concert$' 'price\r' 'undo\r' '\033[A\033[A\r' '1\r' '\r'
    keys 130 '^Interrupted' '\003'
    keys 0 'Likeliest: ' '\004'
fi

# --- replies whose meaning an encoder compares with the options; it needs address space
sqlite3 shop.sqlite 'CREATE TABLE purchase (purchase_id INTEGER PRIMARY KEY, billing_address TEXT, shipping_address TEXT)'
echo '{"id":"p","db_id":"shop","question":"Show the address of each purchase.","candidates":[{"sql":"SELECT billing_address FROM purchase","p":0.6},{"sql":"SELECT shipping_address FROM purchase","p":0.4}]}' >shop.jsonl
meant() { db=shop.sqlite talk 0 "$1" "$2" --candidates shop.jsonl; }
meant '-> shipping address of purchase' 'the delivery address\n'
meant '-> billing address of purchase' 'not the delivery address, the bill\nthe invoice\n'
meant 'Do you mean "billing address of purchase" or "shipping address of purchase"\? Please type 1 or 2\. > 2 -> shipping' 'where the parcel goes\n2\n'
meant 'I did not understand that' 'anything but the delivery address\n'
if [ -z "${ASAN_OPTIONS:-}" ]; then # which wants address space without end
    begin "replies in 1.9 GiB"
    (ulimit -v 1900000 && printf 'the delivery address\n' | "$bin/ambit-infer" clarify --interactive --db shop.sqlite --candidates shop.jsonl) >said 2>&1
    grep -q 'I did not understand that' said && grep -q 'compared by their words alone: the address space is limited' said || complain "replies in 1.9 GiB" "$(cat said)"
fi

# --- a bad command line and bad files
talk 3 'in.jsonl: no record has the id "m2"' '' "${with[@]}" --id m2
talk 0 'Question: Which bands' '' "${with[@]}" --id m1
talk 3 'empty.jsonl: there is no record' '' --candidates empty.jsonl
talk 3 'nowhere.jsonl: No such file' '' --candidates nowhere.jsonl
talk 3 'nowhere.json: No such file' '' --replay nowhere.json
echo '{"version":3}' >other.json
talk 3 'other.json: field "version" is 3, this program knows sessions of 1' '' --replay other.json
sed 's/"p":0.35/"p":-0.35/' in.jsonl >bad.jsonl
talk 3 'bad.jsonl: line 1: candidates\[0\]: field "p": expected .* got -0.35' '' --candidates bad.jsonl
talk 1 'nowhere/t.json: cannot write' '1\n' "${with[@]}" --transcript nowhere/t.json
talk 2 'either --candidates or --replay' '' "${with[@]}" --replay t.json
talk 2 'either --candidates or --replay' ''
talk 2 'must be files' '' --candidates -
talk 2 'cannot be used together' '' "${with[@]}" --simulate
talk 2 'cannot be used together' '' --serve-stdio
more=(--serve-stdio)
for option in --id --replay --transcript; do
    clarify $option x >said 2>&1 </dev/null
    [ $? = 2 ] && grep -q "expected --interactive" said || complain $option "was taken"
done
clarify "${with[@]}" >said 2>&1 </dev/null
[ $? = 2 ] && grep -q "takes no --candidates" said || complain "--candidates" "was taken"

finish

#!/usr/bin/env bash
# ambit-infer clarify: the worked example to six digits, and bad input with its message and exit code.
# shellcheck disable=SC2086 # words that are split
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
told=(said out.jsonl)

clarify() { infer clarify --noise 0 -o out.jsonl "$@"; }
# expect CODE TEXT ARGUMENTS...: a line of standard error or of the output has the text
expect() { check "${*:3}" "$1" "$2" clarify "${@:3}"; }

# record CODE TEXT JSON: the record between two good ones, which come out whole; a failed one does not end the run
record() {
    { echo "$good" && echo "$3" && echo "$good"; } >in.jsonl
    expect "$1" "$2" --candidates in.jsonl --schema tables.json
    [ "$(wc -l <out.jsonl)" = 3 ] || complain "$3" "not three lines"
    [ "$(grep -c '"error":.*line 2' out.jsonl)" = $(($1 == 7)) ] || complain "$3" "an error that is not that of line 2"
    sed -n '1p;3p' out.jsonl | uniq -c | grep -q '^ *2 .*"entropy":1.921928' || complain "$3" "its neighbours suffered"
}

# candidates LIST: a record with them
candidates() { printf '{"id":"r","db_id":"hr","question":"Who?","candidates":%s}' "$1"; }
# of SQL P SQL P ...
list() {
    local sep="["
    while [ $# -gt 0 ]; do
        printf '%s{"sql":"%s","p":%s}' "$sep" "$1" "$2"
        sep=,
        shift 2
    done
    printf ']'
}

cat >tables.json <<'END'
[{"db_id":"hr","table_names":["employees"],"table_names_original":["employees"],
 "column_names":[[-1,"*"],[0,"id"],[0,"name"],[0,"hired"],[0,"dept"]],
 "column_names_original":[[-1,"*"],[0,"id"],[0,"name"],[0,"hired"],[0,"dept"]],
 "column_types":["text","number","text","number","text"],"primary_keys":[1],"foreign_keys":[]}]
END
good=$(candidates "$(list \
    "SELECT * FROM employees WHERE hired > 2020 AND dept = 'sales'" 0.4 \
    "SELECT id, name FROM employees WHERE hired > 2020 AND dept = 'sales'" 0.2 \
    "SELECT * FROM employees WHERE hired > 2021 AND dept = 'sales'" 0.2 \
    "SELECT id, name FROM employees WHERE hired > 2021 AND dept IN ('sales','marketing')" 0.2)")
echo "$good" >good.jsonl
a="SELECT id FROM employees" b="SELECT name FROM employees"

# --- the output records
expect 0 '"entropy":1.921928' --candidates good.jsonl --schema tables.json
for value in '"name":"sel.arity","question_type":"output","eig":0.970951' '"name":"where\[hired\].val","question_type":"value","eig":0.970951' \
    '"name":"where\[dept\].val","question_type":"value","eig":0.721928' '"ask":\{"attribute":"sel.arity","text":"What' '"stop":null'; do
    grep -qE "$value" out.jsonl || complain "the worked example" "no $value"
done
for strategy in random max-probability min-probability info-gain-values info-gain-candidates eig path; do
    expect 0 '"ask":\{"attribute":' --candidates good.jsonl --schema tables.json --strategy $strategy
done
expect 0 '"eig":0.512458' --candidates good.jsonl --schema tables.json --noise 0.1
expect 0 '"eig":0.357751' --candidates good.jsonl --schema tables.json --noise 0.1
expect 0 '"stop":"turns"' --candidates good.jsonl --schema tables.json --max-turns 0
expect 0 '"stop":"confident"' --candidates good.jsonl --schema tables.json --confidence 0.4
expect 0 '"ask":\{' --candidates good.jsonl --schema tables.json --confidence 0.41
expect 0 '"stop":"little-gain"' --candidates good.jsonl --schema tables.json --min-gain 2
expect 0 '"stop":"utility"' --candidates good.jsonl --schema tables.json --second-cost 0.1
expect 0 '"ask":\{' --candidates good.jsonl --schema tables.json --second-cost 0.02

# --- unusual, and read all the same
record 0 '"ask":null,"stop":"settled"' "$(candidates "$(list "$a" 1)")"
record 0 '"entropy":0.0,.*"candidates":1,"merged":2,' "$(candidates "$(list "$a" 0.5 "select T.ID from EMPLOYEES as T" 0.3 "$a;" 0.2)")"
record 0 '"none_of_the_above":0.2,.*"rejected":\[\{"candidate":1,"sql":"SELECT FROM","error":' \
    "$(candidates "$(list "$a" 0.5 "SELECT FROM" 0.2 "$b" 0.3)")"
record 0 '"none_of_the_above":0.3,.*"rejected":\[.*no table.*staff' "$(candidates "$(list "$a" 0.7 "SELECT id FROM staff" 0.3)")"
record 0 '"none_of_the_above":0.6,.*"stop":"escalated"' "$(candidates "$(list "DROP TABLE employees" 0.6 "$a" 0.4)")"
record 0 '"entropy":0.811278' "$(candidates '[{"sql":"'"$a"'","logprob":-1},{"sql":"'"$b"'","logprob":-2.0986122886681098}]')"
record 0 '"none_of_the_above":0.25,' "$(candidates "$(list "$a" 0.5 "$b" 0.25)" | sed 's/"id"/"none_of_the_above":0.25,"id"/')"

# --- records that cannot be read
record 7 "candidates: expected 1 to 1000, got 0" "$(candidates '[]')"
record 7 "candidates" '{"id":"r","db_id":"hr","question":"Who?"}'
record 7 "candidates" "$(candidates '{"sql":"SELECT 1","p":1}')"
record 7 "candidates\[1\].*sql.*an object, got an integer|candidates\[1\]: expected an object" "$(candidates '["SELECT 1",7]')"
record 0 '"candidates":2,"weights":"equal",.*"sql":"'"$a" "$(candidates '["'"$a"'","'"$b"'"]')"
record 0 '"weights":"equal".*"ask":\{' "$(candidates '[{"sql":"'"$a"'"},{"sql":"'"$b"'","p":null}]')"
record 7 "candidates\[0\]: no .*p.*, which other candidates have" "$(candidates '["'"$a"'",{"sql":"'"$b"'","p":0.5}]')"
record 7 "candidates\[0\].*sql" "$(candidates '[{"p":1}]')"
record 7 "candidates\[0\].*sql" "$(candidates '[{"sql":7,"p":1}]')"
record 7 "candidates\[1\].*\"?p\"?" "$(candidates '[{"sql":"'"$a"'","p":1},{"sql":"'"$b"'"}]')"
record 7 "candidates\[1\].*p.*-0.5" "$(candidates "$(list "$a" 0.5 "$b" -0.5)")"
record 7 "candidates\[0\].*p.*-0.5" "$(candidates "$(list "$a" -0.5)")"
record 0 '"weights":"normalised"' "$(candidates "$(list "$a" 0.5 "$b" 0.2)")"
record 0 '"weights":"normalised"' "$(candidates "$(list "$a" 0.7 "$b" 0.7)")"
record 0 '"none_of_the_above":0.5,.*"weights":"normalised"' "$(candidates "$(list "$a" 1)" | sed 's/"id"/"none_of_the_above":0.5,"id"/')"
record 7 "every \\\\\"p\\\\\" is 0, expected one above" "$(candidates "$(list "$a" 0 "$b" 0)" | sed 's/"id"/"none_of_the_above":1,"id"/')"
record 7 "none_of_the_above.*1.5" "$(candidates "$(list "$a" 1)" | sed 's/"id"/"none_of_the_above":1.5,"id"/')"
record 7 "line 2" "$(candidates "$(list "$a" NaN)")"
record 7 "p" "$(candidates "$(list "$a" '"1"')")"
record 7 "candidates\[1\].*logprob" "$(candidates '[{"sql":"'"$a"'","logprob":-1},{"sql":"'"$b"'","p":0.5}]')"
record 7 "candidates\[0\].*logprob" "$(candidates '[{"sql":"'"$a"'","logprob":-1e300}]')"
record 7 "none can be read; the first: .*employees" "$(candidates "$(list "SELECT id FORM employees" 0.5 "$a x y z" 0.5)")"
record 7 "none can be read; the first: .*staff" "$(candidates "$(list "SELECT id FROM staff" 1)")"
record 7 "no schema .*it" "$(candidates "$(list "$a" 1)" | sed 's/"hr"/"it"/')"
record 7 "db_id" "$(candidates "$(list "$a" 1)" | sed 's/"hr"/7/')"
record 7 "question" "$(candidates "$(list "$a" 1)" | sed 's/"question":"Who?",//')"
record 7 "expected" '{"id":'
record 7 "duplicate" "$(candidates "$(list "$a" 1)" | sed 's/"id"/"db_id":"hr","id"/')"
many() { for i in $(seq "$1"); do printf ',{"sql":"SELECT id FROM employees WHERE id = %d","p":%s}' "$i" "$2"; done | cut -c 2-; }
record 7 "candidates: expected 1 to 1000, got 10000" "$(candidates "[$(many 10000 0.0001)]")"
record 0 '"text":"something else","p":0.995' "$(candidates "[$(many 1000 0.001)]")"

# --- command line and files
expect 2 "either --schema or --db" --candidates good.jsonl
expect 2 "either --schema or --db" --candidates good.jsonl --schema tables.json --db .
expect 2 "candidates" --schema tables.json
expect 2 "noise: expected" --candidates good.jsonl --schema tables.json --noise 0.6
expect 2 "noise: expected a number, got 'nan'" --candidates good.jsonl --schema tables.json --noise nan
expect 2 "strategy: expected one of" --candidates good.jsonl --schema tables.json --strategy best
expect 2 "max-turns: expected" --candidates good.jsonl --schema tables.json --max-turns -1
expect 2 "confidence: expected" --candidates good.jsonl --schema tables.json --confidence -1
expect 2 "min-gain: expected" --candidates good.jsonl --schema tables.json --min-gain many
expect 2 "second-cost: expected" --candidates good.jsonl --schema tables.json --second-cost inf
expect 2 "is an unexpected operand" --candidates good.jsonl --schema tables.json good.jsonl
expect 3 "nowhere.jsonl" --candidates nowhere.jsonl --schema tables.json
expect 3 "nowhere.json" --candidates good.jsonl --schema nowhere.json
echo '{}' >bad.json
expect 3 "bad.json: expected an array" --candidates good.jsonl --schema bad.json
expect 3 "nowhere: No such file" --candidates good.jsonl --db nowhere
mkdir dbs outside
expect 7 "no database hr: neither dbs/hr.sqlite" --candidates good.jsonl --db dbs
echo "not a database, and long enough that nobody takes it for an empty one" >dbs/hr.sqlite
expect 7 "hr.sqlite" --candidates good.jsonl --db dbs
mv dbs/hr.sqlite outside
sed 's/"hr"/"..\/outside\/hr"/' good.jsonl >in.jsonl
expect 7 "expected the name of a database, got .*../outside/hr" --candidates in.jsonl --db dbs

# --- statements that say the same are one, by the types and collations of the database
sqlite3 dbs/museum.sqlite "CREATE TABLE museum (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, opened TEXT, version NUMERIC, stars INT);
    INSERT INTO museum VALUES (1, 'Alpha', '2013', '1.2.3', 5), (2, 'beta', '2008', '1.2.4', 1), (3, 'Gamma', '2015', '1.2', 0);
    CREATE TABLE patron (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO patron VALUES (1, 'ALPHA'), (2, 'beta')"
# pair MERGED SQL SQL
pair() {
    candidates "$(list "$2" 0.5 "$3" 0.5)" | sed 's/"hr"/"museum"/' >in.jsonl
    expect 0 "\"candidates\":$((2 - $1)),\"merged\":$1," --candidates in.jsonl --db dbs
}
select="SELECT id FROM museum WHERE"
joined="SELECT m.id FROM museum AS m JOIN patron AS p ON"
pair 0 "$select opened = 2013" "$select opened = 2013.0"
pair 0 "$select opened IN (2013, 2015)" "$select opened IN (2013.0, 2015)"
pair 0 "$select opened BETWEEN 2013 AND 2015" "$select opened BETWEEN 2013.0 AND 2015"
pair 0 "$select opened LIKE 2013" "$select opened LIKE 2013.0"
pair 0 "$select version = '1.2.3'" "$select version = '1.2.4'"
pair 0 "$select version = '1.2.3'" "$select version = 1.2"
pair 0 "$joined m.name = p.name" "$joined p.name = m.name"
pair 0 "$joined m.name = p.name" "SELECT m.id FROM museum AS m, patron AS p WHERE p.name = m.name"
pair 1 "$select stars = 5" "$select 5.0 = stars"
pair 1 "$select version = 1.2" "$select version = '1.20'"
pair 1 "$select opened IN ('2013', '2015')" "$select opened = '2015' OR '2013' = opened"
pair 1 "$joined m.id = p.id" "SELECT museum.id FROM patron, museum WHERE patron.id = museum.id"
pair 1 "$joined m.name = p.name" "SELECT m.id FROM patron AS p, museum AS m WHERE m.name = p.name"

# --- simulated dialogues: the gold statement is the third candidate, spelled differently.  Then it is none of the candidates,
# and then an invalid statement, which is an error and neither right nor wrong.
gold() { candidates "$(list "$a" 0.5 "$b" 0.3 "SELECT dept FROM employees" 0.2)" | sed "s/\"id\"/\"gold\":$1,\"id\"/"; }
simulate() {
    local text=$1
    gold "$2" >in.jsonl
    shift 2
    expect 0 "$text" --candidates in.jsonl --schema tables.json --simulate "$@"
}
simulate '"covered":true,"correct":true,"escalated":false,"confidence":1.0,"best":"SELECT dept FROM employees"' \
    '["select T1.DEPT from employees T1"]'
grep -q '"answer":"value","chosen":"dept of employees","eig":1.485475' out.jsonl || complain simulate "no such turn"
grep -q '"dialogues":1,"gold_errors":0,"accuracy":\[{"mean":0.0,.*{"mean":1.0,.*"area":{"mean":0.75,' out.jsonl ||
    complain simulate "no such measures"
simulate '"covered":false,"correct":false,"escalated":true' '["SELECT hired FROM employees"]'
simulate '"dialogues":1,"gold_errors":2,' '["SELECT nothing FROM employees", 7, "SELECT name FROM employees"]'
simulate '"dialogues":0,"gold_errors":1,"accuracy":\[{"mean":null,' '["SELECT FROM"]'
simulate '"answer":"unknown"' '["SELECT name FROM employees"]' --user-unknown 1
simulate '"correct":false' '["SELECT name FROM employees"]' --user-noise 1
mv out.jsonl first.jsonl
simulate '"correct":false' '["SELECT name FROM employees"]' --user-noise 1
cmp -s out.jsonl first.jsonl || complain simulate "the second time is not like the first"
simulate '"strategy":"path"' '["SELECT name FROM employees"]' --strategy path
expect 7 "gold" --candidates good.jsonl --schema tables.json --simulate

finish

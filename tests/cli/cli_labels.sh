#!/usr/bin/env bash
# Detectors from a custom data set: the formats of the file, the message about each bad line, and the split of the questions.
# The effect of labels without SQL; a run that is killed and resumed.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
# shellcheck source=tests/support/kill.sh
. "$support/kill.sh"
: >log

# --- databases: one where two columns fit, and a folder of five
data practice -o all --seed 3 >shown 2>said || fail "ambit-data practice"
echo '{"db_id":"gym","question":"What is the fee of each trainer?","query":"SELECT fee FROM trainer"}' >plain.jsonl
data ambiguate --kinds C --questions plain.jsonl --db all/db --seed 1 --materialise made -o made.jsonl >shown 2>said || fail "ambit-data ambiguate"
cp made/gym_column_trainer_fee.sqlite gym.db
names=(airline bakery hotel library zoo)
mkdir folder && for name in "${names[@]}"; do cp "all/db/$name.sqlite" folder; done
rm -rf all made

# labels N FORM: N questions, every other one ambiguous
labels() {
    awk -v n="$1" -v form="$2" 'BEGIN {
        if (form == "csv") print "question,ambiguous"
        if (form == "tsv") print "question\tambiguous"
        if (form == "json") print "["
        for (i = 0; i < n; i++) {
            q = "What is the " (i % 2 ? "name" : "size") " of number " i "?"
            yes = i % 2 ? "yes" : "no"
            if (form == "csv") printf "\"%s\",%s\r\n", q, yes
            else if (form == "tsv") printf "%s\t%s\n", q, toupper(yes)
            else printf "{\"id\":%d,\"question\":\"%s\",\"ambiguous\":%s}%s\n", i, q, i % 4 < 2 ? (i % 2 ? "true" : "false") : i % 2, form == "json" && i < n - 1 ? "," : ""
        }
        if (form == "json") print "]"
    }'
}
for form in csv tsv json jsonl; do labels 60 $form >labels.$form; done
tiny_detector batch=8 epochs=2 device=cpu >tiny.yaml
gatekeeper() { train gatekeeper --config tiny.yaml "$@"; }
refused() { expect 3 "$1" gatekeeper --data bad.jsonl --db gym.db --out new; }

# --- every form; split by question, so that one database serves
for form in csv tsv json jsonl; do
    expect 0 'labels\.[a-z]*: 60 questions, 30 of them ambiguous, about 1 database; split by question with seed 1: 36 to train, 12 to validate, 12 to test' \
        gatekeeper --data labels.$form --db gym.db --out "run-$form"
    expect 0 'no training question has SQL: the relevance of elements is not taught' gatekeeper --data labels.$form --db gym.db --out dry --dry-run
done
for file in ambit.h5 vocab.txt test.json report.html config.yaml; do
    [ -s "run-csv/$file" ] || complain "the run" "has no $file"
done
grep -q '"questions": 12' run-csv/test.json || complain "test.json" "does not tell of 12 questions"

# --- the detector describes its training, and detects
labels 4 jsonl >few.jsonl
sed -E 's/"id":([0-9])/"id":"\1"/' few.jsonl >in.jsonl
expect 0 'run-csv: this detector learned from 36 labelled questions; which alternatives it names was not taught; the relevance of elements was not taught' \
    infer detect --model run-csv --db gym.db in.jsonl -o out.jsonl
[ "$(grep -c '"score"' out.jsonl)" = 4 ] || complain detect "$(cat out.jsonl)"
told=(shown)
expect 0 '"note": "this detector learned from 36' train inspect run-csv
told=(said)

# --- too few to calibrate by, too few at all, one label alone
labels 6 csv >six.csv
expect 0 '2 validation questions, 1 of the rarer label, are too few to choose a threshold by: it is 0.5' gatekeeper --data six.csv --db gym.db --out six
grep -q '"threshold": 0.5' six/test.json || complain "six questions" "the threshold is not 0.5"
labels 2 csv >two.csv
expect 3 'expected at least one training and one validation record, got 2 and 0' gatekeeper --data two.csv --db gym.db --out new
sed 's/NO$/YES/' labels.tsv >yes.tsv
expect 3 'yes.tsv: expected questions that are ambiguous and questions that are not, got 60 and 0' gatekeeper --data yes.tsv --db gym.db --out new

# --- every bad line is reported, and nothing is trained
cat >bad.jsonl <<'END'
{"question":"What is the name?","ambiguous":"maybe"}
{"question":"   ","ambiguous":true}
{"ambiguous":true}
{"question":"What is the name?"}
{"question":"What is the name?","ambiguous":2}
{"question":"What is the name?","ambiguous":true,"type":"X"}
{"question":"What is the name?","ambiguous":true,"alternatives":["trainer.nothing","trainer"]}
{"question":"What is the name?","ambiguous":true,"alternatives":["trainer"]}
{"question":"What is the name?","ambiguous":false,"alternatives":"trainer | machine"}
{"question":"What is the name?","ambiguous":false,"sql":"SELECT nothing FROM trainer"}
{"question":"What is the name?","ambiguous":false,"sql":["SELECT 1",2]}
{"question":"What is the name?","ambiguous":false,"db_id":"other"}
{"question":"What is the name?","ambiguous":
{"question":"What is the name?","ambiguous":false}
END
while IFS='|' read -r line text; do
    refused "bad.jsonl: line ${line}[:,] .*$text"
done <<'END'
1|field "ambiguous": expected yes or no, got "maybe"
2|field "question": expected a question, got an empty text
3|field "question" is missing
4|field "ambiguous"
5|field "ambiguous"
6|field "type": expected one of C, .*, got "X"
7|field "alternatives": database gym has no table or table.column "trainer.nothing"
8|field "alternatives": expected two elements, got 1
9|field "alternatives": expected none of a question that is not ambiguous, got 2
10|field "sql": .*nothing
11|field "sql": element 1 is not a string
12|other
13|column
END
refused 'bad.jsonl: 13 of 14 records are wrong'
awk 'BEGIN { print "question,ambiguous"; for (i = 0; i < 50; i++) print "What?,perhaps" }' >bad.csv
expect 3 'bad.csv: 50 of 50 records are wrong' gatekeeper --data bad.csv --db gym.db --out new
[ "$(grep -c 'got "perhaps"' said)" = 20 ] || complain "bad.csv" "tells $(grep -c 'got "perhaps"' said) lines"
grep -q 'and more' said || complain "bad.csv" "does not say that there is more"

# --- labels under another name, by a yes or no or by one of several values, are the same labels
sed '1s/ambiguous/is_impossible/' labels.csv >named.csv
sed '1s/ambiguous/type/; s/,yes/,improper/; s/,no/,answerable/' labels.csv >typed.csv
expect 0 '30 of them ambiguous' gatekeeper --data named.csv --db gym.db --out by-field --label-field is_impossible
expect 0 '30 of them ambiguous' gatekeeper --data typed.csv --db gym.db --out by-value --label-field type=improper
for by in field value; do
    cmp run-csv/ambit.h5 by-$by/ambit.h5 || complain "--label-field" "another detector by $by"
done
expect 3 'named.csv: line 2: field "ambiguous" is missing: expected yes or no; use --label-field' gatekeeper --data named.csv --db gym.db --out new
expect 3 'typed.csv: line 2: field "type": expected yes or no, got "answerable"' gatekeeper --data typed.csv --db gym.db --out new --label-field type
expect 3 'bad.jsonl: line 5: field "ambiguous": expected a text, "2" for yes' gatekeeper --data bad.jsonl --db gym.db --out new --label-field ambiguous=2
for empty in =improper type=; do
    expect 2 'label-field: expected FIELD or FIELD=VALUE' gatekeeper --data typed.csv --db gym.db --out new --label-field $empty
done

# --- SQL of another dialect costs an evaluation nothing
printf '%s\n' '{"question":"Who?","ambiguous":true,"sql":"SELECT TOP 1 nothing FROM trainer"}' '{"question":"What?","ambiguous":false}' >dialect.jsonl
expect 0 'dialect.jsonl: the SQL of 1 questions is invalid and was dropped; the first error: dialect.jsonl: line 1: field "sql"' \
    train evaluate detector by-field --data dialect.jsonl --db gym.db --device cpu

# --- the options
expect 2 'labels.csv is no folder of ambit-data contrast or practice; own labels need --db' gatekeeper --data labels.csv --out new
expect 3 'nowhere.db' gatekeeper --data labels.csv --db nowhere.db --out new
expect 3 'nowhere.csv' gatekeeper --data nowhere.csv --db gym.db --out new
expect 3 'db_id' gatekeeper --data labels.csv --db folder --out new

# --- type, alternatives and SQL are used where they stand
{
    echo 'question,ambiguous,type,alternatives,sql'
    for i in $(seq 20); do
        echo "What is the fee of trainer number $i?,1,C,\"trainer.trainer_fee, trainer.fee_of_trainer\",SELECT trainer_fee FROM trainer"
        echo "What is the name of trainer number $i?,0,,,SELECT name FROM trainer"
    done
} >full.csv
expect 0 'relevance: 2 done|step .*AP .* of relevance' gatekeeper --data full.csv --db gym.db --out full --encode element
cat said shown >both
grep -q 'not taught' both && complain "labels with SQL" "$(cat both)"
grep -qE '^C +4 ' shown || complain "labels with types" "the table has no row of 4 questions of type C: $(cat shown)"
grep -q 'relevance of elements: AP' shown || complain "labels with SQL" "no relevance is measured"
sed -E 's/"trainer.trainer_fee, trainer.fee_of_trainer"/trainer.trainer_fee|trainer.fee_of_trainer/' full.csv >bars.csv
expect 0 '40 questions, 20 of them ambiguous' gatekeeper --data bars.csv --db gym.db --out bars --epochs 1

# --- several databases: by database when there are enough, else by question
for db in "${names[@]}"; do labels 12 jsonl | sed "s/^{/{\"db_id\":\"$db\",/"; done >several.jsonl
expect 0 "several.jsonl: $((12 * ${#names[@]})) questions, .* about ${#names[@]} databases; split by database" gatekeeper --data several.jsonl --db folder --out several --epochs 1
grep -E "\"db_id\":\"(${names[0]}|${names[1]})\"" several.jsonl >pair.jsonl
expect 0 'pair.jsonl: 24 questions, 12 of them ambiguous, about 2 databases; split by question' gatekeeper --data pair.jsonl --db folder --out pair --epochs 1

# --- a folder of folds stays as it is
mkdir folds && head -n 30 labels.jsonl >folds/train.jsonl && tail -n 20 labels.jsonl >folds/valid.jsonl
expect 0 'train: 30 questions' gatekeeper --data folds --db gym.db --out folds-run
grep -q 'valid: 20 questions' said || complain "a folder of folds" "$(cat said)"

# --- killed and gone on with, like any run
train_labels() { # FOLDER
    local folder=$PWD/$1
    [ ! -e "$folder/config.yaml" ] || { cd / && exec "$bin/ambit-train" gatekeeper --resume --out "$folder"; }
    exec "$bin/ambit-train" gatekeeper --config tiny.yaml --data labels.csv --db gym.db --epochs 24 --save-every 3 --out "$1" --resume
}
train() { train_labels "$@"; }
same() { same_folders "$1" "$2" -x config.yaml -x 'events.*' || fail "the folders differ"; }
kill_and_resume whole killed 2
finish

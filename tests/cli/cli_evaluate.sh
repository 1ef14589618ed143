#!/usr/bin/env bash
# ambit-train evaluate: a trained detector, or predictions from a file, on labelled questions.  Its own test split again; a
# custom data set by --db and by --schema; the metrics of a known confusion matrix; bad files.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
: >log

synthetic all 3 3 960 240 480
tiny_detector batch=32 epochs=1 max-train=320 device=cpu >tiny.yaml
train gatekeeper --config tiny.yaml --data all --out run --compute f32 >table 2>said || fail "ambit-train gatekeeper: $(cat said)"

# alarms MAX: checks that training reports at most this share of false alarms on the hard negatives
alarms() {
    sed -nE 's/.*; ([0-9]+) of its ([0-9]+) hard negatives are called ambiguous$/\1 \2/p' said |
        awk -v most="$1" '{ n++; good = $2 > 0 && $1 <= most * $2 } END { exit !(n == 1 && good) }' || complain "--false-alarms $1" "$(cat said)"
}
alarms 0.12
train gatekeeper --config tiny.yaml --data all --out quiet --compute f32 --false-alarms 0 >/dev/null 2>said || fail "--false-alarms 0: $(cat said)"
alarms 0

# --- the report of the run: settings, curves, databases, the most confident mistakes
for want in '<td>seed</td>' 'C: two columns fit it' 'precision by recall' 'share that is answered' 'average precision by database' 'all settings' '^seed: 1$' \
    '[0-9]+ to train on, [0-9]+ to choose by, [0-9]+ to test' \
    '^<p class="verdict">The detector ranks the [0-9]+ test questions with an average precision of 0\.[0-9]+.*; a random order has 0\.[0-9]+\. At the stored'; do
    grep -qE -- "$want" run/report.html || complain "report.html" "lacks $want"
done
[ "$(grep -cE '^<figcaption>[0-9]+\. ' run/report.html)" = 10 ] || complain "report.html" "has not ten mistakes"
awk '/By the labels: / { labelled = !/By the labels: -/ }
    { named += gsub(/class="named"/, ""); gold += gsub(/class="gold"/, "") }
    /<\/svg><\/div>/ { bad += named != 2 || gold != 2 * labelled; n++; named = gold = 0 }
    END { exit bad || n != 10 }' run/report.html || complain "report.html" "does not mark two elements of each schema"

# field NAME FILE: the number of the first field of that name
field() { sed -nE "s/.*\"$1\": *([^, ]*),?\$/\1/p" "$2" | head -n 1; }

# --- the test fold again: the figures are those that training printed
expect 0 '' train evaluate detector run --data all --device cpu
told=(shown)
while read -r line; do
    grep -qF -- "$line" shown || complain "evaluate run" "lacks the line of training: $line"
done < <(grep -E '^(all|C|T|J|P|AP|hard negatives|relevance|  )' table)
expect 0 '"databases": ' train evaluate detector run --data all --device cpu --json
for name in ap auc f1 brier; do
    [ "$(field $name shown)" = "$(field $name run/test.json)" ] || complain "--json" "$name $(field $name shown), in test.json $(field $name run/test.json)"
done

# --- a band by its rate: one word tells these labels, so that a small model soon promises few errors; detect has the same band
sqlite3 gym.db 'CREATE TABLE trainer (name TEXT, fee REAL, fee_paid REAL)'
{ echo question,ambiguous && for i in $(seq 150); do
    printf '%s %d?,%s\n' 'What is the fee of trainer' "$i" yes 'Show me the fee that is paid to' "$i" yes \
        'What is the name of trainer' "$i" no 'Show me the name of' "$i" no
done; } >taught.csv
cat >taught.yaml <<'END'
encoder-layers: 1
encoder-intermediate: 256
encoder-vocabulary: 1000
epochs: 6
batch: 16
lr: 1e-3
device: cpu
END
expect 0 '' train gatekeeper --data taught.csv --db gym.db --config taught.yaml --out taught
told=(shown)
expect 0 '^of 120 validation questions [0-9]+ are answered, [0-9]+ wrongly, at most 0\.[01][0-9]+ with 95 %$' train evaluate detector taught --data taught.csv --db gym.db --device cpu --abstain 0.2
band=$(sed -nE 's/^unsure between ([0-9.]+) and ([0-9.]+):.*/\1 \2/p' shown)
answered=$(sed -nE 's/^unsure between .*: ([0-9]+) of 600 answered, .*/\1/p' shown)
expect 0 '^unsure between 0\.0000 and 1\.0000: 0 of 600 answered, 0 wrongly' train evaluate detector taught --data taught.csv --db gym.db --device cpu --abstain 0:1
expect 0 '"bound": 0\.' train evaluate detector taught --data taught.csv --db gym.db --device cpu --abstain 0.2 --json
expect 0 '"validation": "120 scores"' train inspect taught
told=(said)
expect 0 "unsure between ${band/ / and }" infer detect --model taught --db gym.db --device cpu --relevance none taught.csv --abstain 0.2 -o rate.jsonl
[ "$(grep -vc '"status":"unsure"' rate.jsonl)" = "$answered" ] ||
    complain "--abstain 0.2" "evaluate answers $answered, detect $(grep -vc '"status":"unsure"' rate.jsonl)"
told=(shown)

# --- labels of one's own: the same questions without their slices, by the databases or by tables.json
sed -nE 's/^\{"id":("[^"]*"),"db_id":("[^"]*").*"question":("([^"\\]|\\.)*").*"ambiguous":(true|false).*/{"id":\1,"db_id":\2,"question":\3,"ambiguous":\5}/p' \
    all/test.jsonl | head -n 300 >own.jsonl
few_tables all/tables.json own.jsonl >few.json
[ "$(wc -l <own.jsonl)" = 300 ] || fail "own.jsonl has $(wc -l <own.jsonl) lines"
expect 0 'custom data set: 300 test examples' train evaluate detector run --data own.jsonl --schema few.json --device cpu
grep -qE '^database +questions' shown || complain "own labels" "has no table of databases"
expect 0 '"prevalence"' train evaluate detector run --data own.jsonl --schema few.json --device cpu --json
cp shown own.json
infer detect --model run --schema few.json own.jsonl --device cpu -o found.jsonl 2>said || fail "ambit-infer detect"
expect 0 '"prevalence"' train evaluate detector --predictions found.jsonl --data own.jsonl --schema few.json --json
for name in questions prevalence auc; do
    awk -v a="$(field $name own.json)" -v b="$(field $name shown)" 'BEGIN { exit !(a - b < 1e-6 && b - a < 1e-6) }' ||
        complain "detect's answers" "$name $(field $name shown), of the model $(field $name own.json)"
done

# --- wide schemas: evaluate reads the same part of a schema as detect, so all scores agree
infer detect --model run --schema few.json own.jsonl --device cpu --elements 16 --relevance none -o part.jsonl 2>said || fail "ambit-infer detect --elements"
grep -q '"schema_cut":{"kept":16,' part.jsonl || complain "--elements" "no schema is cut"
expect 0 '"prevalence"' train evaluate detector run --data own.jsonl --schema few.json --device cpu --elements 16 --json
cp shown part.json
expect 0 '"prevalence"' train evaluate detector --predictions part.jsonl --data own.jsonl --schema few.json --json
for name in auc ap brier; do
    awk -v a="$(field $name part.json)" -v b="$(field $name shown)" -v whole="$(field $name own.json)" 'BEGIN { exit !(a - b < 1e-6 && b - a < 1e-6 && a != whole) }' ||
        complain "parts of schemas" "$name $(field $name part.json), of detect $(field $name shown), of whole schemas $(field $name own.json)"
done
expect 0 '^relevance of elements: AP' train evaluate detector run --data all --device cpu --elements 16
cp part.json words.json
infer detect --model run --schema few.json own.jsonl --device cpu --elements 16 --retriever "$gold/embed" --relevance none -o part.jsonl 2>said ||
    fail "ambit-infer detect --retriever"
expect 0 '"prevalence"' train evaluate detector run --data own.jsonl --schema few.json --device cpu --elements 16 --retriever "$gold/embed" --json
cp shown part.json
expect 0 '"prevalence"' train evaluate detector --predictions part.jsonl --data own.jsonl --schema few.json --json
for name in auc ap brier; do
    awk -v a="$(field $name part.json)" -v b="$(field $name shown)" -v words="$(field $name words.json)" 'BEGIN { exit !(a - b < 1e-6 && b - a < 1e-6 && a != words) }' ||
        complain "parts by meaning" "$name $(field $name part.json), of detect $(field $name shown), by words alone $(field $name words.json)"
done

# --- a matrix of 68, 20, 19 and 22 (GATekeeper's few-shot row), and always-yes beside it
sqlite3 shop.db 'CREATE TABLE shop (name TEXT, price REAL)'
awk 'BEGIN {
    print "id,question,ambiguous" >"matrix.csv"
    for (i = 0; i < 129; i++) {
        yes = i < 90; said = i < 68 || i >= 90 && i < 110
        printf "q%d,\"What is number %d?\",%s\n", i, i, yes ? "yes" : "no" >"matrix.csv"
        printf "{\"id\":\"q%d\",\"score\":%d}\n", i, said >"matrix.jsonl"
    }
}'
expect 0 '"accuracy": 0.674' train evaluate detector --predictions matrix.jsonl --data matrix.csv --db shop.db --json
for want in '"precision": 0.772' '"recall": 0.755' '"f1": 0.764' '"always_yes_f1": 0.821' '"always_yes_accuracy": 0.697' '"questions": 129'; do
    grep -q "$want" shown || complain "the matrix" "lacks $want: $(cat shown)"
done
expect 0 'at the threshold 0.000: F1 0.822' train evaluate detector --predictions matrix.jsonl --data matrix.csv --db shop.db --threshold 0
expect 0 '95 % over databases' train evaluate detector --predictions <(tac matrix.jsonl) --data matrix.csv --db shop.db

# --- risk and coverage: of ten scores the two nearest to the threshold are wrong, so that eight of ten are right, and the eight surest
awk 'BEGIN { print "id,question,ambiguous" >"risk.csv"
    for (i = 0; i < 10; i++) {
        score = i < 5 ? 0.05 + i * 0.09 : 0.6 + (i - 5) * 0.09
        printf "r%d,What is %d?,%s\n", i, i, (i < 4 || i == 5) ? "no" : "yes" >"risk.csv"
        printf "{\"id\":\"r%d\",\"score\":%.2f}\n", i, score >"risk.jsonl"
    } }'
expect 0 '^1.000 +10 +8 +0.800 +' train evaluate detector --predictions risk.jsonl --data risk.csv --db shop.db
expect 0 '^unsure between 0.3200 and 0.6800: 8 of 10 answered, 0 wrongly' train evaluate detector --predictions risk.jsonl --data risk.csv --db shop.db --abstain 0.32:0.68
expect 0 '"wrong": 1' train evaluate detector --predictions risk.jsonl --data risk.csv --db shop.db --abstain 0.4:0.6 --json
expect 0 '^1.000 +10 +8 +0.800 +' train evaluate detector --predictions risk.jsonl --data risk.csv --db shop.db
for want in '^0.800 +8 +8 +1.000 +0.3200 and 0.6800$' '^0.500 +5 +5 +1.000' 'macro-F1 0.800, accuracy 0.800, precision'; do
    grep -qE "$want" shown || complain "risk and coverage" "lacks $want: $(cat shown)"
done
expect 0 '"aurc": 0.0311' train evaluate detector --predictions risk.jsonl --data risk.csv --db shop.db --json

# --- alternatives of one's own are met in either order
printf '%s\n' '{"id":1,"question":"What?","ambiguous":true,"type":"C","alternatives":["shop.name","shop.price"]}' \
    '{"id":2,"question":"Which?","ambiguous":true,"type":"C","alternatives":["shop.name","shop.price"]}' \
    '{"id":3,"question":"Who?","ambiguous":false}' >named.jsonl
printf '%s\n' '{"id":2,"score":0.9,"alternatives":["shop.price","shop.name"]}' '{"id":1,"score":0.8,"alternatives":["shop.price","shop.price"]}' \
    '{"id":3,"score":0.1}' >named.pred.jsonl
expect 0 '"both_named": 0.5' train evaluate detector --predictions named.pred.jsonl --data named.jsonl --db shop.db --json

# --- bad input
told=(said)
evaluate() { train evaluate detector "$@"; }
expect 2 'RUN and --predictions cannot be used together' evaluate run --predictions matrix.jsonl --data matrix.csv --db shop.db
expect 2 'db and --schema cannot be used together' evaluate run --data matrix.csv --db shop.db --schema all/tables.json
expect 2 'data' evaluate run
expect 3 'matrix.csv' evaluate run --data matrix.csv --device cpu
expect 3 'nowhere.csv' evaluate run --data nowhere.csv --db shop.db --device cpu
expect 6 'nothing' evaluate nothing --data matrix.csv --db shop.db --device cpu
expect 2 'has no validation questions to choose a band' evaluate --predictions matrix.jsonl --data matrix.csv --db shop.db --abstain 0.1
expect 2 'expected LOW:HIGH' evaluate run --data all --abstain 0.9:0.1
expect 2 'abstain RATE and --adapter cannot be used together; give --abstain LOW:HIGH' evaluate run --data all --adapter none --abstain 0.1
expect 2 'elements: expected 0 or at least 16, got 3' evaluate run --data all --elements 3
expect 2 'retriever needs --elements above 0' evaluate run --data all --elements 0 --retriever "$gold/embed"
expect 2 'retriever and --predictions cannot be used together' evaluate --predictions answers.jsonl --data all --retriever "$gold/embed"
expect 6 'nowhere/config.json: No such file' evaluate run --data all --retriever nowhere
expect 2 'threshold' evaluate run --data matrix.csv --db shop.db --threshold 2
expect 3 'expected a db_id of all/tables.json, got "shop"' evaluate run --data <(sed 's/}$/,"db_id":"shop"}/' named.jsonl) --schema all/tables.json --device cpu
# refused TEXT LINE...: predictions of the three questions of named.jsonl
refused() {
    local text=$1
    shift
    printf '%s\n' "$@" >bad.jsonl
    expect 3 "$text" evaluate --predictions bad.jsonl --data named.jsonl --db shop.db
}
refused '2 of 3 questions have no answer, the first is "2"' '{"id":1,"score":1}'
refused 'line 2: field "id": "1" has an answer already' '{"id":1,"score":1}' '{"id":1,"score":0}'
refused 'line 1: field "id": expected the id of a labelled question, got "9"' '{"id":9,"score":1}'
refused 'line 1: field "score": expected 0 to 1, got 1.5' '{"id":1,"score":1.5}'
refused 'line 1: field "score"' '{"id":1,"score":null}'
refused '3 of 3 questions have no answer' '{"id":1,"error":"no"}'
refused 'bad.jsonl: line 1' '{"id":1,'
sed 's/"id":2/"id":1/' named.jsonl >twice.jsonl
expect 3 'two labelled questions have the id "1"' evaluate --predictions named.pred.jsonl --data twice.jsonl --db shop.db
sed 's/true/"perhaps"/' named.jsonl >labels.jsonl
expect 3 'labels.jsonl: 2 of 3 records are wrong' evaluate --predictions named.pred.jsonl --data labels.jsonl --db shop.db
: >empty.jsonl
expect 3 'empty.jsonl' evaluate --predictions named.pred.jsonl --data empty.jsonl --db shop.db

finish

#!/usr/bin/env bash
# ambit-train tag: a new tagger learns marked words by heart, with each type of grounding.  The weights are equal after
# interruption and with captured steps; training from another tagger, with a frozen encoder; bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

# records FIRST LAST: questions about tables of two other columns each; "price" is doubled, gone, or there
records() {
    awk -v first="$1" -v last="$2" 'BEGIN {
        split("boat lamp tent shoe desk ring harp sofa vase drum", things, " ")
        split("color weight owner maker", others, " ")
        for (i = first; i <= last; i++) {
            thing = things[i % 10 + 1]
            other = others[i % 4 + 1]
            what = "What is the price of each " thing "?"
            columns = sprintf("{\"name\":\"%s\",\"type\":\"text\",\"values\":[\"%s\"]}", other, thing)
            at = "\"start\":12,\"end\":17"
            for (k = 0; k < 3; k++) {
                more = k == 0 ? ",{\"name\":\"old price\",\"type\":\"number\"},{\"name\":\"new price\",\"type\":\"number\"}" : \
                    k == 1 ? ",{\"name\":\"price\",\"type\":\"number\"}" : ""
                label = k == 0 ? "\"AMB\",\"alternatives\":[{\"column\":1},{\"column\":2}]" : \
                    k == 1 ? "\"COL\",\"alternatives\":[{\"column\":1}]" : "\"UNK\",\"alternatives\":[]"
                printf "{\"id\":\"%d-%d\",\"source\":\"own\",\"db_id\":\"%s%d\",\"question\":\"%s\",\"type\":\"made\",", i, k, thing, i, what
                printf "\"columns\":[%s%s],\"spans\":[{%s,\"label\":%s}]}\n", columns, more, at, label
            }
        }
    }'
}
mkdir spans
records 1 16 >spans/train.jsonl
records 21 24 >spans/valid.jsonl
records 31 34 >spans/test.jsonl

learn() { train tag --data spans --device cpu --compute f32 "$@"; }
small=(--encoder-hidden 32 --encoder-layers 1 --encoder-heads 2 --encoder-intermediate 64 --encoder-vocabulary 400 --encoder-dropout 0
    --dropout 0 --hidden 32 --batch 8 --lr 3e-3 --head-lr 3e-3)

# value FILE FIELD: its numbers in the order of the lines
value() { grep -o "\"$2\":[^,}]*" "$1" | cut -d : -f 2; }
same() { cmp -s "$1" "$2" || complain "$3" "$1 and $2 differ"; }
# weights RUN: a checksum of every tensor
weights() { train inspect "$1/ambit.h5" | grep -v "$1"; }

# --- learnt, whatever grounds it
for how in spans none erase; do
    run 0 learn "${small[@]}" --grounding $how --epochs 40 --out "by-$how"
    value "by-$how/metrics.jsonl" valid_span_f1 | awk 'NR == 1 { exit !($1 < 0.9) }' || complain "F1 before it has learnt" "$how"
    value "by-$how/metrics.jsonl" valid_span_f1 | sort -g | tail -n 1 | awk '{ exit !($1 > 0.9) }' || complain "F1 with $how" "$(tail -n 3 "by-$how/metrics.jsonl")"
done
run 0 learn "${small[@]}" --published --grounding spans --epochs 40 --out published
value published/metrics.jsonl valid_span_f1 | sort -g | tail -n 1 | awk '{ exit !($1 > 0.9) }' || complain "F1 of plain tags" "$(tail -n 3 published/metrics.jsonl)"

# --- weak supervision: the concepts of each question's SQL, and the marks AMB and UNK.  Column names are not marked.
# asked FIRST LAST MARKS: two questions of each table, "SELECT max(price)" and "SELECT weight"; "price" is there, doubled, or
# gone.  MARKS: the marks COL too.
asked() {
    awk -v first="$1" -v last="$2" -v marks="$3" 'BEGIN {
        split("boat lamp tent shoe desk ring harp sofa vase drum", things, " ")
        split("there doubled gone", edits, " ")
        weight = "{\"name\":\"weight\",\"type\":\"number\"}"
        for (i = first; i <= last; i++) {
            for (k = 1; k <= 3; k++) {
                price = k == 3 ? "" : k == 1 ? ",{\"name\":\"price\",\"type\":\"number\"}" : ",{\"name\":\"old price\",\"type\":\"number\"},{\"name\":\"new price\",\"type\":\"number\"}"
                said = k == 3 ? "\"UNK\",\"alternatives\":[]" : k == 1 ? "\"COL\",\"alternatives\":[{\"column\":1}]" : "\"AMB\",\"alternatives\":[{\"column\":1},{\"column\":2}]"
                for (m = 0; m < 2; m++) {
                    words = m ? "What is the weight" : "What is the top price"
                    label = m ? "\"COL\",\"alternatives\":[{\"column\":0}]" : said
                    at = m ? "\"start\":12,\"end\":18" : "\"start\":16,\"end\":21"
                    spans = !marks && label ~ /COL/ ? "" : "{" at ",\"label\":" label "}"
                    concepts = m ? "{\"column\":0}" : k == 3 ? "{\"keyword\":\"MAX\"}" : k == 1 ? "{\"keyword\":\"MAX\"},{\"column\":1}" : "{\"keyword\":\"MAX\"},{\"column\":1},{\"column\":2}"
                    printf "{\"id\":\"%d-%s-%d\",\"source\":\"own\",\"db_id\":\"%d\",\"question\":\"%s of each %s?\",\"type\":\"made\",", i, edits[k], m, i, words, things[i % 10 + 1]
                    printf "\"columns\":[%s%s],\"spans\":[%s],\"concepts\":[%s]}\n", weight, price, spans, concepts
                }
            }
        }
    }'
}
mkdir weak
asked 1 16 0 >weak/train.jsonl
asked 21 24 1 >weak/valid.jsonl
asked 31 34 1 >weak/test.jsonl
grep -q '"COL"' weak/train.jsonl && complain "a column is marked"
run 0 train tag --data weak --device cpu --compute f32 "${small[@]}" --preset dte --steps 1210 --grounding-weight 4 --grounding-from 0.2 --grounding-to 0.3 --tags-from 0.4 --tags-to 0.5 --eval-every 100 --out weak-run
grep -q '^epochs: 3$' weak-run/config.yaml || complain "steps change the epochs"
[ "$(value weak-run/metrics.jsonl step | tail -n 1)" = 1212 ] || complain "steps, in whole epochs" "$(tail -n 1 weak-run/metrics.jsonl)"
value weak-run/metrics.jsonl valid_span_f1 | sort -g | tail -n 1 | awk '{ exit !($1 > 0.9) }' || complain "F1 of weak supervision" "$(tail -n 3 weak-run/metrics.jsonl)"
train inspect weak-run/ambit.h5 | grep -q '"keywords": "trained"' || complain "keywords are not trained"
train inspect by-spans/ambit.h5 | grep -q '"keywords": "untrained"' || complain "keywords are trained without SQL"
infer tag --model weak-run --device cpu weak/test.jsonl -o linked.jsonl 2>>log || complain "tag with weak-run"
[ "$(grep -c '"text":"price","label":"COL"' linked.jsonl)" = 4 ] || complain "unmarked columns" "$(grep -m 2 there-0 linked.jsonl)"
[ "$(grep -c '"text":"weight","label":"COL"' linked.jsonl)" = 12 ] || complain "unmarked columns" "$(grep -m 2 there-1 linked.jsonl)"

# --- stopped and gone on with: the same weights
few=("${small[@]}" --dropout 0.1 --encoder-dropout 0.1 --grounding erase --grounding-from 0 --grounding-to 0.5)
run 0 learn "${few[@]}" --epochs 4 --save-every 2 --out whole
run 0 learn "${few[@]}" --epochs 4 --save-every 2 --out eager --no-graph
run 0 learn "${few[@]}" --epochs 4 --save-every 5 --out halved --dry-run
"$bin/ambit-train" tag --data spans --device cpu --compute f32 "${few[@]}" --epochs 4 --save-every 2 --out halved 2>>log &
pid=$!
for ((i = 0; i < 400; i++)); do
    [ ! -e halved/checkpoint-4 ] || break
    sleep 0.02
done
kill -9 $pid 2>/dev/null || true
wait $pid 2>/dev/null || true
run 0 train tag --resume --out halved
weights whole >whole.sums
weights eager >eager.sums
weights halved >halved.sums
same whole.sums eager.sums "without a graph"
same whole.sums halved.sums "killed and gone on with"

# --- from another run: its encoder stays
run 0 learn --init by-spans --heads-only --epochs 2 --out heads
encoder() { weights "$1" | grep 'bert\.'; }
cmp -s <(encoder by-spans) <(encoder heads) || complain "--heads-only trains the encoder"
cmp -s <(weights by-spans) <(weights heads) && complain "--heads-only trains nothing"

# --- a few corrections: all of them are learnt, and replayed examples keep the earlier knowledge
awk 'BEGIN {
    split("kite bell sled coin", things, " ")
    for (i = 1; i <= 12; i++) {
        printf "{\"id\":\"c%d\",\"source\":\"own\",\"db_id\":\"own%d\",\"question\":\"Show the weight of every %s\",", i, i, things[i % 4 + 1]
        printf "\"type\":\"made\",\"columns\":[{\"name\":\"maker\",\"type\":\"number\"},{\"name\":\"price\",\"type\":\"number\"}],"
        printf "\"spans\":[{\"start\":9,\"end\":15,\"label\":\"UNK\",\"alternatives\":[]}]}\n"
    }
}' >corrections.jsonl
mkdir few
cp corrections.jsonl few/train.jsonl
correct() { train tag --init by-spans --heads-only --device cpu --compute f32 --grounding spans --batch 8 --head-lr 1e-2 --epochs 30 "$@"; }
# right MODEL FILE: how many records have a span with the gold's label
right() {
    infer tag --model "$1" --device cpu "$2" -o tagged.jsonl 2>>log || complain "tag with $1"
    paste -d ' ' <(grep -o '"spans":.*"label":"[A-Z]*"' "$2" | grep -o '[A-Z]*"$') <(grep -o '"label":"[A-Z]*"\|"spans":\[\]' tagged.jsonl | grep -o '[A-Z]*"$\|\[\]') |
        awk '$1 == $2' | wc -l
}
check "a file of corrections" 0 "replay: 48 records of .*/by-spans" correct --data corrections.jsonl --out kept
grep -q "no validation records: temperature and threshold stay" said || complain "does not say that nothing was calibrated"
run 0 correct --data few --replay-records 0 --out forgot
[ "$(right by-spans spans/test.jsonl)" = 12 ] || complain "before the corrections"
[ "$(right kept corrections.jsonl)" = 12 ] || complain "corrections are not learnt"
[ "$(right kept spans/test.jsonl)" -ge 11 ] || complain "earlier examples are forgotten in spite of replay"
[ "$(right forgot spans/test.jsonl)" -le 8 ] || complain "nothing is forgotten without replay, so nothing is tested"
calibration() { train inspect "$1/ambit.h5" | grep -o '"\(temperature\|threshold\)": *[0-9.]*'; }
[[ -n "$(calibration kept)" && "$(calibration kept)" = "$(calibration by-spans)" ]] || complain "the calibration is another"
[ "$(grep -c . kept/replay.jsonl)" = 60 ] || complain "records for the next run" "$(grep -c . kept/replay.jsonl)"
run 0 train tag --resume --out kept --epochs 31
cp -r by-spans bare
rm bare/replay.jsonl
check "a run that kept no records" 0 "bare/replay.jsonl is not there" correct --init bare --data few --epochs 1 --out from-bare

# --- bad input
refuse() { check "$1" "$2" "$3" learn --out no "${@:4}"; }
mkdir empty broken
touch empty/train.jsonl empty/valid.jsonl
refuse "no records" 3 "train.jsonl: expected records" --data empty
refuse "no folder" 3 "none/train.jsonl" --data none
cp spans/valid.jsonl broken/
sed '3s/"UNK"/"MAYBE"/' spans/train.jsonl >broken/train.jsonl
refuse "a label" 3 'train.jsonl.*3.*MAYBE' --data broken
sed '2s/"end":17/"end":170/' spans/train.jsonl >broken/train.jsonl
refuse "an end" 3 'train.jsonl.*2.*170' --data broken
sed '2s/{"column":1}/{"column":9}/' spans/train.jsonl >broken/train.jsonl
refuse "a column" 3 'train.jsonl.*2.*9' --data broken
sed '1s/.*/{"id":/' spans/train.jsonl >broken/train.jsonl
refuse "half a line" 3 'train.jsonl' --data broken
sed '3s/"keyword":"MAX"/"keyword":"LIKE"/' weak/train.jsonl >broken/train.jsonl
refuse "a keyword" 3 'train.jsonl.*3.*concept 0: field "keyword": expected MAX.*"LIKE"' --data broken
sed '2s/"concepts":\[/&{"column":9},/' weak/train.jsonl >broken/train.jsonl
refuse "a concept's column" 3 'train.jsonl.*2.*concept 0.*9' --data broken
sed '2s/"concepts":\[.*\]/"concepts":7/' weak/train.jsonl >broken/train.jsonl
refuse "concepts that are no list" 3 'train.jsonl.*2.*concepts' --data broken
sed '2s/,"concepts":\[.*\]//' weak/train.jsonl >broken/train.jsonl
refuse "a record without SQL" 3 'record 2 .*expected the field "concepts"' --data broken --supervision sql --grounding erase
refuse "marked words without marks" 2 "supervision sql and --grounding spans cannot" --data weak --supervision sql
refuse "two encoders" 2 "expected no --encoder" --init by-spans --encoder by-none
refuse "a file alone" 3 "corrections.jsonl: expected a folder with train.jsonl" --data corrections.jsonl
refuse "no validation" 3 "few/valid.jsonl" --data few
refuse "replay" 2 "0 to 1000" --init by-spans --replay-records 1001
sed '2s/"UNK"/"MAYBE"/' corrections.jsonl >bare/replay.jsonl
refuse "another's records" 6 'bare/replay.jsonl.*2.*MAYBE' --init bare --data few
refuse "no run" 6 "no-such-run" --init no-such-run
refuse "no encoder" 6 "spans/config.json" --encoder spans
refuse "heads" 2 "5 heads of 48" --encoder-hidden 48 --encoder-heads 5
refuse "grounding" 2 "spans.erase.none" --grounding guess
refuse "batch" 2 "1 to 65536" --batch 0
check "a folder that holds a run" 2 "holds a run" learn "${small[@]}" --out whole
check "fewer epochs" 2 "epochs" train tag --resume --out halved --epochs 1
check "another's run" 2 "" train gatekeeper --resume --out whole
finish

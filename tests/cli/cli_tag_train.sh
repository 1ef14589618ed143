#!/usr/bin/env bash
# ambit-train tag: a tagger from nothing learns marked words by heart, by each way of grounding; the same weights when it
# was stopped and when it is captured; it goes on from another, its encoder left as it is; what is refused.
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
                printf "{\"id\":\"%d-%d\",\"source\":\"own\",\"db_id\":\"%s%d\",\"question\":\"%s\",\"kind\":\"made\",", i, k, thing, i, what
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
run 0 learn "${small[@]}" --compat --grounding spans --epochs 40 --out compat
value compat/metrics.jsonl valid_span_f1 | sort -g | tail -n 1 | awk '{ exit !($1 > 0.9) }' || complain "F1 of plain tags" "$(tail -n 3 compat/metrics.jsonl)"

# --- stopped and gone on with: the same weights
few=("${small[@]}" --dropout 0.1 --encoder-dropout 0.1 --grounding-from 0 --grounding-to 0.5)
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
run 0 learn --from by-spans --heads-only --epochs 2 --out heads
encoder() { weights "$1" | grep 'bert\.'; }
cmp -s <(encoder by-spans) <(encoder heads) || complain "--heads-only trains the encoder"
cmp -s <(weights by-spans) <(weights heads) && complain "--heads-only trains nothing"

# --- what is refused
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
refuse "two encoders" 2 "expected no --encoder" --from by-spans --encoder by-none
refuse "no run" 6 "no-such-run" --from no-such-run
refuse "no encoder" 6 "spans/config.json" --encoder spans
refuse "heads" 2 "5 heads of 48" --encoder-hidden 48 --encoder-heads 5
refuse "grounding" 2 "erase.spans.none" --grounding guess
refuse "batch" 2 "1 to 4096" --batch 0
check "a folder that holds a run" 2 "holds a run" learn "${small[@]}" --out whole
check "fewer epochs" 2 "epochs" train tag --resume --out halved --epochs 1
check "another's run" 2 "" train gatekeeper --resume --out whole
finish

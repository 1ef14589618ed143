#!/usr/bin/env bash
# ambit-train words: a head for words on the detector that comes with ambit; the same bytes again; what it refuses.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

record() { # ID QUESTION START END LABEL ALTERNATIVES [COLUMN...]
    local id=$1 question=$2 start=$3 end=$4 label=$5 alternatives=$6 list='' c
    shift 6
    for c in "$@"; do list+=",{\"name\":\"$c\",\"type\":\"text\",\"values\":[\"x$id\"]}"; done
    printf '{"id":"%s","source":"own","db_id":"d%s","type":"own","question":"%s","columns":[%s],"spans":[{"start":%s,"end":%s,"label":"%s","alternatives":[%s]}]}\n' \
        "$id" "$id" "$question" "${list#,}" "$start" "$end" "$label" "$alternatives"
}
for i in 1 2 3 4 5 6; do
    record "c$i" "Show the colour of boat $i." 9 15 COL '{"column":0}' colour owner
    record "a$i" "Show the price of boat $i." 9 14 AMB '{"column":0},{"column":1}' "list price" "sale price" owner
    record "u$i" "Show the warranty of boat $i." 9 17 UNK '' size owner
done >spans.jsonl

begin "a head is trained"
learn() { train words "$root/models/detector" --data spans.jsonl --valid spans.jsonl --epochs 40 --hidden 16 --dropout 0 --device cpu "$@"; }
check "words" 0 "words of 18 questions; 0 questions skipped" learn -o one.h5
grep -q "validation: loss 0.0.*COL 1.000, VAL 0.000, AMB 1.000, UNK 1.000; false alarms in 0.000" said || complain "the summary" "$(tail -n 1 said)"

begin "equal runs write equal bytes, and another seed other ones"
run 0 learn -o two.h5
cmp -s one.h5 two.h5 || complain "words" "writes other bytes the second time"
run 0 learn -o three.h5 --seed 2
! cmp -s one.h5 three.h5 || complain "words" "ignores --seed"

begin "a part of the questions"
check "words" 0 "of 8 questions" learn -o few.h5 --questions 8 --epochs 1

begin "what is refused leaves no file"
check "a layer that the encoder lacks" 2 "--layer: expected 1 to 5, got 6" learn -o no.h5 --layer 6
echo '{"id":1}' >bad.jsonl
check "a record without a question" 3 "bad.jsonl" train words "$root/models/detector" --data bad.jsonl --valid spans.jsonl --device cpu -o no.h5
: >empty.jsonl
check "no question" 3 "empty.jsonl: expected questions with marked words, got none" train words "$root/models/detector" --data empty.jsonl --valid spans.jsonl --device cpu -o no.h5
check "another ending" 2 "FILE.h5" learn -o no.json
synthetic d 1 3 8 4 4
tiny_detector encode=element >tiny.yaml
run 0 train gatekeeper --data d --config tiny.yaml --epochs 1 --out tiny --device cpu
check "a detector that reads elements" 6 "does not encode the question with the whole schema" train words tiny --data spans.jsonl --valid spans.jsonl --device cpu -o no.h5
{ [ ! -e no.h5 ] && [ ! -e no.h5.tmp ]; } || complain "a refused command" "left a file"

finish

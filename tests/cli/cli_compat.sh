#!/usr/bin/env bash
# The released code of GATekeeper reproduced (--preset skadborg-mortensen-code), and the relevance word in element texts.  A resumed
# run has the same bits; the checkpoint's settings; the commands that read it; settings that cannot be used together.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
: >log

synthetic all 3 7 96 32 32
tiny_detector compute=f32 relevance-epochs=1 relevance-batch=16 relevance-lr=1e-3 epochs=3 batch=16 device=cpu >tiny.yaml
tiny=(gatekeeper --config tiny.yaml --data all)
{ cat tiny.yaml; echo 'relevance-word: true'; } >word.yaml
{ cat tiny.yaml; echo 'graph: reproduction'; } >graph.yaml
word=(gatekeeper --config word.yaml --data all) graph=(gatekeeper --config graph.yaml --data all)

# --- whole, and stopped while it learns relevance and while it learns the classifier: the same bits
run 0 train "${tiny[@]}" --preset skadborg-mortensen-code --save-every 2 --out whole
# reached STAGE: a checkpoint, and figures of that stage
reached() { compgen -G 'parts/checkpoint-*[0-9]' >/dev/null && grep -q "\"$1\"" parts/metrics.jsonl 2>/dev/null; }
for wanted in relevance classifier; do
    resume=(--resume --out parts)
    [ -e parts/config.yaml ] || resume=("${tiny[@]:1}" --preset skadborg-mortensen-code --save-every 2 --out parts)
    "$bin/ambit-train" gatekeeper "${resume[@]}" >shown 2>said &
    until reached $wanted || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
    kill -TERM $! 2>/dev/null
    wait $!
    [ ! -e parts/ambit.h5 ] || complain "a signal" "did not stop it at $wanted"
done
run 0 train gatekeeper --resume --out parts
for file in ambit.h5 test.json; do
    cmp "whole/$file" "parts/$file" || complain "resumed" "another $file"
done

# --- messages and settings
run 0 train inspect whole
for field in '"graph": "reproduction"' '"texts": "published"' '"embedder": "on"' '"relevance-loss": "mse"' '"pool": "mean"'; do
    grep -qF "$field" shown || complain "inspect" "no $field"
done
grep -q 'embedder.encoder.layer.0.output.dense.weight' shown || complain "inspect" "lists no embedder"
grep -A 2 '"relevance": {' whole/test.json | grep -q '"ap": [0-9]' || complain "test.json" "has no relevance"

# --- the commands that read the model
head -n 5 all/test.jsonl >questions.jsonl
run 0 infer detect --model whole --schema all/tables.json questions.jsonl --relevance all --device cpu -o found.jsonl
[ "$(wc -l <found.jsonl)" = 5 ] || complain "detect" "has $(wc -l <found.jsonl) lines"
# columns of one name share a node, so they share their relevance; every element of the schema is reported
awk '{
    n = split($0, parts, /"table": ?"/)
    for (i = 2; i <= n; i++) {
        match(parts[i], /"text": ?"[^"]*"/); text = substr(parts[i], RSTART, RLENGTH)
        match(parts[i], /"relevance": ?[0-9.e-]+/); r = substr(parts[i], RSTART, RLENGTH)
        if ((NR, text) in seen && seen[NR, text] != r) bad = 1
        twice += (NR, text) in seen
        seen[NR, text] = r
    }
} END { exit bad || !twice }' found.jsonl || complain "detect" "relevance of one name differs, or no name stands twice"
run 0 train evaluate detector whole --data all --device cpu
run 0 train export whole --format hf -o exported
sed -nE 's/^\{"id":("[^"]*"),"db_id":("[^"]*"),"source_db":("[^"]*"),"question":("([^"\\]|\\.)*").*"ambiguous":(true|false).*/{"id":\1,"db_id":\2,"source_db":\3,"question":\4,"ambiguous":\6}/p' \
    all/test.jsonl >labels.jsonl
{ grep '"ambiguous":true' labels.jsonl | head -n 4; grep '"ambiguous":false' labels.jsonl | head -n 4; } >support.jsonl
run 0 train adapt whole --support support.jsonl --schema all/tables.json --device cpu -o adapter
check "lora" 2 'method lora: whole reads each text after its relevance.*expected threshold, linear or layer' \
    train adapt whole --support support.jsonl --schema all/tables.json --device cpu --method lora -o none

# --- the settings of the paper
run 0 train "${tiny[@]}" --preset skadborg-mortensen --epochs 2 --out paper
run 0 train inspect paper
for field in '"graph": "paper"' '"texts": "relevance-word"' '"relevance-loss": "bce"' '"pool": "mean"'; do
    grep -qF "$field" shown || complain "inspect paper" "no $field"
done
grep -q '"valid_f1":' paper/metrics.jsonl || complain "the paper" "does not choose by F1"
grep -q '^patience: 40$' paper/config.yaml || complain "the paper" "$(grep patience paper/config.yaml)"

# --- the word alone, of an encoder that a linker taught; the embedder beside a linker wants the folder that it came from
run 0 train "${tiny[@]}" --encode element --epochs 0 --out linker
run 0 train "${word[@]}" --encode element --classifier gat-mean --linker linker --epochs 1 --out word
run 0 train inspect word
grep -qF '"texts": "relevance-word"' shown || complain "inspect" "of the word"
grep -qF '"embedder": "off"' shown || complain "inspect" "an embedder beside a linker's states"
run 0 infer detect --model word --schema all/tables.json questions.jsonl --device cpu -o found.jsonl

# --- settings that cannot be used together
plain=("${tiny[@]}" --out none)
check "pair" 2 'graph: reproduction merges elements of one name: expected --encode element' train "${graph[@]}" --out none --encode element --renamed 0
check "renamed" 2 'and --renamed 0' train "${plain[@]}" --preset skadborg-mortensen-code --renamed 0.5
check "schema" 2 'relevance-word: an element.s relevance must be known before' train "${word[@]}" --out none
check "joint" 2 'element-text: published: .*embedder stock or linker' train "${plain[@]}" --preset skadborg-mortensen-code --embedder joint
check "no relevance" 3 'teaches what is relevant, which texts are to say' train "${plain[@]}" --preset skadborg-mortensen-code --relevance-epochs 0
check "a linker of other texts" 2 'linker .*linker: expected a run that reads bare names, got one that reads qualified' \
    train "${plain[@]}" --preset skadborg-mortensen-code --embedder linker --linker linker
check "no folder" 2 'states are of the encoder as it came: expected --encoder' \
    train "${word[@]}" --out none --encode element --classifier gat-mean --embedder stock --linker linker
check "config only" 2 'pool: expected in the file of --config only' train "${plain[@]}" --pool mean
check "a name" 2 'preset' train "${plain[@]}" --preset paper
finish

#!/usr/bin/env bash
# Captured steps and steps launched kernel by kernel (--no-graph) give the same bits on simt: both trainers, a resumed run,
# greedy and sampled completions, losses, predictions.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
# shellcheck source=tests/support/lm_records.sh
. "$support/lm_records.sh"

# both SHARE FILES COMMAND...: runs the command with and without captured steps.  The FILES have the same bytes, at least SHARE
# of a hundred steps are replayed, and the output of the captured run stays in `graph`.
both() {
    local share=$1 files=$2 got
    shift 2
    rm -rf graph eager
    run 0 "$@" --device simt --out eager --no-graph
    grep -q 'steps were replayed' said && complain "$*" "replays with --no-graph"
    run 0 "$@" --device simt --out graph
    got=$(sed -nE 's/.*\b([0-9]+) of ([0-9]+) steps were replayed.*/\1 \2/p' said | awk '{ print int(100 * $1 / $2) }')
    [ "${got:-0}" -ge "$share" ] || complain "$*" "${got:-no} of a hundred steps are replayed, not $share"
    for file in $files; do
        case $file in
        *metrics.jsonl) cmp <(timeless "eager$file") <(timeless "graph$file") ;;
        *) cmp "eager${file%/}" "graph${file%/}" ;;
        esac || complain "$*" "other bytes in $file"
    done
}

go() { exec "$bin/ambit-train" "$@" --device simt --resume --out part; }

# stopped COMMAND...: a run that is killed after some step and resumed, and so captures its steps anew, ends with the weights
# in `graph`.
stopped() {
    local job
    rm -rf part
    begin "stopped: $*"
    (go "$@") >log 2>&1 &
    job=$!
    until compgen -G 'part/checkpoint-*/ambit.h5' >shown || ! kill -0 $job 2>/dev/null; do sleep 0.02; done
    kill -9 $job 2>/dev/null
    wait $job 2>/dev/null
    [ -e part/ambit.h5 ] && complain "$*" "the run is over before it is killed"
    (go "$@") >log 2>&1 || fail "$*: resumed"
    grep -q '[1-9][0-9]* of .* steps were replayed' log || complain "$*" "replays nothing when it goes on"
    cmp graph/ambit.h5 part/ambit.h5 || complain "$*" "a run that goes on ends with other weights"
}

cp -r "$gold/llama/base" model && cp "$gold/bpe/llama/tokenizer.json" model
records 0 40 | awk 'length < 260' | head -n 12 >train.jsonl # short texts: simt is slow
records 12 14 >valid.jsonl
infill=(infill --base model --data train.jsonl --valid valid.jsonl --compute f32 --lr 5e-3 --batch 4 --epochs 2 --save-every 1)
dropped=("${infill[@]}" --tokens 100 --lora-dropout 0.1 --neftune 5)
both 25 "/ambit.h5 /metrics.jsonl" train "${dropped[@]}"
stopped "${dropped[@]}"
both 25 "/ambit.h5 /metrics.jsonl" train "${infill[@]}" --share-prefix --head lora

records 0 12 | sed -E 's/,"completion":.*/}/' >prompts.jsonl
answers=(infer generate --model model --batch 4 --max-new 16)
both 80 / "${answers[@]}" prompts.jsonl
both 80 / "${answers[@]}" --temperature 0.9 --seed 3 prompts.jsonl
cat train.jsonl train.jsonl >twice.jsonl
both 30 / infer loss --model model --tokens 1 twice.jsonl

data practice --seed 1 -o practice >log 2>&1 || fail "practice"
for fold in train=32 valid=2 test=4; do
    awk -v n="${fold#*=}" 'NR % 5 == 1 && k++ < n' "practice/${fold%=*}.jsonl" >some.jsonl && mv some.jsonl "practice/${fold%=*}.jsonl"
done
few_tables practice/tables.json practice/*.jsonl >few.json && mv few.json practice/tables.json
tiny_detector encoder-layers=2 encoder-vocabulary=300 encoder-positions=96 compute=f32 relevance-epochs=1 relevance-batch=16 batch=8 epochs=2 save-every=1 >small.yaml
for how in "element --embedder linker" "element --embedder joint --relevance-epochs 0" "schema --classifier gat-mean"; do
    # shellcheck disable=SC2086 # words
    both 40 "/ambit.h5 /metrics.jsonl" train gatekeeper --data practice -c small.yaml --encode $how
done
# shellcheck disable=SC2086 # of the last
stopped gatekeeper --data practice -c small.yaml --encode $how
mv graph detector
for _ in $(seq 10); do head -n 4 practice/test.jsonl; done >questions.jsonl
both 10 / infer detect --model detector --tokens 512 --schema practice/tables.json questions.jsonl
finish

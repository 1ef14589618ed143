#!/usr/bin/env bash
# A training run that is killed at random moments, every second time while it saves a file, and resumed each time.  It ends
# with the files of an undisturbed run: checkpoint, model, metrics and export, byte for byte.
# usage: cli_kill.sh [KILLS [SEED]]
kills=${1:-6}
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
# shellcheck source=tests/support/kill.sh
. "$support/kill.sh"
export OMP_NUM_THREADS=2

# As many contrast questions of each fold as train within a second.
small_data() {
    "$bin/ambit-data" practice -o all --seed 3 >log 2>&1 || fail "ambit-data practice"
    mkdir data
    for fold in train:48 valid:12 test:12; do
        grep '"slice":"contrast"' "all/${fold%:*}.jsonl" | head -n "${fold#*:}" >"data/${fold%:*}.jsonl"
    done
    few_tables all/tables.json data/*.jsonl >data/tables.json
}

tiny_detector encode=element relevance-epochs=2 epochs=8 batch=16 tokens=2048 distractors=0.5 eval-every=4 save-every=3 >small.yaml

# All that a run needs to go on stands in its folder.
train() {
    local folder=$PWD/$1
    [ ! -e "$folder/config.yaml" ] || { cd / && exec "$bin/ambit-train" gatekeeper --resume --out "$folder"; }
    exec "$bin/ambit-train" gatekeeper --data data --config small.yaml --out "$1" --seed 5 --device cpu --resume
}

# Compares two runs, without the count of starts and without the cache, whose shards may differ.
same() {
    local folder
    for folder in "$1" "$2"; do
        rm -rf "$folder.hf"
        "$bin/ambit-train" export "$folder" --format hf -o "$folder.hf" >>log 2>&1 || fail "export of $folder"
    done
    diff -r "$1.hf" "$2.hf" || fail "the exported folders differ"
    for folder in "$1" "$2"; do
        grep -o '"seconds":[0-9.]*' "$folder/metrics.jsonl" | sort -c -t : -k 2 -g || fail "the time of $folder goes back"
    done
    same_folders "$1" "$2" -x states -x config.yaml -x 'events.*' || fail "the folders differ"
}

small_data
kill_and_resume whole killed "$kills"

# --- a run that is started again while the first process still trains waits for it, and goes on from its end
go() { "$bin/ambit-train" gatekeeper --data data --config small.yaml --epochs 1000 --out waits --seed 5 --device cpu --resume >"$1" 2>&1 & }
go first.log
first=$!
until compgen -G 'waits/checkpoint-*' >/dev/null || ! kill -0 $first 2>/dev/null; do sleep 0.05; done
go second.log
second=$!
until grep -q "another process trains into this folder" second.log || ! kill -0 $second 2>/dev/null; do sleep 0.05; done
kill -TERM $first
wait $first
until grep -q "going on after step" second.log || ! kill -0 $second 2>/dev/null; do sleep 0.05; done
kill -TERM $second
wait $second
step=$(sed -n 's/.*stopped after step \([0-9]*\).*/\1/p' first.log)
grep -q "going on after step $step\$" second.log || fail "the second process did not go on after step $step: $(tail -n 5 second.log)"
point ok "two processes do not train into one folder at once (seed $seed)"
finish

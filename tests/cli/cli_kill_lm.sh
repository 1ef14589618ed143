#!/usr/bin/env bash
# Training of a small language model that is killed at random moments, every second time while it saves a file, and resumed
# each time.  It ends with the files of an undisturbed run, byte for byte: weights, optimizer state, metrics, report.  Half of
# the kills hit an adapter, half of them full training.  SIGTERM saves.
# usage: cli_kill_lm.sh [KILLS [SEED]]
kills=${1:-4}
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
# shellcheck source=tests/support/kill.sh
. "$support/kill.sh"
# shellcheck source=tests/support/lm_records.sh
. "$support/lm_records.sh"

# All that a run needs to go on stands in its folder.
train() {
    local folder=$PWD/$1
    [ ! -e "$folder/config.yaml" ] || { cd / && exec "$bin/ambit-train" infill --resume --out "$folder"; }
    exec "$bin/ambit-train" infill --data train.jsonl --valid valid.jsonl --device cpu --base model --out "$1" --epochs 40 --batch 4 --neftune 5 --tokens 200 --save-every 7 --resume "${method[@]}"
}

# Compares two runs, without the count of starts.
same() {
    local file
    for file in ambit.h5 checkpoint-400/ambit.h5 best/ambit.h5 metrics.jsonl report.html "$weights"; do
        [ -s "$1/$file" ] || fail "$1 has no $file"
    done
    same_folders "$1" "$2" -x config.yaml -x 'events.*' || fail "$1 and $2 differ"
}

cp -r "$gold/llama/base" model && cp "$gold/bpe/llama/tokenizer.json" model
records 0 40 >train.jsonl
records 100 108 >valid.jsonl

method=(--method full) weights=model.safetensors
kill_and_resume whole every-weight $((kills / 2))
method=(--head full --lora-dropout 0.1 --share-prefix) weights=adapter_model.safetensors
kill_and_resume whole-adapter adapter $(((kills + 1) / 2))

# --- SIGTERM: the run saves its state and prints the command that resumes it
train stopped >>log 2>stopped.said &
sleep "$(awk -v s="$span" 'BEGIN { print s / 3 }')"
kill -TERM $!
wait $!
code=$?
[ $code = 143 ] || fail "exit code $code after SIGTERM"
[ -n "$(find stopped -name 'checkpoint-*')" ] || fail "SIGTERM saved nothing"
[ ! -e stopped/adapter_model.safetensors ] || fail "SIGTERM left a finished adapter"
command=$(sed -nE 's/.*to go on: (ambit-train .*)/\1/p' stopped.said)
PATH=$bin:$PATH bash -c "$command" >>log 2>&1 || fail "the run after SIGTERM: $command"
same whole-adapter stopped
point ok "SIGTERM saved, and the run ended the same (seed $seed)"
finish

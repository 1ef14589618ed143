#!/usr/bin/env bash
# A training run that is killed at random moments, every other time while a file is being saved, and resumed each time
# ends with the files of a run that nobody disturbed: checkpoint, model, figures and export, byte for byte.
# usage: cli_kill.sh [KILLS [SEED]]
set -u
kills=${1:-6} seed=${2:-$(($(date +%s) % 32768))}
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive
RANDOM=$seed

fail() {
    echo "$* (seed $seed)"
    tail -n 5 log
    exit 1
}

# As many crossed questions of each fold as train within a second.
small_data() {
    "$bin/ambit-data" practice -o all --seed 3 >log 2>&1 || fail "ambit-data practice"
    mkdir data && cp all/tables.json data
    for fold in train:48 valid:12 test:12; do
        grep '"slice":"crossed"' "all/${fold%:*}.jsonl" | head -n "${fold#*:}" >"data/${fold%:*}.jsonl"
    done
}

cat >small.yaml <<'END'
encode: element
encoder-hidden: 32
encoder-layers: 1
encoder-heads: 1
encoder-intermediate: 32
encoder-vocabulary: 400
encoder-positions: 256
relevance-epochs: 2
epochs: 8
batch: 16
gat-hidden: 8
gat-heads: 2
pair-hidden: 8
tokens: 2048
eval-every: 4
save-every: 3
END

train() {
    exec "$bin/ambit-train" gatekeeper --data data --config small.yaml --out "$1" --seed 5 --device cpu --resume
}

# Everything but what tells how often the run was started, and the cache, which may be cut into other parts.
same() {
    "$bin/ambit-train" export killed --format hf -o killed.hf >>log 2>&1 || fail "export of the resumed run"
    diff -r whole.hf killed.hf || fail "the exported folders differ"
    diff -r -x states -x config.yaml -x 'events.*' whole killed || fail "the folders differ"
    rm -rf killed killed.hf
    wholes=$((wholes + 1))
}

# Something half-written is there that no earlier kill has left.
saving() { [ -n "$(find killed -name '*.tmp' -newer started 2>/dev/null)" ]; }

# Kills process $1 after a random while, or when it next saves after that; fails when it ended before that.
kill_sometime() {
    sleep "$(awk -v s="$span" -v r="$RANDOM" 'BEGIN { print s * r / 65536 }')"
    if ((RANDOM % 2)); then
        until saving || ! kill -0 "$1" 2>/dev/null; do :; done
    fi
    kill -KILL "$1" 2>/dev/null
    wait "$1" 2>/dev/null
    local code=$?
    [ $code = 137 ] || [ $code = 0 ] || fail "exit code $code after $killed kills"
    [ $code = 137 ]
}

small_data
start=$(date +%s%N)
(train whole) >>log 2>&1 || fail "the run that nobody disturbs"
span=$(awk -v n=$(($(date +%s%N) - start)) 'BEGIN { print n / 1e9 }')
"$bin/ambit-train" export whole --format hf -o whole.hf >>log 2>&1 || fail "export"

killed=0 halves=0 wholes=0
while ((killed < kills)); do
    touch started
    train killed >>log 2>&1 &
    if kill_sometime $!; then
        killed=$((killed + 1))
        saving && halves=$((halves + 1))
    else
        same
    fi
done
(train killed) >>log 2>&1 || fail "the run after $killed kills"
same
echo "$killed kills, $halves of them while saving; $wholes resumed runs end like the undisturbed one (seed $seed)"

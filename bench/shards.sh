#!/usr/bin/env bash
# Detects many questions in shards with a small detector, and compares the joined output with one run: it must have the same
# bytes.  Random shards are killed and run again.  Prints the speed and the peak memory of the run and of the shards.
# usage: [SIZE=1000000] [SHARDS=16] [KILLS=3] [SEED=1] bench/shards.sh
set -euo pipefail
size=${SIZE:-1000000} shards=${SHARDS:-16} kills=${KILLS:-3}
kills=$((kills < shards ? kills : shards))
RANDOM=${SEED:-1}
bin=$(realpath "${AMBIT_BIN:-$(dirname "$0")/../build/release/bin}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"

"$bin/ambit-data" practice -o practice --seed 1 --quiet >/dev/null
cat >small.yaml <<'YAML'
encode: schema
encoder-hidden: 32
encoder-layers: 1
encoder-heads: 1
encoder-intermediate: 32
encoder-vocabulary: 400
gat-hidden: 8
gat-layers: 1
gat-heads: 1
pair-hidden: 8
epochs: 1
YAML
"$bin/ambit-train" gatekeeper --data practice --config small.yaml --device cpu --seed 1 --out detector >/dev/null 2>log
awk -v size="$size" -v n=0 '{ at = index($0, "\"id\":\"") + 5; before[n] = substr($0, 1, at - 1); rest = substr($0, at + 1); behind[n++] = substr(rest, index(rest, "\"") + 1) }
    END { for (i = 0; i < size; i++) print before[i % n] i behind[i % n] }' \
    practice/test.jsonl >questions.jsonl

detect() { exec "$bin/ambit-infer" detect --device cpu --model detector --schema practice/tables.json --relevance none --quiet questions.jsonl "$@"; }
clock() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(clock)" 'BEGIN { printf "%.2f", b - a }'; }

# watch LINES FILE ARGUMENTS...: runs detect into FILE, and kills it after LINES lines (0: never).  Sets $peak to its peak
# memory in MiB and $cpu to its processor time in seconds.
watch() {
    local lines=$1 part=$2.part pid kib=0 now ticks=0
    shift 2
    detect "$@" &
    pid=$!
    while now=$(awk '/VmHWM/ { print $2 }' /proc/$pid/status 2>/dev/null) && [ -n "$now" ]; do
        kib=$now
        ticks=$(awk '{ print $14 + $15 }' /proc/$pid/stat 2>/dev/null || echo "$ticks")
        sleep 0.03
        if [ "$lines" != 0 ] && [ -e "$part" ] && [ "$(wc -l <"$part")" -ge "$lines" ]; then
            kill -KILL $pid 2>/dev/null || true
        fi
    done
    peak=$((kib / 1024))
    cpu=$(awk -v t="$ticks" -v hz="$(getconf CLK_TCK)" 'BEGIN { print t / hz }')
    wait $pid 2>/dev/null || [ "$lines" != 0 ]
}

# shard I LINES: runs shard I, kills it after LINES lines (0: never), and adds to the sums.
shard() {
    local start
    start=$(clock)
    watch "$2" "all.jsonl.$1-of-$shards" -o all.jsonl --shard "$1/$shards" --resume
    total=$(awk -v a="$total" -v b="$(since "$start")" 'BEGIN { print a + b }')
    processor=$(awk -v a="$processor" -v b="$cpu" 'BEGIN { print a + b }')
    least=$((peak < least ? peak : least)) most=$((peak > most ? peak : most))
}

start=$(clock)
watch 0 one.jsonl -o one.jsonl
one=$(since "$start")
tell() { # LABEL SECONDS PROCESSOR_SECONDS MEMORY
    awk -v what="$1" -v s="$2" -v p="$3" -v m="$4" -v n="$size" \
        'BEGIN { printf "%s: %d questions in %.1f s, %.1f s of a processor (%.0f questions a second of it), %s MiB at most\n", what, n, s, p, n / p, m }'
}
tell "one run" "$one" "$cpu" "$peak"

declare -A killed=()
while [ ${#killed[@]} -lt "$kills" ]; do killed[$((1 + RANDOM % shards))]=1; done
total=0 processor=0 least=999999 most=0
for ((i = 1; i <= shards; i++)); do
    shard "$i" $((${killed[$i]:-0} * (1 + size * (RANDOM % 80) / shards / 100)))
    if [ -n "${killed[$i]:-}" ] && [ ! -e "all.jsonl.$i-of-$shards" ]; then
        echo "shard $i: killed with $(wc -l <"all.jsonl.$i-of-$shards.part") lines"
    fi
done
if "$bin/ambit-data" join all.jsonl 2>log; then
    echo "none was killed in time"
else
    tail -n 1 log
    for i in $(tail -n 1 log | sed 's/.*: //; s/,/ /g'); do shard "$i" 0; done
fi
tell "$shards shards, one after the other" "$total" "$processor" "$least to $most"
start=$(clock)
"$bin/ambit-data" join all.jsonl
echo "join: $(since "$start") s for $(stat -c %s all.jsonl) bytes"
cmp one.jsonl all.jsonl
echo "equal to one run"

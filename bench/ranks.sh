#!/usr/bin/env bash
# Runs each trainer on one, two and four ranks of this machine, with optimiser state replicated and sharded.  Prints medians
# over steps: the step time, the time of summing gradients, the time of exchanging weights, the bytes sent, and the memory.
# Without MPI, rows with several ranks are skipped.
# usage: [RANKS="1 2 4"] [TRAINERS="lora whole seq2seq gatekeeper tag"] bench/ranks.sh
set -euo pipefail
ranks=${RANKS:-1 2 4}
root=$(realpath "$(dirname "$0")/..")
bin=$(realpath "${AMBIT_BIN:-$root/build/release/bin}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
command -v mpirun >/dev/null || ranks=1

for ((i = 0; i < 96; i++)); do
    printf '{"id":"%s","prompt":"What is the price of %s boats of the owner %s, and which of them is the oldest of its class?","completion":"SELECT price, age FROM boat WHERE owner = %s ORDER BY age DESC LIMIT %s"}\n' \
        $i $i $((i % 7)) $((i % 7)) $i
done >train.jsonl
"$bin/ambit-train" tokenizer train.jsonl --vocab 400 -o words >/dev/null 2>&1
"$bin/ambit-data" practice -o practice --seed 1 --quiet >/dev/null
mkdir data spans
cp practice/tables.json data
for fold in train:96 valid:4 test:4; do
    grep '"slice":"contrast"' "practice/${fold%:*}.jsonl" | head -n "${fold#*:}" >"data/${fold%:*}.jsonl" || true
    for ((i = 0; i < ${fold#*:}; i++)); do
        printf '{"id":"%s","source":"own","db_id":"d%s","question":"What is the price of %d boats?","type":"made","columns":[{"name":"old price","type":"number"},{"name":"%s owners","type":"text"}],"spans":[{"start":12,"end":17,"label":"COL","alternatives":[{"column":0}]}]}\n' \
            $i $i $i $((i % 3))
    done >"spans/${fold%:*}.jsonl"
done

common=(--device cpu --compute f32 --verbose --dropout 0)
encoder=(--encoder-hidden 256 --encoder-layers 4 --encoder-heads 4 --encoder-intermediate 1024 --encoder-vocabulary 2000 --encoder-dropout 0)
model=(--data train.jsonl --tokenizer words --hidden 256 --heads 4 --layers 4 --intermediate 1024 --batch 16 --epochs 2)
base=(infill --device cpu --compute f32 --data train.jsonl --tokenizer words --hidden 256 --heads 4 --layers 4 --intermediate 1024 --method full --epochs 1 --batch 16 --max-valid 1)
"$bin/ambit-train" "${base[@]}" --out base >log 2>&1 || { cat log && exit 1; }
declare -A trainers=(
    [lora]="infill --device cpu --compute f32 --verbose --data train.jsonl --base base --rank 16 --lora-dropout 0 --batch 16 --epochs 2"
    [whole]="infill --device cpu --compute f32 --verbose ${model[*]} --method full"
    [seq2seq]="seq2seq ${common[*]} ${model[*]}"
    [gatekeeper]="gatekeeper ${common[*]} --data data ${encoder[*]} --encode schema --batch 16 --epochs 2"
    [tag]="tag ${common[*]} --data spans ${encoder[*]} --batch 16 --epochs 2"
)

median() { sort -g | awk '{ v[n++] = $1 } END { printf "%.1f", n ? n % 2 ? v[(n - 1) / 2] : (v[n / 2 - 1] + v[n / 2]) / 2 : 0 }'; }
# field TEXT: prints the median of the field named TEXT over the step lines.
field() { sed -nE "s/.*step [0-9]+: $1.*/\1/p" log | median; }

# row TRAINER RANKS STATE...: prints one row of the table.
row() {
    local name=$1 n=$2 how=whole start=()
    shift 2
    [ "$n" = 1 ] || start=(mpirun --oversubscribe --bind-to none -n "$n")
    [[ " $* " != *" --shard-optimizer "* ]] || how=shares
    rm -rf out
    "${start[@]}" "$bin/ambit-train" "$@" --out out >/dev/null 2>log || { tail -n 5 log && exit 1; }
    local steps sent=0 weights=0
    steps=$(grep -c 'step [0-9]*: .* ms of the host' log)
    if [ "$n" != 1 ]; then
        sent=$(sed -nE 's/.*ranks: .* ([0-9.]+) MiB sent by each.*/\1/p' log | awk -v n="$steps" '{ print $1 / n }')
        weights=$(sed -nE 's/.*ranks: .* ([0-9.]+) ms a step on weights.*/\1/p' log)
    fi
    printf '| %s | %s | %s | %s | %s | %.1f | %.2f | %s |\n' "$name" "$n" "$how" "$(field '([0-9.]+) ms of the host')" \
        "$(field 'sums of gradients took ([0-9.]+) ms')" \
        "$weights" "$sent" "$(sed -nE 's/.*memory: ([0-9]+) MiB of weights, .*/\1/p' log | head -n 1)"
}

echo '| trainer | ranks | state | step, ms | sums, ms | weights, ms | MiB sent a step | model, MiB |'
echo '|---|---|---|---|---|---|---|---|'
for name in ${TRAINERS:-lora whole seq2seq gatekeeper tag}; do
    read -r -a words <<<"${trainers[$name]}"
    for n in $ranks; do
        row "$name" "$n" "${words[@]}"
        [ "$n" = 1 ] || row "$name" "$n" "${words[@]}" --shard-optimizer
    done
done

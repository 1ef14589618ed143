#!/usr/bin/env bash
# Training over ranks: every trainer with two and four ranks gives the result of one, and the same bits again.  A run is resumed
# with another number of ranks; ranks are killed or asked to stop; ranks of different runs refuse each other.
# usage: cli_ranks.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
# shellcheck source=tests/support/lm_records.sh
. "$support/lm_records.sh"
# shellcheck source=tests/support/ranks.sh
. "$support/ranks.sh"

# value FILE FIELD: its numbers in the order of the lines
value() { grep -o "\"$2\":[^,}]*" "$1" | cut -d : -f 2; }
# near RUN RUN FIELD LIMIT
near() {
    paste <(value "$1/metrics.jsonl" "$3") <(value "$2/metrics.jsonl" "$3") | awk -v l="$4" 'NF != 2 { bad = 1 } { d = $1 - $2
        if (d < 0) d = -d; if (d > l * ($1 < 0 ? -$1 : $1)) bad = 1 } END { exit bad || NR == 0 }' || complain "$3 of $1 and $2" "$(value "$1/metrics.jsonl" "$3" | tr '\n' ' '), $(value "$2/metrics.jsonl" "$3" | tr '\n' ' ')"
}
same() { same_folders "$1" "$2" -x config.yaml -x 'events.*' -x states -x report.html >difference || complain "$1 and $2 differ" "$(cat difference)"; }

records 0 40 >train.jsonl
records 100 108 >valid.jsonl
cp -r "$gold/llama/base" model && cp "$gold/bpe/llama/tokenizer.json" model
train tokenizer train.jsonl --vocab 400 -o words >log 2>&1 || fail "tokenizer"
data practice -o all --seed 3 >log 2>&1 || fail "practice data"
mkdir data
for fold in train:48 valid:12 test:12; do
    grep '"slice":"contrast"' "all/${fold%:*}.jsonl" | head -n "${fold#*:}" >"data/${fold%:*}.jsonl"
done
few_tables all/tables.json data/*.jsonl >data/tables.json
mkdir spans
labels=('"COL","alternatives":[{"column":0}]' '"UNK","alternatives":[]')
for fold in train:16 valid:4 test:4; do
    for ((i = 0; i < ${fold#*:}; i++)); do
        printf '{"id":"%s","source":"own","db_id":"d%s","question":"What is the price of %d boats?","type":"made","columns":[{"name":"old price","type":"number"},{"name":"%s","type":"text"}],"spans":[{"start":12,"end":17,"label":%s}]}\n' \
            "$i" "$i" "$i" "$((i % 3)) owners of it" "${labels[i % 2]}"
    done >"spans/${fold%:*}.jsonl"
done

common=(--device cpu --compute f32)
small=(--encoder-hidden 32 --encoder-layers 1 --encoder-heads 2 --encoder-intermediate 64 --encoder-vocabulary 400 --encoder-dropout 0 --dropout 0)
head=(--gat-hidden 8 --gat-heads 2 --pair-hidden 8 --relevance-epochs 1 --epochs 2 --batch 16 --tokens 2048 --distractors 0.5)
infill=(infill "${common[@]}" --data train.jsonl --valid valid.jsonl --base model --batch 8 --tokens 200 --eval-every 5 --schedule constant)
gatekeeper=(gatekeeper "${common[@]}" --data data "${small[@]}" "${head[@]}")
declare -A trainers=(
    [lora]="${infill[*]} --lora-dropout 0 --epochs 2"
    [whole]="${infill[*]} --method full --epochs 2"
    [seq2seq]="seq2seq ${common[*]} --data train.jsonl --valid valid.jsonl --tokenizer words --hidden 32 --heads 2 --layers 1 --intermediate 32 --dropout 0 --batch 8 --epochs 2"
    [elements]="${gatekeeper[*]} --encode element"
    [frozen]="${gatekeeper[*]} --encode element --embedder stock"
    [schema]="${gatekeeper[*]} --encode schema"
    [tag]="tag ${common[*]} --data spans ${small[*]} --hidden 32 --batch 6 --epochs 4"
)
declare -A four=([whole]=4 [schema]=4 [tag]=4)

# --- every trainer: f32 differs by the order of sums alone, and not at all when it is done again
for name in "${!trainers[@]}"; do
    read -r -a words <<<"${trainers[$name]}"
    run 0 train "${words[@]}" --out "$name-1"
    for n in 2 ${four[$name]:-}; do
        run 0 ranks "$n" "${words[@]}" --out "$name-$n"
        grep -q "$n ranks share each batch" said || complain "$name" "not by $n ranks"
        [ "$(grep -c 'the model is finished' said)" = 1 ] || complain "$name" "not one rank alone finished the model"
        near "$name-1" "$name-$n" loss 1e-6
    done
done
run 0 ranks 4 "${gatekeeper[@]}" --encode schema --out schema-4-again
same schema-4 schema-4-again
grep -q 'step [0-9]*: sums of gradients took' said && complain "sums" "told of each step without --verbose"
run 0 ranks 2 "${infill[@]}" --method full --epochs 1 --verbose --out told
grep -q 'step [0-9]*: sums of gradients took [0-9.]* ms' said || complain "sums" "not told of each step"
near lora-1 lora-2 grad_norm 1e-5
near whole-1 whole-4 valid_loss 1e-6
near whole-1 whole-4 tokens 0
near elements-1 elements-2 valid_ap 1e-6

# --- with dropout too the bits are those of the number of ranks; more ranks than a batch has records
drop=("${infill[@]}" --method full --neftune 5 --epochs 1 --batch 3)
for out in drop drop-again; do
    run 0 ranks 4 "${drop[@]}" --out $out
done
same drop drop-again

# --- a run goes on with another number of ranks
run 0 ranks 2 "${infill[@]}" --method full --epochs 1 --out on
run 0 ranks 3 infill --resume --epochs 2 --out on
near whole-1 on valid_loss 1e-6
run 0 train infill --resume --epochs 3 --out on
run 0 train "${infill[@]}" --method full --epochs 3 --out whole-3
near whole-3 on valid_loss 1e-6

# --- state of the optimizer in shares: the same weights, moments and files; a run goes on with other ranks, in shares or whole
for name in whole schema tag; do
    read -r -a words <<<"${trainers[$name]}"
    run 0 ranks 2 "${words[@]}" --shard-optimizer --out "$name-2-shards"
    same "$name-2" "$name-2-shards"
done
adafactor=("${infill[@]}" --method full --optimizer adafactor --epochs 2)
run 0 ranks 3 "${adafactor[@]}" --out adafactor
run 0 ranks 3 "${adafactor[@]}" --shard-optimizer --out adafactor-shards
same adafactor adafactor-shards
run 0 ranks 2 "${infill[@]}" --method full --epochs 1 --shard-optimizer --out on-shards
run 0 ranks 3 infill --resume --epochs 2 --out on-shards
run 0 ranks 2 infill --resume --epochs 3 --no-shard-optimizer --out on-shards
near whole-3 on-shards valid_loss 1e-6
run 0 train "${infill[@]}" --method full --epochs 1 --shard-optimizer --out alone-shards
run 0 train "${infill[@]}" --method full --epochs 1 --out alone
same alone alone-shards

# --- a dead rank: the others end, and the resumed run has the same bits
long=("${infill[@]}" --method full --epochs 40 --neftune 5)
run 0 ranks 2 "${long[@]}" --out undisturbed
# lose SIGNAL RANK TEXT [NAME]: some steps later one rank gets the signal.  A run that was done before it came is made again.
lose() {
    local signal=$1 rank=$2 text=$3 out=lost-$1-$2${4:-} start pid attempt
    for attempt in 1 2 3; do
        rm -rf "$out" && pid=
        ranks 2 "${long[@]}" --out "$out" >shown 2>said &
        until [ -n "$pid" ] || ! kill -0 $! 2>/dev/null; do pid=$(pid_of "$rank" "$out"); done
        until grep -q '"step":25,.*"valid_loss"' "$out/metrics.jsonl" 2>/dev/null || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
        start=$SECONDS
        kill "-$signal" "$pid" 2>/dev/null
        wait $! || break
        [ "$attempt" != 3 ] || complain "$out" "ended well"
    done
    ((SECONDS - start <= 30)) || complain "$out" "ended after $((SECONDS - start)) seconds"
    grep -qE "$text" said || complain "$out" "does not say \"$text\": $(cat said)"
    [ -n "$(find "$out" -name 'checkpoint-*')" ] || complain "$out" "no checkpoint"
    run 0 ranks 2 infill --resume --out "$out"
    grep -q 'going on after step' said || complain "$out" "did not go on"
    same undisturbed "$out"
}
lose KILL 1 'rank 1'
lose KILL 0 'rank 0'
lose TERM 1 'stopped after step [0-9]+; to go on'
lose TERM 0 'stopped after step [0-9]+; to go on'
long+=(--shard-optimizer)
lose KILL 1 'rank 1' shards
lose TERM 1 'stopped after step [0-9]+; to go on' shards

# --- ranks of different runs: one error names the rank, and no folder is written
# differ CASE CODE TEXT [FIRST...] -- [SECOND...]
differ() {
    local case_name=$1 code=$2 text=$3 first=() second=()
    shift 3
    while [ "$1" != -- ]; do first+=("$1") && shift; done
    shift
    second=("$@")
    check "$case_name" "$code" "$text" two_ranks "${infill[*]} --epochs 1 --out new ${first[*]}" "${infill[*]} --epochs 1 --out new ${second[*]}"
    [ "$(grep -c '^error' said)" = 1 ] || complain "$case_name" "not one error"
    [ ! -e new ] || complain "$case_name" "a folder was written"
}
records 0 41 >more.jsonl
cp -r model other && sed -i 's/"rms_norm_eps": [^,]*/"rms_norm_eps": 0.1/' other/config.json
differ "another learning rate" 2 'rank 1: lr: expected 0.1 as rank 0 has, got 0.2' --lr 0.1 -- --lr 0.2
differ "another seed" 2 'rank 1: seed: expected 1 as rank 0 has, got 2' --seed 1 -- --seed 2
differ "another batch" 2 'rank 1: batch: expected 8 as rank 0 has, got 4' -- --batch 4
differ "other data" 2 'rank 1: .*more.jsonl: expected the data that rank 0 has, got others' -- --data more.jsonl
differ "another folder" 2 'rank 1: out: expected "new" as rank 0 has, got "elsewhere"' -- --out elsewhere
differ "shares on one" 2 'rank 1: shard-optimizer: expected false as rank 0 has, got true' -- --shard-optimizer
differ "a dry run" 2 'rank 1: dry_run: expected false as rank 0 has, got true' -- --dry-run
differ "another base" 2 'rank 1: base' -- --base other
differ "no data on one" 3 'rank 1: .*none.jsonl: No such file' -- --data none.jsonl
differ "no data on the first" 3 'infill: .*none.jsonl: No such file' --data none.jsonl --
differ "not the device" 4 'rank 1: (device )?cuda' -- --device cuda
version=$("$bin/ambit-train" --version | sed -nE '1s/^ambit-train ([0-9.]+).*/\1/p')
sed "s/\b$version\b/${version%?}x/g" "$bin/ambit-train" >another && chmod +x another
another_build() {
    # shellcheck disable=SC2086 # words
    AMBIT_MODULE_PATH=$(dirname "$bin")/lib/ambit "${mpi[@]}" -n 1 "$bin/ambit-train" $1 : -n 1 ./another $1
}
check "another version" 2 "rank 1: version: expected \"$version\" as rank 0 has, got \"${version%?}x\"" another_build "${infill[*]} --out new"
[ ! -e new ] || complain "another version" "the folder was begun"

# --- ranks cannot be started
expect 2 "WORLD_SIZE: expected a number of ranks from 1 to 65536, got 'two'" env WORLD_SIZE=two "$bin/ambit-train" "${infill[@]}" --out new
expect 2 "WORLD_SIZE=2: expected ranks that mpirun, or srun with --mpi=pmix, has started, got those of torchrun" env WORLD_SIZE=2 RANK=0 "$bin/ambit-train" "${infill[@]}" --out new
expect 2 "WORLD_SIZE=2: expected ranks that mpirun" env SLURM_STEP_NUM_TASKS=1 TORCHELASTIC_RUN_ID=one WORLD_SIZE=2 "$bin/ambit-train" "${infill[@]}" --out new
expect 2 'WORLD_SIZE: expected a number of ranks' env WORLD_SIZE=0 "$bin/ambit-train" "${infill[@]}" --out new
expect 2 "PMI_SIZE: expected a number of ranks from 1 to 65536, got '70000'" env PMI_SIZE=70000 "$bin/ambit-train" "${infill[@]}" --out new
expect 2 "SLURM_STEP_NUM_TASKS: expected a number of ranks from 1 to 65536, got '-1'" env SLURM_STEP_NUM_TASKS=-1 "$bin/ambit-train" "${infill[@]}" --out new
expect 2 "WORLD_SIZE: expected a number of ranks from 1 to 65536, got ''" env WORLD_SIZE= "$bin/ambit-train" "${infill[@]}" --out new
mkdir -p bare/bin && cp "$bin/ambit-train" "$bin/ambit-data" bare/bin
expect 4 'SLURM_STEP_NUM_TASKS=2: ranks need libambit_mpi.so, which is not in .*ambit-mpi.*libopenmpi-dev' env SLURM_STEP_NUM_TASKS=2 bare/bin/ambit-train "${infill[@]}" --out new
mkdir -p bare/lib/ambit && echo "no library" >bare/lib/ambit/libambit_mpi.so
expect 4 'PMI_SIZE=2: ranks need MPI \(apt-get install openmpi-bin\)' env PMI_SIZE=2 bare/bin/ambit-train "${infill[@]}" --out new
run 0 env WORLD_SIZE=1 bare/bin/ambit-train "${infill[@]}" --epochs 1 --out new

finish

#!/usr/bin/env bash
# Ranks that no launcher of MPI's started, but torchrun, or whoever sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT: the
# bits of mpirun's; ranks that are killed, halted or asked to stop; variables that are wrong, ranks that do not come.
# usage: cli_ranks_variables.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
# shellcheck source=tests/support/lm_records.sh
. "$support/lm_records.sh"
# shellcheck source=tests/support/ranks.sh
. "$support/ranks.sh"

records 0 40 >train.jsonl
records 100 108 >valid.jsonl
cp -r "$gold/llama/base" model && cp "$gold/bpe/llama/tokenizer.json" model
whole=(infill --device cpu --compute f32 --data train.jsonl --valid valid.jsonl --base model --batch 8 --tokens 200 --eval-every 5
    --schedule constant --method full)
port=$((20000 + $$ % 10000))
export MASTER_ADDR=127.0.0.1 AMBIT_RANKS_TIMEOUT=60
same() { cmp "$1/ambit.h5" "$2/ambit.h5" || complain "$1 and $2 differ"; }

# start N ARGUMENTS...: the ranks, with their numbers in pids; each says what it says in said.RANK.  The last comes first.
start() {
    local n=$1 k
    shift
    port=$((port + 2)) pids=()
    for ((k = n - 1; k >= 0; k--)); do
        RANK=$k LOCAL_RANK=$k WORLD_SIZE=$n MASTER_PORT=$port "$bin/ambit-train" "$@" >"shown.$k" 2>"said.$k" </dev/null &
        pids[k]=$!
    done
}
# ended CODE RANK...: they exit with the code
ended() {
    local code=$1 k got
    shift
    cases=$((cases + 1))
    for k in "$@"; do
        wait "${pids[$k]}"
        got=$?
        [ $got = "$code" ] || complain "rank $k" "exit code $got, expected $code: $(tail -n 3 "said.$k")"
    done
}

for n in 2 4; do
    run 0 ranks $n "${whole[@]}" --epochs 2 --out mpi-$n
    start $n "${whole[@]}" --epochs 2 --out variables-$n
    mapfile -t all < <(seq 0 $((n - 1)))
    ended 0 "${all[@]}"
    grep -q "$n ranks share each batch" said.0 || complain "$n ranks" "not said"
    [ ! -s said.1 ] || complain "$n ranks" "the second one speaks: $(cat said.1)"
    same mpi-$n variables-$n
done
CUDA_VISIBLE_DEVICES='' start 2 "${whole[@]}" --device auto --epochs 2 --out auto
ended 0 0 1
same mpi-2 auto
start 2 "${whole[@]}" --epochs 2 --shard-optimizer --out shards
ended 0 0 1
same mpi-2 shards

# --- torchrun listens on the port that it tells of, and srun may have started torchrun
RANK=0 WORLD_SIZE=2 MASTER_PORT=$((port + 2)) "$bin/ambit-train" "${whole[@]}" --out waits >shown 2>waits.said &
waits=$!
until grep -qi ":0*$(printf %X $((port + 2))) .* 0A " /proc/net/tcp6 /proc/net/tcp || ! kill -0 $waits 2>/dev/null; do sleep 0.05; done
export TORCHELASTIC_USE_AGENT_STORE=True TORCHELASTIC_RUN_ID=one SLURM_STEP_NUM_TASKS=1 PMIX_NAMESPACE=other PMIX_RANK=0
start 2 "${whole[@]}" --epochs 2 --out torchrun
ended 0 0 1
unset TORCHELASTIC_USE_AGENT_STORE TORCHELASTIC_RUN_ID SLURM_STEP_NUM_TASKS PMIX_NAMESPACE PMIX_RANK
kill -KILL $waits
{ wait $waits; } 2>/dev/null
same mpi-2 torchrun

# --- a rank that is gone: nobody but the others could end the run, and it goes on to the same bits
long=("${whole[@]}" --epochs 40)
run 0 ranks 3 "${long[@]}" --out undisturbed
# lose SIGNAL RANK CODE TEXT OTHER...: the others end with the code, and the first of them says the text
lose() {
    local signal=$1 rank=$2 code=$3 text=$4 out=lost-$1-$2 begun
    shift 4
    start 3 "${long[@]}" --out "$out"
    until grep -q '"step":25,.*"valid_loss"' "$out/metrics.jsonl" 2>/dev/null || ! kill -0 "${pids[0]}" 2>/dev/null; do sleep 0.02; done
    begun=$SECONDS
    kill "-$signal" "${pids[$rank]}" 2>/dev/null || complain "$out" "was done before the signal came"
    ended "$code" "$@"
    ((SECONDS - begun <= 30)) || complain "$out" "ended after $((SECONDS - begun)) seconds"
    grep -qE "$text" "said.$1" || complain "$out" "does not say \"$text\": $(cat "said.$1")"
    kill -KILL "${pids[$rank]}" 2>/dev/null
    { wait "${pids[$rank]}"; } 2>/dev/null
    [ -n "$(find "$out" -name 'checkpoint-*')" ] || complain "$out" "no checkpoint"
    start 3 infill --resume --out "$out"
    ended 0 0 1 2
    same undisturbed "$out"
}
lose KILL 1 1 'rank 1 \(process [0-9]+ on .*\) is lost: nothing was heard of it for 15 seconds; step [0-9]+ is saved, --resume goes on' 0 2
lose STOP 0 1 'rank 0 \(process [0-9]+ on .*\) is lost: nothing was heard of it for 15 seconds; step [0-9]+ is saved, --resume goes on' 1 2
lose TERM 2 143 'stopped after step [0-9]+; to go on' 0 1 2

# --- ranks that are not of one run
records 0 41 >others.jsonl
port=$((port + 2))
RANK=1 WORLD_SIZE=2 MASTER_PORT=$port "$bin/ambit-train" "${whole[@]}" --data others.jsonl --out new >/dev/null 2>"$work.mpi/second" &
run 2 env RANK=0 WORLD_SIZE=2 MASTER_PORT=$port "$bin/ambit-train" "${whole[@]}" --out new
wait $! && complain "other data" "the second one ended well"
grep -q 'rank 1: .*others.jsonl: expected the data that rank 0 has, got others' said || complain "other data" "not told"
[ ! -e new ] || complain "other data" "the folder was begun"
port=$((port + 2))
RANK=1 WORLD_SIZE=3 MASTER_PORT=$port "$bin/ambit-train" "${whole[@]}" --out new >/dev/null 2>"$work.mpi/second" &
expect 2 'rank 1: WORLD_SIZE: expected 2 as rank 0 has, got 3' env RANK=0 WORLD_SIZE=2 MASTER_PORT=$port "$bin/ambit-train" "${whole[@]}" --out new
wait $! && complain "another number of ranks" "the second one ended well"
grep -q "rank 0 at 127.0.0.1:$port went away before the run began" "$work.mpi/second" || complain "another number of ranks" "$(cat "$work.mpi/second")"

# --- variables
# refuse TEXT VARIABLES...
refuse() {
    local text=$1
    shift
    expect 2 "$text" env WORLD_SIZE=2 RANK=0 MASTER_PORT=$port env "$@" "$bin/ambit-train" "${whole[@]}" --out new
}
refuse 'WORLD_SIZE is set, RANK is not: expected RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun sets them, or a start by mpirun' -u RANK
refuse "RANK: expected a number from 0 to 1, got '2'" RANK=2
refuse "RANK: expected a number from 0 to 1, got '-1'" RANK=-1
refuse "RANK: expected a number from 0 to 1, got '1x'" RANK=1x
refuse 'WORLD_SIZE is set, MASTER_PORT is not' -u MASTER_PORT
refuse "MASTER_PORT: expected a number from 1 to 65535, got '65536'" MASTER_PORT=65536
refuse "MASTER_PORT: expected a number from 1 to 65534, got '65535'" MASTER_PORT=65535 TORCHELASTIC_USE_AGENT_STORE=True
refuse "MASTER_ADDR: expected the name or address of the machine of rank 0, got ''" -u MASTER_ADDR
refuse "MASTER_ADDR: expected the name or address of the machine of rank 0, got ''" MASTER_ADDR=
refuse 'WORLD_SIZE: expected at most 1024 ranks without mpirun or srun, got 1025' WORLD_SIZE=1025
refuse "AMBIT_RANKS_TIMEOUT: expected a number from 1 to 86400, got 'soon'" AMBIT_RANKS_TIMEOUT=soon
expect 1 "1 of 2 ranks did not come to 127.0.0.1:$port within 1 seconds, among them rank 1" env AMBIT_RANKS_TIMEOUT=1 RANK=0 WORLD_SIZE=2 MASTER_PORT=$port "$bin/ambit-train" "${whole[@]}" --out new
expect 1 "rank 0 was not to be reached at 127.0.0.1:$port within 1 seconds" env AMBIT_RANKS_TIMEOUT=1 RANK=1 WORLD_SIZE=2 MASTER_PORT=$port "$bin/ambit-train" "${whole[@]}" --out new
expect 1 "rank 0 was not to be reached at nowhere.invalid:$port within 1 seconds" env AMBIT_RANKS_TIMEOUT=1 RANK=1 WORLD_SIZE=2 MASTER_ADDR=nowhere.invalid MASTER_PORT=$port "$bin/ambit-train" "${whole[@]}" --out new

finish

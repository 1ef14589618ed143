#!/usr/bin/env bash
# Checks every op and the models on one GPU, then compares ambit with the peers in one table.
# usage: [PYTHON=python3] [DATA=DIR] [ENCODER=HF_DIR] [BIN=DIR] [TMPDIR=DIR] bench/gpu.sh [--device cuda|simt]
#        [--quick|--short] [--keep FILE] [--unchecked] [--rows L1,D4,D1,D3,O,X2,G1,X1,X4,G2,G3,L2,L4,M,D2,D5,T1,T2,T3,T4]
# PYTHON runs the peers, which use torch, transformers, peft, sentence-transformers, torch_geometric, accelerate, unsloth
# and vllm.  Peers whose package is missing are skipped and named.  DATA holds Spider's tables.json and dev.json; without
# it, synthetic data is generated.  ENCODER holds a vocab.txt.  BIN is a folder of built programs (default: build them).
#
# --quick uses tiny shapes; --short uses few turns and fewer peers.  Both skip the slowest checks.  --rows selects rows,
# ordered by importance, and their checks.  --keep appends each finished row to FILE and skips the rows in it, so that a
# second call resumes.  --unchecked skips the checks.  Rows L, O, M, D and T write 16 GB of random weights to TMPDIR and
# delete them at the end.  TMPDIR is best a folder in memory.
set -euo pipefail
cd "$(dirname "$0")/.."
device=cuda
form=()
rows=L1,D4,D1,D3,O,X2,G1,X1,X4,G2,G3,L2,L4,M,D2,D5,T1,T2,T3,T4
keep=
checked=1
while [ $# -gt 0 ]; do
    case $1 in
    --device) device=${2:?--device wants cuda or simt}; shift ;;
    --quick | --short) form=("$1") ;;
    --keep) keep=$(realpath -m "${2:?--keep wants a file}"); shift ;;
    --unchecked) checked= ;;
    --rows) rows=${2:?--rows wants names with commas between them}; shift ;;
    *) echo "gpu.sh: unknown argument '$1'; expected --device cuda|simt, --rows, --keep, --unchecked, --quick or --short" >&2; exit 2 ;;
    esac
    shift
done
case $device in cuda | simt) ;; *) echo "gpu.sh: --device: expected cuda or simt, got '$device'" >&2; exit 2 ;; esac

parity=
ops=()
models=(test_optim test_capture)
programs=(bench_kernels)
for row in ${rows//,/ }; do
    case $row in
    X[124]) ops+=(test_ops) models+=(test_bert test_gate_devices) programs+=(bench_encoder ambit-data) ;;
    G[123]) ops+=(test_ops_graph) models+=(test_gat test_pooled_classifiers) programs+=(bench_gat) ;;
    L[124] | O | M | D[1-5] | T[34])
        parity=1
        ops+=(test_ops_lora) models+=(test_llama test_engine test_engine_forced test_engine_gold test_lora test_lm_train)
        [ ${#form[@]} = 1 ] || ops+=(test_ops_llm test_ops_causal)
        programs+=(bench_lm ambit-train ambit-infer) ;;
    T[12])
        ops+=(test_ops_paged) models+=(test_t5 test_t5_engine test_published) programs+=(bench_lm bench_published) ;;
    *) echo "gpu.sh: --rows: expected X1, X2, X4, G1, G2, G3, L1, L2, L4, M, O, D1 to D5 or T1 to T4, got '$row'" >&2; exit 2 ;;
    esac
done
once() { printf '%s\n' "$@" | sort -u; }
[ ${#ops[@]} -gt 0 ] || { echo "gpu.sh: --rows: expected at least one row, got '$rows'" >&2; exit 2; }
mapfile -t ops < <(once "${ops[@]}")
mapfile -t models < <(once "${models[@]}")
mapfile -t programs < <(once "${programs[@]}")
if [ -z "${BIN:-}" ]; then
    module=()
    [ "$device" = cuda ] && module=(-DAMBIT_CUDA=ON)
    cmake --preset release "${module[@]}" >/dev/null
    cmake --build --preset release -j "$(nproc)" --target "${ops[@]}" "${models[@]}" "${programs[@]}" \
        "ambit_$device" | tail -n 1
fi
bin=${BIN:-build/release/bin}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
start=$SECONDS

# check PROGRAM [ARGUMENT]: runs a check in the background, and prints the end of its output if it fails.
check() {
    local log="$out/$1.log"
    if AMBIT_TEST_DEVICE="$device" OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive "$bin/$1" "${@:2}" >"$log" 2>&1; then
        echo "$1: passes on $device"
    else
        grep -v -e ' RUN ' -e ' OK ' "$log" | tail -n 20
        echo "$1: FAILS on $device"
        touch "$out/failed"
    fi
}
if [ -n "$checked" ]; then
    for test in "${ops[@]}"; do check "$test" "$device" & done
    for test in "${models[@]}"; do check "$test" & done
    wait
    if [ -n "$parity" ] && "${PYTHON:-python3}" -c 'import torch, transformers, peft' 2>/dev/null; then
        "${PYTHON:-python3}" bench/lm_parity.py "$bin" "$device" ${form[0]+--quick} || touch "$out/failed"
    fi
    [ ! -e "$out/failed" ] || exit 1
    echo "checked in $((SECONDS - start)) s"
fi

data=${DATA:-../shared/data/spider}
if [[ $rows == *X* && ! -e "$data/tables.json" ]]; then
    data="$out/practice"
    "$bin/ambit-data" practice -o "$data" --seed 1 >/dev/null
    echo "${DATA:-../shared/data/spider} not found: using questions and elements of synthetic data instead of Spider's"
fi
TMPDIR="$out" "${PYTHON:-python3}" bench/gpu.py "$bin" "$data" "$device" "$rows" "$keep" "${form[@]}"
echo "done in $((SECONDS - start)) s"

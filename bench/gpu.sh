#!/usr/bin/env bash
# On one GPU: every op and the models checked, then ours beside the peers, in one table.
# usage: [PYTHON=python3] [DATA=DIR] [ENCODER=HF_DIR] [BIN=DIR] [TMPDIR=DIR] bench/gpu.sh [--device cuda|simt]
#        [--quick|--short] [--rows X1,X2,X4,G1,G2,G3,L1,L2,L4,M,D1,D2,D3,D4,D5,T1,T2,T3,T4]
# PYTHON runs the peers and has torch, transformers, peft, sentence-transformers, torch_geometric, accelerate; those
# that are missing are left out and named, as unsloth and vllm are.  DATA holds Spider's tables.json and dev.json
# (practice data is made where it is not), ENCODER a vocab.txt.  BIN is a folder of built programs: without it they are
# built.
# --quick takes tiny shapes, --short few turns and no compiled peer; both leave the slowest checks out.  --rows some of
# the rows, and the checks that belong to them.  Rows L, M, D and T write 16 GB of random weights to TMPDIR and delete
# them at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
device=cuda
form=()
rows=X1,X2,X4,G1,G2,G3,L1,L2,L4,M,D1,D2,D3,D4,D5,T1,T2,T3,T4
while [ $# -gt 0 ]; do
    case $1 in
    --device) device=${2:?--device wants cuda or simt}; shift ;;
    --quick | --short) form=("$1") ;;
    --rows) rows=${2:?--rows wants names with commas between them}; shift ;;
    *) echo "gpu.sh: unknown argument '$1'; --device cuda|simt, --rows, --quick and --short are known" >&2; exit 2 ;;
    esac
    shift
done
case $device in cuda | simt) ;; *) echo "gpu.sh: --device '$device': cuda or simt is wanted" >&2; exit 2 ;; esac

ops=()
models=(test_optim test_capture)
programs=(bench_kernels)
for row in ${rows//,/ }; do
    case $row in
    X[124]) ops+=(test_ops) models+=(test_bert test_gate_devices) programs+=(bench_encoder ambit-data) ;;
    G[123]) ops+=(test_ops_graph) models+=(test_gat test_thesis) programs+=(bench_gat) ;;
    L[124] | M | D[1-5] | T[34])
        ops+=(test_ops_lora) models+=(test_llama test_engine test_engine_forced test_engine_gold test_lora test_lm_train)
        [ ${#form[@]} = 1 ] || ops+=(test_ops_llm test_ops_causal)
        programs+=(bench_lm ambit-train ambit-infer) ;;
    T[12])
        ops+=(test_ops_paged) models+=(test_t5 test_t5_engine test_published) programs+=(bench_lm bench_published) ;;
    *) echo "gpu.sh: --rows: '$row' is none of X1, X2, X4, G1, G2, G3, L1, L2, L4, M, D1 to D5, T1 to T4" >&2; exit 2 ;;
    esac
done
once() { printf '%s\n' "$@" | sort -u; }
[ ${#ops[@]} -gt 0 ] || { echo "gpu.sh: --rows: '$rows' names no row" >&2; exit 2; }
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

# check PROGRAM [ARGUMENT]: in the background; its last words if it fails.
check() {
    local log="$out/$1.log"
    if AMBIT_TEST_DEVICE="$device" OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive "$bin/$1" "${@:2}" >"$log" 2>&1; then
        echo "$1: holds on $device"
    else
        grep -v -e ' RUN ' -e ' OK ' "$log" | tail -n 20
        echo "$1: FAILS on $device"
        touch "$out/failed"
    fi
}
for test in "${ops[@]}"; do check "$test" "$device" & done
for test in "${models[@]}"; do check "$test" & done
wait
[ ! -e "$out/failed" ] || exit 1
echo "checked in $((SECONDS - start)) s"

data=${DATA:-../shared/data/spider}
if [[ $rows == *X* && ! -e "$data/tables.json" ]]; then
    data="$out/practice"
    "$bin/ambit-data" practice -o "$data" --seed 1 >/dev/null
    echo "no Spider at ${DATA:-../shared/data/spider}: questions and elements are those of practice data"
fi
TMPDIR="$out" "${PYTHON:-python3}" bench/gpu.py "$bin" "$data" "$device" "$rows" "${form[@]}"
echo "done in $((SECONDS - start)) s"

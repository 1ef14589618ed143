#!/usr/bin/env bash
# On one GPU: every op and the models checked, then ours beside the peers, in one table.
# usage: [PYTHON=python3] [DATA=DIR] [ENCODER=HF_DIR] [BIN=DIR] bench/gpu.sh [--device cuda|simt] [--quick]
# PYTHON runs the peers and has torch, transformers, sentence-transformers, torch_geometric, accelerate; those that are
# missing are left out and named.  DATA holds Spider's tables.json and dev.json (practice data is made where it is not),
# ENCODER a vocab.txt.  BIN is a folder of built programs: without it they are built.  --quick takes tiny shapes.
set -euo pipefail
cd "$(dirname "$0")/.."
device=cuda
quick=()
while [ $# -gt 0 ]; do
    case $1 in
    --device) device=${2:?--device wants cuda or simt}; shift ;;
    --quick) quick=(--quick) ;;
    *) echo "gpu.sh: unknown argument '$1'; --device cuda|simt and --quick are known" >&2; exit 2 ;;
    esac
    shift
done
case $device in cuda | simt) ;; *) echo "gpu.sh: --device '$device': cuda or simt is wanted" >&2; exit 2 ;; esac

ops=(test_ops test_ops_graph)
models=(test_bert test_gat test_gat_mean test_gate_devices test_optim test_capture)
if [ -z "${BIN:-}" ]; then
    module=()
    [ "$device" = cuda ] && module=(-DAMBIT_CUDA=ON)
    cmake --preset release "${module[@]}" >/dev/null
    cmake --build --preset release -j "$(nproc)" --target "${ops[@]}" "${models[@]}" bench_kernels bench_encoder bench_gat \
        ambit-data "ambit_$device" | tail -n 1
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
if [ ! -e "$data/tables.json" ]; then
    data="$out/practice"
    "$bin/ambit-data" practice -o "$data" --seed 1 >/dev/null
    echo "no Spider at ${DATA:-../shared/data/spider}: questions and elements are those of practice data"
fi
"${PYTHON:-python3}" bench/gpu.py "$bin" "$data" "$device" "${quick[@]}"
echo "done in $((SECONDS - start)) s"

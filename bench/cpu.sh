#!/usr/bin/env bash
# Ours beside the peers on this machine's CPU.
# usage: PYTHON=.../bin/python SPIDER=DIR bench/cpu.sh
# PYTHON has the packages of tests/gold/requirements.txt and onnxruntime, onnxscript, openvino; SPIDER holds tables.json and dev.json.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
spider=${SPIDER:-../shared/data/spider}
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$(nproc)}"

cmake --preset release >/dev/null
cmake --build --preset release -j "$(nproc)" --target bench_encoder bench_gat bench_kernels | tail -n 1
bin=build/release/bin
"$python" bench/encoder.py "$bin/bench_encoder" "$spider" --shape minilm --pairs 1200
"$python" bench/encoder.py "$bin/bench_encoder" "$spider" --shape base --pairs 240
"$python" bench/encoder.py "$bin/bench_encoder" "$spider" --shape minilm --mode train --pairs 64
"$python" bench/gat.py "$bin/bench_gat"
"$bin/bench_kernels" cpu

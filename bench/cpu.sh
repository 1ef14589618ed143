#!/usr/bin/env bash
# Compares ambit with the peers on this machine's CPU.
# usage: PYTHON=.../bin/python SPIDER=DIR AMBIQT=DIR bench/cpu.sh
# PYTHON needs the packages of tests/gold/requirements.txt and onnxruntime, onnxscript, openvino and nltk.  SPIDER holds
# tables.json, dev.json and db; AMBIQT holds the validation files of types J and P and the outputs.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
spider=${SPIDER:-../shared/data/spider}
ambiqt=${AMBIQT:-../shared/data/ambiqt}
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$(nproc)}"

cmake --preset release >/dev/null
cmake --build --preset release -j "$(nproc)" --target ambit-data bench_encoder bench_gat bench_kernels bench_lm | tail -n 1
bin=build/release/bin
"$python" bench/encoder.py "$bin/bench_encoder" "$spider" --shape minilm --pairs 1200
"$python" bench/encoder.py "$bin/bench_encoder" "$spider" --shape base --pairs 240
"$python" bench/encoder.py "$bin/bench_encoder" "$spider" --shape minilm --mode train --pairs 64
"$python" bench/gat.py "$bin/bench_gat"
"$python" bench/lm.py "$bin/bench_lm" "$spider"
"$python" bench/score.py "$bin/ambit-data" "$ambiqt" "$spider"
"$bin/bench_kernels" cpu

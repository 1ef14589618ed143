#!/usr/bin/env bash
# Installs what is missing, builds everything (the CUDA module wherever nvcc is), runs the whole test suite.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh
cmake --preset release -DAMBIT_CUDA=AUTO
cmake --build --preset release -j "$(nproc)"
ctest --preset release --no-tests=error -j $(($(nproc) + 1)) "$@" # some wait more than they compute

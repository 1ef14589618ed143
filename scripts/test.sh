#!/usr/bin/env bash
# Installs missing packages, builds everything (the CUDA module if nvcc is found), and runs the test suite.
# usage: test.sh [--all] [CTEST ARGUMENT...]   --all: include the nightly tests, and in each test what it leaves to the night
set -euo pipefail
cd "$(dirname "$0")/.."
suite=(-LE nightly) targets=(all)
[ "${1:-}" = --all ] && suite=() && targets+=(driver_mutants) && export AMBIT_TEST_ALL=1 && shift

scripts/install-deps.sh
cmake --preset release -DAMBIT_CUDA=AUTO
cmake --build --preset release -j "$(nproc)" --target "${targets[@]}"
ctest --preset release --no-tests=error -j $(($(nproc) + 1)) "${suite[@]}" "$@" # one more job than cores: some tests mostly wait

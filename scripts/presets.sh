#!/usr/bin/env bash
# Builds the programs with each of the rarely used presets, so that none of them breaks unnoticed, and prints the durations.
# usage: presets.sh [PRESET...]   default: debug asan tsan clang
set -euo pipefail
cd "$(dirname "$0")/.."
presets=("$@")
[ "$#" -gt 0 ] || presets=(debug asan tsan clang)

scripts/install-deps.sh --lint
for preset in "${presets[@]}"; do
    start=$SECONDS
    cmake --preset "$preset" -B "build/presets/$preset" -DAMBIT_CUDA=OFF -DBUILD_TESTING=OFF >/dev/null
    log=build/presets/$preset/build.log
    cmake --build "build/presets/$preset" -j "$(nproc)" >"$log" || { grep -A 20 '^FAILED' "$log" || tail -n 20 "$log"; exit 1; }
    echo "$preset builds: $((SECONDS - start)) s"
done

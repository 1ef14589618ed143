#!/usr/bin/env bash
# Formats every C, C++ and CUDA source in place.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -co --exclude-standard -- '*.c' '*.h' '*.cu' '*.cuh' '*.cpp' | while read -r f; do
    [ -f "$f" ] && clang-format -i "$f"
done

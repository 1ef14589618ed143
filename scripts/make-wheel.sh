#!/usr/bin/env bash
# Builds the Python package ambit-sql as one wheel, with libambit, the detector and all libraries inside.
# usage: make-wheel.sh [OUT]    (default: build/wheel)
# Needs what a build needs, and python3.  The wheel runs on every Linux with the glibc of this machine or a newer one,
# and without a compiler: pip install OUT/ambit_sql-*.whl
set -euo pipefail
out=$(realpath -m "${1:-$(dirname "$0")/../build/wheel}")
cd "$(dirname "$0")/.."
[ -f build/release/build.ninja ] || cmake --preset release
cmake --build --preset release --target ambit ambit-sql-worker
python3 infer/python/make_wheel.py build/release "$out"

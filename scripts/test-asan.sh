#!/usr/bin/env bash
# Runs the test suite under AddressSanitizer, LeakSanitizer and UBSan, and prints the duration.
# usage: test-asan.sh [CTEST ARGUMENT...]   for example -L unit, -LE slow, -j 4
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh
cmake --preset asan
cmake --build --preset asan -j "$(nproc)"
start=$SECONDS code=0
ctest --preset asan --no-tests=error "$@" || code=$?
echo "under ASan and UBSan: $(((SECONDS - start) / 60)) min $(((SECONDS - start) % 60)) s"
exit $code

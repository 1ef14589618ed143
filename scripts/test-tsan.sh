#!/usr/bin/env bash
# Runs the tests of the CUDA sources on the simt emulator under ThreadSanitizer, and prints the duration of each.
# ThreadSanitizer regards only barriers as ordering the threads of a block.  Each case of an op runs once; the other
# presets check the numerical results.
# usage: test-tsan.sh [NAME]   NAME: a part of the name of an op or a test
set -euo pipefail
cd "$(dirname "$0")/.."

ops=$(cd tests/kernels && grep -l 'op_main(' test_*.c | sed 's/\.c$//')
others=$( (cd tests/kernels && grep -l 'test_devices(' test_*.c) | sed 's/\.c$//' | grep -e "${1:-}" || true)
cmake --preset tsan > /dev/null
# shellcheck disable=SC2086
cmake --build --preset tsan -j "$(nproc)" --target ambit_simt test_simt $ops $others
object=build/tsan/kernels/simt/CMakeFiles/ambit_simt_kernels.dir/__/cuda/attention.cu.o
if ! nm -u "$object" | grep __tsan_func_entry > /dev/null; then
    echo "ThreadSanitizer does not see the kernels: $object was compiled without it" >&2
    exit 2
fi
code=0
export TSAN_OPTIONS="exitcode=66 history_size=1 ${TSAN_OPTIONS:-}" AMBIT_OPS_ONCE=1 AMBIT_TEST_ALL=1
export AMBIT_TEST_DEVICE=simt AMBIT_BIN=$PWD/build/tsan/bin
for test in $others $ops; do
    start=$SECONDS
    "$AMBIT_BIN/$test" simt "$@" || code=$?
    echo "$test under ThreadSanitizer: $((SECONDS - start)) s"
done
echo "under ThreadSanitizer: $((SECONDS / 60)) min $((SECONDS % 60)) s, building included"
exit $code

#!/usr/bin/env bash
# Runs tests under ThreadSanitizer, and prints the duration of each.  The first is libambit with several threads.  Then come
# the tests of the CUDA sources on the simt emulator, where only barriers order the threads of a block.  Each case of an op
# runs once; the other presets check the numerical results.
# usage: test-tsan.sh [NAME]   NAME: library, or a part of the name of an op or a test
set -euo pipefail
cd "$(dirname "$0")/.."
export TSAN_OPTIONS="exitcode=66 history_size=1 ${TSAN_OPTIONS:-}"
code=0

# All of ambit is instrumented but the worker of SQL, whose limits leave no room for ThreadSanitizer.  OpenMP's library is
# not instrumented either, so one thread computes for each handle.
test_library() {
    local build=build/tsan-library start=$SECONDS
    cmake --preset release >/dev/null
    cmake --build --preset release --target ambit-sql-worker
    cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DAMBIT_CUDA=OFF -DCMAKE_C_FLAGS=-fsanitize=thread \
        -DCMAKE_CXX_FLAGS=-fsanitize=thread >/dev/null
    cmake --build $build --target test_api
    AMBIT_BIN=$PWD/$build/bin AMBIT_MODULE_PATH=$PWD/build/release/lib/ambit OMP_NUM_THREADS=1 $build/bin/test_api \
        test_threads || code=$?
    echo "libambit under ThreadSanitizer: $((SECONDS - start)) s"
}

test_simt() {
    local ops others object test start
    ops=$(cd tests/kernels && grep -l 'op_main(' test_*.c | sed 's/\.c$//')
    others=$( (cd tests/kernels && grep -l 'test_devices(' test_*.c) | sed 's/\.c$//' | grep -e "${1:-}" || true)
    cmake --preset tsan >/dev/null
    # shellcheck disable=SC2086
    cmake --build --preset tsan -j "$(nproc)" --target ambit_simt test_simt $ops $others
    object=build/tsan/kernels/simt/CMakeFiles/ambit_simt_kernels.dir/__/cuda/attention.cu.o
    if ! nm -u "$object" | grep __tsan_func_entry >/dev/null; then
        echo "ThreadSanitizer does not see the kernels: $object was compiled without it" >&2
        exit 2
    fi
    export AMBIT_OPS_ONCE=1 AMBIT_TEST_ALL=1 AMBIT_TEST_DEVICE=simt AMBIT_BIN=$PWD/build/tsan/bin
    for test in $others $ops; do
        start=$SECONDS
        "$AMBIT_BIN/$test" simt "$@" || code=$?
        echo "$test under ThreadSanitizer: $((SECONDS - start)) s"
    done
}

case ${1:-} in
'') test_library && test_simt ;;
library) test_library ;;
*) test_simt "$@" ;;
esac
echo "under ThreadSanitizer: $((SECONDS / 60)) min $((SECONDS % 60)) s, building included"
exit $code

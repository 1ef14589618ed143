#!/usr/bin/env bash
# The op tests' CUDA sources on simt under ThreadSanitizer, where only barriers order threads, and how long they took.
# usage: test-tsan.sh [OP]   a part of an op's name
set -euo pipefail
cd "$(dirname "$0")/.."

tests=$(cd tests/kernels && grep -l 'op_main(' test_*.c | sed 's/\.c$//')
cmake --preset tsan > /dev/null
# shellcheck disable=SC2086
cmake --build --preset tsan -j "$(nproc)" --target ambit_simt test_simt $tests
object=build/tsan/kernels/simt/CMakeFiles/ambit_simt_kernels.dir/__/cuda/attention.cu.o
if ! nm -u "$object" | grep __tsan_func_entry > /dev/null; then
    echo "ThreadSanitizer does not see the kernels: $object was compiled without it" >&2
    exit 2
fi
start=$SECONDS code=0
export TSAN_OPTIONS="exitcode=66 history_size=1 ${TSAN_OPTIONS:-}"
for test in $tests; do
    build/tsan/bin/"$test" simt "$@" || code=$?
done
echo "under ThreadSanitizer: $(((SECONDS - start) / 60)) min $(((SECONDS - start) % 60)) s"
exit $code

#!/usr/bin/env bash
# Builds every fuzz target with AddressSanitizer and UBSan, and runs each from its corpus.
# usage: fuzz.sh [SECONDS [TARGET...]]   SECONDS: for each target (default 10); TARGET: without "fuzz_", such as sql
# A finding is kept as build/fuzz/found/TARGET-crash-...; put it into tests/corpus/TARGET with the fix.
set -euo pipefail
cd "$(dirname "$0")/.."
export seconds=${1:-10}
targets=("${@:2}")
[ "${#targets[@]}" -gt 0 ] || mapfile -t targets < <(cd tests/fuzz && printf '%s\n' fuzz_*.c | sed 's/^fuzz_//; s/\.c$//')

scripts/install-deps.sh --lint
cmake --preset fuzz
cmake --build --preset fuzz -j "$(nproc)" --target "${targets[@]/#/fuzz_}"
mkdir -p build/fuzz/found
# one TARGET: a finding, a leak, a slow input or one that takes too much memory ends it with an error
one() {
    local log=build/fuzz/found/$1.log new rc=0
    new=$(mktemp -d)
    build/fuzz/bin/fuzz_"$1" "$new" tests/corpus/"$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 \
        -artifact_prefix=build/fuzz/found/"$1"- >"$log" 2>&1 || rc=1
    rm -rf "$new"
    printf '%-16s %s\n' "$1" "$([ "$rc" -eq 0 ] && tail -n 1 "$log" || echo "FAILED, see $log")"
    return "$rc"
}
export -f one
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c 'one "$@"' - {}
echo "${#targets[@]} targets ran $seconds s each: no finding"

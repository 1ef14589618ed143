#!/usr/bin/env bash
# Builds the fuzz targets with AddressSanitizer and UBSan, and runs each of them from its corpus.
# usage: fuzz.sh [SECONDS [TARGET...]]   SECONDS: run time of each target (default 10); TARGET: a name without "fuzz_"
# A failing input is kept as build/fuzz/found/TARGET-crash-...; add it to tests/corpus/TARGET together with the fix.
set -euo pipefail
cd "$(dirname "$0")/.."
export seconds=${1:-10}
targets=("${@:2}")
[ "${#targets[@]}" -gt 0 ] || mapfile -t targets < <(cd tests/fuzz && printf '%s\n' fuzz_*.c | sed 's/^fuzz_//; s/\.c$//')

scripts/install-deps.sh --lint
cmake --preset fuzz
cmake --build --preset fuzz -j "$(nproc)" --target "${targets[@]/#/fuzz_}"
mkdir -p build/fuzz/found
# one TARGET: runs one target.  A crash, a leak, a slow input or too much memory makes it fail.
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
echo "${#targets[@]} targets ran $seconds s each: no failures"

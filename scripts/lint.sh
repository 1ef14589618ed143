#!/usr/bin/env bash
# Checks style, English, layers and names, and runs shellcheck, cppcheck and clang-tidy.
# usage: lint.sh [--all | SOURCE...]
# clang-tidy checks the given sources, by default those changed since the last commit.  --all checks every source, but
# without clang's analyzer.  A tool that is not installed is skipped with a message; with --all it is an error.
# AMBIT_LINT_BUILD is a configured build folder, from which clang-tidy takes the compiler options; the lint preset sets it.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
bad=0 all=false
[ "${1:-}" = --all ] && all=true && shift

have() {
    command -v "$1" >/dev/null && return
    echo "$1 not found: skipped; scripts/install-deps.sh --lint installs it"
    ! $all || bad=1
    return 1
}

# step NAME COMMAND...: runs COMMAND and prints its duration.
step() {
    local name=$1 start=$SECONDS
    shift
    "$@" || { echo "$name: failed" && bad=1; }
    echo "$name: $((SECONDS - start)) s"
}

# Suppressed: missingReturn, which the compilers report better; invalidFunctionArg, because some logarithms give -inf on
# purpose; and a null pointer that a flag guards.  KERNELS_TRACE_H hides trace.h, whose macros crash cppcheck 2.10.
check_cppcheck() {
    cppcheck --quiet --error-exitcode=1 --enable=warning,portability --std=c11 --language=c -j"$(nproc)" -I. \
        --suppress=missingIncludeSystem --suppress=nullPointerOutOfMemory --suppress=missingReturn \
        --suppress=invalidFunctionArg \
        --suppress=nullPointer:kernels/cpu/norm.c -DKERNELS_TRACE_H -D'CHECK(c,...)=((c)?(void)0:abort())' \
        kernels data models train infer -i kernels/cuda -i kernels/simt
}

check_tidy() {
    local build=${AMBIT_LINT_BUILD:-} sources said checks=()
    [ -n "$build" ] || build=$(dirname "$(find build -maxdepth 2 -name compile_commands.json 2>/dev/null | head -n 1)")
    if [ ! -e "$build/compile_commands.json" ]; then
        echo "clang-tidy skipped: expected a configured build; run cmake --preset lint"
        ! $all
        return
    fi
    if $all; then # the analyzer takes ten minutes on all sources, so only named and changed files get it
        checks=(--checks=-clang-analyzer-*)
        mapfile -t sources < <(git ls-files -co --exclude-standard -- '*.c' ':!examples')
    elif [ $# -gt 0 ]; then
        sources=("$@")
    else
        mapfile -t sources < <(git diff --name-only --diff-filter=d HEAD -- '*.c')
    fi
    [ "${#sources[@]}" -gt 0 ] || return 0
    said=$(printf '%s\0' "${sources[@]}" | xargs -0 -n 4 -P "$(nproc)" clang-tidy --quiet "${checks[@]}" -p "$build" 2>&1) && return
    grep -vE '^[0-9]+ warnings? .*generated' <<<"$said"
    return 1
}

check_shell() {
    local scripts
    mapfile -t scripts < <(git ls-files -co --exclude-standard -- '*.sh' '.ci/run')
    printf '%s\0' "${scripts[@]}" | xargs -0 -n 16 -P "$(nproc)" shellcheck -x
}

step style bash tests/check_style.sh
step english bash tests/check_english.sh
step layers bash tests/check_layers.sh
step names bash tests/check_names.sh
have shellcheck && step shellcheck check_shell
have cppcheck && step cppcheck check_cppcheck
have clang-tidy && step clang-tidy check_tidy "$@"
exit "$bad"

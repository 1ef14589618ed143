#!/usr/bin/env bash
# Format, layers, cppcheck, clang-tidy and shellcheck.  A tool that is not installed is named and left out.
# usage: lint.sh [SOURCE...]   clang-tidy looks at these; without any, at the files changed since the last commit.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
bad=0

have() {
    command -v "$1" >/dev/null || { echo "$1 is not installed: left out"; return 1; }
}

bash tests/check_style.sh || bad=1
bash tests/check_layers.sh || bad=1

# Left out: what the compilers say better (missingReturn), logarithms that are meant to give -inf, arrays filled by liblzma.
if have cppcheck; then
    cppcheck --quiet --error-exitcode=1 --enable=warning,portability --std=c11 --language=c -j2 -I. \
        --suppress=missingIncludeSystem --suppress=nullPointerOutOfMemory --suppress=missingReturn \
        --suppress=invalidFunctionArg --suppress=uninitvar:data/util/xz.c -D'CHECK(c,...)=((c)?(void)0:abort())' \
        kernels data models train infer -i kernels/cuda -i kernels/simt || bad=1
fi
if have clang-tidy; then
    database=$(find build -maxdepth 2 -name compile_commands.json 2>/dev/null | head -n 1)
    mapfile -t sources < <(if [ $# -gt 0 ]; then printf '%s\n' "$@"; else
        git diff --name-only --diff-filter=d HEAD -- '*.c'; fi)
    if [ -z "$database" ]; then
        echo "clang-tidy wants a configured build: left out"
    elif [ "${#sources[@]}" -gt 0 ]; then
        clang-tidy --quiet -p "$(dirname "$database")" --warnings-as-errors='*' \
            --checks='-*,bugprone-*,clang-analyzer-*,-bugprone-easily-swappable-parameters,-bugprone-narrowing-conversions,-bugprone-reserved-identifier,-bugprone-sizeof-expression,-bugprone-misplaced-widening-cast,-bugprone-suspicious-string-compare,-bugprone-not-null-terminated-result,-clang-analyzer-valist.Uninitialized,-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling' \
            "${sources[@]}" 2>&1 | grep -v ' warnings\? generated' && bad=1
    fi
fi
if have shellcheck; then
    mapfile -t scripts < <(git ls-files -co --exclude-standard -- '*.sh' '.ci/run')
    shellcheck "${scripts[@]}" || bad=1
fi
exit "$bad"

#!/usr/bin/env bash
# Checks the rules of style that a script can check: format, sizes, banned calls, banned words.
# usage: check_style.sh [ROOT]
set -uo pipefail
cd "${1:-$(dirname "$0")/..}" || exit 1
bad=0

fail() {
    echo "$1"
    bad=1
}

mapfile -t all < <(git ls-files -co --exclude-standard 2>/dev/null || find . -type f -not -path './build/*' -printf '%P\n')
files=()
texts=()
for f in "${all[@]}"; do
    [ -f "$f" ] || continue
    case $f in
    *.c | *.h | *.cu | *.cuh | *.cpp) files+=("$f") ;;
    esac
    case $f in
    tests/corpus/* | tests/gold/*.json* | tests/check_style.sh) ;;
    *.c | *.h | *.cu | *.cuh | *.cpp | *.sh | *.py | *.md | *.yaml | *.cmake | *CMakeLists.txt | *.txt) texts+=("$f") ;;
    esac
done
[ "${#files[@]}" -gt 0 ] || { echo "no sources below $PWD"; exit 1; }

if [[ "$(clang-format --version 2>/dev/null)" == *"version 14."* ]]; then
    clang-format --dry-run -Werror "${files[@]}" || fail "run scripts/format.sh"
else
    echo "format not checked: clang-format 14 is not here"
fi

# A function starts at a "{" in the first column and ends at a "}" there.
awk '
function over(what, n, limit) { printf "%s:%d: %s of %d lines, the limit is %d\n", FILENAME, FNR, what, n, limit; bad = 1 }
FNR == 1 { start = 0 }
/^\{/ { start = FNR }
/^\}/ && start {
    limit = FILENAME ~ /^kernels\/(cpu|cuda)\// ? 80 : 60
    if (FNR - start + 1 > limit)
        over("a function", FNR - start + 1, limit)
    start = 0
}
{ lines[FILENAME] = FNR }
END {
    for (f in lines) {
        FILENAME = f
        FNR = lines[f]
        if (f ~ /\.h$/ && FNR > 300)
            over("a header", FNR, 300)
        if (FNR > 1200)
            over("a file", FNR, 1200)
    }
    exit bad
}' "${files[@]}" || bad=1

# clang makes the chooser of a cloned function external, even that of a static one: two of one name do not link.
twice=$(grep -ohE '^CPU_CLONES static .*' "${files[@]}" | sed -E 's/^[^(]*[ *]([a-z0-9_]+)\(.*/\1/' | sort | uniq -d)
[ -z "$twice" ] || fail "cloned functions of one name: ${twice//$'\n'/, }"
grep -nE '^CPU_CLONES ([^s]|s[^t])' "${files[@]}" /dev/null && fail "a cloned function must be static: clang 14 renames others"

grep -nE '(^|[^A-Za-z0-9_.>])(strcpy|strcat|sprintf|vsprintf|atoi|atol|atof|system|gets)[[:space:]]*\(' "${files[@]}" /dev/null &&
    fail "banned: these calls neither check sizes nor report errors"
grep -nE '\b(TODO|FIXME|XXX|HACK)\b' "${texts[@]}" /dev/null && fail "finish it, or write an issue"
grep -nE '(^|[^A-Za-z0-9_.>})$/])/(work|tmp|home|root)/[A-Za-z]+[^-A-Za-z]|https?://([02-9]|1[013-9]|12[0-689])[0-9]*\.[0-9]' "${texts[@]}" /dev/null &&
    fail "a path or host of one machine"
grep -nE '[[:space:]]+$' "${texts[@]}" /dev/null && fail "blanks at the end of a line"

# A script without it has the exit code of its last command, and a failed case is lost.
for script in tests/cli/cli_*.sh; do
    [ ! -e "$script" ] || [ "$(tail -n 1 "$script")" = finish ] || fail "$script: a test of the programs must end with finish"
done

[ "$bad" -eq 0 ] && echo "style: ${#files[@]} sources hold to it"
exit "$bad"

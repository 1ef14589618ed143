#!/usr/bin/env bash
# Do the op tests see what they should?  Every barrier, shuffle mask, wait for a copy and bounds guard of the CUDA
# sources is broken, one at a time, and the tests of that file's ops are run on simt: who notices, or why nobody need.
# usage: mutate_barriers.sh [--kinds KIND,...] [FILE.cu|FILE.cuh ...]   without files all of kernels/cuda
#   kinds: barrier, mask, copy, guard (all of them); AMBIT_BUILD, AMBIT_TSAN_BUILD, AMBIT_ASAN_BUILD: build folders
# A line for each mutation: file:line, kind, what was done, noticed by
#   checks   the emulator's own (or a crash); order  numbers, in one random order; seed  in another
#   tsan     ThreadSanitizer; asan  AddressSanitizer
# or HARMLESS with the reason from mutate_barriers.txt, or MISSED; the exit status says whether any was missed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
release=${AMBIT_BUILD:-build/release} tsan=${AMBIT_TSAN_BUILD:-build/tsan} asan=${AMBIT_ASAN_BUILD:-build/asan}
harmless=tests/mutate_barriers.txt kinds=barrier,mask,copy,guard
if [ "${1:-}" = --kinds ]; then
    kinds=${2:?--kinds wants some}
    shift 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
declare -A count

# The sources to compile for a header: those whose ops are run.
sources_of() {
    case $1 in
    *.cu) echo "$1" ;;
    threads.cuh) echo cross_entropy.cu nll.cu rms_norm.cu ;;
    columns.cuh | element.cuh) echo layer_norm.cu ;;
    attention*.cuh) (cd kernels/cuda && echo attention*.cu) ;;
    causal_*.cuh) (cd kernels/cuda && echo causal_*.cu) ;;
    *) (cd kernels/cuda && grep -l "cuda/$1" ./*.cu | sed 's/^\.\///' | head -n 2) ;;
    esac
}

# The tests of a file: "PROGRAM ARGUMENTS", one a line; those of ops whose names have the file's in it by default.
tests_of() {
    local op=${1%.cu*}
    op=${op%_backward}
    case $op in
    attention_pool) printf '%s\n' 'test_ops_graph simt attention_pool' ;;
    attention*) printf '%s\n' 'test_ops simt attention' ;;
    causal*) printf '%s\n' 'test_ops_causal simt' ;;
    optim) printf '%s\n' test_optim ;;
    threads) printf '%s\n' 'test_ops_graph simt cross_entropy' 'test_ops_lora simt nll' 'test_ops_llm simt rms_norm' ;;
    columns | element) printf '%s\n' 'test_ops simt layer_norm' ;;
    sum_rows) printf '%s\n' 'test_ops simt linear' 'test_ops_graph simt gat' ;;
    nll) printf '%s\n' test_linear_nll 'test_ops_lora simt linear_nll' ;;
    fill | cuda) printf '%s\n' 'test_ops simt embed' ;;
    split_columns) printf '%s\n' 'test_ops_decoder simt' ;;
    linear) printf '%s\n' 'test_ops simt linear' 'test_ops_lora simt lora' ;;
    *) (cd tests/kernels && grep -lE "\{ \"[a-z_]*$op" test_ops*.c | sed "s/\.c$/ simt $op/") ;;
    esac
}

# LINE KIND COLUMN LENGTH REPLACEMENT of everything in a file that can be broken.
mutations_of() {
    awk -v kinds=",$kinds," '
    function wanted(kind) { return index(kinds, "," kind ",") }
    function all(kind, pattern, with,    rest, at) {
        if (!wanted(kind)) return
        at = 0
        for (rest = code; match(rest, pattern);) {
            print NR "\t" kind "\t" at + RSTART "\t" RLENGTH "\t" with
            at += RSTART + RLENGTH - 1
            rest = substr(rest, RSTART + RLENGTH)
        }
    }
    { code = $0; sub(/\/\*.*/, "", code); sub(/\/\/.*/, "", code) }
    /^ ?\*|^\/\*/ { next }
    /__global__|__device__/ { device = 1 }
    /^}/ { device = 0 }
    !device || /^#/ { next }
    {
        all("barrier", "__sync(threads|warp)\\(\\)", "(void)0")
        all("mask", "ALL_LANES", "0x7fffffffu")
        all("copy", "copy_commit\\(\\)", "(void)0")
        if (match(code, /copy_wait<[0-9]+>/)) {
            n = substr(code, RSTART + 10, RLENGTH - 11)
            all("copy", "copy_wait<[0-9]+>", "copy_wait<" n + 1 ">")
        }
        if (code !~ /static_assert|constexpr|template/ && (code !~ /for \(/ || code ~ /(lane|thread|warp|block)_id\(\)/)) {
            all("guard", " < ", " <= ")
            all("guard", " >= ", " > ")
            all("guard", " < ", " + 1 < ")
            all("guard", " >= ", " + 1 >= ")
        }
    }' "kernels/cuda/$1"
}

# Compiles the sources against the changed file and links them into a copy of a build's module; false: it does not compile.
# usage: build BUILD FILE
build() {
    local dir command objects='' link source
    dir=$work/$(basename "$1")
    mkdir -p "$dir"
    for source in $(sources_of "$2"); do
        command=$(grep -F "/cuda/$source.o -c " "$dir.commands" | head -n 1)
        command=${command//"-c $PWD/kernels/cuda/$source"/-c $work/tree/kernels/cuda/$source}
        command=${command//"-I$PWD"/-I$work/tree -I$PWD}
        command=$(sed -E "s#-o [^ ]+#-o $dir/$source.o#; s#-MD |-M[FT] [^ ]+ ##g; s#-Werror##; s#-O3#-O2#" <<<"$command")
        (cd "$1" && eval "$command") 2>"$dir/errors" || return 1
        objects+=" s#[^ ]*/cuda/$source\\.o#$dir/$source.o#;"
    done
    link=$(grep -F -- '-o lib/ambit/libambit_simt.so' "$dir.commands" | tail -n 1)
    link=$(sed -E "$objects s#-o lib/ambit/libambit_simt.so#-o $dir/libambit_simt.so#" <<<"$link")
    (cd "$1" && eval "$link") 2>"$dir/errors"
}

# Runs the tests of a file with the changed module; prints nothing, or what told.
# usage: run BUILD FILE SEED WORD
run() {
    local dir program arguments code
    dir=$work/$(basename "$1")
    while read -r program arguments; do
        # shellcheck disable=SC2086
        AMBIT_MODULE_PATH=$dir AMBIT_TEST_DEVICE=simt AMBIT_SIMT_SEED=$3 OMP_NUM_THREADS=1 \
            TSAN_OPTIONS='halt_on_error=1 exitcode=66' ASAN_OPTIONS=detect_leaks=0 \
            timeout 300 "$1/bin/$program" $arguments >"$dir/log" 2>&1
        code=$?
        [ $code -eq 0 ] && continue
        if [ "$1" = "$release" ] && { [ $code -ge 124 ] || grep -aq 'CHECK(' "$dir/log"; }; then
            echo checks
        else
            echo "$4"
        fi
        return
    done < <(tests_of "$2")
}

# Who notices the change in $work/tree; empty: nobody.
# usage: notice FILE KIND
notice() {
    local by='' other=$tsan word=tsan
    [ "$2" = guard ] && other=$asan word=asan
    build "$release" "$1" || { cat "$work/$(basename "$release")/errors" >&2 && echo compiler && return; }
    by=$(run "$release" "$1" 1 order)
    [ -z "$by" ] && by=$(run "$release" "$1" 2 seed)
    [ -z "$by" ] && [ -e "$work/$(basename "$other").commands" ] && build "$other" "$1" && by=$(run "$other" "$1" 1 "$word")
    echo "$by"
}

# The reason why a change is harmless: TEXT of the line, KIND and replacement as mutate_barriers.txt has them.
reason() {
    awk -F '\t' -v file="$1" -v kind="$2" -v text="$3" '
        $1 == file && ($2 == kind || $2 == "any") && index(text, $3) { print $4; exit }' "$harmless"
}

mutate() { # FILE LINE KIND COLUMN LENGTH REPLACEMENT
    local text shown by why
    cp "kernels/cuda/$1" "$work/tree/kernels/cuda/$1"
    text=$(sed -n "$2p" "kernels/cuda/$1")
    shown="${text:$4-1:$5} -> $6"
    awk -v n="$2" -v at="$4" -v len="$5" -v with="$6" \
        'NR == n { $0 = substr($0, 1, at - 1) with substr($0, at + len) } { print }' \
        "kernels/cuda/$1" >"$work/tree/kernels/cuda/$1"
    by=$(notice "$1" "$3")
    if [ -z "$by" ]; then
        why=$(reason "$1" "$3" "$text")
        by=${why:+HARMLESS: $why}
    fi
    by=${by:-MISSED}
    count[${by%%:*}]=$((${count[${by%%:*}]:-0} + 1))
    printf '%s:%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$shown" "$by" "${text#"${text%%[! ]*}"}"
}

for build in "$release" "$tsan" "$asan"; do
    [ -e "$build/lib/ambit/libambit_simt.so" ] &&
        ninja -C "$build" -t commands lib/ambit/libambit_simt.so >"$work/$(basename "$build").commands"
done
[ -e "$work/$(basename "$release").commands" ] || { echo "build first: $release" >&2 && exit 2; }
mkdir -p "$work/tree/kernels/cuda"
files=("$@")
if [ $# -eq 0 ]; then
    mapfile -t files < <(find kernels/cuda -name '*.cu*' -printf '%f\n' | sort |
        grep -vE '^(driver|library_attention|library_matmul|kernels)\.cu$|^(ptx|state)\.cuh$')
fi
for file in "${files[@]}"; do
    file=$(basename "$file")
    rm -f "$work"/tree/kernels/cuda/*
    for source in $(sources_of "$file"); do
        cp "kernels/cuda/$source" "$work/tree/kernels/cuda/"
    done
    while IFS=$'\t' read -r line kind column length with; do
        mutate "$file" "$line" "$kind" "$column" "$length" "$with" </dev/null
    done < <(mutations_of "$file")
done
for by in "${!count[@]}"; do echo "$by: ${count[$by]}"; done | sort
[ -z "${count[MISSED]:-}" ]

#!/usr/bin/env bash
# Do the op tests see what they should?  Every barrier, shuffle mask, wait for a copy and bounds guard of the CUDA
# sources is broken, one at a time, and the tests of that file's ops are run on simt: who notices, or why nobody need.
# usage: mutate_barriers.sh [--kinds KIND,...] [FILE.cu|FILE.cuh ...]   without files all of kernels/cuda
#   kinds: barrier, mask, copy, guard (all of them); AMBIT_BUILD, AMBIT_TSAN_BUILD, AMBIT_ASAN_BUILD: build folders
# A line for each mutation: file:line, kind, what was done, noticed by
#   checks   the emulator's own (or a crash); order  numbers, in one random order; seed  in another
#   tsan     ThreadSanitizer; asan  AddressSanitizer
# or HARMLESS with the reason from mutate_barriers.txt, or MISSED; then a table by file.  The exit status says whether
# any was missed.  The sources are compiled once for each build, with all mutations in them: see mutants.h.
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
tree=$work/tree/kernels/cuda
declare -A limit

# The tests of a file: "PROGRAM ARGUMENTS", one a line, the quickest first; those of ops whose names have the file's in
# it by default.
tests_of() {
    local op=${1%.cu*}
    op=${op%_backward}
    case $op in
    attention_pool) printf '%s\n' 'test_ops_graph simt attention_pool' ;;
    attention*_mma) printf '%s\n' 'test_ops simt attention bf16' ;;
    mma_tile) printf '%s\n' 'test_ops simt attention bf16' 'test_ops_causal simt causal bf16' ;;
    attention*) printf '%s\n' 'test_ops simt attention' ;;
    causal*_mma) printf '%s\n' test_causal 'test_ops_causal simt causal bf16' ;;
    causal*) printf '%s\n' test_causal 'test_ops_causal simt' ;;
    crf) printf '%s\n' test_crf 'test_ops_crf simt' ;;
    optim) printf '%s\n' test_optim ;;
    threads) printf '%s\n' test_optim 'test_ops_llm simt rms_norm' 'test_ops_graph simt cross_entropy' test_causal ;;
    element) printf '%s\n' 'test_ops simt layer_norm' 'test_ops_llm simt' 'test_ops simt embed' ;;
    columns) printf '%s\n' 'test_ops simt layer_norm' ;;
    sum_rows) printf '%s\n' 'test_ops simt linear' 'test_ops_graph simt gat' ;;
    nll) printf '%s\n' test_linear_nll 'test_ops_lora simt linear_nll' ;;
    fill | cuda) printf '%s\n' 'test_ops simt embed' ;;
    split_columns) printf '%s\n' 'test_ops_decoder simt' ;;
    linear_group) printf '%s\n' 'test_ops_decoder simt linear' ;;
    gather) printf '%s\n' 'test_ops simt gather' 'test_ops simt scatter' ;;
    matmul) printf '%s\n' 'test_ops simt matmul' 'test_ops simt linear' ;;
    linear) printf '%s\n' 'test_ops simt linear' 'test_ops_lora simt lora' ;;
    *) (cd tests/kernels && grep -lE "\{ \"[a-z_]*$op" test_ops*.c | sed "s/\.c$/ simt $op/") ;;
    esac
}

# Writes a file of kernels/cuda with all its mutations to $tree, and to $work/list a line for each: number, file, line,
# kind, what is done, the line.  The numbers go on after the last.
break_all() {
    awk -v file="$1" -v list="$work/list" -v number="$(wc -l <"$work/list")" '
    function note(kind, from, to) {
        text = $0
        sub(/^ +/, "", text)
        print ++number "\t" file "\t" NR "\t" kind "\t" from " -> " to "\t" text >>list
    }
    function either(kind, from, to) {
        note(kind, from, to)
        return "(mutant == " number " ? " to " : " from ")"
    }
    function compared(sign, name, other) {
        note("guard", sign, other)
        note("guard", sign, "+ 1 " sign)
        return " <" name "(" number - 1 ")> "
    }
    function broken(found) {
        if (found ~ /^__sync/) return either("barrier", found, "(void)0")
        if (found == "ALL_LANES") return either("mask", found, "0x7fffffffu")
        if (found ~ /commit/) return either("copy", found, "(void)0")
        if (found ~ /wait/) return either("copy", found, "copy_wait<" substr(found, 11) + 1 ">()")
        if (!guards) return found
        return found == " < " ? compared("<", "LESS", "<=") : compared(">=", "LEAST", ">")
    }
    { code = $0; sub(/\/\*.*/, "", code); sub(/\/\/.*/, "", code) }
    /^ ?\*|^\/\*/ { code = "" }
    /__global__|__device__/ { device = 1 }
    /^}/ { device = 0 }
    !device || /^#/ { code = "" }
    {
        guards = code !~ /static_assert|constexpr|template/ && (code !~ /for \(/ || code ~ /(lane|thread|warp|block)_id\(\)/)
        done = ""
        for (rest = code; match(rest, /__sync(threads|warp)\(\)|ALL_LANES|copy_commit\(\)|copy_wait<[0-9]+>\(\)| (<|>=) /);) {
            done = done substr(rest, 1, RSTART - 1) broken(substr(rest, RSTART, RLENGTH))
            rest = substr(rest, RSTART + RLENGTH)
        }
        print done rest substr($0, length(code) + 1)
    }' "kernels/cuda/$1" >"$tree/$1"
}

# Compiles what the broken files change, and links it into a copy of a build's module.
# usage: build BUILD
build() {
    local dir=$work/${1##*/} sources=("${files[@]}") source from command objects='' link
    mkdir -p "$dir"
    ninja -C "$1" -t commands lib/ambit/libambit_simt.so >"$dir.commands"
    [[ "${files[*]}" == *.cuh* ]] && mapfile -t sources < <(cd kernels/cuda && printf '%s\n' *.cu)
    for source in "${sources[@]}"; do
        from=$PWD/kernels/cuda/$source
        command=$(grep -F -- "-c $from" "$dir.commands" | head -n 1)
        [ -z "$command" ] && continue
        [ -e "$tree/$source" ] && command=${command/"-c $from"/-c $tree/$source}
        command=${command/"-I$PWD"/-I$work/tree -I$PWD -include $PWD/tests/mutants.h -w}
        command=$(sed -E "s#-o [^ ]+#-o $dir/$source.o#; s#-MD |-M[FT] [^ ]+ ##g; s#-Werror##; s#-O3#-O2#" <<<"$command")
        (cd "$1" && eval "$command") || exit 2
        objects+=" s#[^ ]*/cuda/$source\\.o#$dir/$source.o#;"
    done
    link=$(grep -F -- '-o lib/ambit/libambit_simt.so' "$dir.commands" | tail -n 1)
    link=$(sed -E "$objects s#-o lib/ambit/libambit_simt.so#-o $dir/libambit_simt.so#" <<<"$link")
    (cd "$1" && eval "$link") || exit 2
}

# Runs the tests of a file with that mutant, to the first that fails; prints nothing, or what told.
# usage: run BUILD FILE MUTANT SEED WORD
run() {
    local dir=$work/${1##*/} program arguments code
    while read -r program arguments; do
        # shellcheck disable=SC2086
        AMBIT_MODULE_PATH=$dir AMBIT_TEST_DEVICE=simt AMBIT_SIMT_SEED=$4 AMBIT_MUTANT=$3 OMP_NUM_THREADS=1 \
            TSAN_OPTIONS='halt_on_error=1 exitcode=66 history_size=1' ASAN_OPTIONS=detect_leaks=0 \
            timeout -s KILL "${limit["$1 $(tests_of "$2")"]:-600}" "$1/bin/$program" $arguments 2>&1 | sed '/\[  FAILED  \]/q' >"$dir/log"
        code=${PIPESTATUS[0]}
        [ "$code" -eq 0 ] && continue
        if [ "$1" = "$release" ] && { [ "$code" -eq 137 ] || grep -aqE 'CHECK\(|exception' "$dir/log"; }; then
            echo checks
        else
            echo "$5"
        fi
        return
    done < <(tests_of "$2")
}

# Runs the tests of a file with no mutant: they pass, how long they take says how long they may, and the guards that
# would have answered otherwise go to $work/BUILD/seen.
# usage: run_sound BUILD FILE
run_sound() {
    local start=$SECONDS tests
    tests=$(tests_of "$2")
    [ -n "${limit["$1 $tests"]:-}" ] && return
    if [ -n "$(AMBIT_MUTANTS_SEEN=$work/${1##*/}/seen run "$1" "$2" 0 1 failed)" ]; then
        cat "$work/${1##*/}/log" >&2
        echo "the tests of $2 fail in $1 as it is" >&2
        exit 2
    fi
    limit["$1 $tests"]=$((4 * (SECONDS - start) + 20))
}

# Who notices the mutant; empty: nobody.  by is the answer.
# usage: notice FILE KIND MUTANT
notice() {
    local other=$tsan word=tsan
    [ "$2" = guard ] && other=$asan word=asan
    by=''
    run_sound "$release" "$1"
    [ "$2" = guard ] && ! grep -qx "$3" "$work/${release##*/}/seen" && return
    by=$(run "$release" "$1" "$3" 1 order)
    [ -z "$by" ] && [ "$2" != guard ] && by=$(run "$release" "$1" "$3" 100000 seed)
    [ -n "$by" ] || [ ! -e "$work/${other##*/}/libambit_simt.so" ] && return
    run_sound "$other" "$1"
    by=$(run "$other" "$1" "$3" 1 "$word")
}

# The reason why a mutation is harmless.
# usage: reason FILE KIND DONE TEXT
reason() {
    awk -F '\t' -v file="$1" -v kind="$2" -v done="$3" -v text="$4" '
        ($1 == file || $1 == "*") && index(kind " " done, $2) == 1 && index(text, $3) { print $4; exit }' "$harmless"
}

# The lines so far as a table by file, for docs/develop/mutations.md.
table() {
    awk -F '\t' '
    BEGIN { n = split("checks order seed tsan asan HARMLESS MISSED", who, " ") }
    {
        file = $1; sub(/:.*/, "", file); by = $4; sub(/:.*/, "", by)
        if (!(file in all)) order[++files] = file
        for (i = 0; i < 2; i++) { all[file]++; kind[file, $2]++; told[file, by]++; file = "all" }
    }
    END {
        print "\n| file | barriers | copies | masks | guards | checks | order | seed | tsan | asan | harmless | missed |"
        print "|---|---|---|---|---|---|---|---|---|---|---|---|"
        order[++files] = "all"
        for (f = 1; f <= files; f++) {
            file = order[f]
            line = "| " file " | " kind[file, "barrier"] + 0 " | " kind[file, "copy"] + 0
            line = line " | " kind[file, "mask"] + 0 " | " kind[file, "guard"] + 0
            for (i = 1; i <= n; i++) line = line " | " told[file, who[i]] + 0
            print line " |"
        }
    }' "$work/told"
}

[ -e "$release/lib/ambit/libambit_simt.so" ] || { echo "build first: $release" >&2 && exit 2; }
mkdir -p "$tree"
: >"$work/list"
: >"$work/told"
files=("${@##*/}")
if [ $# -eq 0 ]; then
    mapfile -t files < <(find kernels/cuda -name '*.cu*' -printf '%f\n' | sort |
        grep -vE '^(driver|library_attention|library_matmul|kernels)\.cu$|^(ptx|state)\.cuh$')
fi
for file in "${files[@]}"; do break_all "$file"; done
for build in "$release" "$tsan" "$asan"; do
    [ -e "$build/lib/ambit/libambit_simt.so" ] && build "$build"
done
while IFS=$'\t' read -r number file line kind what text; do
    [[ ,$kinds, == *,$kind,* ]] || continue
    notice "$file" "$kind" "$number" </dev/null
    if [ -z "$by" ]; then
        by=$(reason "$file" "$kind" "$what" "$text")
        by=${by:+HARMLESS: $by}
    fi
    printf '%s:%s\t%s\t%s\t%s\t%s\n' "$file" "$line" "$kind" "$what" "${by:-MISSED}" "$text" | tee -a "$work/told"
done <"$work/list"
table
! cut -f 4 "$work/told" | grep -q MISSED

#!/usr/bin/env bash
# Checks the op tests.  Every barrier, shuffle mask, wait for a copy and bounds guard of the CUDA sources is broken, one at a
# time.  The tests of that file's ops then run on simt.  The script prints the check that noticed, or why none needs to.
# usage: mutate_barriers.sh [--kinds KIND,...] [FILE.cu|FILE.cuh ...]   without files all of kernels/cuda
#   kinds: barrier, mask, copy, guard (all of them); AMBIT_BUILD, AMBIT_TSAN_BUILD, AMBIT_ASAN_BUILD: build folders
# A line for each mutation: file:line, kind, the change, noticed by
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
export AMBIT_TEST_ALL=${AMBIT_TEST_ALL-1} # mutations may show at the largest size alone; empty: only as the default suite
tree=$work/tree/kernels/cuda
declare -A limit

# usage: of_types PROGRAM DEVICE OP TYPE...
of_types() {
    local test="$1 $2 $3"
    shift 3
    printf "$test %s\n" "$@"
}

# The tests of a file: "PROGRAM ARGUMENTS", one a line, the quickest first; those of ops whose names have the file's in
# it by default.
tests_of() {
    local op=${1%.cu*} row
    op=${op%_backward}
    case $op in
    attention_pool) printf '%s\n' 'test_ops_graph simt attention_pool' ;;
    gat_warp) echo 'test_ops_graph simt gat_warp' ;;
    gat) tests_of gat_warp.cu && echo 'test_ops_graph simt gat' ;;
    attention*_mma) of_types test_ops simt attention_cross bf16 && of_types test_ops simt attention_self bf16 ;;
    mma_tile) tests_of attention_mma.cu && tests_of causal_mma.cuh ;;
    attention*) of_types test_ops simt attention_cross f32 bf16 && of_types test_ops simt attention_self f32 bf16 ;;
    causal_mma) of_types test_ops_causal simt causal bf16 && tests_of paged_attention.cu ;;
    causal*_mma) printf '%s\n' test_causal 'test_ops_causal simt causal bf16' ;;
    causal_rows) tests_of causal_attention.cu && tests_of paged_attention.cu ;;
    causal*) echo test_causal && of_types test_ops_causal simt causal f32 bf16 ;;
    paged_attention)
        for row in whole pages shared together; do of_types test_ops_paged simt paged_attention_$row f32 bf16; done
        echo test_paged
        ;;
    beam_step) printf '%s\n' test_ops_beams ;;
    candidates) printf '%s\n' test_ops_candidates ;;
    decode_rows) printf '%s\n' test_ops_beams test_ops_draw test_ops_candidates ;;
    decode) printf '%s\n' test_ops_draw test_ops_candidates test_ops_beams ;;
    draw) printf '%s\n' test_ops_draw ;;
    row_parts) printf '%s\n' test_ops_candidates test_ops_draw ;;
    lora_out) printf '%s\n' test_lora_out 'test_ops_lora simt lora_group' 'test_ops_lora simt lora_linear' ;;
    crf) printf '%s\n' test_crf 'test_ops_crf simt' ;;
    optim) printf '%s\n' test_optim test_adafactor ;;
    adafactor) echo test_adafactor ;;
    threads) printf '%s\n' test_optim 'test_ops_llm simt rms_norm' 'test_ops_graph simt cross_entropy' test_causal ;;
    element) printf '%s\n' 'test_ops simt layer_norm' 'test_ops_llm simt' 'test_ops simt embed' ;;
    pair_dot | policy_loss | probability_bce) printf '%s\n' "test_ops_tags simt $op" ;;
    segment_softmax) printf '%s\n' 'test_ops_tags simt segment_softmax' 'test_ops_graph simt attention_pool' ;;
    columns) printf '%s\n' 'test_ops simt layer_norm' ;;
    sum_rows) printf '%s\n' 'test_ops simt linear' 'test_ops_graph simt gat' ;;
    nll) printf '%s\n' test_linear_nll 'test_ops_lora simt linear_nll' ;;
    fill | cuda) printf '%s\n' 'test_ops simt embed' ;;
    split_columns) printf '%s\n' 'test_ops_decoder simt' ;;
    linear_group) printf '%s\n' 'test_ops_decoder simt linear' ;;
    linear_group_few) printf '%s\n' 'test_ops_decoder simt linear' test_few_rows ;;
    linear_group_tiles) echo test_few_rows ;;
    gather) printf '%s\n' 'test_ops simt gather' 'test_ops simt scatter' ;;
    matmul) printf '%s\n' 'test_ops simt matmul' 'test_ops simt linear' ;;
    linear) printf '%s\n' 'test_ops cuda linear' test_cuda_driver ;; # it runs behind the library's products, over fake_cuda
    *) (cd tests/kernels && grep -lE "\{ \"[a-z_]*$op" test_ops*.c | sed "s/\.c$/ simt $op/") ;;
    esac
}

# Writes a file of kernels/cuda with all its mutations to $tree, and to $work/list a line for each: number, file, line,
# kind, the change, the line.  The numbers continue from the last file.
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
    /^ ?\*|^ *\* |^ *\/\*/ { code = "" }
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

# Prints the kernels' sources that are or include one of the files, from ninja's list of dependencies.
users_of() {
    awk -v files=" $* " '
    /^[^ ]/ { source = $1 ~ /ambit_simt_kernels\.dir\// ? $1 : ""; gsub(/.*\/|\.o:$/, "", source) }
    source && /^ / { sub(/.*\//, "", $1); if (index(files, " " $1 " ")) { print source; source = "" } }'
}

# Compiles the sources that the broken files change, and links them into copies of a build's modules.
# usage: build BUILD
build() {
    local dir=$work/${1##*/} sources source from command objects='' module link
    mkdir -p "$dir"
    ninja -C "$1" -t commands lib/ambit/libambit_simt.so >"$dir.commands"
    mapfile -t sources < <(ninja -C "$1" -t deps | users_of "${files[@]}")
    for source in "${sources[@]}"; do
        from=$PWD/kernels/cuda/$source
        command=$(grep -F -- "-c $from" "$dir.commands" | head -n 1)
        [ -e "$tree/$source" ] && command=${command/"-c $from"/-c $tree/$source}
        command=${command/"-I$PWD"/-I$work/tree -I$PWD -include $PWD/tests/mutants.h -w}
        command=$(sed -E "s#-o [^ ]+#-o $dir/$source.o#; s#-MD |-M[FT] [^ ]+ ##g; s#-Werror##; s#-O3#-O2#" <<<"$command")
        (cd "$1" && eval "$command") || exit 2
        objects+=" s#[^ ]*/cuda/$source\\.o#$dir/$source.o#;"
    done
    for module in lib/ambit/libambit_simt.so lib/fake_cuda/libambit_cuda.so; do
        [ -e "$1/$module" ] || continue
        link=$(ninja -C "$1" -t commands "$module" | grep -F -- "-o $module" | tail -n 1)
        link=$(sed -E "$objects s#-o $module#-o $dir/${module##*/}#" <<<"$link")
        (cd "$1" && eval "$link") || exit 2
    done
}

# Runs a test with that mutant; prints nothing, or the check that noticed.
# usage: run BUILD TEST MUTANT SEED WORD
run() {
    local dir=$work/${1##*/} program arguments code
    read -r program arguments <<<"${2% #*}"
    [[ $2 == *' #'* ]] && local -x AMBIT_OPS_CASE=${2##*#}
    [ "$1" = "$release" ] || export AMBIT_OPS_ONCE=1 # a sanitizer needs no numbers
    # shellcheck disable=SC2086
    AMBIT_MODULE_PATH=$dir AMBIT_TEST_DEVICE=simt AMBIT_SIMT_SEED=$4 AMBIT_MUTANT=$3 OMP_NUM_THREADS=1 \
        TSAN_OPTIONS='halt_on_error=1 exitcode=66 history_size=1' ASAN_OPTIONS=detect_leaks=0 \
        timeout -s KILL "${limit["$1 $2"]:-600}" "$1/bin/$program" $arguments 2>&1 | sed '/\[  FAILED  \]/q' >"$dir/log"
    code=${PIPESTATUS[0]}
    [ "$code" -eq 0 ] && return
    if [ "$1" = "$release" ] && { [ "$code" -eq 137 ] || grep -aqE 'CHECK\(|exception' "$dir/log"; }; then
        echo checks
    else
        echo "$5"
    fi
}

# Runs a test without a mutant.  It must pass; its duration sets the limit for mutants.  The release build writes the
# guards that would have given another result to a file.  Under ThreadSanitizer its notes would be a race.
# usage: run_sound BUILD TEST
run_sound() {
    local start=$SECONDS
    [ -n "${limit["$1 $2"]:-}" ] && return
    [ "$1" = "$release" ] && local -x AMBIT_MUTANTS_SEEN="$work/${1##*/}/seen $2" && : >>"$AMBIT_MUTANTS_SEEN"
    if [ -n "$(run "$1" "$2" 0 1 failed)" ]; then
        cat "$work/${1##*/}/log" >&2
        echo "$2 fails in $1 as it is" >&2
        exit 2
    fi
    limit["$1 $2"]=$((4 * (SECONDS - start) + 20))
}

# Prints the bits of a case of an op, or that it fails; other tests are skipped.
# usage: bits_of BUILD TEST MUTANT SEED
bits_of() {
    local file=$work/bits
    [[ $2 == *' #'* ]] || { echo 'no case' && return; }
    : >"$file"
    AMBIT_OPS_BITS=$file run "$1" "$2" "$3" "$4" fails
    cat "$file"
}

# A table of ops case by case, any other test as it is.
split() {
    local n
    [[ $1 == *' '* ]] || { echo "$1" && return; }
    # shellcheck disable=SC2086
    n=$(AMBIT_MODULE_PATH=$work/${release##*/} AMBIT_OPS_CASE=-1 "$release/bin/${1%% *}" ${1#* } 2>/dev/null |
        sed -nE 's/^of ([0-9]+) cases$/\1/p')
    seq -f "$1 #%g" 0 $((n - 1))
}

# Writes the cases that reach a mutant of the file, the fastest first, to $work/cases.FILE.
cases_of() {
    local test one start
    [ -e "$work/cases.$1" ] && return
    : >"$work/timed"
    while read -r test; do
        while read -r one; do
            start=${EPOCHREALTIME/./}
            run_sound "$release" "$one"
            bits_of "$release" "$one" 0 1 >"$work/sound $one"
            printf '%s\t%s\n' $((${EPOCHREALTIME/./} - start)) "$one" >>"$work/timed"
        done < <(split "$test")
    done < <(tests_of "$1")
    sort -n "$work/timed" | cut -f 2 >"$work/cases.$1"
}

# Runs a file's tests with the mutant, up to the first failure; for a guard, the tests in which its result differs.
# usage: run_tests BUILD FILE KIND MUTANT SEED WORD; by is the answer
run_tests() {
    local test list=$work/cases.$2 seen="$work/${release##*/}/seen "
    cases_of "$2"
    if [ "$1" != "$release" ]; then # which starts slowly: all cases at once
        list=$work/tests
        tests_of "$2" >"$list"
    fi
    while read -r test; do
        [ "$3" = guard ] && ! grep -qsx "$4" "$seen$test" "$seen$test #"* && continue
        [ "$3" = guard ] && [ "$5" != 1 ] && [[ $test == *' '* ]] && continue # an op's test runs from two seeds itself
        # a case with the same bits needs no look at its numbers
        if [ "$1" = "$release" ] && [[ $test == *' #'* ]] && ! grep -q details "$work/sound $test" &&
            bits_of "$1" "$test" "$4" "$5" | cmp -s - "$work/sound $test"; then
            continue
        fi
        run_sound "$1" "$test"
        by=$(run "$1" "$test" "$4" "$5" "$6")
        [ -n "$by" ] && return
    done <"$list"
}

# Sets by to the check that noticed the mutant, to the reason why none needs to, or to nothing.
# usage: notice FILE KIND MUTANT DONE TEXT
notice() {
    local other=$tsan word=tsan
    [ "$2" = guard ] && other=$asan word=asan
    by=''
    run_tests "$release" "$1" "$2" "$3" 1 order
    [ -z "$by" ] && run_tests "$release" "$1" "$2" "$3" 100000 seed
    [ -z "$by" ] && by=$(reason "$1" "$2" "$4" "$5") && by=${by:+HARMLESS: $by}
    [ -n "$by" ] || [ ! -e "$work/${other##*/}/libambit_simt.so" ] || run_tests "$other" "$1" "$2" "$3" 1 "$word"
}

# The reason why a mutation is harmless.
# usage: reason FILE KIND DONE TEXT
reason() {
    awk -F '\t' -v file="$1" -v kind="$2" -v done="$3" -v text="$4" '
        ($1 == file || $1 == "*") && index(kind " " done, $2) == 1 && index(text, $3) { print $4; exit }' "$harmless"
}

# Prints the reasons whose line the sources no longer have.
stale() {
    local file text
    while IFS=$'\t' read -r file _ text _; do
        [ "$file" = '*' ] && file='*.cu*'
        # shellcheck disable=SC2086
        grep -qF -- "$text" kernels/cuda/$file || echo "$harmless: kernels/cuda/$file has no line with: $text"
    done < <(grep -v '^#' "$harmless")
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
[ -z "$(stale | tee /dev/stderr)" ] || exit 2
mkdir -p "$tree"
: >"$work/list"
: >"$work/told"
files=("${@##*/}")
if [ $# -eq 0 ]; then
    mapfile -t files < <(find kernels/cuda -name '*.cu*' -printf '%f\n' | sort |
        grep -vE '^(driver|library_attention|library_matmul|kernels)\.cu$|^(ptx|state)\.cuh$')
fi
for file in "${files[@]}"; do
    if tests_of "$file" | grep -q ' cuda ' && [ ! -e "$release/lib/fake_cuda/libambit_cuda.so" ]; then
        echo "$file: expected $release/lib/fake_cuda/libambit_cuda.so for its test; build the target fake_cuda" >&2
        exit 2
    fi
    break_all "$file"
done
for build in "$release" "$tsan" "$asan"; do
    [ -e "$build/lib/ambit/libambit_simt.so" ] && build "$build"
done
while IFS=$'\t' read -r number file line kind what text; do
    [[ ,$kinds, == *,$kind,* ]] || continue
    notice "$file" "$kind" "$number" "$what" "$text" </dev/null
    printf '%s:%s\t%s\t%s\t%s\t%s\n' "$file" "$line" "$kind" "$what" "${by:-MISSED}" "$text" | tee -a "$work/told"
done <"$work/list"
table
! cut -f 4 "$work/told" | grep -q MISSED

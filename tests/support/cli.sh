# shellcheck shell=bash
# Sourced by cli_*.sh before all else, from the root of the repository: the three programs, a folder of its own to stand
# in, and how a case fails.  What a command prints goes into the files shown and said, its records into out.jsonl.
# shellcheck disable=SC2034 # read by those who source this
set -u
root=$PWD
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
gold=$root/tests/gold
support=$root/tests/support
work=$(mktemp -d)
trap 'umount "$work/full" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive LC_ALL=C.UTF-8
cases=0 failed=0
told=(said) # where check looks for its text

data() { "$bin/ambit-data" "$@"; }
train() { "$bin/ambit-train" "$@"; }
infer() { "$bin/ambit-infer" "$@"; }

# tiny_detector [NAME=VALUE]...: a file of settings for a detector that is trained in seconds; those given go before its own.
tiny_detector() {
    printf '%s\n' "$@" encoder-hidden=32 encoder-layers=1 encoder-heads=1 encoder-intermediate=32 encoder-vocabulary=400 \
        encoder-positions=256 gat-hidden=8 gat-heads=2 pair-hidden=8 | awk -F = '!seen[$1]++ { print $1 ": " $2 }'
}

# few_tables TABLES.json FILE.jsonl...: of its schemas, which are thousands in practice data, those that the records name.
few_tables() {
    local tables=$1
    shift
    cat "$@" | grep -oE '"(db_id|renamed)":("[^"]*"|\[[^]]*\])' | cut -d : -f 2- | grep -oE '"[^"]+"' | sort -u | sed 's/^/"db_id":/' |
        grep -F -f - "$tables" | sed '1s/^,*/[/; $s/$/]/'
}

# complain WHAT [WHY]: a case fails, the others go on.
complain() {
    echo "$1${2:+: $2}${seed:+ (seed $seed)}"
    head -c 900 said 2>/dev/null
    failed=1
}

# fail WHY...: nothing that follows would mean anything.
fail() {
    echo "$*${seed:+ (seed $seed)}"
    tail -n 5 log 2>/dev/null
    exit 1
}

# run CODE COMMAND...: the exit code
run() {
    local code=$1 got
    shift
    cases=$((cases + 1))
    "$@" >shown 2>said </dev/null
    got=$?
    [ $got = "$code" ] || complain "$*" "exit code $got, expected $code"
}

# Every file with its size, every folder.
listing() { find . -path ./said -o -path ./shown -o -type f -printf '%p %s\n' -o -printf '%p\n' | sort; }

# check WHAT CODE TEXT COMMAND...: the exit code, and a line in the files told that holds the text (a regular expression).
# A command that fails leaves not a file more or less than before, one that does not leaves nothing half-written.
check() {
    local what=$1 code=$2 text=$3 before
    shift 3
    rm -f out.jsonl
    case $code in 0 | 7) ;; *) before=$(listing) ;; esac
    run "$code" "$@"
    grep -qsE -- "$text" "${told[@]}" || complain "$what" "does not say \"$text\": $(head -c 900 shown)"
    case $code in
    0 | 7) [ -z "$(find . -name '*.tmp')" ] || complain "$what" "left $(find . -name '*.tmp')" ;;
    *) [ "$before" = "$(listing)" ] || complain "$what" "left behind: $(diff <(echo "$before") <(listing) | tr '\n' ' ')" ;;
    esac
}

# expect CODE TEXT COMMAND...
expect() { check "${*:3}" "$@"; }

# The last line of a test whose cases go on after a failure.
finish() {
    [ $failed = 0 ] && echo "$cases cases"
    exit $failed
}

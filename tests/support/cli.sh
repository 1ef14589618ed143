# shellcheck shell=bash
# Sourced by each cli_*.sh first, from the root of the repository.  It gives a script the three programs, a folder of its own
# as the current folder, and functions that check commands.  A command's output goes to the files shown (standard output) and
# said (standard error), and its records to out.jsonl.  Each check prints a line of the Test Anything Protocol.
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
[ -n "${AMBIT_TEST_ALL:-}" ] || export AMBIT_SIMT_SEED=${AMBIT_SIMT_SEED:-1}
cases=0 failed=0 points=0 pending=''
told=(said) # the files that check searches for its text

data() { "$bin/ambit-data" "$@"; }
train() { "$bin/ambit-train" "$@"; }
infer() { "$bin/ambit-infer" "$@"; }

# tiny_detector [NAME=VALUE]...: prints settings of a detector that trains in seconds; the arguments override them.
tiny_detector() {
    printf '%s\n' "$@" encoder-hidden=32 encoder-layers=1 encoder-heads=1 encoder-intermediate=32 encoder-vocabulary=400 \
        encoder-positions=256 gat-hidden=8 gat-heads=2 pair-hidden=8 | awk -F = '!seen[$1]++ { print $1 ": " $2 }'
}

# few_tables TABLES.json FILE.jsonl...: prints the schemas that the records name.  Synthetic data has thousands of schemas.
few_tables() {
    local tables=$1
    shift
    cat "$@" | grep -oE '"(db_id|renamed)":("[^"]*"|\[[^]]*\])' | cut -d : -f 2- | grep -oE '"[^"]+"' | sort -u | sed 's/^/"db_id":/' |
        grep -F -f - "$tables" | sed -E 's/^[[,]*//; s/\}]$/}/; 1s/^/[/; 1!s/^/,/; $s/$/]/'
}

# synthetic FOLDER SEED STEP TRAIN VALID TEST: writes synthetic data and keeps so many records of each split, every STEP-th.
synthetic() {
    local folder=$1 step=$3 split
    data practice -o "$folder" --seed "$2" >shown 2>said || fail "ambit-data practice: $(cat said)"
    for split in "train $4" "valid $5" "test $6"; do
        awk -v step="$step" -v n="${split#* }" 'NR % step == 1 && k++ < n' "$folder/${split% *}.jsonl" >some.jsonl
        mv some.jsonl "$folder/${split% *}.jsonl"
    done
    few_tables "$folder/tables.json" "$folder"/*.jsonl >few.json && mv few.json "$folder/tables.json"
}

# begin NAME: begins a case of several checks.  It is ok unless one of them complains before the next case begins.
begin() {
    settle
    cases=$((cases + 1))
    pending=$1
}

# settle: prints the test point of the case that has begun, if no check has complained.
settle() {
    local name=$pending
    pending=''
    [ -z "$name" ] || point ok "$name"
}

# point RESULT NAME: prints a test point; "#" would begin a directive.
point() {
    local name=${2//[$'\n#']/ }
    points=$((points + 1))
    echo "$1 $points - ${name:0:160}"
}

# complain NAME [REASON]: reports a failed case; the script continues.
complain() {
    pending=''
    point "not ok" "$1${2:+: $2}${seed:+ (seed $seed)}"
    { printf '%s\n' "$@" && head -c 900 said; } 2>/dev/null | sed 's/^/# /'
    failed=1
}

# fail REASON...: ends a script that cannot continue.
fail() {
    echo "Bail out! $*${seed:+ (seed $seed)}"
    tail -n 5 log 2>/dev/null
    exit 1
}

# by_night ALL FEW: prints ALL under AMBIT_TEST_ALL, as scripts/test.sh --all sets it, else FEW.
by_night() { if [ -n "${AMBIT_TEST_ALL:-}" ]; then echo "$1"; else echo "$2"; fi; }

# choose_seed [SEED]: seeds RANDOM with SEED, by default with 1, or with any number under AMBIT_TEST_ALL.  Prints the seed.
choose_seed() {
    seed=${1:-$(by_night $(($(date +%s) % 32768)) 1)}
    RANDOM=$seed
    echo "# seed $seed"
}

# run CODE COMMAND...: runs the command and checks its exit code.
run() {
    local code=$1 got
    shift
    settle
    cases=$((cases + 1))
    "$@" >shown 2>said </dev/null
    got=$?
    if [ $got = "$code" ]; then
        point ok "$*"
    else
        complain "$*" "expected exit code $code, got $got"
    fi
}

# Prints every file with its size, and every folder.
listing() { find . -path ./said -o -path ./shown -o -type f -printf '%p %s\n' -o -printf '%p\n'; }

# small_detector FOLDER: trains a detector on 40 contrast questions of each split.  The synthetic data stays in `all`, its part in
# `small`, the settings in small.yaml.
small_detector() {
    local split
    data practice -o all --seed 1 >shown 2>said || fail "ambit-data practice: $(cat said)"
    mkdir small
    for split in train valid test; do
        grep '"slice":"contrast"' all/$split.jsonl | head -n 40 >small/$split.jsonl
    done
    few_tables all/tables.json small/*.jsonl >small/tables.json
    tiny_detector encode=schema gat-layers=1 gat-heads=1 epochs=1 >small.yaml
    train gatekeeper --config small.yaml --device cpu --seed 1 --data small --out "$1" >shown 2>said || fail "ambit-train gatekeeper: $(cat said)"
}

# check NAME CODE TEXT COMMAND...: checks the exit code, and that a line of the files in `told` matches TEXT, a regular
# expression.  A failing command must not add or remove a file.  A successful one must not leave an unfinished file.
check() {
    local name=$1 code=$2 text=$3 before after
    shift 3
    rm -f out.jsonl
    case $code in 0 | 7) ;; *) before=$(listing) ;; esac
    run "$code" "$@"
    grep -qsE -- "$text" "${told[@]}" || complain "$name" "expected a line with \"$text\": $(head -c 900 shown)"
    case $code in
    0 | 7) [ -z "$(find . -name '*.tmp')" ] || complain "$name" "left $(find . -name '*.tmp')" ;;
    *)
        after=$(listing)
        [ "$before" = "$after" ] || diff <(sort <<<"$before") <(sort <<<"$after") >listed || complain "$name" "left behind: $(tr '\n' ' ' <listed)"
        rm -f listed
        ;;
    esac
}

# expect CODE TEXT COMMAND...: is check, named by its command.
expect() { check "${*:3}" "$@"; }

# timeless FILE: prints metrics.jsonl without the time, speed and memory of the run.
timeless() { sed -E 's/,"(examples_per_second|seconds|(device_)?memory_mib)":[^,}]*//g' "$1"; }

# same_folders A B DIFF-OPTION...: whether two folders have the same files, apart from those fields of metrics.jsonl.
same_folders() {
    local file
    diff -r -x metrics.jsonl "${@:3}" "$1" "$2" || return 1
    for file in $(cd "$1" && find . -name metrics.jsonl); do
        diff <(timeless "$1/$file") <(timeless "$2/$file") || return 1
    done
}

# await_service PROCESS: waits until this service has written its address to the file log, and sets port.  Skips the script if
# ambit is built without libmicrohttpd.
await_service() {
    local i
    for ((i = 0; i < 300; i++)); do
        port=$(sed -nE 's/^listening on .*:([0-9]+)$/\1/p' log 2>/dev/null)
        [ -n "$port" ] && return
        kill -0 "$1" 2>/dev/null || break
        sleep 0.1
    done
    if grep -q 'no libmicrohttpd' log; then
        echo "built without libmicrohttpd"
        exit 77
    fi
    fail "no service: $(cat log)"
}

# Ends a script: prints the plan, and exits with 1 if a case failed.
finish() {
    settle
    echo "1..$points"
    [ $failed = 0 ] && echo "# $cases cases"
    exit $failed
}

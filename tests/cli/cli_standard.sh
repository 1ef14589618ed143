#!/usr/bin/env bash
# Standard input, output and error that are closed, full or limited: an error and an exit code, never a result that is
# gone or a program that waits.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

data practice -o practice --seed 1 >/dev/null 2>said || { cat said && exit 1; }
cp practice/db/bakery.sqlite .
few_tables practice/tables.json <(echo '{"db_id":"bakery"}') >tables.json
echo '{"id":1,"db_id":"bakery","question":"How many bakers?","sql":"SELECT count(*) FROM baker","query":"SELECT count(*) FROM baker","candidates":["SELECT 1"],"readings":[{"text":"All.","sql":"SELECT 1"}]}' >q.jsonl

# commands that print records, and pages, to standard output
commands=(
    "data execute --db bakery.sqlite" "data sql --schema tables.json" "data candidates" "infer clarify --db bakery.sqlite --candidates"
    "infer tag --strategy heuristic --db bakery.sqlite" "infer ask --detector none --db bakery.sqlite" "infer infill --db bakery.sqlite --defaults q.jsonl"
)
pages=("data --version" "data --help" "infer help detect" "train man" "infer completion bash")

# ends_with CODES NAME: checks that the last exit code is one of these
ends_with() {
    local rc=$?
    begin "$2"
    [[ " $1 " == *" $rc "* ]] || complain "$2" "expected an exit code of $1, got $rc"
}

for command in "${commands[@]}"; do
    $command q.jsonl >whole 2>said || complain "$command" "exit code $?"
    [ -s whole ] || complain "$command" "prints nothing"
    $command q.jsonl >&- 2>said
    ends_with 1 "$command, closed output"
    grep -q 'standard output' said || complain "$command, closed output" "does not say so"
    $command q.jsonl <&- >&- 2>said
    ends_with 1 "$command, closed input and output"
    # shellcheck disable=SC2086 # options
    timeout 20 "$bin/ambit-${command%% *}" ${command#* } - <&- >shown 2>said
    ends_with 3 "$command, closed input"
    grep -q 'standard input: cannot read' said || complain "$command, closed input" "does not say so"
    $command q.jsonl -o a.jsonl >&- 2>&- <&-
    ends_with 0 "$command, all closed, a file"
    cmp -s whole a.jsonl || complain "$command, all closed" "another file"
    rm -f a.jsonl
done
for command in "${commands[@]/%/ q.jsonl}" "${pages[@]}"; do
    [ -e /dev/full ] || break
    $command >/dev/full 2>said
    ends_with 1 "$command >/dev/full"
    $command >&- 2>said
    ends_with 1 "$command, closed output"
done
data execute --db bakery.sqlite q.jsonl -o /dev/stdout >&- 2>said
ends_with 1 "-o /dev/stdout, closed output"

# --- a limit on files: a message and not a signal
for i in $(seq 60); do sed "s/\"id\":1/\"id\":$i/" q.jsonl; done >many.jsonl
(ulimit -f 1 && exec "$bin/ambit-data" execute --db bakery.sqlite many.jsonl -o a.jsonl) 2>said
ends_with 1 "ulimit -f"
grep -q 'a.jsonl.*: cannot write: File too large' said || complain "ulimit -f" "does not say so"
rm -f a.jsonl a.jsonl.part

# --- more threads than libgomp survives
export OMP_NUM_THREADS
for OMP_NUM_THREADS in 1025 99999 4,99999 99999999999999999999; do
    expect 2 "OMP_NUM_THREADS: expected at most 1024 threads, got $OMP_NUM_THREADS" data execute --db bakery.sqlite q.jsonl
done
finish

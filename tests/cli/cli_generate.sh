#!/usr/bin/env bash
# ambit-infer generate and loss: runs that are killed at random moments end with the bytes of an undisturbed run.  A prompt in
# a pipe is answered before the next one comes.
# usage: cli_generate.sh [KILLS [SEED]]
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
kills=${1:-$(by_night 4 3)}
choose_seed "${2:-}"
# shellcheck source=tests/support/lm_records.sh
. "$support/lm_records.sh"
# shellcheck source=tests/support/part_kill.sh
. "$support/part_kill.sh"

cp -r "$gold/llama/base" model && cp "$gold/bpe/llama/tokenizer.json" model
records 0 400 >records.jsonl
awk 'NR % 50 == 7 { print "no record" } { sub(/"id":"[0-9]*"/, "\"id\":" NR); print }' records.jsonl >input.jsonl
lines=$(wc -l <input.jsonl)

# go COMMAND OUT: one run of it, which goes on
go() {
    local command=$1 out=$2 options=()
    [ "$command" = generate ] && options=(--temperature 0.8 --seed 3 --max-new 24 --batch 8)
    exec "$bin/ambit-infer" "$command" --device cpu --model model --tokens 512 "${options[@]}" input.jsonl -o "$out" --resume
}

for command in generate loss; do
    start=$(date +%s%N)
    (go $command $command.whole.jsonl) >shown 2>said
    [ $? = 7 ] || fail "$command: $(cat said)"
    span=$(($(date +%s%N) - start))
    [ "$(wc -l <$command.whole.jsonl)" = "$lines" ] || complain "$command: not a line for each record"
    grep -v '"error"' $command.whole.jsonl | sed -E 's/^\{"id":([0-9]+),.*/\1/' | cmp - <(seq 400) || complain "$command: not in input order"
    stop_and_resume $command $command.whole.jsonl
done

# --- a line of an earlier run is reused only if its record, model and options are unchanged
(trap '' XFSZ && ulimit -f 16 && go generate kept) >shown 2>said
grep -q 'kept.part: cannot write: File too large; kept.part keeps the finished results: add --resume to continue' said ||
    complain "a full disk: does not say how to go on"
kept=$(wc -l <kept.part)
[ "$kept" -gt 50 ] || complain "only $kept lines are kept"
taken() { # N ARGUMENTS...: of what kept.part holds N lines are taken
    local n=$1
    shift
    cp kept.part again.part
    run 7 infer generate --device cpu --tokens 512 --temperature 0.8 --max-new 24 --batch 8 "$@" -o again --resume
    grep -q " $n of an earlier run" said || complain "$*" "expected $n lines of an earlier run"
}
taken "$kept" --model model --seed 3 input.jsonl
cmp again generate.whole.jsonl || complain "the run resumed after a full disk ends with other bytes"
taken 0 --model model --seed 4 input.jsonl
taken 0 --model model --seed 3 --max-new 23 input.jsonl
cp -r model other
taken 0 --model other --seed 3 input.jsonl
sed -i '33s/Question/question/' input.jsonl
taken 32 --model model --seed 3 input.jsonl
expect 2 "expected --out FILE, a file to go on with" infer generate --model model --resume input.jsonl
expect 2 "expected --out FILE, a file to go on with" infer loss --model model --resume input.jsonl

# --- in a pipe each prompt is answered before the next one comes
mkfifo prompts answers
for command in generate loss; do
    "$bin/ambit-infer" $command --device cpu --model model - <prompts >answers 2>said &
    exec 7>prompts 8<answers
    for i in 1 2; do
        sed -n "${i}p" records.jsonl >&7
        read -r -t 60 -u 8 got || complain "$command: prompt $i is not answered while the pipe is open"
        [[ "$got" == "{\"id\":\"$((i - 1))\","*"\"tokens\":"* ]] || complain "$command: prompt $i has the answer $got"
    done
    exec 7>&-
    wait $! || complain "$command: exit code $? after the pipe's end"
    exec 8<&-
done
finish

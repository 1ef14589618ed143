#!/usr/bin/env bash
# ambit-infer generate and loss with adapters that records name.  Each record's completion has the bits of a run in which its
# adapter serves all records, whatever its neighbours are.  Killed runs end with the bytes of undisturbed ones.
# usage: cli_adapters.sh [KILLS [SEED]]
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
kills=${1:-1}
choose_seed "${2:-}"
# shellcheck source=tests/support/lm_records.sh
. "$support/lm_records.sh"
# shellcheck source=tests/support/part_kill.sh
. "$support/part_kill.sh"

# --- a base, the adapter of all its maps, and two more: of other maps, ranks and scales
cp -r "$gold/llama/base" model && cp "$gold/bpe/llama/tokenizer.json" model && cp -r "$gold/llama/adapter" every
records 100 140 >train.jsonl
learn() { train infill --device cpu --base model --data train.jsonl --epochs 1 --lr 0.05 --seed 3 "$@" >>log 2>&1 || fail "$*"; }
learn --target-modules q,v,down --head none --rank 7 --alpha 20 --out some
learn --target-modules gate --head lora --rank 18 --alpha 3 --out head
names=(none every some head)

# Prompts that begin alike (more than a page of keys) and others; each fifth record names no adapter.
alike=$(printf 'singer%d, ' {1..12})
{
    records 0 15 | sed 's/}$/,/'
    for i in {15..24}; do echo "{\"id\":\"$i\",\"prompt\":\"$alike question $((i / 5)):\",\"completion\":\" Answer $((i % 3))\","; done
} | awk '{ n = (NR - 1) % 5; print $0 (n == 1 ? "\"adapter\":\"every\"" : n == 2 ? "\"adapter\":\"some\"" : n == 3 ? "\"adapter\":\"head\"" : n == 4 ? "\"adapter\":null" : "\"of\":\"all\"") "}" }' >input.jsonl

# of NAME FILE: the lines of FILE that have this adapter, where --adapter is the default
of() {
    awk -v name="$1" -v default="$2" '{ n = (NR - 1) % 5; is = n == 0 ? default : n == 1 ? "every" : n == 2 ? "some" : n == 3 ? "head" : "none" } is == name' "$3"
}

# alone NAME DEFAULT OPTIONS...: each record answered where its adapter is that of all
alone() {
    local name=$1 default=$2 all=()
    shift 2
    [ "$name" = none ] || all=(--adapter "$name")
    of "$name" "$default" input.jsonl | sed -E 's/,"(adapter|of)":[^,]*\}$/}/' >one.jsonl
    run 0 infer "$@" --model model "${all[@]}" one.jsonl -o alone.jsonl
    of "$name" "$default" mixed.jsonl | cmp -s - alone.jsonl ||
        complain "$*: records of $name" "$(of "$name" "$default" mixed.jsonl | diff - alone.jsonl | head -n 2)"
}

for dtype in f32 bf16; do
    for way in "" "--n 2 --beams 3" "--n 2 --temperature 0.9 --seed 5"; do
        # shellcheck disable=SC2206 # options
        options=(generate --device cpu --dtype $dtype --max-new 9 --logprobs 1 $way)
        run 0 infer "${options[@]}" --model model --adapter some input.jsonl -o mixed.jsonl
        for name in "${names[@]}"; do alone "$name" some "${options[@]}"; done
        for batch in 1 4; do
            run 0 infer "${options[@]}" --model model --adapter some --batch $batch --tokens 40 input.jsonl -o again.jsonl
            cmp -s mixed.jsonl again.jsonl || complain "${options[*]}" "--batch $batch says something else"
        done
    done
done
for adapter in null '"every"' '"some"' '"head"'; do echo "{\"id\":1,\"prompt\":\"$alike\",\"adapter\":$adapter}"; done >one.jsonl
run 0 infer generate --device cpu --model model --max-new 2 --logprobs 1 one.jsonl -o alone.jsonl
[ "$(sort -u alone.jsonl | wc -l)" = 4 ] || complain "four adapters" "do not say four things"

# --- the emulated device: all of it in one step, captured
sed -n '1,5p;16,20p' input.jsonl >few.jsonl && cp input.jsonl whole.jsonl && cp few.jsonl input.jsonl
for dtype in f32 bf16; do
    options=(generate --device simt --dtype "$dtype" --max-new 3 --logprobs 1)
    run 0 infer "${options[@]}" --model model input.jsonl -o mixed.jsonl
    for name in "${names[@]}"; do alone "$name" none "${options[@]}"; done
done
cp whole.jsonl input.jsonl

# --- losses: packs of one adapter each
options=(loss --device cpu --dtype f32)
run 0 infer "${options[@]}" --model model --tokens 300 input.jsonl -o mixed.jsonl
grep -o '"id":"[0-9]*"' mixed.jsonl | cmp -s - <(grep -o '"id":"[0-9]*"' input.jsonl) || complain loss "not in input order"
for name in "${names[@]}"; do
    all=()
    [ "$name" = none ] || all=(--adapter "$name")
    of "$name" none input.jsonl | sed -E 's/,"(adapter|of)":[^,]*\}$/}/' >one.jsonl
    run 0 infer "${options[@]}" --model model "${all[@]}" one.jsonl -o alone.jsonl
    paste <(of "$name" none mixed.jsonl) alone.jsonl | sed -E 's/\{"id":"[0-9]*","nll":|,"tokens"//g; s/[:}]/ /g' |
        awk '{ if (($1 - $3) ^ 2 > 1e-8 || $2 != $4) exit 1 }' || complain "loss: records of $name"
done

# --- killed and resumed; a folder whose files changed is another adapter
go() {
    local options=()
    [ "$1" = loss ] || options=(--temperature 0.8 --n 2 --max-new 24 --batch 4)
    exec "$bin/ambit-infer" "$1" --device cpu --model model --adapter some --tokens 100 "${options[@]}" long.jsonl -o "$2" --resume
}
{
    echo "no record"
    for i in {1..6}; do sed "s/\"id\":\"/&$i-/" input.jsonl; done
} >long.jsonl
for command in generate loss; do
    start=$(date +%s%N)
    (go $command $command.whole.jsonl) >shown 2>said
    [ $? = 7 ] || fail "$command: $(cat said)"
    span=$(($(date +%s%N) - start))
    stop_and_resume $command $command.whole.jsonl
done
(trap '' XFSZ && ulimit -f 1 && infer loss --device cpu --model model --tokens 1 input.jsonl -o kept) >shown 2>said
[ "$(wc -l <kept.part)" -gt 5 ] || complain "too few lines are kept for the next cases"
touch -d '1 hour ago' some/adapter_model.safetensors
run 0 infer loss --device cpu --model model --tokens 1 input.jsonl -o kept --resume
grep -q ' 2 of an earlier run' said || complain "an adapter that changed" "its lines are taken"
finish

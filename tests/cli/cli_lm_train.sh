#!/usr/bin/env bash
# Training of a small language model from the command line: the same numbers for any cut into micro-batches, a dry run
# leaves nothing, presets and the command line.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
# shellcheck source=tests/support/lm_records.sh
. "$support/lm_records.sh"

infill() { "$bin/ambit-train" infill --data train.jsonl --device cpu "$@" >>log 2>&1; }

# value FILE FIELD: its numbers in the order of the lines
value() { grep -o "\"$2\":[^,}]*" "$1" | cut -d : -f 2; }

# near A B LIMIT: lists of numbers alike to a share of themselves
near() {
    paste <(echo "$1") <(echo "$2") | awk -v l="$3" 'NF != 2 { bad = 1 } { d = $1 - $2; if (d < 0) d = -d
        if (d > l * ($1 < 0 ? -$1 : $1)) bad = 1 } END { exit bad || NR == 0 }'
}

cp -r "$gold/llama/base" model && cp "$gold/bpe/llama/tokenizer.json" model
records 0 40 >train.jsonl
records 100 108 >valid.jsonl

# --- micro-batches: batches of 8, of which at most `tokens` at once; rounding of f32 alone may differ
for tokens in 4096 200 1; do
    infill --base model --valid valid.jsonl --out "cut$tokens" --tokens $tokens --epochs 2 --batch 8 --lr 5e-3 --head lora --compute f32 || fail "training, $tokens tokens at once"
    near "$(value cut4096/metrics.jsonl valid_loss)" "$(value cut$tokens/metrics.jsonl valid_loss)" 2e-5 || fail "validation loss at $tokens tokens: $(value cut$tokens/metrics.jsonl valid_loss)"
    near "$(value cut4096/metrics.jsonl loss)" "$(value cut$tokens/metrics.jsonl loss)" 2e-5 || fail "training loss at $tokens tokens: $(value cut$tokens/metrics.jsonl loss)"
done
cmp -s cut4096/adapter_model.safetensors cut1/adapter_model.safetensors && fail "micro-batches of one text give the very same bits"

# --- fewer than ten steps: their loss is reported once, at the end, also after an early stop, and not again by a resumed run
for how in "--epochs 1" "--epochs 9 --valid valid.jsonl --patience 1"; do
    rm -rf few
    # shellcheck disable=SC2086 # words
    infill --base model --out few --batch 40 --lr 1e-30 --compute f32 $how || fail "few steps, $how"
    steps=$(value few/metrics.jsonl step | tail -n 1)
    grep -q "training: $steps done" <(tail -n 2 log) || fail "not $steps steps are counted, $how: $(tail -n 2 log)"
    # shellcheck disable=SC2086
    infill --base model --out few --batch 40 --lr 1e-30 --compute f32 $how --resume || fail "few steps, resumed, $how"
    "$bin/ambit-infer" loss --device cpu --model model train.jsonl -o few.jsonl 2>>log || fail "loss of the base"
    want=$(paste <(value few.jsonl nll) <(value few.jsonl tokens) | awk '{ nll += $1; n += $2 } END { printf "%.9g", nll / n }')
    near "$(value few/metrics.jsonl loss)" "$want" 2e-3 || fail "expected one loss of $want, $how: $(cat few/metrics.jsonl)"
done
[ "$steps" = 2 ] || fail "patience ends after two epochs, not $steps"

# --- Adafactor at a constant rate learns; a run that goes on ends with the same weights, and knows its optimizer
ada=(--tokenizer model --method full --hidden 64 --heads 2 --groups 1 --layers 2 --intermediate 128 --batch 8 --lr 3e-3 --warmup 0 --optimizer adafactor --schedule constant --compute f32)
infill "${ada[@]}" --out whole --epochs 3 || fail "Adafactor"
infill "${ada[@]}" --out parts --epochs 1 || fail "Adafactor, an epoch"
infill --out parts --epochs 3 --resume || fail "Adafactor, resumed"
cmp -s whole/model.safetensors parts/model.safetensors || fail "Adafactor: the resumed run has other weights"
value whole/metrics.jsonl loss | awk 'NR == 1 { first = $1 } { last = $1 } END { exit !(last < 0.8 * first) }' ||
    fail "Adafactor learns nothing: $(value whole/metrics.jsonl loss | tr '\n' ' ')"
infill --base model --out ada-lora --epochs 1 --optimizer adafactor --rank 2 || fail "an adapter by Adafactor"

# --- texts of one database and question share a prefix.  The numbers of an epoch are those of separate texts, the gain is
# estimated, and a resumed run ends with the same weights.
for ((i = 0; i < 48; i++)); do
    printf '{"id":"%d","prompt":"Given the tables of database %d, %s, and question %d of many, with what is known (%d):","completion":" Answer %d."}\n' $i \
        $((i % 4)) "$(printf 'column%d ' $(seq $((i % 4)) 20))" $((i / 4 % 4)) $i $((i % 5))
done >tree.jsonl
tree=(--base model --data tree.jsonl --batch 12 --head lora --compute f32 --lr 1e-2 --schedule constant --warmup 0)
for tokens in 4096 100 1; do
    "$bin/ambit-train" infill "${tree[@]}" --device cpu --out "tree$tokens" --epochs 2 --tokens $tokens --share-prefix >said 2>&1 || fail "a tree: $(cat said)"
    near "$(value tree4096/metrics.jsonl loss)" "$(value tree$tokens/metrics.jsonl loss)" 2e-5 || fail "a tree, $tokens tokens at once: $(value tree$tokens/metrics.jsonl loss)"
done
value tree4096/metrics.jsonl prefix_gain | awk '!($1 > 2 && $1 < 12) { bad = 1 } END { exit bad || NR == 0 }' || fail "gain of a tree: $(cat tree4096/metrics.jsonl)"
value tree1/metrics.jsonl prefix_gain | awk '!($1 == 1) { bad = 1 } END { exit bad || NR == 0 }' || fail "gain of texts each alone: $(cat tree1/metrics.jsonl)"
grep -q 'sharing prefixes: [0-9]* tokens of a pass become [0-9]*, 1.00 times fewer' said || fail "no gain foretold: $(cat said)"
"$bin/ambit-train" infill "${tree[@]}" --device cpu --out tree-parts --epochs 1 --share-prefix >>log 2>&1 || fail "a tree, an epoch"
"$bin/ambit-train" infill --out tree-parts --epochs 2 --resume >>log 2>&1 || fail "a tree, resumed"
cmp -s tree4096/adapter_model.safetensors tree-parts/adapter_model.safetensors || fail "a tree: the resumed run has other weights"

# --- moments in bytes: almost the losses of f32, the same weights when a run goes on, less memory
bytes=(--tokenizer model --method full --hidden 64 --heads 2 --groups 1 --layers 2 --intermediate 128 --batch 8 --lr 3e-3 --schedule constant --warmup 0 --compute f32)
infill "${bytes[@]}" --out moments-f32 --epochs 6 || fail "moments in f32"
infill "${bytes[@]}" --moments 8bit --out moments-8bit --epochs 6 || fail "moments in bytes"
near "$(value moments-f32/metrics.jsonl loss | tail -n 1)" "$(value moments-8bit/metrics.jsonl loss | tail -n 1)" 0.03 ||
    fail "moments in bytes: losses $(value moments-8bit/metrics.jsonl loss | tr '\n' ' '), in f32 $(value moments-f32/metrics.jsonl loss | tr '\n' ' ')"
cmp -s moments-f32/model.safetensors moments-8bit/model.safetensors && fail "moments in bytes change nothing"
infill "${bytes[@]}" --moments 8bit --out moments-parts --epochs 2 || fail "moments in bytes, two epochs"
infill --out moments-parts --epochs 6 --resume || fail "moments in bytes, resumed"
cmp -s moments-8bit/model.safetensors moments-parts/model.safetensors || fail "moments in bytes: the resumed run has other weights"
# mib OPTION...: of weights, gradients and moments
mib() {
    "$bin/ambit-train" infill --data train.jsonl --device cpu "${bytes[@]}" --hidden 512 --heads 8 --intermediate 2048 --layers 4 --out dry --dry-run "$@" 2>&1 |
        sed -nE 's/.*memory: ([0-9]+) MiB of weights.*/\1/p'
}
[ "$(mib --moments 8bit)" -lt "$(($(mib) * 3 / 4))" ] || fail "moments in bytes need $(mib --moments 8bit) MiB, in f32 $(mib)"

# --- a dry run prints memory and leaves nothing
for how in "--base model" "--base model --method full" "--tokenizer model --method full"; do
    # shellcheck disable=SC2086 # words
    "$bin/ambit-train" infill --data train.jsonl --device cpu $how --out dry --dry-run >said 2>&1 || fail "dry run $how: $(cat said)"
    grep -qE "memory: [0-9]+ MiB of weights, gradients and moments, [0-9]+ MiB for a micro-batch" said || fail "dry run $how says no memory"
    [ ! -e dry ] || fail "dry run $how leaves a folder"
done

# --- a preset is the paper's, the command line overrides it
infill --base model --out preset --preset dfpl --epochs 1 --rank 2 || fail "preset"
for line in 'rank: 2' 'alpha: 16' 'head: "full"' 'neftune: 5' 'lr: 5e-0?5' 'schedule: "cosine"' 'warmup: 0.01' 'weight-decay: 0.01' 'max-grad-norm: 0.3' 'batch: 8' 'moments: "8bit"' 'patience: 5' 'epochs: 1' 'length: 8192'; do
    grep -qE "^$line$" preset/config.yaml || fail "preset: no line $line in $(cat preset/config.yaml)"
done
for preset in "dfpl 15" "dfpl-e2e 5" "dfpl-gold 5"; do
    # shellcheck disable=SC2086 # two words
    set -- $preset
    infill --base model --out "$1" --preset "$1" || fail "--preset $1"
    grep -q "^epochs: $2$" "$1/config.yaml" || fail "--preset $1: not $2 epochs in $(cat "$1/config.yaml")"
done
grep -q '"lm_head"' preset/adapter_config.json || fail "preset: the head is not in modules_to_save"

# --- generate and loss read the result of every head and method
infill --tokenizer model --method full --out scratch --hidden 32 --heads 2 --groups 1 --layers 2 --intermediate 48 --epochs 3 --lr 3e-3 || fail "from scratch"
infill --tokenizer model --method full --out copying --hidden 32 --heads 2 --groups 1 --layers 2 --intermediate 48 --epochs 3 --lr 3e-3 --initialisation copy || fail "from a start that copies"
cmp -s scratch/model.safetensors copying/model.safetensors && fail "--initialisation copy: the same weights"
head -n 6 valid.jsonl >ask.jsonl
for head in none lora full; do
    infill --base model --out "head-$head" --head $head --epochs 1 --lr 1e-3 || fail "head $head"
    "$bin/ambit-infer" loss --device cpu --model model --adapter "head-$head" ask.jsonl -o "head-$head.jsonl" 2>>log || fail "loss, head $head"
    "$bin/ambit-infer" loss --device cpu --model model --adapter "head-$head" --merge ask.jsonl -o merged.jsonl 2>>log || fail "loss merged, head $head"
    near "$(value "head-$head.jsonl" nll)" "$(value merged.jsonl nll)" 0.02 || fail "merged, head $head: $(cat merged.jsonl)"
done
infill --base scratch --out on-tied --head lora --epochs 1 --lr 1e-3 || fail "pair on a tied head"
"$bin/ambit-infer" loss --device cpu --model scratch ask.jsonl -o before.jsonl 2>>log || fail "loss of the model from scratch"
"$bin/ambit-infer" loss --device cpu --model scratch --adapter on-tied ask.jsonl -o after.jsonl 2>>log || fail "loss with a pair on a tied head"
cmp -s before.jsonl after.jsonl && fail "the adapter changes nothing"
"$bin/ambit-infer" loss --device cpu --model scratch --adapter on-tied --merge ask.jsonl -o said.jsonl 2>>log
code=$?
[ $code = 6 ] || fail "exit code $code for a pair on a tied head, merged"
tail -n 1 log | grep -q 'on-tied: an adapter on lm_head cannot be merged' || fail "a pair on a tied head, merged"
"$bin/ambit-infer" generate --device cpu --model scratch --adapter on-tied --max-new 5 ask.jsonl -o said.jsonl 2>>log || fail "generate"
[ "$(grep -c '"text":' said.jsonl)" = 6 ] || fail "expected six completions, got: $(cat said.jsonl)"
point ok "micro-batches, dry runs, preset, heads"
finish

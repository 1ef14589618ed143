#!/usr/bin/env bash
# ambit-train export of models from ambit-train infill: every format, checked against the trained model; and bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

# expect CODE TEXT ARGUMENTS...
expect() { check "${*:3}" "$1" "$2" train export "${@:3}"; }

tuned() { # FOLDER ARGUMENTS...
    run 0 train infill --data data.jsonl --out "$1" --lr 0.05 --epochs 2 "${@:2}"
}

same() { # FILE FILE
    cmp -s "$1" "$2" || complain "$1" "is not $2"
}

yes 'How many singers are there in 12345 concerts?' | head -n 20 >lines.txt
run 0 train tokenizer lines.txt --vocab 280 -o words
for i in 1 2 3 4; do
    echo '{"id": '$i', "messages": [{"role": "user", "content": "How many singers?"}, {"role": "assistant", "content": "All '$i'"}]}'
done >data.jsonl
small=(--tokenizer words --method full --hidden 32 --heads 4 --groups 2 --layers 2 --intermediate 48)
tuned base "${small[@]}"
tuned other "${small[@]}" --seed 7
tuned half "${small[@]}" --compute bf16
echo '{"eos_token_id":  [1]}' >base/generation_config.json
for file in tokenizer.model spiece.model sentencepiece.bpe.model vocab.json vocab.txt merges.txt added_tokens.json chat_template.json; do
    echo "$file of the base" >base/$file
done
tuned pairs --base base --rank 4
tuned head --base base --target-modules q,v --head lora --rslora
tuned halves --base half

# PEFT: the trained weights, bit for bit
expect 0 'peft: verified, .* largest difference 0$' pairs --format peft -o peft --verify
same peft/adapter_config.json pairs/adapter_config.json
same peft/adapter_model.safetensors pairs/adapter_model.safetensors
expect 0 'from: verified, .* largest difference 0$' pairs/checkpoint-2 --format peft -o from --verify
same from/adapter_model.safetensors pairs/adapter_model.safetensors
expect 0 'head-peft: verified, .* largest difference 0$' head --format peft -o head-peft --verify

# merged: a whole folder
expect 0 'merged: verified' pairs --format merged -o merged --verify
for file in base/*; do
    case ${file#base/} in
    *.json | *.jinja | *.txt | *.model) [ "$file" = base/test.json ] || same "merged/${file#base/}" "$file" ;;
    esac
done
cmp -s merged/model.safetensors base/model.safetensors && complain merged "is the base"
expect 0 'halves-merged: verified' halves --format merged -o halves-merged --verify
grep -q '"BF16"' halves-merged/model.safetensors || complain halves-merged "is not BF16 as its base"
expect 0 'own: verified' head --format merged -o own --verify
grep -q '"tie_word_embeddings": false' own/config.json || complain own "has no head of its own"
grep -q '"lm_head.weight"' own/model.safetensors || complain own "has no head of its own"

# a head of its own beside a config.json that ties it to the embedding table: it is the head, and stays so
cp -r own tied && sed -i 's/"tie_word_embeddings": false/"tie_word_embeddings": true/' tied/config.json
echo '{"id": 1, "prompt": "How many", "completion": " singers"}' >pair.jsonl
run 0 infer loss --model own --device cpu pair.jsonl -o own.jsonl
run 0 infer loss --model tied --device cpu pair.jsonl -o tied.jsonl
same tied.jsonl own.jsonl
grep -q 'tied/config.json: the head is tied to model.embed_tokens.weight, but tied/model.safetensors has a different lm_head.weight' said ||
    complain tied "does not tell of its head"
tuned on-tied --base tied --rank 4
expect 0 'still: verified' on-tied --format merged -o still --verify
grep -q '"tie_word_embeddings": false' still/config.json || complain still "ties its head"

expect 0 'whole: verified, .* largest difference 0$' base --format merged -o whole --verify
same whole/model.safetensors base/model.safetensors

tuned own-head --base own --target-modules q --head full
expect 0 'whole-head: verified' own-head --format merged -o whole-head --verify
cmp -s whole-head/model.safetensors own/model.safetensors && complain whole-head "is the base"
expect 0 'head-and-pairs: verified, .* largest difference 0$' own-head --format peft -o head-and-pairs --verify
expect 2 'whole matrix.*expected a merged model' own-head --format gguf-adapter -o new

# GGUF: its head, its values, and the rows of a query's B where llama.cpp wants them
expect 0 'a.gguf: gguf-adapter' pairs --format gguf-adapter -o a.gguf
[ "$(head -c 4 a.gguf)" = GGUF ] || complain a.gguf "does not begin with GGUF"
at() { grep -aboF "$2" "$1" | head -n 1 | cut -d: -f1; } # FILE TEXT: where it stands
number() { od -An -t"$3" -j "$2" -N "${3:1}" "$1" | tr -d ' '; } # FILE OFFSET TYPE
[ "$(number a.gguf 4 u4)" = 3 ] || complain a.gguf "is not of version 3"
[ "$(number a.gguf 8 u8)" = 28 ] || complain a.gguf "does not hold 28 tensors"
key=adapter.lora.alpha
[ "$(number a.gguf $(($(at a.gguf $key) + ${#key} + 4)) f4)" = 32 ] || complain a.gguf "has another alpha"
name=blk.1.ffn_down.weight.lora_b # the last tensor announced: 2 dimensions, type and place follow
last=$(($(at a.gguf $name) + ${#name} + 32))
data=$(((last + 31) / 32 * 32))
name=blk.0.attn_q.weight.lora_b
info=$(($(at a.gguf $name) + ${#name}))
[ "$(number a.gguf $((info + 4)) u8) $(number a.gguf $((info + 12)) u8)" = "4 32" ] || complain $name "is not [32, 4]"
gguf=$((data + $(number a.gguf $((info + 24)) u8)))
file=peft/adapter_model.safetensors name=layers.0.self_attn.q_proj.lora_B.weight
[[ $(grep -aoE "$name\"[^}]*" $file) =~ \"data_offsets\":\[([0-9]+), ]] || complain $file "no $name"
from=$((8 + $(number $file 0 u8) + BASH_REMATCH[1]))
row() { od -An -tx1 -j $(($2 + 16 * $3)) -N 16 "$1"; } # FILE START ROW: of 4 floats
for pair in 0:0 1:4 2:1 3:5 7:7 8:8 9:12 31:31; do # heads of 8 rows: the halves' rows take turns
    [ "$(row a.gguf $gguf ${pair%:*})" = "$(row $file $from ${pair#*:})" ] || complain a.gguf "row $pair of the query"
done

# a model that no format can hold, and another base model
expect 2 'expected peft, merged or gguf-adapter, got hf' pairs -o new
expect 2 'expected merged, got peft' base --format peft -o new
expect 2 'expected merged, got gguf-adapter' base --format gguf-adapter -o new
expect 2 'embedding table.*expected a merged model' head --format gguf-adapter -o new
expect 2 'got gguf-adapter, which is not run' pairs --format gguf-adapter --verify -o new
expect 2 'the folder that is read' pairs --format merged -o base
expect 2 'config.json.*--base' base/checkpoint-2 --format merged -o new
expect 0 'again: verified' base/checkpoint-2 --base base --format merged -o again --verify
expect 6 'other: .*hash [0-9a-f]{16}; pairs/ambit.h5 was trained on [^ ]*base, .* have [0-9a-f]{16}' \
    pairs --base other --format peft -o new
expect 6 'nowhere: the run.s base is not there; --base' pairs --base nowhere --format merged -o new
mv base moved
expect 6 'base: the run.s base is not there' pairs --format peft -o new
expect 0 'back: verified' pairs --base moved --format peft -o back --verify
expect 6 'nothing: No such file' nothing --format peft -o new
expect 1 'lines.txt: cannot make the folder' pairs --base moved --format peft -o lines.txt
expect 2 'hf.detector.peft.merged.gguf-adapter, got .onnx' pairs --format onnx -o new

# other files in the folder are kept; --force replaces only files of the same name
expect 0 'again: verified' pairs --base moved --format peft -o again --verify
expect 0 'again: verified' pairs --base moved --format peft -o again --verify
cp again/adapter_config.json whole.json
echo '{}' >again/adapter_config.json && echo mine >again/notes.txt && cp again/adapter_config.json edited.json
expect 2 'again/adapter_config.json: exists with other contents; add --force to replace it' pairs --base moved --format peft -o again
same again/adapter_config.json edited.json
same again/adapter_model.safetensors pairs/adapter_model.safetensors
mkdir full && echo mine >full/model.safetensors && cp full/model.safetensors mine
expect 2 'full/model.safetensors: exists with other contents' moved --format merged -o full
same full/model.safetensors mine
expect 0 'again: peft' pairs --base moved --format peft -o again --force
same again/adapter_config.json whole.json
[ "$(cat again/notes.txt)" = mine ] || complain again/notes.txt "is gone"
rm again/notes.txt

# the folders that are left are read by the other commands
run 0 train inspect pairs
[ "$(grep -c 'q_proj.lora_A' shown)" = 4 ] || complain "inspect pairs" "does not show both forms"
run 0 train inspect peft
echo '{"id": 1, "prompt": "How many"}' >prompt.jsonl
for adapter in pairs peft; do
    run 0 infer generate --model moved --adapter $adapter --max-new 8 prompt.jsonl -o $adapter.jsonl
done
run 0 infer generate --model merged --max-new 8 prompt.jsonl -o merged.jsonl
same pairs.jsonl peft.jsonl
same pairs.jsonl merged.jsonl

finish

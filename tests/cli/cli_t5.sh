#!/usr/bin/env bash
# ambit-infer loss with encoder-decoders: the numbers of transformers on its own folders (tests/gold/make_t5.py), in packs of
# any size; unsupported models; incomplete folders.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

loss() { infer loss --device cpu --dtype f32 "$@"; }

# field NAME FILE: its numbers
field() { sed -E "s/.*\"$1\": ?([0-9.e+-]+).*/\1/" "$2"; }

# near FILE WANTED NAME: compares nll and tokens
near() {
    paste <(field nll "$1") <(field tokens "$1") <(field nll "$2") <(field tokens "$2") |
        awk '{ n++; if ($2 != $4 || ($1 - $3) ^ 2 > ($3 * 1e-4) ^ 2) { print; bad = 1 } } END { exit bad || n != 4 }' >differ ||
        complain "$3" "$(head -n 1 differ)"
}

for tag in v1.0 flan; do
    cp -r "$gold/t5/$tag" $tag && cp "$gold/bpe/llama/tokenizer.json" $tag
done
# shellcheck disable=SC2154 # of cli.sh
json=$gold/t5.json
grep -oE '"records": \[[^]]*\]' "$json" | grep -oE '\{[^{}]*\}' >in.jsonl
grep -oE '"nll": [0-9.]+, "tokens": [0-9]+' "$json" >both
head -n 4 both >want-v1.0 && tail -n 4 both >want-flan
for tag in v1.0 flan; do
    run 0 loss --model $tag in.jsonl -o out.jsonl
    near out.jsonl want-$tag "$tag"
    run 0 loss --model $tag in.jsonl -o single.jsonl --tokens 1
    near single.jsonl want-$tag "$tag, a record at a time"
done

cat >talk.jsonl <<'END'
{"id":"a","messages":[{"role":"user","content":"How many?"},{"role":"assistant","content":"Two."}]}
{"id":"b","prompt":"How many?","completion":"Two."}
END
run 0 loss --model flan talk.jsonl -o out.jsonl
[ "$(field nll out.jsonl | sort -u | wc -l)" = 1 ] || complain "a conversation of one question" "$(cat out.jsonl)"
cat >talk.jsonl <<'END'
{"id":"a","messages":[{"role":"user","content":"One?"},{"role":"assistant","content":"No."},{"role":"user","content":"Two?"},{"role":"assistant","content":"Yes."}]}
{"id":"b","messages":[{"role":"system","content":"Count."},{"role":"assistant","content":"Two."}]}
END
run 7 loss --model flan talk.jsonl -o out.jsonl
grep -q 'messages: expected one user message for an encoder-decoder, got 3 before the completion' out.jsonl || complain "several messages" "$(cat out.jsonl)"
grep -q "messages: expected one user message for an encoder-decoder.*, of another role" out.jsonl || complain "no message of the user's" "$(cat out.jsonl)"
echo '{"id":"a","prompt":"a","completion":"b","adapter":"x"}' >adapted.jsonl
run 7 loss --model flan adapted.jsonl -o out.jsonl
grep -q 'an encoder-decoder takes no adapter' out.jsonl || complain "an adapter" "$(cat out.jsonl)"
check "a chat template" 3 "flan: an encoder-decoder takes neither" loss --model flan --chat-template llama3 in.jsonl
cp -r flan bad && rm bad/model-00002-of-00004.safetensors
check "a shard less" 6 "model-00002-of-00004.safetensors: No such file" loss --model bad in.jsonl
rm -r bad && cp -r flan bad && sed -i 's/"num_heads": 2/"num_heads": 4/' bad/config.json
check "other heads" 6 "relative_attention_bias.weight: expected floats \[8, 4\], got F?.*\[8, 2\]" loss --model bad in.jsonl
rm -r bad && cp -r flan bad && sed -i 's/"num_decoder_layers": 3/"num_decoder_layers": 4/' bad/config.json
check "a layer more" 6 "decoder.block.3.layer.0.SelfAttention.k.weight" loss --model bad in.jsonl
rm -r bad && cp -r flan bad && rm bad/model* && touch bad/pytorch_model.bin
check "pickled weights" 6 "bad/pytorch_model.bin: pickled weights are not supported; convert them once: python3 -c" loss --model bad in.jsonl
rm bad/pytorch_model.bin && echo '{}' >bad/pytorch_model.bin.index.json
check "pickled shards" 6 "bad/pytorch_model.bin.index.json: pickled weights are not supported" loss --model bad in.jsonl

# --- answers: beams in the order of their scores, the same in any company
run 0 infer generate --device cpu --dtype f32 --model flan --max-new 9 --n 3 --beams 4 in.jsonl -o beams.jsonl
[ "$(grep -c '"finish":"length"' beams.jsonl)" = 4 ] || complain "beams" "$(head -n 1 beams.jsonl)"
run 0 infer generate --device cpu --dtype f32 --model flan --max-new 9 --n 3 --beams 4 --batch 1 --tokens 1 in.jsonl -o alone.jsonl
cmp -s beams.jsonl alone.jsonl || complain "beams one prompt at a time" "$(diff beams.jsonl alone.jsonl | head -n 2)"
run 0 infer generate --device simt --dtype f32 --model flan --max-new 4 in.jsonl -o simt.jsonl
run 0 infer generate --device cpu --dtype f32 --model flan --max-new 4 in.jsonl -o cpu.jsonl
cmp -s simt.jsonl cpu.jsonl || complain "another device" "$(diff simt.jsonl cpu.jsonl | head -n 2)"
check "a dry run" 0 "memory: .* of weights" infer generate --device cpu --model flan --dry-run in.jsonl
check "another command" 6 "flan/config.json: (is_encoder_decoder|model_type)" train infill --base flan --data in.jsonl --out new --device cpu

finish

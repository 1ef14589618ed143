#!/usr/bin/env bash
# Bad input to the commands of the language model (generate, loss, infill).  Each has the exit code of kernels/base.h, a message
# with file, field or value, and leaves no file.  AMBIT_CASES=FILE gets a table of the cases.
# shellcheck disable=SC2059,SC2086 # formats that are built, words that are split
table=${AMBIT_CASES:+$(realpath -m "$AMBIT_CASES")}
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

generate() { infer generate --device cpu --max-new 2 "$@"; }
loss() { infer loss --device cpu "$@"; }
infill() { train infill --device cpu --epochs 1 --out new "$@"; }

# note CASE CODE: a line of the table
note() {
    [ -z "$table" ] || printf '| %s | %s | %s |\n' "$1" "$(tail -n 1 said | cut -c 1-300 | sed 's/|/\\|/g')" "$2" >>"$table"
}

# expect CASE CODE TEXT COMMAND...
expect() {
    check "$@"
    note "$1" "$2"
}

# record CASE TEXT COMMAND... : in.jsonl's one record fails with the text, the one behind it does not
record() {
    local case=$1 text=$2
    shift 2
    run 7 "$@" in.jsonl -o out.jsonl
    [ "$(grep -c '"error":' out.jsonl) of $(wc -l <out.jsonl)" = "1 of 2" ] || complain "$case" "not one error of two"
    grep '"error":' out.jsonl >said
    grep -qE -- "$text" said || complain "$case" "does not say \"$text\""
    note "$case" 7
    rm -f out.jsonl
}

# fresh: bad/ and bad-lora/ as the good ones, to be spoilt; config FIELD... SED: config.json changed, which must change it
fresh() { rm -rf bad bad-lora && cp -r model bad && cp -r adapter bad-lora; }
spoil() {
    cp "$1" before && sed -i -E "$2" "$1"
    ! cmp -s before "$1" || complain "$2" "changes nothing in $1"
    rm -f before
}
config() { fresh && spoil bad/config.json "s/^\\{/{\n  $1,/"; }
adapter() { fresh && spoil bad-lora/adapter_config.json "$1"; }

[ -z "$table" ] || printf '| case | message | exit code |\n|---|---|---|\n' >"$table"
cp -r "$gold/llama/base" model && cp "$gold/bpe/llama/tokenizer.json" model && cp -r "$gold/llama/adapter" adapter
good='{"id":"b","prompt":"How many","completion":" singers"}'
echo "$good" >good.jsonl
talk='{"id":"c","messages":[{"role":"user","content":"How many?"},{"role":"assistant","content":"Two."}]}'
echo "$talk" >talk.jsonl
generate --model model --adapter adapter good.jsonl >shown 2>said || { cat said && exit 1; }
loss --model model good.jsonl >shown 2>said || { cat said && exit 1; }
infill --base model --data good.jsonl --dry-run >shown 2>said || { cat said && exit 1; }

# --- the model's folder
fresh && rm bad/model-00002-of-00003.safetensors
expect "missing shard" 6 "model-00002-of-00003.safetensors: No such file" generate --model bad good.jsonl
fresh && spoil bad/model.safetensors.index.json 's|"model-00002-of|"../model/model-00002-of|'
expect "index names a path outside" 6 "index.json.*\.\./model" generate --model bad good.jsonl
fresh && spoil bad/model.safetensors.index.json 's|"model-00002-of|"/etc/model-00002-of|'
expect "index names an absolute path" 6 "index.json.*/etc/" loss --model bad good.jsonl
fresh && head -c 2000 bad/model-00001-of-00003.safetensors >short && mv short bad/model-00001-of-00003.safetensors
expect "truncated safetensors" 6 "model-00001-of-00003.safetensors: " generate --model bad good.jsonl
fresh && : >bad/model-00003-of-00003.safetensors
expect "empty safetensors" 6 "model-00003-of-00003.safetensors: " generate --model bad good.jsonl
fresh && spoil bad/model-00003-of-00003.safetensors 's/"dtype":"BF16"/"dtype":"F8_E"/'
expect "dtype not supported" 6 "model-00003.*F8_E" generate --model bad good.jsonl
fresh && rm bad/model-0000*
printf '' >bad/pytorch_model.bin && rm bad/model.safetensors.index.json
expect "a pickle instead of safetensors" 6 "pytorch_model.bin" generate --model bad good.jsonl
fresh && rm bad/tokenizer.json
expect "no tokenizer" 6 "bad.*tokenizer.json" generate --model bad good.jsonl
fresh && spoil bad/config.json 's/"vocab_size": 1008/"vocab_size": 1000/'
expect "tokenizer bigger than the embeddings" 6 "bad: the tokenizer has ids up to 1007, but the model has 1000 embeddings" generate --model bad good.jsonl
fresh && rm bad/config.json
expect "no config.json" 6 "bad/config.json: No such file" infill --base bad --data good.jsonl
expect "no folder" 6 "nowhere/config.json: No such file" generate --model nowhere good.jsonl
fresh && echo '{' >bad/config.json
expect "config.json is not JSON" 6 "bad/config.json: line" generate --model bad good.jsonl
config '"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": true}'
expect "quantised base" 6 "quantization_config" infill --base bad --data good.jsonl

# --- fields that change the numbers
for field in '"use_sliding_window": true' '"attn_logit_softcapping": 50.0' '"final_logit_softcapping": 30.0' \
    '"num_local_experts": 8' '"partial_rotary_factor": 0.5' '"layer_types": ["full_attention", "sliding_attention"]' \
    '"kv_lora_rank": 512' '"embedding_multiplier": 12.0' '"no_rope_layers": [1, 1, 1, 0]'; do
    config "$field"
    expect "config $field" 6 "bad/config.json: $(cut -d '"' -f 2 <<<"$field")" generate --model bad good.jsonl
done
fresh && spoil bad/config.json 's/"rope_type": "llama3"/"rope_type": "yarn"/'
expect "yarn rope" 6 "bad/config.json: rope_parameters: rope_type.*yarn" generate --model bad good.jsonl
fresh && spoil bad/config.json 's/"model_type": "llama"/"model_type": "mixtral"/'
expect "another network" 6 "bad/config.json: model_type.*mixtral" generate --model bad good.jsonl
fresh && spoil bad/config.json 's/"hidden_act": "silu"/"hidden_act": "gelu"/'
expect "another activation" 6 "bad/config.json: hidden_act.*gelu" generate --model bad good.jsonl
fresh && spoil bad/config.json 's/"num_key_value_heads": 1/"num_key_value_heads": 3/'
expect "more groups than heads" 6 "bad/config.json: .*num_key_value_heads.: expected 1 to 2, got 3" generate --model bad good.jsonl
fresh && spoil bad/config.json 's/"hidden_size": 32/"hidden_size": 40/'
expect "weights of another shape" 6 "\[1008, 32\].*\[1008, 40\]|\[1008, 40\].*\[1008, 32\]" generate --model bad good.jsonl
fresh && spoil bad/config.json 's/"num_hidden_layers": 2/"num_hidden_layers": 3/'
expect "weights of fewer layers" 6 "model.layers.2" generate --model bad good.jsonl
fresh && spoil bad/config.json 's/"tie_word_embeddings": false/"tie_word_embeddings": "no"/'
expect "a flag that is none" 6 "bad/config.json: .*tie_word_embeddings.: expected true or false, got a string" generate --model bad good.jsonl
fresh && spoil bad/config.json 's/"eos_token_id": 1/"eos_token_id": 2000/'
expect "a stop beyond the vocabulary" 6 "bad/config.json: eos_token_id" generate --model bad good.jsonl

# --- adapters
adapter 's/"use_dora": false/"use_dora": true/'
expect "DoRA" 6 "bad-lora/adapter_config.json: use_dora" generate --model model --adapter bad-lora good.jsonl
adapter 's/"bias": "none"/"bias": "all"/'
expect "adapter with biases" 6 "bad-lora/adapter_config.json: bias" loss --model model --adapter bad-lora good.jsonl
adapter 's/"peft_type": "LORA"/"peft_type": "IA3"/'
expect "no LoRA" 6 "bad-lora/adapter_config.json: peft_type.*IA3" generate --model model --adapter bad-lora good.jsonl
adapter 's/"modules_to_save": null/"modules_to_save": ["embed_tokens"]/'
expect "trained embeddings" 6 "bad-lora/adapter_config.json: modules_to_save" generate --model model --adapter bad-lora good.jsonl
adapter 's/"r": 4/"r": 8/'
expect "adapter of another rank" 6 "bad-lora/adapter_model.safetensors.*\[4, 32\]" generate --model model --adapter bad-lora good.jsonl
adapter 's/"q_proj"/"query"/'
expect "adapter on fewer maps than the file" 6 "bad-lora/adapter_model.safetensors.*q_proj" generate --model model --adapter bad-lora good.jsonl
fresh && spoil bad/config.json 's/"intermediate_size": 48/"intermediate_size": 96/'
expect "base of another shape" 6 "intermediate|mlp" generate --model bad --adapter adapter good.jsonl
fresh && rm bad-lora/adapter_model.safetensors && : >bad-lora/adapter_model.bin
expect "an adapter as a pickle" 6 "bad-lora/adapter_model.bin: pickled weights are not supported" generate --model model --adapter bad-lora good.jsonl
expect "no adapter" 6 "nowhere/adapter_config.json" generate --model model --adapter nowhere good.jsonl
expect "nothing to merge" 2 "--merge: expected --adapter" loss --model model --merge good.jsonl

# --- the command line
expect "temperature that is no number" 2 "--temperature: expected a number, got 'nan'" generate --model model --temperature nan good.jsonl
expect "negative temperature" 2 "--temperature: expected 0 to" generate --model model --temperature -1 good.jsonl
expect "top-p of zero" 2 "--top-p: " generate --model model --temperature 1 --top-p 0 good.jsonl
expect "no new tokens" 2 "--max-new: expected 1 to" generate --model model --max-new 0 good.jsonl
expect "no model" 2 "--model" generate good.jsonl
expect "template unknown" 2 "chat template: expected llama3, .*got \"alpaca\"" generate --model model --chat-template alpaca talk.jsonl
expect "template file missing" 3 "nowhere.json: No such file" generate --model model --chat-template nowhere.json talk.jsonl
echo '{"join":"","user":{},"assistant":{"after":["</s>"]}}' >own.json
expect "template file without an end" 3 "own.json: assistant: expected after to begin with the token that ends an answer" generate --model model --chat-template own.json talk.jsonl
echo '{"join":"","user":{},"assistant":{"after":[{"token":"<end_of_turn>"}]}}' >own.json
expect "template file of tokens the model lacks" 6 "own.json: assistant: the token <end_of_turn> is not in the vocabulary" generate --model model --chat-template own.json talk.jsonl
rm own.json
expect "template of tokens the model lacks" 6 "chatml needs the token <.im_end.>" generate --model model --chat-template chatml talk.jsonl
expect "device unknown" 2 "expected a device .*, got .tpu." generate --model model --device tpu good.jsonl
expect "no input" 3 "nowhere.jsonl: No such file" generate --model model nowhere.jsonl

# --- records
two() { printf '%s\n%s\n' "$1" "$good" >in.jsonl; }
two '{"id":"a","prompt":""}'
record "empty prompt" "in.jsonl: line 1: prompt: expected at least one token" generate --model model
two '{"id":"a","prompt":"x","messages":[]}'
record "prompt and messages" "line 1: expected \\\\\"prompt\\\\\" or \\\\\"messages\\\\\", got both" generate --model model
two '{"id":"a"}'
record "neither prompt nor messages" "line 1: .*prompt" generate --model model
two '{"id":[1],"prompt":"x"}'
record "no id" "line 1: field \\\\\"id\\\\\": expected a string or an integer" generate --model model
two '{"id":"a","id":"b","prompt":"x"}'
record "a field twice" "line 1.*duplicate" generate --model model
two 'not JSON'
record "a line that is not JSON" "line 1" generate --model model
two '"a"'
record "a line that is no object" "line 1" loss --model model
two '{"id":"a","prompt":7}'
record "a prompt that is no text" "line 1: .*prompt" generate --model model
two "{\"id\":\"a\",\"prompt\":\"$(printf 'word %.0s' {1..400})\"}"
record "prompt too long" "line 1: [0-9]+ tokens, but the model's limit is 255" generate --model model
two '{"id":"a","prompt":"x","completion":7}'
record "a completion that is no text" "line 1: .*completion" loss --model model
two '{"id":"a","messages":[{"role":"user","content":"x"}]}'
record "a model without chat template" "line 1: messages: .*--chat-template" generate --model model
sed '1s/.*/{"id":"a","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]}/' -i in.jsonl
record "last message is the assistant's" "line 1: messages: expected another role than the assistant last" generate --model model --chat-template llama3
two '{"id":"a","messages":[{"role":"user","content":"x"}]}'
record "last message is not the assistant's" "line 1: messages: expected the assistant's message last, got the user's" loss --model model --chat-template llama3
two '{"id":"a","messages":[]}'
record "no messages" "line 1: messages" generate --model model --chat-template llama3
two '{"id":"a","messages":[{"role":"judge","content":"x"}]}'
record "a role unknown" "line 1: .*role.*judge" generate --model model --chat-template llama3
two '{"id":"a","messages":[{"role":"user"}]}'
record "a message without content" "line 1: .*content" generate --model model --chat-template llama3

# --- adapters that records name
two '{"id":"a","prompt":"x","completion":"y","adapter":"nowhere"}'
record "a record's adapter that is not there" "in.jsonl: line 1: adapter nowhere: nowhere/adapter_config.json: No such file" generate --model model --adapter adapter
record "a loss with an adapter that is not there" "in.jsonl: line 1: adapter nowhere: nowhere/adapter_config.json" loss --model model
two '{"id":"a","prompt":"x","adapter":["adapter"]}'
record "a record's adapter that is no name" "in.jsonl: line 1: adapter: expected a folder's name, or null for none, got an array" generate --model model
two '{"id":"a","prompt":"x","adapter":""}'
record "a record's adapter without a name" "line 1: adapter: expected a folder's name, or null for none, got \\\\\"\\\\\"" generate --model model
two '{"id":"a","prompt":"x","adapter":"bad-lora"}'
adapter 's/"r": 4/"r": 8/'
record "a record's adapter of another rank" "line 1: adapter bad-lora: bad-lora/adapter_model.safetensors.*\[4, 32\]" generate --model model
fresh && rm bad-lora/adapter_model.safetensors
record "a record's adapter without numbers" "line 1: adapter bad-lora: bad-lora/adapter_model.safetensors: No such file" generate --model model
adapter 's/"target_modules": \[/&"c_attn"],"x": [/'
record "a record's adapter for other maps" "line 1: adapter bad-lora: target_modules: expected at least one of the model's 15 linear maps" generate --model model
adapter 's/"modules_to_save": null/"modules_to_save": ["lm_head"]/'
record "a record's adapter with a whole head" "line 1: adapter bad-lora: modules_to_save: .*--adapter" generate --model model
record "an adapter beside a merged one" "line 1: adapter bad-lora: adapter is merged into the weights" generate --model model --adapter adapter --merge
fresh && spoil bad/config.json 's/"intermediate_size": 48/"intermediate_size": 96/'
two '{"id":"a","prompt":"x","adapter":null}'
record "no adapter beside a merged one" "line 1: adapter null: adapter is merged into the weights" generate --model model --adapter adapter --merge
for i in {1..64}; do cp -r adapter "many-$i" && echo "{\"id\":$i,\"prompt\":\"x\",\"completion\":\"y\",\"adapter\":\"many-$i\"}"; done >in.jsonl
run 7 loss --model model in.jsonl -o out.jsonl
grep '"error":' out.jsonl >said
grep -q '"error":"in.jsonl: line 64: adapter many-64: expected at most 63 adapters' said || complain "many adapters" "not told"
[ "$(wc -l <said)" = 1 ] || complain "many adapters" "not one too many"
note "too many adapters" 7

# --- many answers to a prompt
beams="generate --model model --beams 2"
expect "more answers than beams" 2 "--n: expected at most 2, as many as --beams, got 3" $beams --n 3 good.jsonl
expect "answers that are all the same" 2 "--n: expected --beams or a --temperature above 0 for 3 different completions" generate --model model --n 3 good.jsonl
expect "too many answers" 2 "--n: expected 0 to 64, got 65" generate --model model --temperature 1 --n 65 good.jsonl
expect "too many beams" 2 "--beams: expected 1 to 64, got 65" generate --model model --beams 65 good.jsonl
expect "beams that draw" 2 "--temperature: expected 0 with --beams, .*got 0.5" $beams --temperature 0.5 good.jsonl
expect "a length penalty that is no number" 2 "--length-penalty: expected a number, got 'long'" $beams --length-penalty long good.jsonl
expect "a length penalty out of range" 2 "--length-penalty: expected -100 to 100, got 101" $beams --length-penalty 101 good.jsonl
expect "a length penalty without beams" 2 "--length-penalty: expected --beams of at least 2, or 1, got 2" generate --model model --length-penalty 2 good.jsonl
expect "early stopping without beams" 2 "--early-stopping: expected --beams" generate --model model --early-stopping good.jsonl
expect "scores of completions that no constraint allows" 2 "--scores allowed: expected --constraint" $beams --scores allowed good.jsonl
expect "scores misspelt" 2 "--scores: expected one of full.allowed, got 'all'" $beams --scores all good.jsonl
for option in top-k=5 top-p=0.5 min-p=0.1 typical-p=0.5; do
    name="--${option%=*}"
    expect "$name without draws" 2 "$name: expected a --temperature above 0" generate --model model "--$option" good.jsonl
    expect "$name of beams" 2 "$name cannot be used with --beams" $beams "--$option" good.jsonl
done
expect "scores of draws" 2 "--scores allowed: expected --beams" generate --model model --constraint good.jsonl --scores allowed good.jsonl
expect "top-k below zero" 2 "--top-k: expected 0 to 1048576, got -1" generate --model model --top-k -1 good.jsonl
expect "min-p above one" 2 "--min-p: expected 0 to 1, got 2" generate --model model --min-p 2 good.jsonl
expect "typical-p of zero" 2 "--typical-p: expected > 0 and at most 1, got 0" generate --model model --typical-p 0 good.jsonl
expect "too many of the likeliest" 2 "--logprobs: expected 0 to 256, got 257" generate --model model --logprobs 257 good.jsonl
expect "a batch of nothing" 2 "--batch: expected 1 to 4096, got 0" generate --model model --batch 0 good.jsonl
expect "an empty stop" 2 "--stop: expected a text, got an empty one" generate --model model --stop "" good.jsonl
expect "a stop that ends beams" 2 "--stop: expected --beams 1, got 2" $beams --stop x good.jsonl
fresh && spoil bad/config.json 's/("max_position_embeddings": )256/\116777216/'
small() { (ulimit -v 4000000 && generate --model bad --max-new 16000000 "$@"); }
[ -n "${ASAN_OPTIONS:-}" ] || # which wants address space without end
    expect "memory too small for a prompt" 5 "cache of 1 requests with 8 rows of up to 16000000 tokens each: not enough memory for [0-9]+ MiB" small --beams 8 good.jsonl

# --- constraints
two '{"id":"a","prompt":"x"}'
bound() { generate --model "${model:-model}" --constraint bound.jsonl "$@"; }
line() { printf '%s\n' '{"id":"b","answers":["x"]}' "$1" >bound.jsonl; }
file() { line "$2" && expect "$1" 3 "bound.jsonl: line 2$3" bound good.jsonl; }
expect "no file of constraints" 3 "nowhere: No such file" generate --model model --constraint nowhere good.jsonl
file "a constraint that allows nothing" '{"id":"a","answers":[]}' ": answers: expected at least one text, got an empty list"
file "a constraint that is not JSON" 'a: x, y' ".*near 'a'"
file "a constraint of two kinds" '{"id":"a","answers":["x"],"template":"x"}' ': expected one of "answers", "template" and "alternatives", got more'
file "a constraint of no kind" '{"id":"a"}' ': expected one of "answers", "template" and "alternatives", got none'
file "an answer that is no text" '{"id":"a","answers":["x",7]}' ": answers.1.: expected a text, got an integer"
file "a slot without a list" '{"id":"a","template":"x {y}"}' ": template: the slot {y} has no list"
file "a list without a slot" '{"id":"a","template":"x","slots":{"y":["z"]}}' ": slots.y: the template has no slot of this name"
file "a brace that is open" '{"id":"a","template":"x {y","slots":{"y":["z"]}}' ": template: the brace at byte 2 is not closed"
file "an id twice" '{"id":"b","answers":["x"]}' ': the id "b" is also on line 1'
: >bound.jsonl
expect "no constraint at all" 3 "bound.jsonl: expected a constraint on each line, got none" bound good.jsonl
line '{"id":"c","answers":["x"]}'
record "a record without its constraint" 'bound.jsonl: no line has the id ..a' bound
line '{"id":"a","answers":["say \"it\""]}'
record "an answer that holds a stop" "bound.jsonl: line 2: answers.0.: .* contains the stop token 1" bound
line '{"id":"a","template":"{y}","slots":{"y":[""]}}'
record "a template that allows no token" "bound.jsonl: line 2: expected texts with at least one token" bound
line '{"id":"a","answers":["Yes"]}'
fresh && spoil bad/tokenizer.json 's/"normalizer":null/"normalizer":{"type":"Lowercase"}/'
model=bad record "an answer that the tokenizer cannot spell" "line 2: answers.0.: the tokenizer cannot spell ..Yes..: it decodes as ..yes" bound

# --- training
expect "neither base nor tokenizer" 2 "either --base.*or --tokenizer" infill --data good.jsonl
expect "both base and tokenizer" 2 "either --base.*or --tokenizer" infill --base model --tokenizer model --data good.jsonl
expect "adapters from scratch" 2 "method: expected full for a model from scratch, got lora" infill --tokenizer model --data good.jsonl
expect "heads that do not divide" 2 "heads: expected .*, got 3 of 64" infill --tokenizer model --method full --hidden 64 --heads 3 --data good.jsonl
: >empty.jsonl
expect "empty training file" 3 "empty.jsonl: no conversation" infill --base model --data empty.jsonl
echo '{"id":"a","prompt":"x","completion":""}' >none.jsonl
expect "an answer without tokens" 3 "none.jsonl: line 1: the answer has no tokens" infill --base model --data none.jsonl
echo '{"id":"a","prompt":"x"}' >none.jsonl
expect "no completion" 3 "none.jsonl: line 1.*completion" infill --base model --data none.jsonl
echo 'not JSON' >none.jsonl
expect "training data that is not JSON" 3 "none.jsonl: line 1" infill --base model --data none.jsonl
expect "texts without a template" 3 "talk.jsonl: line 1: messages: .*--chat-template" infill --base model --data talk.jsonl
expect "valid file missing" 3 "nowhere.jsonl: No such file" infill --base model --data good.jsonl --valid nowhere.jsonl
expect "recall without valid" 2 "select: recall: expected --valid" infill --base model --data good.jsonl --select recall
expect "moments of adafactor in bytes" 2 "moments: 8bit: expected --optimizer adamw, got adafactor" infill --base model --data good.jsonl --moments 8bit --optimizer adafactor
expect "moments in bytes, cut over ranks" 2 "moments: 8bit: expected no --shard-optimizer" infill --base model --data good.jsonl --moments 8bit --shard-optimizer
expect "moments of four bits" 2 "moments.*f32.*8bit" infill --base model --data good.jsonl --moments 4bit
expect "all texts too long" 3 "good.jsonl: no conversation of at most 2 tokens" infill --base model --data good.jsonl --length 2
expect "targets misspelt" 2 "target-modules: expected .*, got 'w'" infill --base model --data good.jsonl --target-modules q,w
expect "targets twice" 2 "target-modules: expected .*, got 'q'" infill --base model --data good.jsonl --target-modules q,q
expect "no targets and no head" 2 "target-modules" infill --base model --data good.jsonl --target-modules ''
expect "preset unknown" 2 "--preset: expected one of dfpl" infill --base model --data good.jsonl --preset paper
expect "lr that is no number" 2 "--lr: expected a number" infill --base model --data good.jsonl --lr inf
printf 'alpha: many\n' >bad.yaml
expect "config of another kind" 2 "bad.yaml:1:8: .*many" infill --base model --data good.jsonl --config bad.yaml
printf 'epoch: 3\n' >bad.yaml
expect "a setting misspelt" 2 "bad.yaml:1:1: .*did you mean 'epochs'" infill --base model --data good.jsonl --config bad.yaml
infill --tokenizer model --method full --hidden 16 --heads 2 --groups 1 --layers 1 --intermediate 16 --data good.jsonl --out tied >shown 2>said || complain scratch "a model from scratch"
expect "whole head of a tied model" 2 "head: .*expected lora or none, got full" infill --base tied --data good.jsonl --head full
infill --base model --data good.jsonl --out held >shown 2>said || complain held "a run"
expect "out folder that is the base" 2 "--out: ./model/ is an input of this command \(--base\); choose another folder" infill --base model --data good.jsonl --out ./model/
expect "out folder that holds a run" 2 "held: holds a run already; --resume" infill --base model --data good.jsonl --out held
expect "resumed with another setting" 2 "lr: the run to resume has .*, got 0.5;" infill --base model --data good.jsonl --out held --resume --lr 0.5
expect "resumed with other data" 2 "the data of the run to resume were others than those of /.* now" infill --base model --data <(sed 's/many/few/' good.jsonl) --out held --resume
fresh && dd if=adapter/adapter_model.safetensors of=bad/model-00002-of-00003.safetensors bs=1 seek=64000 skip=30000 count=64 conv=notrunc 2>/dev/null
expect "resumed on another base" 2 "base_hash: the run to resume has .*, got " infill --base bad --data good.jsonl --out held --resume
expect "resumed with another seed" 2 "seed: the run to resume has 42, got 7" infill --base model --data good.jsonl --out held --resume --seed 7

# --- shared prefixes: texts without one learn the same weights as without the option, and no other trainer has it
for word in Which How Name; do echo "{\"id\":\"$word\",\"prompt\":\"$word singers\",\"completion\":\" $word\"}"; done >apart.jsonl
printf 'share-prefix: many\n' >bad.yaml
expect "shared prefixes that are no flag" 2 "bad.yaml:1:15: share-prefix: expected true or false, got 'many'" infill --base model --data good.jsonl --config bad.yaml
expect "shared prefixes of an encoder-decoder" 2 "unknown option --share-prefix" train seq2seq --tokenizer model --data good.jsonl --out new --share-prefix
expect "shared prefixes by reward" 2 "unknown option --share-prefix" train reward --base model --data good.jsonl --db . --out new --share-prefix
expect "shared prefixes of a T5" 6 "config.json: model_type: expected one of .llama.*, got .t5." infill --base "$gold/t5/v1.0" --data good.jsonl --share-prefix
expect "shared prefixes and no answer" 3 "none.jsonl: line 1" infill --base model --data none.jsonl --share-prefix
expect "shared prefixes of texts too long" 3 "apart.jsonl: no conversation of at most 2 tokens" infill --base model --data apart.jsonl --share-prefix --length 2
expect "resumed with shared prefixes" 2 "share-prefix: the run to resume has false, got true" infill --base model --data good.jsonl --out held --resume --share-prefix
expect "prompts that share nothing" 0 "sharing prefixes: ([0-9]+) tokens of a pass become \1, 1.00 times fewer" infill --base model --data apart.jsonl --out shared --share-prefix
expect "resumed without shared prefixes" 2 "share-prefix: the run to resume has true, got false" infill --base model --data apart.jsonl --out shared --resume --no-share-prefix
infill --base model --data apart.jsonl --out plain >shown 2>said || complain apart "prompts that share nothing, plain"
cmp shared/adapter_model.safetensors plain/adapter_model.safetensors || complain apart "prompts that share nothing learn other weights when they share"
finish

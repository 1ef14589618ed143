#!/usr/bin/env bash
# ambit-train tokenizer: its files, and its messages about bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

# expect CODE TEXT ARGUMENTS...
expect() { check "${*:3}" "$1" "$2" train tokenizer "${@:3}"; }

yes 'How many singers are there in 12345 concerts?' | head -n 20 >lines.txt
cat >records.jsonl <<'END'
{"messages": [{"role": "user", "content": "How many singers?"}, {"role": "assistant", "content": "SELECT count(*)"}]}
{"prompt": "How many singers?", "completion": "SELECT count(*)"}
{"text": "How many singers?"}
END

expect 0 'llama: 280 tokens, from 20 texts' lines.txt --vocab 280 -o llama
grep -q '"Regex": *"[^"]*N}{1,3}' llama/tokenizer.json || complain llama "no digits in threes"
expect 0 'both: 280 tokens, from 25 texts' lines.txt records.jsonl --vocab 280 --split qwen2 --special '<|a|>,<|b|>' -o both
expect 0 'words: 280 tokens, from 25 texts' lines.txt records.jsonl --vocab 280 --split words -o words
cmp words/chat_template.jinja both/chat_template.jinja || complain words "another chat template than Qwen's"
grep -q '"bos_token"' llama/tokenizer_config.json || complain llama "no bos_token"
for file in tokenizer.json tokenizer_config.json special_tokens_map.json chat_template.jinja; do
    [ -s both/$file ] || complain both "no $file"
done
expect 2 '261 to 1000000' lines.txt --vocab 260 -o new
expect 2 '--vocab' lines.txt -o new
expect 2 '--vocab' lines.txt --vocab 2000000 -o new
expect 2 '--out' lines.txt --vocab 300
expect 2 'llama3.qwen2.words, got .gpt2' lines.txt --vocab 300 --split gpt2 -o new
expect 2 'FILE' --vocab 300 -o new
expect 2 'special token "PAD": plain text' lines.txt --vocab 300 --special PAD -o new
expect 2 'special token "<.a.>": it comes twice' lines.txt --vocab 300 --special '<|a|>,<|a|>' -o new
expect 2 'special token "": it is empty' lines.txt --vocab 300 --special '<|a|>,' -o new
expect 2 'more than 256' lines.txt --vocab 3000 --special "$(seq -s, 300)" -o new
expect 3 'nowhere.txt: No such file' nowhere.txt --vocab 300 -o new
expect 3 'nowhere.jsonl: No such file' nowhere.jsonl --vocab 300 -o new
expect 3 'Is a directory' llama --vocab 300 -o new
printf 'a\nb\0c\n' >zero.txt && expect 3 'zero.txt: line 2: expected text, got a zero byte' zero.txt --vocab 300 -o new
bad() { echo "$1" >bad.jsonl && expect 3 "$2" bad.jsonl --vocab 300 -o new; }
bad '{"question": "How many?"}' 'bad.jsonl: line 1: no messages, text, prompt or completion'
bad '{"messages": "How many?"}' 'line 1.*messages'
bad '{"messages": [{"role": "user", "content": 5}]}' 'line 1.*content'
bad '{"prompt": ["How many?"]}' 'line 1.*prompt'
bad '{"text": "How' 'bad.jsonl: line 1'
expect 2 '--out: lines.txt is an input of this command' lines.txt --vocab 300 -o lines.txt
echo text >file.txt && expect 1 'file.txt: cannot make the folder' lines.txt --vocab 300 -o file.txt

finish

#!/usr/bin/env bash
# Messages about wrong files and folders.  A language model's run stands for another model, or the reverse.  A name of Hugging
# Face's hub, a question or a statement stands for a file, and a server or a dump for a database.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

# expect CODE TEXT COMMAND...
expect() { check "${*:3}" "$@"; }

small_detector gate
cp -r "$gold/llama/base" base && cp "$gold/bpe/llama/tokenizer.json" base && cp -r "$gold/llama/adapter" lora
echo '{"id": 1, "prompt": "How many", "completion": " singers", "question": "How many?"}' >in.jsonl
db=all/db/bakery.sqlite
detect() { infer detect --device cpu --db "$db" "$@"; }
loss() { infer loss --device cpu "$@"; }

# --- one type of model for another: the message names its type and the option that takes it
detector='a detector \(a run of ambit-train gatekeeper\), which ambit-infer detect takes as --model and ask as --detector'
expect 6 "gate/config.json: No such file or directory; it is $detector" loss --model gate in.jsonl
expect 6 "gate/adapter_config.json: No such file or directory; it is $detector" loss --model base --adapter gate in.jsonl
expect 6 "gate/config.json: .*; it is $detector" infer parse --db $db --model gate in.jsonl
expect 6 "gate/config.json: .*; it is $detector" infer ask --detector none --db $db --parser gate --question 'How many?'
expect 6 "gate: the detector has no head for words, the file words.h5; train one with ambit-train words, or give a tagger" infer tag --db $db --model gate in.jsonl
expect 6 "gate/ambit.h5: expected a run of ambit-train tag, got $detector" infer tag --strategy eta --db $db --model gate in.jsonl
run 0 train infill --device cpu --base base --data in.jsonl --rank 2 --epochs 1 --out tuned
expect 6 'tuned/ambit.h5: expected a run of ambit-train gatekeeper, got a language model' detect --model tuned --question 'How many?'
expect 6 'tuned/ambit.h5: expected a run of ambit-train gatekeeper, got a language model' infer ask --db $db --detector tuned --question 'How many?'
expect 6 'base: expected ambit.h5 or a checkpoint-N folder; it is a Hugging Face folder' detect --model base --question 'How many?'
expect 6 'lora/config.json: .*; it is a PEFT adapter, which --adapter takes beside --model BASE' loss --model lora in.jsonl
expect 6 'base/adapter_config.json: .*; it is a whole model, which --model takes' loss --model base --adapter base in.jsonl
echo GGUF >model.gguf
expect 6 'model.gguf/config.json: .*; GGUF files are not supported' loss --model model.gguf in.jsonl

# --- a name of the hub is not a folder, a folder that is missing is not a name of the hub, and its cache holds folders
fetch='huggingface-cli download'
expect 6 "bert-base-uncased: No such file or directory; .*: $fetch bert-base-uncased --local-dir DIR" detect --model bert-base-uncased --question 'How many?'
expect 6 "org/name/config.json: .*: $fetch org/name --local-dir" loss --model org/name in.jsonl
expect 6 ": $fetch org/name --local-dir" loss --model https://huggingface.co/org/name in.jsonl
expect 6 ": $fetch org/name --local-dir" train gatekeeper --data small --encoder org/name --out new
expect 6 ": $fetch org/name --local-dir" train infill --data in.jsonl --base org/name --out new
expect 6 ": $fetch org/name --local-dir" train inspect org/name
expect 6 ": $fetch org/name --local-dir" train infill --data in.jsonl --method full --tokenizer org/name --out new
expect 6 'gone.h5: No such file or directory$' train inspect gone.h5
expect 6 'small/none: No such file or directory$' train inspect small/none
mkdir -p cache/models--org--name/snapshots/0123 cache/models--org--name/blobs
for file in base/*; do
    cp "$file" cache/models--org--name/blobs
    ln -s "../../blobs/${file#base/}" cache/models--org--name/snapshots/0123
done
expect 6 'it is a folder of the hub.s cache, whose model is in cache/models--org--name/snapshots/0123$' loss --model cache/models--org--name in.jsonl
run 0 loss --model cache/models--org--name/snapshots/0123 in.jsonl -o out.jsonl

# --- a text for a file
expect 2 'expected a file, IN.jsonl.QUESTION, got "SELECT 1"; its lines are \{"sql": "..."\}' detect --model gate 'SELECT 1'
expect 2 'expected a file, IN.jsonl, got "How many"; it has a JSON object in each line$' infer parse --db $db --model base 'How many'
expect 2 'expected a file, IN.jsonl, got "SELECT 1"; its lines are \{"sql": "..."\}' data execute --db $db 'SELECT 1'
expect 2 'expected a file, IN.json, got "with a as \(select 1\) select x.y from a"' data sql --db $db 'with a as (select 1) select x.y from a'
expect 3 'my questions.jsonl: No such file' detect --model gate 'my questions.jsonl'
cp in.jsonl 'in two words'
run 0 detect --model gate 'in two words' -o out.jsonl

# --- names of options that other programs have
expect 2 'unknown option --output, did you mean --out\?' infer detect --output x in.jsonl
expect 2 'unknown option --database, did you mean --db\?' infer tag --database x.db in.jsonl
expect 2 'unknown option --model, did you mean --detector or --parser\?' infer ask --model x --db $db 'How many?'
expect 2 'unknown option --batch, did you mean --tokens\?' infer detect --batch 8 in.jsonl
expect 2 'unknown option --learning-rate, did you mean --lr\?' train gatekeeper --learning-rate 1e-4
expect 2 "'in.jsonl' is an unexpected operand, did you mean --candidates in.jsonl\\?" infer clarify in.jsonl

# --- another database
expect 3 'postgres://host/shop: .*expected a SQLite file or a folder of them; a server is not asked: copy its tables' \
    infer detect --model gate --db postgres://host/shop --question 'How many?'
expect 3 'sqlite:///shop.db: .*; give the path of its file alone' data execute --db sqlite:///shop.db in.jsonl
echo 'CREATE TABLE a (b);' >dump.sql
cp dump.sql dump.txt
for file in dump.sql dump.txt; do
    expect 3 "$file: .*; its statements make one: sqlite3 NEW.sqlite <FILE.sql" data execute --db $file in.jsonl
done
expect 3 'in.jsonl: file is not a database; expected a SQLite file or a folder of them$' data execute --db in.jsonl in.jsonl

# --- the note of a detector of practice data names programs that are installed
run 0 detect --model gate --question 'How many?' -o out.jsonl
grep -q 'ambit-train gatekeeper makes a better one' said || complain "the note of a practice detector" "names no program"
grep -q 'scripts/' said && complain "the note of a practice detector" "names a script"

finish

#!/usr/bin/env bash
# Bad input to the three programs: the exit code of kernels/base.h, a message that names file, line or field, and not a
# file more or less than before.
# shellcheck disable=SC2059,SC2086 # formats that are built, words that are split
shopt -s lastpipe
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

small_file() (trap '' XFSZ; ulimit -f 1; "$@") # no file grows beyond 1 KiB: a disk that fills while it is written

# failing N TEXT COMMAND...: exit code 7, N lines of found.jsonl with an error, one that holds the text
failing() {
    local n=$1 text=$2
    shift 2
    begin "$*"
    "$@" -o found.jsonl >shown 2>said </dev/null
    [ $? = 7 ] || complain "$*" "exit code is not 7"
    [ "$(grep -c '"error":' found.jsonl)" = "$n" ] || complain "$*" "$(wc -l <found.jsonl) lines, expected $n errors"
    grep -E '"error":' found.jsonl | grep -qE -- "$text" || complain "$*" "no record's error says \"$text\""
    rm -f found.jsonl
}

# changed FILE SED: a copy of the file with one thing changed, whose name is printed
changed() {
    local copy=changed.${1##*.}
    sed -E "$2" "$1" >"$copy"
    cmp -s "$1" "$copy" && echo "$2 changes nothing in $1" >&2
    echo "$copy"
}

# folder OLD NEW: replaces NEW by a copy of OLD
folder() { rm -rf "$2" && cp -r "$1" "$2"; }

repeat() { printf "%$2s" '' | sed "s/ /$1/g"; }

# --- the start of all cases: a few dozen questions of synthetic data, and a model trained on them
data practice -o all --seed 1 >/dev/null || exit 1
mkdir good
for fold in train valid test; do
    grep '"slice":"contrast"' all/$fold.jsonl | head -n 40 >good/$fold.jsonl
done
{
    sed -E 's/.*("db_id":"[^"]*").*/\1/' good/*.jsonl
    grep -Eho '"renamed":[^]]*' good/*.jsonl | grep -o '"[^"]*__[0-9]*"' | sed 's/^/"db_id":/'
} | sort -u >ids
{ echo '[' && grep -F -f ids all/tables.json | sed 's/^,//; $!s/$/,/' && echo ']'; } >good/tables.json
cp all/db/bakery.sqlite good.sqlite
rm -rf all ids
cat >good.yaml <<'END'
encode: schema
encoder-hidden: 32
encoder-layers: 1
encoder-heads: 1
encoder-intermediate: 32
encoder-vocabulary: 400
gat-hidden: 8
gat-layers: 1
gat-heads: 1
pair-hidden: 8
epochs: 1
batch: 16
END
gatekeeper() { train gatekeeper --config good.yaml --device cpu --out new "$@"; }
detect() { infer detect --device cpu --model model "$@"; }
train gatekeeper --data good --config good.yaml --out model --device cpu >shown 2>said || { cat said && exit 1; }
train export model --format hf -o hf 2>said || { cat said && exit 1; }
id=$(sed -nE '1s/.*"db_id":"([^"]*)".*/\1/p' good/test.jsonl)
question() { printf '{"id":"q","db_id":"%s","question":"%s"}\n' "$id" "$1"; }
question "How many are there?" >in.jsonl
detect --schema good/tables.json in.jsonl >shown 2>said || { cat said && exit 1; }

# --- the command line
expect 2 "unknown command 'practise', did you mean 'practice'" data practise
expect 2 "unknown command 'train'" train train
expect 2 "COMMAND" infer
expect 2 "unknown option --modle, did you mean --model" infer detect --modle model in.jsonl
expect 2 "unknown option --qqqqqqqq$" train gatekeeper --qqqqqqqq
expect 2 "unknown option -z" data practice -z
expect 2 "--seed: expected a value" data practice -o new --seed
expect 2 "--seed: expected an integer, got 'one'" data practice -o new --seed one
expect 2 "--seed: expected 0 to" data practice -o new --seed -1
expect 2 "--out" data practice
expect 2 "--labels: expected one of contrastive\|thesis.*did you mean 'thesis'" data contrast --labels theses
expect 2 "did you mean 'schema'" gatekeeper --data good --encode schemas
expect 2 "--lr: expected a number, got 'nan'" gatekeeper --data good --lr nan
for share in -.1 1.1 1e9 nan many ""; do
    expect 2 "--distractors: expected (0 to 1|a number), got '?$share" gatekeeper --data good --distractors "$share"
done
expect 2 "either --schema or --db" detect in.jsonl
expect 2 "either --schema or --db" detect --schema good/tables.json --db good.sqlite in.jsonl
expect 2 "IN.jsonl" detect --schema good/tables.json
expect 2 "'in.jsonl' is an unexpected operand" detect --schema good/tables.json in.jsonl in.jsonl
expect 2 "expected bash, zsh or fish, got 'tcsh'" train completion tcsh

# --- configuration
echo "epoch: 3" >bad.yaml && expect 2 "bad.yaml:1:1: .*epoch.*did you mean 'epochs'" gatekeeper --data good -c bad.yaml
echo "batch: many" >bad.yaml && expect 2 "bad.yaml:1:8: .*many" gatekeeper --data good -c bad.yaml
printf 'lr: 1e-4\nbatch: 0\n' >bad.yaml && expect 2 "bad.yaml:2:8: .*1 to 65536" gatekeeper --data good -c bad.yaml
printf 'batch: &a 4\nepochs: *a\n' >bad.yaml && expect 2 "bad.yaml:1:8: .*anchor" gatekeeper --data good -c bad.yaml
printf 'batch: 4\nbatch: 5\n' >bad.yaml && expect 2 "bad.yaml:2:1: .*batch" gatekeeper --data good -c bad.yaml
printf 'batch: [4, 5]\n' >bad.yaml && expect 2 "bad.yaml:1:8: " gatekeeper --data good -c bad.yaml
printf 'batch: 4\n\tepochs: 1\n' >bad.yaml && expect 2 "bad.yaml:2:1: " gatekeeper --data good -c bad.yaml
printf 'batch: \xff\n' >bad.yaml && expect 2 "bad.yaml: byte" gatekeeper --data good -c bad.yaml
repeat '[' 100000 >bad.yaml && expect 2 "bad.yaml" gatekeeper --data good -c bad.yaml
expect 2 "nowhere.yaml: No such file" gatekeeper --data good -c nowhere.yaml
expect 2 "encoder.heads" gatekeeper --data good --encoder-heads 7

# --- tables.json
for change in \
    's/"db_id":"[^"]*"/"db_id":7/ db_id' \
    's/"table_names_original":\["[^"]*"/"table_names_original":[null/ table' \
    's/"table_names_original":\[[^]]*\]/"table_names_original":{}/ table_names_original' \
    's/"column_names_original":/"columns":/ column_names_original' \
    's/("column_names_original":\[\[-1,"\*"\],)\[0,/\1[99,/ 99' \
    's/"column_types":\[[^,]*,/"column_types":[/ column_types' \
    's/"foreign_keys":\[\[[0-9]+,/"foreign_keys":[[100000,/ foreign_keys' \
    's/"primary_keys":\[[0-9]+/"primary_keys":["a"/ primary_keys'; do
    folder good bad
    changed good/tables.json "${change% *}" | read -r copy && mv "$copy" bad/tables.json
    expect 3 "bad/tables.json: .*${change##* }" gatekeeper --data bad
done
head -c 30000 good/tables.json >bad/tables.json
expect 3 "bad/tables.json: line [0-9]+, column" data probe --data bad
expect 3 "bad/tables.json: line [0-9]+, column" detect --schema bad/tables.json in.jsonl
{ sed '$d' good/tables.json && echo , && sed -n '2s/,$//p' good/tables.json && echo ']'; } >bad/tables.json
expect 3 "bad/tables.json: .*twice" data probe --data bad
repeat '[' 100000 >bad/tables.json
expect 3 "bad/tables.json: .*depth" data probe --data bad
echo '[]' >bad/tables.json
expect 3 "train.jsonl: .*db_id .* is not in tables.json" data probe --data bad
echo '{}' >bad/tables.json
expect 3 "bad/tables.json: expected an array" data sql --schema bad/tables.json in.jsonl
: >bad/tables.json
expect 3 "bad/tables.json" data sql --schema bad/tables.json in.jsonl
rm bad/tables.json
expect 3 "bad/tables.json: No such file" gatekeeper --data bad
expect 3 "nowhere/tables.json: No such file" gatekeeper --data nowhere
expect 3 "good/tables.json: (Is a|Not a) directory|good/tables.json/tables.json" data probe --data good/tables.json

# --- records to train on
for change in \
    '3s/"question":"[^"]*"/"question":null/ question' \
    '3s/"sql":\["/"sql":[7,"/ sql' \
    '3s/"sql":\[[^]]*\]/"sql":[]/ sql' \
    '3s/"slice":"contrast"/"slice":"cross"/ slice' \
    '3s/"type":"[A-Z]"/"type":"X"/ type' \
    '3s/"ambiguous":(true|false)/"ambiguous":1/ ambiguous' \
    '3s/"alternatives":.*/"alternatives":["a"]}/ alternatives' \
    '3s/"id":"[^"]*"/"id":["a"]/ id' \
    '3s/"id":/"renamed":["a","b","c","d","e"],"id":/ renamed' \
    '3s/"question":/"id":"again","question":/ duplicate' \
    '3s/..$// expected' \
    '3s/"question":"/&\\u0000/ u0000' \
    '3s/"question":"/&\xff/ decode' \
    '3s/.*/[]/ object'; do
    folder good bad
    LC_ALL=C changed good/valid.jsonl "${change% *}" | read -r copy && mv "$copy" bad/valid.jsonl
    expect 3 "bad/valid.jsonl: line 3.*${change##* }" gatekeeper --data bad
done
folder good bad
sed -i '3s/"db_id":"[^"]*"/"db_id":"nobody"/' bad/valid.jsonl
expect 3 "bad/valid.jsonl: .*db_id \"nobody\"" gatekeeper --data bad
folder good bad
sed -i -E '3s/"renamed":\["[^"]*"/"renamed":["nobody"/' bad/train.jsonl
expect 3 "bad/train.jsonl: .*renamed schema \"nobody\" is not in" gatekeeper --data bad
sed -i -E "3s/\"nobody\"/\"$(sed -nE '2s/.*"db_id":"([^"]*)".*/\1/p' good/tables.json)\"/" bad/train.jsonl
expect 3 "bad/train.jsonl: .*has another number of tables" gatekeeper --data bad
folder good bad && : >bad/train.jsonl
expect 3 "expected at least one training and one validation record, got 0 and" gatekeeper --data bad
folder good bad && cp bad/train.jsonl bad/valid.jsonl
expect 3 "is in both train and valid" gatekeeper --data bad
expect 3 "valid: of 40 questions 40 stand in train too, and 40 are about databases that do" gatekeeper --data bad
expect 0 "valid: of 40 questions 40 stand in train too" gatekeeper --data bad --allow-overlap --dry-run
folder good bad && : >bad/test.jsonl
expect 3 "bad/test.jsonl: holds no examples" data probe --data bad
rm bad/test.jsonl
expect 3 "bad/test.jsonl: No such file" data probe --data bad
folder good bad
sed -i -E '3s/"question":"[^"]*"/"question":""/' bad/valid.jsonl
expect 3 "valid: record .*: question: expected at least one token, got none" gatekeeper --data bad
expect 3 "nowhere" data contrast --ambiqt nowhere --spider nowhere -o new
folder good bad && echo 'not xz' >bad/train.jsonl.xz
expect 3 "bad" data contrast --ambiqt bad --spider bad -o new

# --- questions to detect, one of them good
ask() { { cat in.jsonl && cat; } >asked.jsonl; }
one() { failing 1 "$1" detect --schema good/tables.json asked.jsonl; }
question "" | ask && one "line 2: question: expected at least one token, got none"
question 'a\u0000b' | ask && one "line 2.*u0000"
printf '{"id":"q","question":"\xff"}\n' | ask && one "line 2.*decode byte"
printf '{"id":"q"\n' | ask && one "line 2"
printf 'a\0b\n' | ask && one "line 2"
echo '{"id":"q","id":"q"}' | ask && one "line 2.*duplicate"
echo '{"id":"q","db_id":"nobody","question":"why"}' | ask && one "line 2: db_id: no schema.*nobody"
printf '{"id":"q","db_id":"%s","question":"why"}' "$(repeat é 3000)" | ask && one "line 2: db_id: no schema"
echo '{"id":"q","db_id":3,"question":"why"}' | ask && one "line 2.*db_id"
echo '{"id":7,"question":"why"}' | ask && one "line 2.*id"
echo '"why"' | ask && one "line 2.*expected"
echo '["why"]' | ask && one "line 2: expected an object, got an array"
{ repeat '[' 100000 && echo; } | ask && one "line 2.*depth"
{ printf '{"id":"' && head -c 70000000 /dev/zero | tr '\0' a && echo '"}'; } | ask && one "line 2: longer than"
rm asked.jsonl
expect 3 "nowhere.jsonl: No such file" detect --schema good/tables.json nowhere.jsonl -o new.jsonl
expect 3 "good: Is a directory" detect --schema good/tables.json good -o new.jsonl

# --- SQL to parse
sql() { printf '{"db_id":"%s","query":%s}\n' "$id" "$1" >asked.jsonl; }
parsed() { failing 1 "asked.jsonl: line 1: .*$1" data sql --schema good/tables.json asked.jsonl; }
sql '"SELECT FROM"' && parsed "FROM"
sql '"SELECT a FROM nowhere"' && parsed "nowhere"
sql "\"SELECT 'a\"" && parsed ""
sql "\"SELECT $(repeat '(' 100000)\"" && parsed ""
sql '7' && parsed 'field \\"query\\"'
sql '[7]' && parsed 'field \\"query\\"'
echo '{"query":"SELECT 1"}' >asked.jsonl && parsed "db_id"
echo '{"db_id":"nobody","query":"SELECT 1"}' >asked.jsonl && parsed "no schema .*nobody"
echo '[{"db_id":"a","query":"SELECT 1"},' >asked.jsonl
expect 3 "asked.jsonl: record 2: line 1: expected" data sql --schema good/tables.json asked.jsonl -o new.jsonl
rm asked.jsonl

# --- databases
head -c 9000 /dev/urandom >bad.sqlite && expect 3 "bad.sqlite: .*not a database" detect --db bad.sqlite in.jsonl
head -c 5000 good.sqlite >bad.sqlite && expect 3 "bad.sqlite: " detect --db bad.sqlite in.jsonl
: >bad.sqlite && expect 3 "bad.sqlite: .*the database has no tables" detect --db bad.sqlite in.jsonl
expect 3 "in.jsonl: .*not a database" detect --db in.jsonl in.jsonl
expect 3 "nowhere.sqlite: " detect --db nowhere.sqlite in.jsonl
failing "$(wc -l <in.jsonl)" "good: no database insurance__23: neither good/insurance__23.sqlite" detect --db good in.jsonl
rm bad.sqlite

# --- a model's folder
broken() { # TEXT: the copy of the model in bad is refused
    expect 6 "$1" infer detect --device cpu --model bad --schema good/tables.json in.jsonl -o new.jsonl
    expect 6 "$1" train export bad -o new
}
flip() { # FILE AT: one bit of it
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    printf "\\x$(printf %x $((byte ^ 4)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
size=$(stat -c %s model/ambit.h5)
folder model bad && head -c $((size / 2)) model/ambit.h5 >bad/ambit.h5 && broken "bad/ambit.h5: "
folder model bad && flip bad/ambit.h5 $((size / 2)) && broken "bad/ambit.h5: "
folder model bad && sed -i '1s/checkpoint 1/checkpoint 9/' bad/ambit.h5 && broken "expected format version 1, got 9"
folder model bad && rm -r bad/ambit.h5 bad/checkpoint-* && broken "bad: expected ambit.h5 or"
folder model bad && rm bad/tokenizer.json bad/vocab.txt && broken "bad: expected tokenizer.json or vocab.txt"
folder model bad && head -c 2000 model/tokenizer.json >bad/tokenizer.json && broken "bad/tokenizer.json: line"
folder model bad && sed -i 's/"WordPiece"/"Unigram"/' bad/tokenizer.json && broken "bad/tokenizer.json.*\"Unigram\""
folder model bad && sed -i 's/"WordPiece"/"BPE"/' bad/tokenizer.json && broken "bad/tokenizer.json: decoder: type: expected Sequence, "
folder model bad && echo '[]' >bad/tokenizer.json && broken "bad/tokenizer.json: expected an object"
folder model bad && repeat '[' 100000 >bad/tokenizer.json && broken "bad/tokenizer.json.*depth"
folder model bad && sed -i 's/"\[CLS\]"/"[XYZ]"/g' bad/tokenizer.json && broken "bad.*\[CLS\]"
expect 6 "nowhere" infer detect --model nowhere --device cpu --schema good/tables.json in.jsonl
expect 6 "in.jsonl" infer detect --model in.jsonl --device cpu --schema good/tables.json in.jsonl
expect 6 "nowhere" train inspect nowhere

# --- a Hugging Face encoder
encoder() { expect 6 "$1" gatekeeper --data good --encoder bad; }
folder hf bad && mv bad/model.safetensors bad/pytorch_model.bin && encoder "bad.*(safetensors|pytorch_model.bin)"
folder hf bad && sed -i 's/"model_type": *"bert"/"model_type":"llama"/' bad/config.json && encoder "bad/config.json: model_type: expected \"bert\" or \"modernbert\", got \"llama\""
folder hf bad && sed -i -E 's/"hidden_size": *[0-9]+/"hidden_size":"32"/' bad/config.json && encoder "bad/config.json: .*hidden_size"
folder hf bad && sed -i -E 's/"hidden_size": *[0-9]+/"hidden_size":64/' bad/config.json && encoder "bad.*(shape|\[400|64)"
# a width that attention is not built for: known before anything is loaded
folder hf bad && rm bad/model.safetensors && sed -i -E 's/"hidden_size": *[0-9]+/"hidden_size":257/' bad/config.json
expect 6 "bad/config.json: expected heads of at most 256 channels, got 257 " gatekeeper --data good --encoder bad --dry-run
for heads in 2 8; do # and narrow ones that it is
    folder hf bad && sed -i -E "s/\"num_attention_heads\": *[0-9]+/\"num_attention_heads\":$heads/" bad/config.json
    expect 0 "" gatekeeper --data good --encoder bad --dry-run
done
folder hf bad && sed -i 's/"model_type": *"bert"/"model_type":"roberta"/' bad/config.json && encoder "bad/config.json: model_type: expected \"bert\" or \"modernbert\", got \"roberta\""
folder hf bad && sed -i -E 's/"num_hidden_layers": *[0-9]+/"num_hidden_layers":100000000/' bad/config.json && encoder "bad/config.json: .*num_hidden_layers"
folder hf bad && sed -i -E 's/"vocab_size": *[0-9]+/"vocab_size":10/' bad/config.json && encoder "bad.*vocab_size is 10"
folder hf bad && head -c 100 hf/config.json >bad/config.json && encoder "bad/config.json: line"
folder hf bad && rm bad/config.json && encoder "bad/config.json: No such file"
folder hf bad && head -c 5000 hf/model.safetensors >bad/model.safetensors && encoder "bad/model.safetensors"
folder hf bad && head -c 5 hf/model.safetensors >bad/model.safetensors && encoder "bad/model.safetensors"
folder hf bad && printf '\xff\xff\xff\xff\xff\xff\xff\x7f{}' >bad/model.safetensors && encoder "bad/model.safetensors"
folder hf bad && rm bad/tokenizer.json bad/vocab.txt && encoder "bad: expected tokenizer.json or vocab.txt"
index() { folder hf bad && rm bad/model.safetensors && echo "$1" >bad/model.safetensors.index.json && encoder "index.json.*$2"; }
index '{"weight_map":{"a":"../model.safetensors"}}' '../model.safetensors'
index '{"weight_map":["model.safetensors"]}' 'weight_map'
expect 6 "nowhere" gatekeeper --data good --encoder nowhere

# --- going on with a run
resume() { train gatekeeper --data good --config good.yaml --device cpu --out run --resume "$@"; }
folder model run
expect 2 "run.*: epochs: the run to resume has 1, got 0" resume --epochs 0
expect 2 "run.*: seed: the run to resume has 1, got 2" resume --seed 2
expect 2 "run.*: distractors: the run to resume has 0.0, got 0.25" resume --distractors 0.25
expect 2 "run.*: lr: the run to resume has 0.0002, got 0.1" resume --lr 0.1
expect 2 "run: holds a run already; --resume" gatekeeper --data good --out run
folder good bad && sed -i 1d bad/train.jsonl
expect 2 "run.*: the data of the run to resume were others than those of .*/bad now" resume --data bad
checkpoint=$(echo run/checkpoint-*)
flip "$checkpoint/ambit.h5" 20000
expect 6 "$checkpoint/ambit.h5: " resume
sed -i '1s/checkpoint 1/checkpoint 9/' "$checkpoint/ambit.h5"
expect 6 "expected format version 1, got 9" resume
rm -rf run

# --- devices
if [ ! -e "$bin/../lib/ambit/libambit_cuda.so" ] && [ ! -e /usr/local/lib/ambit ]; then
    expect 4 "no libambit_cuda.so" train doctor --device cuda
    expect 4 "libambit_cuda.so" gatekeeper --data good --device cuda:0
    expect 4 "libambit_cuda.so" detect --device cuda --schema good/tables.json in.jsonl -o new.jsonl
fi
mkdir modules
for name in cuda simt; do
    echo "no module" >modules/libambit_$name.so
    expect 4 "device $name: .*modules/libambit_$name.so" env AMBIT_MODULE_PATH=modules "$bin/ambit-train" doctor --device $name
done
expect 2 "expected a device .*got 'gpu'" train doctor --device gpu
expect 2 "device 'cuda:x'" gatekeeper --data good --device cuda:x
expect 2 "device 'cuda:-1'" detect --device cuda:-1 --schema good/tables.json in.jsonl

# --- where the output goes
expect 1 "good: cannot write: Is a directory" detect --schema good/tables.json in.jsonl -o good
expect 1 "nowhere/new.jsonl.part: cannot write: No such file" detect --schema good/tables.json in.jsonl -o nowhere/new.jsonl
expect 1 "in.jsonl.*: cannot make the folder: Not a directory" data practice -o in.jsonl
expect 1 "in.jsonl: cannot make the folder: Not a directory" gatekeeper --data good --out in.jsonl
expect 1 "in.jsonl: cannot make the folder: Not a directory" train export model -o in.jsonl
expect 1 "/dev/full: cannot write: No space left" detect --schema good/tables.json in.jsonl -o /dev/full
expect 1 "/dev/full: cannot write: No space left" data sql --schema good/tables.json good/test.jsonl -o /dev/full
for command in "train --help" "data man" "infer completion bash" "train inspect model" "train doctor --device cpu"; do
    to_full() { $command >/dev/full; }
    expect 1 "standard output" to_full
done
expect 1 "new.jsonl: cannot write: File too large" small_file data sql --schema good/tables.json good/test.jsonl -o new.jsonl
cat in.jsonl in.jsonl in.jsonl in.jsonl >four.jsonl
expect 1 "new.jsonl.part: cannot write: File too large" small_file infer detect --relevance all --device cpu --model model \
    --schema good/tables.json four.jsonl -o new.jsonl

# half COMMAND...: a folder that the command fills fails as the disk does, and holds no file of half its length
half() {
    mkdir -p new && expect_left "$@"
    rm -rf new
}
expect_left() {
    begin "$*"
    "$@" >shown 2>said </dev/null
    [ $? = 1 ] || complain "$*" "exit code is not 1"
    grep -qE "new.*: .*(File too large|No space left)" said || complain "$*" "does not say what could not be written"
    [ -z "$(find new -name '*.tmp' -o -name 'ambit.h5' -o -name 'model.safetensors')" ] || complain "$*" "left $(ls new)"
}
half small_file data practice -o new
half small_file train gatekeeper --data good --config good.yaml --device cpu --out new
half small_file train export model -o new
if [ "$(id -u)" = 0 ] && mkdir full && mount -t tmpfs -o size=64k tmpfs full 2>/dev/null; then
    for command in "data practice" "train export model" "train gatekeeper --data good --config good.yaml --device cpu"; do
        mkdir full/new
        ln -s full/new new
        expect_left $command -o new
        rm -rf full/new new
    done
    umount full
else
    echo "no small file system: a disk that is full is not tried"
fi

# A folder without write permission.  Root ignores permissions, so root becomes the user nobody.
mkdir locked programs && chmod 555 locked && chmod 755 . && cp "$bin"/ambit-* programs
other=()
[ "$(id -u)" = 0 ] && other=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if "${other[@]}" programs/ambit-data --version >shown 2>said; then
    expect 1 "locked/new.*: Permission denied" "${other[@]}" programs/ambit-data practice -o locked/new
    expect 1 "locked/new.*: Permission denied" "${other[@]}" programs/ambit-train export model -o locked/new
    expect 1 "locked/new.*: Permission denied" "${other[@]}" programs/ambit-train gatekeeper --data good --config good.yaml \
        --device cpu --out locked/new
    expect 1 "locked/new.jsonl.part: cannot write: Permission denied" "${other[@]}" programs/ambit-infer detect --device cpu \
        --model model --schema good/tables.json in.jsonl -o locked/new.jsonl
else
    echo "a folder that may not be written to is not tried: $(cat said)"
fi

finish

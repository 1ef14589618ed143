#!/usr/bin/env bash
# No command overwrites its input, under any name: exit code 2, a message that names the option, and unchanged inputs.  A
# command may replace its own output.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

# names PATH: the path, relative and absolute, and links to it
names() {
    ln -sfn "$PWD/$1" soft
    echo "$1" "./new/../$1" "$PWD/$1" soft
    [ -f "$1" ] && ln -f "$1" hard && echo hard
}

# some_names PATH: of these the first and one more, each time the next
turn=0
some_names() {
    local all
    read -ra all <<<"$(names "$1" | tr '\n' ' ')"
    echo "$1" "${all[1 + turn % (${#all[@]} - 1)]}"
}

# kept_from OPTION READ PATH COMMAND...: the command does not write to the path, which it reads as READ
kept_from() {
    local option=$1 as=$2 path=$3 name
    shift 3
    turn=$((turn + 1))
    for name in $(some_names "$path"); do
        expect 2 "$option: $name is an input of this command \($as\); choose another f" "$@" "$option" "$name"
    done
}

# keeps OPTION COMMAND...: the option cannot name any word of the command that is a file, nor a file of a word that is a
# folder
keeps() {
    local option=$1 before='' as word path
    shift
    for word; do
        as='[A-Z|a-z.]+'
        [[ $before != --* ]] || as=$before
        before=$word
        [ ! -f "$word" ] || kept_from "$option" "$as" "$word" "$@"
        [ -d "$word" ] || continue
        kept_from "$option" "$as" "$word" "$@"
        for path in "$word"/*; do
            [ ! -f "$path" ] || kept_from "$option" "$as" "$path" "$@"
        done
    done
}

# keeps_folders OPTION COMMAND...: the same of folders alone
keeps_folders() {
    local option=$1 before='' word
    shift
    for word; do
        [ ! -d "$word" ] || kept_from "$option" "$before" "$word" "$@"
        before=$word
    done
}

# --- the inputs; most commands refuse the output before they read them
data practice -o practice --seed 1 >/dev/null || exit 1
mkdir new dbs model base first second adapter prompts spider ambiqt folds
cp practice/db/bakery.sqlite dbs
mkdir dbs/nested && cp practice/db/bakery.sqlite dbs/nested/nested.sqlite
cp practice/tables.json tables.json
echo '{"id":"q","db_id":"bakery","question":"How many?","sql":"SELECT 1","query":"SELECT 1"}' |
    tee q.jsonl gold.jsonl pred.jsonl readings.jsonl more.jsonl train.jsonl strings.jsonl >sqls.jsonl
echo '{"id":"q","db_id":"bakery","question":"How many?","candidates":[{"sql":"SELECT 1","p":1}]}' >candidates.jsonl
echo '{}' | tee calibration.json synonyms.json table-synonyms.json >e2e.json
echo 'epochs: 1' >run.yaml
echo text >notes.txt
for file in model/ambit.h5 base/config.json base/model.safetensors adapter/adapter_model.safetensors prompts/def.txt \
    first/config.json second/config.json spider/tables.json spider/dev.json ambiqt/train.json folds/tables.json; do
    echo "$file" >$file
done
sums() { find . -type f ! -name shown ! -name said ! -name hard ! -path './new/*' -exec cksum {} + | sort -k 3; }
before=$(sums)

# --- files
keeps --out data sql q.jsonl --schema tables.json
keeps --out data execute q.jsonl --db dbs
keeps --out data infilling annotate q.jsonl --interpretations readings.jsonl --db dbs --prompt-dir prompts
keeps --out data infilling rewrite q.jsonl --db dbs
keeps --out data infilling substitute q.jsonl
keeps --out data candidates pred.jsonl --gold gold.jsonl --schema tables.json --calibration calibration.json
keeps --out data calibrate candidates.jsonl
keeps --per-example data score --gold gold.jsonl --pred pred.jsonl --tables tables.json --db dbs
keeps --out data ambiguate --spider spider --questions q.jsonl --schema tables.json --synonyms synonyms.json \
    --table-synonyms table-synonyms.json --db dbs --schema-strings strings.jsonl
keeps --out infer detect q.jsonl --model model --schema tables.json
keeps --out infer detect q.jsonl --model model --db dbs/bakery.sqlite
keeps --out infer ask q.jsonl --detector model --schema tables.json
keeps --out infer clarify --candidates candidates.jsonl --schema tables.json --db dbs
keeps --report infer clarify --candidates candidates.jsonl --db dbs
keeps --transcript infer clarify --interactive --candidates candidates.jsonl --db dbs
keeps --out infer clarify --interactive --replay readings.jsonl --db dbs
keeps --out infer infill q.jsonl --db dbs --defaults readings.jsonl --sqls sqls.jsonl --infilled more.jsonl \
    --prompt-dir prompts
keeps --out infer infill q.jsonl --db dbs --e2e e2e.json
keeps --out infer infill q.jsonl --db dbs --default-model first --model base --adapter adapter --sql-model second
keeps --out infer generate q.jsonl --model base --adapter adapter
keeps --out infer loss q.jsonl --model base --adapter adapter
keeps --out train export model --base first --format gguf-adapter

# --- folders, and the files that a command makes in one
keeps_folders --materialise data ambiguate --questions q.jsonl --db dbs --out new/made.jsonl
keeps_folders --out data contrast --ambiqt ambiqt --spider spider
keeps_folders --out train gatekeeper --data folds --encoder base
keeps_folders --out train infill --data train.jsonl --base base
keeps_folders --out train infill --data train.jsonl --tokenizer base
read_in_here() { expect 2 "--out: $1 is an input of this command \($2\); choose another file" "${@:3}"; }
cp q.jsonl new/all.jsonl
ln new/all.jsonl new/test.jsonl
read_in_here ./train.jsonl IN.jsonl data split train.jsonl -o .
read_in_here new/test.jsonl IN.jsonl data split new/all.jsonl -o new
cp spider/tables.json new/tables.json
ln -sf "$PWD/spider/tables.json" new/tables.json
read_in_here new/tables.json --spider data contrast --ambiqt ambiqt --spider spider -o new
echo text >new/tokenizer.json
read_in_here new/tokenizer.json FILE... train tokenizer notes.txt new/tokenizer.json --vocab 300 -o new
mkdir new/run && cp run.yaml new/run/config.yaml
read_in_here new/run/config.yaml --config train gatekeeper --data folds --config new/run/config.yaml -o new/run
expect 3 "folds/tables.json" train gatekeeper --data folds --config new/run/config.yaml -o new/run --resume

# --- a name that the output has on its way
cp q.jsonl new/out.jsonl.part
read_in_here new/out.jsonl.part IN.jsonl data execute new/out.jsonl.part --db dbs -o new/out.jsonl
cp q.jsonl new/out.jsonl.tmp
read_in_here new/out.jsonl.tmp IN.jsonl data split new/out.jsonl.tmp -o new/out.jsonl
rm new/out.jsonl.*

[ "$before" = "$(sums)" ] || complain "inputs" "$(diff <(echo "$before") <(sums) | head -c 900)"

# --- the files of a folder: the same command may write them again, another one needs --force
makes() { # FILE COMMAND...: the command makes the folder new/made with the file
    local file=$1
    shift
    rm -rf new/made
    expect 0 '' "$@" -o new/made && cp "$file" first.txt
    expect 0 '' "$@" -o new/made
    cmp -s "$file" first.txt || complain "$*" "not the same again"
    echo edited >>"$file" && cp "$file" edited.txt
    expect 2 "$file: exists with other contents; add --force to replace it, or choose another --out" "$@" -o new/made
    cmp -s "$file" edited.txt || complain "$*" "$file is another"
    expect 0 '' "$@" -o new/made --force
    cmp -s "$file" first.txt || complain "$*" "--force does not replace $file"
}
makes new/made/sql.txt data infilling prompts
makes new/made/db/bakery.sqlite data practice --seed 1
makes new/made/train.jsonl data split q.jsonl --valid-share 0 --test-share 0
makes new/made/tokenizer.json train tokenizer notes.txt --vocab 300
makes new/made/chat_template.jinja train tokenizer notes.txt --vocab 300
echo '{"db_id":"bakery","question":"What are the names of all bakers?","query":"SELECT name FROM baker"}' >plain.jsonl
altered() { data ambiguate --kinds C --questions plain.jsonl --db dbs --materialise "$2" -o altered.jsonl "${@:3}" >&2; }
makes new/made/bakery_column_baker_name.sqlite altered

# --- two outputs of one name, however it is written
echo x >new/taken
for name in new/both ./new/both new/../new/both "$PWD/new/both"; do
    expect 2 "--materialise: new/both is also the output of --out; choose another name" data ambiguate --kinds C \
        --questions plain.jsonl --db dbs --materialise new/both -o "$name"
done
ln -s "$PWD/new/taken" new/link
expect 2 "--transcript: new/taken is also the output of --out; choose another name" infer clarify --interactive \
    --candidates candidates.jsonl --db dbs --transcript new/taken -o new/link
expect 2 "--report: - is also the output of --out" infer clarify --simulate --candidates candidates.jsonl --db dbs --report -
[ "$(cat new/taken)" = x ] || complain new/taken "is written to"

# --- a command may replace its own output, also next to its input
again() { expect 0 '' "$@" && expect 0 '' "$@"; }
again data execute q.jsonl --db dbs -o new/found.jsonl
again data execute q.jsonl --db dbs -o dbs/found.jsonl
again data candidates candidates.jsonl -o new/sorted.jsonl --from plain
finish

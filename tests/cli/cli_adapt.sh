#!/usr/bin/env bash
# ambit-train adapt: a trained detector is adapted to a few labels by every method.  The same seed gives the same bits; detect
# and evaluate read the adapter; random draws; invalid labels, folders and adapters.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
: >log

data practice -o all --seed 3 >shown 2>said || fail "ambit-data practice"
tiny_detector encode=schema encoder-layers=2 batch=32 epochs=1 device=cpu compute=f32 >tiny.yaml
mkdir less
for fold in train valid test; do grep '"slice":"contrast"' all/$fold.jsonl | head -n 200 >less/$fold.jsonl; done
few_tables all/tables.json less/*.jsonl >less/tables.json
train gatekeeper --config tiny.yaml --data less --out base >table 2>said || fail "ambit-train gatekeeper: $(cat said)"
train gatekeeper --config tiny.yaml --data less --out other --seed 2 --max-train 32 >table 2>said || fail "ambit-train gatekeeper: $(cat said)"

mapfile -t named < <(sed -nE '/"slice":"contrast"/s/.*"source_db":"([^"]*)".*/\1/p' all/test.jsonl | sort -u | head -n 2)

# Questions of two databases: to adapt to and to ask, which share no text
sed -nE '/"slice":"contrast"/{/"source_db":"('"${named[0]}|${named[1]}"')"/s/^\{"id":("[^"]*"),"db_id":("[^"]*"),"source_db":("[^"]*"),"question":("([^"\\]|\\.)*").*"ambiguous":(true|false).*/{"id":\1,"db_id":\2,"source_db":\3,"question":\4,"ambiguous":\6}/p}' \
    all/test.jsonl >contrast.jsonl
few_tables all/tables.json contrast.jsonl >own.json
awk -F'"' '{ text = $16; if (!(text in half)) half[text] = n++ % 2; print >(half[text] ? "queries.jsonl" : "pool.jsonl") }' contrast.jsonl
{ grep '"ambiguous":true' pool.jsonl | head -n 6; grep '"ambiguous":false' pool.jsonl | head -n 6; } >support.jsonl
[ "$(wc -l <support.jsonl)" = 12 ] || fail "support.jsonl has $(wc -l <support.jsonl) lines"
# Labels that can be learnt: the likeliest six of the pool are ambiguous, the least likely are not
infer detect --model base --schema own.json pool.jsonl --relevance none --device cpu -o scores.jsonl 2>said || fail "ambit-infer detect: $(cat said)"
sed -nE 's/^\{"id":"([^"]*)".*"score":([0-9.e-]+),.*/\2 \1/p' scores.jsonl | sort -g | awk '{ print $2 }' >order
{
    grep -F -f <(tail -n 6 order) pool.jsonl | sed 's/"ambiguous":false/"ambiguous":true/'
    grep -F -f <(head -n 6 order) pool.jsonl | sed 's/"ambiguous":true/"ambiguous":false/'
} >told.jsonl
[ "$(wc -l <told.jsonl)" = 12 ] || fail "told.jsonl has $(wc -l <told.jsonl) lines"

# field NAME FILE: the number of the first field of that name
field() { sed -nE "s/.*\"$1\": *([^, ]*),?\$/\1/p" "$2" | head -n 1; }
# figure NAME: of the adapted detector, as adapt printed it
figure() { sed -nE "s/^adapted .* $1 ([0-9.]*).*/\1/p" shown; }
# near A B: to the digits that are printed
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a - b < 6e-4 && b - a < 6e-4) }'; }
adapt() { train adapt base --device cpu "$@"; }
own=(--schema own.json)

# --- each method: a small file, which leaves the base alone, comes out the same again, and is read by all
sum=$(cksum base/*)
told=(shown)
for method in threshold linear layer lora; do
    expect 0 '12 questions, [0-9]+ steps' adapt --support told.jsonl "${own[@]}" --queries queries.jsonl --method $method --steps 8 --lr 0.03 -o $method
    [ "$(ls $method)" = ambit.h5 ] || complain "$method" "left $(ls $method)"
    parts=$([ $method = lora ] && echo 4 || echo 12)
    steps=$(awk -v parts="$parts" '/^12 questions/ { print parts * 9 + $3 }' shown) # eight and one a part, and those of the whole
    [ $method = threshold ] || grep -q "^adapting: $steps done in" said || complain "$method" "does not tell of its $steps steps: $(cat said)"
    ap=$(figure AP) brier=$(figure Brier)
    awk -v method=$method '/^12 questions/ { exit !($16 + 0 <= $14 + 0 && $18 + 0 <= $16 + 0 && ($3 > 0 || method == "threshold")) }' shown ||
        complain "$method" "what is left out costs no less: $(cat shown)"
    cp $method/ambit.h5 first.h5
    expect 0 '12 questions' adapt --support told.jsonl "${own[@]}" --queries queries.jsonl --method $method --steps 8 --lr 0.03 -o $method
    cmp -s $method/ambit.h5 first.h5 || complain "$method" "other bits the second time"
    expect 0 '"ap"' train evaluate detector base --adapter $method --data queries.jsonl "${own[@]}" --device cpu --json
    { near "$ap" "$(field ap shown)" && near "$brier" "$(field brier shown)"; } ||
        complain "$method" "AP $ap and Brier $brier, of evaluate $(field ap shown) and $(field brier shown)"
    infer detect --model base --adapter $method/ambit.h5 "${own[@]}" queries.jsonl --relevance none --device cpu -o found-$method.jsonl 2>said ||
        complain "$method" "ambit-infer detect: $(cat said)"
    expect 0 '"ap"' train evaluate detector --predictions found-$method.jsonl --data queries.jsonl "${own[@]}" --json
    near "$ap" "$(field ap shown)" || complain "$method" "AP $ap, of detect's scores $(field ap shown)"
done
[ "$sum" = "$(cksum base/*)" ] || complain "the base" "has changed"
infer detect --model base "${own[@]}" queries.jsonl --relevance none --device cpu -o found.jsonl 2>said || fail "ambit-infer detect"
for method in linear layer lora; do
    cmp -s found.jsonl found-$method.jsonl && complain "$method" "detect says what the base says"
done
expect 0 '"ap"' train evaluate detector base --data queries.jsonl "${own[@]}" --device cpu --json
ap=$(field ap shown)
expect 0 '"ap"' train evaluate detector base --adapter threshold --data queries.jsonl "${own[@]}" --device cpu --json
near "$ap" "$(field ap shown)" || complain "threshold" "AP was $ap and is $(field ap shown): the order of scores changed"

# --- labels of a database by --db, as a table
sqlite3 shop.db 'CREATE TABLE shop (name TEXT, price REAL, cost REAL)'
printf '%s\n' question,ambiguous 'What is the price of a pen?,yes' 'How much is a pen?,yes' 'What is its name?,no' 'Which names are there?,no' >shop.csv
expect 0 '4 questions' adapt --support shop.csv --db shop.db -o shop
infer ask --db shop.db --detector base --adapter shop --device cpu --question 'How much is a pen?' >shown 2>said || complain "ask --adapter" "$(cat said)"

# --- LoRA takes few steps by itself
expect 0 '12 questions' adapt --support told.jsonl "${own[@]}" --method lora -o lora
grep -q "^adapting: $(awk '/^12 questions/ { print 4 * 9 + $3 }' shown) done in" said || complain "lora" "took other steps: $(cat said)"

# --- draws: a row for each number of labels that the pool can give; halves of one file, or two files
expect 0 '^3 repeats over [0-9]+ databases' adapt --support contrast.jsonl "${own[@]}" --repeats 3 --steps 2 --folds 2
for row in '0 +base +3' '4 +threshold +3' '12 +threshold +3' '12 +linear +3' '24 +linear'; do
    grep -qE "^$row" shown || complain "--repeats" "has no row $row: $(cat shown)"
done
grep -qE '^[0-9]+ +layer' shown && complain "--repeats" "trained a method beyond the one that was asked for"
sed -E 's/ +[^ ]+ \[[^]]*\] *$//' shown >once
expect 0 '^3 repeats' adapt --support contrast.jsonl "${own[@]}" --repeats 3 --steps 2 --folds 2
sed -E 's/ +[^ ]+ \[[^]]*\] *$//' shown | cmp -s - once || complain "--repeats" "others the second time"
expect 0 '"method": "layer"' adapt --support pool.jsonl --queries queries.jsonl "${own[@]}" --repeats 2 --steps 2 --folds 2 --method layer --json

# --- invalid input
told=(said)
expect 2 'elements: expected 0 or at least 16, got 9' train adapt run --support support.jsonl "${own[@]}" --elements 9 -o out
expect 2 'retriever needs --elements above 0' train adapt run --support support.jsonl "${own[@]}" --elements 0 --retriever "$gold/embed" -o out
expect 6 'nowhere/config.json: No such file' adapt --support support.jsonl "${own[@]}" --retriever nowhere -o out
expect 2 '--db or --schema, and not both' adapt --support support.jsonl -o out
expect 2 '--db or --schema, and not both' adapt --support support.jsonl "${own[@]}" --db shop.db -o out
expect 2 'expected --out or --repeats, and not both' adapt --support support.jsonl "${own[@]}"
expect 2 'expected --out or --repeats, and not both' adapt --support support.jsonl "${own[@]}" --repeats 2 -o out
expect 2 'method' adapt --support support.jsonl "${own[@]}" -o out --method all
expect 2 'holds a model' adapt --support support.jsonl "${own[@]}" -o other
expect 2 'base is an input of this command' adapt --support support.jsonl "${own[@]}" -o base
expect 2 'folds: expected 0 or at least 2, got 1' adapt --support support.jsonl "${own[@]}" --folds 1 -o out
expect 3 'expected 4 to 48 questions to adapt to, got 3' adapt --support <(head -n 3 support.jsonl) "${own[@]}" -o out
expect 3 'expected 4 to 48 questions to adapt to, got 49' adapt --support <(head -n 49 contrast.jsonl) "${own[@]}" -o out
expect 3 'got 6 and 0' adapt --support <(head -n 6 support.jsonl) "${own[@]}" -o out
expect 3 'share no question' adapt --support support.jsonl --queries contrast.jsonl "${own[@]}" -o out
expect 3 'share no question' adapt --support pool.jsonl --queries support.jsonl "${own[@]}" --repeats 2
sed 's/"question":"/&Please: /' support.jsonl >same-ids.jsonl
expect 3 'share no question' adapt --support support.jsonl --queries same-ids.jsonl "${own[@]}" -o out
expect 3 'none has both labels' adapt --support <(grep true pool.jsonl) "${own[@]}" --repeats 2
expect 3 '1 of 12 records are wrong' adapt --support <(sed '2s/true/"perhaps"/' support.jsonl) "${own[@]}" -o out
expect 3 'nowhere' adapt --support nowhere.jsonl "${own[@]}" -o out
expect 6 'nothing' train adapt nothing --support support.jsonl "${own[@]}" --device cpu -o out
expect 6 'expected an adapter of the detector with hash' train evaluate detector other --adapter linear --data queries.jsonl "${own[@]}" --device cpu
expect 6 'expected an adapter of the detector with hash' infer detect --model other --adapter lora "${own[@]}" queries.jsonl --device cpu
expect 6 'expected an adapter of ambit-train adapt' infer detect --model base --adapter other "${own[@]}" queries.jsonl --device cpu
expect 6 'got an adaptation of a detector \(a run of ambit-train adapt\), which --adapter takes' infer detect --model linear "${own[@]}" queries.jsonl --device cpu
head -c 600 linear/ambit.h5 >short.h5
expect 6 'short.h5' infer detect --model base --adapter short.h5 "${own[@]}" queries.jsonl --device cpu
expect 6 'nowhere' infer detect --model base --adapter nowhere "${own[@]}" queries.jsonl --device cpu
expect 2 'adapter and --predictions cannot be used together' train evaluate detector --predictions found.jsonl --adapter linear --data queries.jsonl "${own[@]}"
expect 2 'expected a detector, .* got --detector none' infer ask --db shop.db --detector none --adapter linear --question 'How much?'

finish

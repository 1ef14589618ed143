#!/usr/bin/env bash
# A ModernBERT from its Hugging Face folder (tests/gold/make_modern.py) is trained, killed and resumed, and exported as a folder
# that serves as an encoder again.  detect runs with it; the tagger refuses it.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
: >log
data practice -o all --seed 3 >/dev/null 2>said || fail "ambit-data practice: $(cat said)"
mkdir small
for fold in train:120 valid:40 test:40; do # contrast questions, then a few hard negatives
    { grep '"slice":"contrast"' "all/${fold%:*}.jsonl" | head -n "${fold#*:}"
        grep -v '"slice":"contrast"' "all/${fold%:*}.jsonl" | head -n 10; } >"small/${fold%:*}.jsonl"
done
few_tables all/tables.json small/*.jsonl >small/tables.json
cat >modern.yaml <<'END'
gat-hidden: 8
gat-heads: 2
pair-hidden: 8
batch: 16
epochs: 1
max-train: 64
save-every: 2
device: cpu
compute: f32
END
teach() { train gatekeeper --config modern.yaml --data small --encoder "$2" --out "$1" "${@:3}" >table 2>said; }

teach whole "$gold/modern" || fail "a run"
grep -q 'encoder: .*modern, ' said || complain "a run" "does not say which encoder"
teach parts "$gold/modern" &
pid=$!
while kill -0 $pid 2>/dev/null && ! compgen -G 'parts/checkpoint-*' >/dev/null; do
    sleep 0.05
done
pkill -9 -P $pid
wait $pid
teach parts "$gold/modern" --resume || fail "--resume"
cmp whole/ambit.h5 parts/ambit.h5 || complain "--resume" "other weights than in one go"

train export whole --format hf -o exported >/dev/null 2>said || fail "export: $(cat said)"
for want in '"model_type": *"modernbert"' '"ModernBertForSequenceClassification"' '"sliding_attention"' '"local_attention": *16'; do
    tr -d '\n' <exported/config.json | grep -qE -- "$want" || complain "config.json" "lacks $want"
done
grep -q '"TemplateProcessing"' exported/tokenizer.json || complain "tokenizer.json" "puts nothing around a text"
teach again exported || fail "an exported encoder"
grep -q 'encoder: .*/exported, ' said || complain "an exported encoder"

echo '{"id":1,"db_id":"gym","question":"What is the fee of each trainer?"}' >question.jsonl
sqlite3 gym.sqlite 'CREATE TABLE trainer (name TEXT, trainer_fee REAL, fee_of_trainer REAL)'
infer detect --model whole --db gym.sqlite --device cpu question.jsonl -o found.jsonl 2>said || fail "detect: $(cat said)"
grep -q '"score":0\.' found.jsonl || complain detect "$(cat found.jsonl)"

sed 's/"norm_bias": false/"norm_bias": true/' "$gold/modern/config.json" >biased.json
cp -r "$gold/modern" biased && cp biased.json biased/config.json
expect 6 'norm_bias: expected false, got true' train gatekeeper --config modern.yaml --data small --encoder biased --out no
mkdir spans
for fold in train valid test; do
    echo '{"id":"'$fold'","source":"own","db_id":"'$fold'","question":"What is the price of '$fold'?","type":"made","columns":[{"name":"price","type":"number"}],"spans":[{"start":12,"end":17,"label":"COL","alternatives":[{"column":0}]}]}' >spans/$fold.jsonl
done
expect 6 'model_type: expected "bert", which a tagger reads by' train tag --data spans --device cpu --encoder "$gold/modern" --out no
finish

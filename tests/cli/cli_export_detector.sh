#!/usr/bin/env bash
# ambit-train export --format detector: the files of the folder, the difference of its scores from the run's, the commands
# that read it, the mean of several runs, and bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
: >log

data practice -o all --seed 3 >shown 2>said || fail "ambit-data practice"
tiny_detector encoder-hidden=64 encoder-layers=2 encoder-intermediate=128 encode=schema batch=32 epochs=1 device=cpu >tiny.yaml
mkdir less
for fold in train valid test; do grep '"slice":"contrast"' all/$fold.jsonl | head -n 200 >less/$fold.jsonl; done
few_tables all/tables.json less/*.jsonl >less/tables.json
train gatekeeper --config tiny.yaml --data less --out run >table 2>said || fail "ambit-train gatekeeper: $(cat said)"

# export CODE TEXT ARGUMENTS...
export_() { check "export ${*:3}" "$1" "$2" train export "${@:3}"; }
bytes() { cat "$1"/* | wc -c; }
type_of() { train inspect "$1" | awk -v name="$2" '$1 == name { print $2 }'; } # FOLDER TENSOR

# --- the folder: no optimizer state, no checkpoint, no path of this machine
export_ 0 'detector: a detector with weights in int8' run --format detector -o detector
[ "$(cd detector && echo *)" = "ambit.h5 special_tokens_map.json tokenizer.json tokenizer_config.json" ] || complain detector "holds $(ls detector)"
train inspect detector >shown 2>said || complain detector "is not whole"
grep -qE 'adam_|adafactor_|state/' shown && complain detector "has state of the optimizer"
grep -qF "$work" shown && complain detector "names the folder $work"
grep -q '"weights": "int8"' shown || complain detector "does not say that its weights are in int8"
[ "$(type_of detector param/bert.embeddings.word_embeddings.weight)" = i8 ] || complain detector "words are not in int8"
[ "$(type_of detector scale/bert.embeddings.word_embeddings.weight)" = f32 ] || complain detector "words have no scales"
[ "$(type_of detector param/bert.embeddings.LayerNorm.weight)" = f32 ] || complain detector "vectors are not in f32"
export_ 0 'whole: a detector with weights in f32' run --format detector --weights f32 -o whole
export_ 0 'half: a detector with weights in bf16' run --format detector --weights bf16 -o half
export_ 0 'unfinished: a detector' run/checkpoint-* --format detector -o unfinished
[ "$(type_of half param/bert.embeddings.word_embeddings.weight)" = bf16 ] || complain half "words are not in bf16"
matrices=$((400 * 64 + 256 * 64)) # the least that int8 makes smaller, of words and places
[ $(($(bytes whole) - $(bytes detector))) -gt $((3 * matrices)) ] || complain detector "has $(bytes detector) bytes, in f32 $(bytes whole)"
export_ 0 'again: a detector' detector --format detector -o again
export_ 0 'detector: a detector' run --format detector -o detector

# --- its scores
# scores FOLDER [ARGUMENTS...]
scores() {
    infer detect --model "$1" --schema less/tables.json less/test.jsonl --relevance none --device cpu "${@:2}" 2>said |
        sed -nE 's/.*"score":([0-9.e-]+),.*/\1/p'
}
# apart FOLDER: the largest distance between its scores and the run's
apart() { paste <(scores run) <(scores "$1") | awk 'NF != 2 { bad = 1 } { d = $1 - $2; if (d < 0) d = -d; if (d > most) most = d } END { print bad || NR != 200 ? 1 : most + 0 }'; }
while read -r folder most; do
    begin "scores of $folder"
    distance=$(apart "$folder")
    awk -v d="$distance" -v most="$most" 'BEGIN { exit !(d <= most) }' || complain "$folder" "scores are $distance from those of the run, expected at most $most"
done <<'END'
whole 0
half 0.003
detector 0.02
again 0.02
END
[ "$(scores run | sort -u | wc -l)" -gt 50 ] || complain run "all scores are the same"

# --- the mean of several runs
train gatekeeper --config tiny.yaml --data less --out other --seed 2 >table 2>said || fail "ambit-train gatekeeper: $(cat said)"
params() { train inspect "$1" | awk '/^  (param|scale)\// { print $1, $NF }'; } # FOLDER: names and checksums
threshold() { train inspect "$1" | grep '"threshold"'; }
export_ 0 'mean: the mean of 2 models' run other --format detector -o mean
export_ 0 'swapped: the mean of 2 models' other run --format detector -o swapped
export_ 0 'itself: the mean of 3 models' run run run --format detector --weights f32 -o itself
begin "contents of mean"
[ "$(params mean)" = "$(params swapped)" ] || complain mean "depends on the order of its models"
[ "$(params mean)" != "$(params detector)" ] || complain mean "has the weights of its first model"
[ "$(threshold mean)" = "$(threshold run)" ] || complain mean "has the threshold $(threshold mean), expected its first model's"
[ "$(threshold swapped)" = "$(threshold other)" ] || complain swapped "has the threshold $(threshold swapped), expected its first model's"
[ "$(threshold run)" != "$(threshold other)" ] || complain run "has the threshold of the other run"
distance=$(apart itself)
awk -v d="$distance" 'BEGIN { exit !(d <= 1e-4) }' || complain itself "scores are $distance from those of the run"
[ "$(train inspect mean | grep -c '"data_hash"')" = 3 ] || complain mean "does not name the origin of both models"
[ "$(scores mean | sort -u | wc -l)" -gt 50 ] || complain mean "all scores are the same"
train gatekeeper --config tiny.yaml --gat-hidden 32 --data less --out narrow >table 2>said || fail "ambit-train gatekeeper: $(cat said)"
export_ 6 'narrow/ambit.h5: model: gat_hidden: expected [0-9]+ as in run/ambit.h5, got 32' run narrow --format detector -o new
export_ 2 'format hf: expected one DIR, got 2' run other --format hf -o new
mkdir renamed && cp mean/* renamed
sed -i 's/"the": /"teh": /' renamed/tokenizer.json
export_ 6 'renamed/ambit.h5: token [0-9]+: expected "the" as in mean/ambit.h5, got "teh"' mean renamed --format detector -o new

# --- the other commands that read a run
told=(shown)
expect 0 '"ap"' train evaluate detector detector --data less --device cpu --json
head -n 12 less/test.jsonl >support.jsonl
expect 0 '12 questions' train adapt detector --support support.jsonl --schema less/tables.json --device cpu --steps 2 -o fitted
expect 0 '^' infer detect --model detector --adapter fitted --schema less/tables.json support.jsonl --device cpu
told=(said)
expect 6 'expected an adapter of the detector with hash [0-9a-f]{16}, got one of [0-9a-f]{16}' infer detect --model run --adapter fitted --schema less/tables.json support.jsonl --device cpu
told=(shown)
head -n 1 support.jsonl >one.jsonl
expect 0 '"detector":\{' infer ask --detector detector --schema less/tables.json --candidates <(echo) one.jsonl -o -
told=(said)

# --- models that cannot be reduced
export_ 6 'less: expected ambit.h5 or a checkpoint-N folder' less --format detector -o new
export_ 6 'nothing: No such file' run nothing --format detector -o new
export_ 6 'nothing: No such file' nothing --format detector -o new
export_ 6 'fitted/ambit.h5: expected a run of ambit-train gatekeeper, got an adaptation of a detector' fitted --format detector -o new
export_ 2 'expected --format hf or detector, without --base and --verify' run --format detector --verify -o new
export_ 2 'expected --format hf or detector' run --format merged -o new
export_ 2 'weights: expected --format detector' run --format hf --weights int8 -o new
export_ 2 'f32.bf16.int8, got .int4' run --format detector --weights int4 -o new
yes 'How many singers are there?' | head -n 20 >lines.txt
run 0 train tokenizer lines.txt --vocab 280 -o words
echo '{"id": 1, "messages": [{"role": "user", "content": "How many?"}, {"role": "assistant", "content": "All"}]}' >data.jsonl
run 0 train infill --data data.jsonl --out language --epochs 1 --tokenizer words --method full --hidden 32 --heads 4 --groups 2 --layers 1 --intermediate 48
export_ 6 'language/ambit.h5: expected a run of ambit-train gatekeeper, got a language model' run language --format detector -o new
finish

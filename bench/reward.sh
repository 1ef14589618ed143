#!/usr/bin/env bash
# Trains a small language model to infill in minutes, then continues with reinforcement learning.  The records are AmbiQT's
# training questions of type C with short schemas, tested on held-out databases.  Prints the reward of the held-out records
# before and after, with bootstrap intervals over databases, and the recall by execution of `score`.
# usage: SPIDER=DIR AMBIQT=DIR bench/reward.sh OUT
# SPIDER holds tables.json, train_spider.json and db; AMBIQT holds two_col_synonyms.json.  Existing files in OUT are kept,
# and interrupted training is resumed.  TEACH and REWARD hold options of the two trainings.
set -euo pipefail
spider=$(realpath "${SPIDER:-../shared/data/spider}")
ambiqt=$(realpath "${AMBIQT:-../shared/data/ambiqt}")
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
mkdir -p "${1:?the folder to fill}/prompts" && cd "$1"
read -r -a teach <<<"${TEACH:---hidden 128 --layers 4 --heads 4 --groups 2 --intermediate 352 --batch 16 --epochs 1 --lr 2e-3}"
read -r -a reward <<<"${REWARD:---batch 16 --samples 8 --epochs 1 --lr 3e-4 --advantage plain --eval-every 20}"

# A short prompt saves tokens.
printf '{}\n\nQuestion: {}\n\nExisting:\n{}\n\nMissing:\n' >prompts/fill.txt

# make FILE COMMAND...: runs COMMAND, which writes FILE, unless FILE exists.  Accepts exit code 7: some records failed.
make() {
    local file=$1
    shift
    [ -e "$file" ] || "$bin/ambit-data" "$@" -o "$file" || [ $? = 7 ]
}

make ambiguous.jsonl ambiguate --kinds C --spider "$spider" --questions "$spider/train_spider.json" --db "$spider/db" \
    --synonyms "$ambiqt/two_col_synonyms.json" --materialise databases --published-databases
make readings.jsonl infilling rewrite ambiguous.jsonl --db databases
make records.jsonl infilling annotate readings.jsonl --db databases --context compact --prompt-dir prompts

# Keep prompts of at most 500 characters: a small model spends most of its time on prompts of 240 tokens.
awk -F '"content": ?"' '{ split($2, said, /","role"|", "role"|"}/) } length(said[1]) <= 500 && !/"error":/' records.jsonl >short.jsonl
make folds split short.jsonl --valid-share 0.1 --test-share 0.25
wc -l folds/*.jsonl

# Copy initialisation lets the model copy from the start.  Records with substituted words teach it the changes.
make other.jsonl infilling substitute folds/train.jsonl --copies 2 --seed 1
cat other.jsonl folds/train.jsonl >taught.jsonl
[ -e words ] || "$bin/ambit-train" tokenizer --vocab 2048 --split words -o words folds/train.jsonl
"$bin/ambit-train" infill --tokenizer words --initialisation copy --method full --compute f32 --data taught.jsonl --valid folds/valid.jsonl --max-valid 100 \
    -o taught --tokens 4096 --eval-every 100 --save-every 100 --resume "${teach[@]}"

"$bin/ambit-train" reward --base taught --method full --data folds/train.jsonl --valid folds/valid.jsonl --max-valid 300 --test folds/test.jsonl \
    --db databases --compute f32 --max-new 48 --tokens 4096 --save-every 20 -o rewarded --resume "${reward[@]}"

# measure NAME MODEL: prints the recall by execution of the held-out records with the model's infilled interpretations.
measure() {
    "$bin/ambit-infer" infill folds/test.jsonl --db databases --defaults folds/test.jsonl --sqls folds/test.jsonl --model "$2" \
        --context compact --prompt-dir prompts --max-new 48 -o "$1.jsonl"
    echo "$1"
    "$bin/ambit-data" score --rule dfpl --db databases --pred "$1.jsonl" || [ $? = 7 ]
}
measure before taught
measure after rewarded
echo "curves: $PWD/taught/report.html $PWD/rewarded/report.html"

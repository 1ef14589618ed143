#!/usr/bin/env bash
# Trains a small language model to write the SQL of every interpretation of a question.  From there it compares reward training
# with the same number of supervised steps.  The records are AmbiQT's questions of type C on Spider's training databases.  The
# schema of a prompt has the tables of the gold statements.  Prints recall and precision by execution on held-out databases,
# and paired differences with intervals by a bootstrap over databases.
# usage: SPIDER=DIR AMBIQT=DIR bench/reward.sh OUT
# SPIDER holds tables.json, train_spider.json and db; AMBIQT holds two_col_synonyms.json.  Existing files in OUT are kept, and
# interrupted training is resumed.
# TEACH        records of the supervised start, which all seeds share (default: 50000)
# SEEDS        seeds of reward training and of the supervised comparison (default: "1 2 3")
# STEPS        steps of both (default: 100)
# TARGET       e2e (default): statements alone, or pairs: each interpretation with its statement
# MODEL, REWARD, SUPERVISED    further options of the three trainings
set -euo pipefail
spider=$(realpath "${SPIDER:-../shared/data/spider}")
ambiqt=$(realpath "${AMBIQT:-../shared/data/ambiqt}")
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
table=$(realpath "$(dirname "$0")")/reward.py
read -r -a seeds <<<"${SEEDS:-1 2 3}"
teach=${TEACH:-50000}
steps=${STEPS:-100}
target=${TARGET:-e2e}
prompts=16 samples=8
mkdir -p "${1:?the folder to fill}/prompts" && cd "$1"
read -r -a model <<<"${MODEL:---hidden 128 --layers 4 --heads 4 --groups 2 --intermediate 352 --batch 16 --lr 2e-3}"
read -r -a reward <<<"${REWARD:---lr 3e-4 --eval-every 30}"
read -r -a supervised <<<"${SUPERVISED:---lr 3e-4 --eval-every 30}"
[ "$target" = pairs ] && longest=192 || longest=96

# made FILE COMMAND...: runs COMMAND, which writes FILE, unless FILE exists.  Accepts exit code 7: some records failed.
made() { [ -e "$1" ] || "$bin/ambit-data" "${@:2}" -o "$1" || [ $? = 7 ]; }
# written FILE COMMAND...: writes the output of COMMAND to FILE, unless FILE exists.  A failed command leaves no FILE.
written() { [ -e "$1" ] || { "${@:2}" >"$1.new" && mv "$1.new" "$1"; }; }

# --- records
printf '{}\n\nQuestion: {}\n\n' | tee prompts/pairs.txt >prompts/e2e.txt
made ambiguous.jsonl ambiguate --kinds C --spider "$spider" --questions "$spider/train_spider.json" --db "$spider/db" \
    --synonyms "$ambiqt/two_col_synonyms.json" --materialise databases --published-databases
made readings.jsonl infilling rewrite ambiguous.jsonl --db databases
made records.jsonl infilling annotate readings.jsonl --db databases --target "$target" --context compact --prompt-dir prompts

# Keeps the tables that the gold statements name.  Keeps records with a short prompt whose gold statements have at most 64
# characters and one SELECT: a small model learns these in minutes.
short() {
    sed -E '/"error":/d; s/"messages": ?\[\{"role": ?"user", ?"content": ?/"prompt":/; s/\}, ?\{"role": ?"assistant", ?"content": ?/,"completion":/; s/\}\]\}$/}/' records.jsonl |
        awk '{
            split("", named)
            long = 0
            for (rest = tolower($0); match(rest, /"sql": ?"([^"\\]|\\.)*"/); rest = substr(rest, RSTART + RLENGTH)) {
                if (RLENGTH > 64 + length("\"sql\":\"\"")) long = 1
                n = split(substr(rest, RSTART, RLENGTH), words, /[^a-z0-9_]+/)
                for (i = 1; i <= n; i++) { gsub(/_/, "", words[i]); named[words[i]] = 1 }
            }
            match($0, /"prompt":"/)
            from = RSTART + RLENGTH
            to = index($0, "\\n\\nQuestion: ")
            n = split(substr($0, from, to - from), lines, /\\n/)
            schema = ""
            for (i = 1; i <= n; i++) {
                name = tolower(substr(lines[i], 1, index(lines[i], ":") - 1))
                gsub(/[ _]/, "", name)
                if (name in named) schema = schema (schema == "" ? "" : "\\n") lines[i]
            }
            if (schema != "" && length(schema) < 220 && !long && tolower($0) !~ / join |\( ?select/) print substr($0, 1, from - 1) schema substr($0, to)
        }'
}
written short.jsonl short
made folds split short.jsonl --valid-share 0.1 --test-share 0.3
wc -l folds/*.jsonl
# Records with substituted words teach a small model to copy.
made words.jsonl infilling substitute folds/train.jsonl --copies 40 --seed 1
[ -e vocabulary ] || "$bin/ambit-train" tokenizer --vocab 2048 --split words -o vocabulary folds/train.jsonl

# drawn N SEED FILE...: N lines of the files in a random order.  Files with fewer lines are repeated.
drawn() {
    local i lines
    lines=$(cat "${@:3}" | wc -l)
    for ((i = 0; i * lines < $1; i++)); do cat "${@:3}"; done | shuf -n "$1" --random-source=<(yes "$2")
}
common=(--method full --compute f32 --tokens 4096 --save-every 20 --resume --epochs 1 --valid folds/valid.jsonl)
judged=(--db databases --max-new "$longest" --max-valid 200 --samples "$samples" --test folds/test.jsonl)

# --- the start
written taught.jsonl drawn "$teach" 1 words.jsonl folds/train.jsonl
"$bin/ambit-train" infill --tokenizer vocabulary --initialisation copy --data taught.jsonl --max-valid 100 --eval-every 200 -o start \
    "${common[@]}" "${model[@]}"

for seed in "${seeds[@]}"; do
    mkdir -p "$seed"
    # reward training
    written "$seed/rewarded.jsonl" drawn $((steps * prompts)) "$seed" folds/train.jsonl
    "$bin/ambit-train" reward --base start --data "$seed/rewarded.jsonl" --batch "$prompts" --seed "$seed" -o "$seed/rewarded" \
        "${common[@]}" "${judged[@]}" "${reward[@]}"
    # as many supervised steps, each on as many completions
    written "$seed/further.jsonl" drawn $((steps * prompts * samples)) "$seed" folds/train.jsonl words.jsonl
    "$bin/ambit-train" infill --base start --data "$seed/further.jsonl" --max-valid 100 --batch $((prompts * samples)) --seed "$seed" \
        -o "$seed/supervised" "${common[@]}" "${supervised[@]}"
    # The completions before the first step of a reward training are those of the supervised model.
    written "$seed/one.jsonl" head -n 1 folds/train.jsonl
    "$bin/ambit-train" reward --base "$seed/supervised" --data "$seed/one.jsonl" --batch 1 --seed "$seed" -o "$seed/measured" \
        "${common[@]}" "${judged[@]}"
    echo "seed $seed: $PWD/$seed/rewarded/report.html"
done
python3 "$table" folds/test.jsonl "${seeds[@]}" | tee table.md

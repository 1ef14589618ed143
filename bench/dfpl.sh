#!/usr/bin/env bash
# Computes the tables of "Disambiguate First, Parse Later" (Saparina and Lapata 2025) with any models.  The systems are
# end-to-end parsers, default interpretations, self-correction, infilling and gold interpretations.  Models are trained on
# AmbiQT (tables 1, 2 and 4), on AMBROSIA (table 5) or on both (table 6).  Each is tested on both corpora.  A corpus that a
# model was not trained on is unseen.  The commands that make a row stand below it.
# usage: bench/dfpl.sh OUT
# By default the script makes small corpora and a tiny model that memorises them.  This shows the commands; the scores mean
# nothing.  With MODEL, a Hugging Face folder, it runs the experiment of the paper.  Existing files in OUT are kept, and
# interrupted commands are resumed.
#   AMBIQT, AMBIQT_DB            training records and their databases: from ambit-data ambiguate --kinds C,T --materialise,
#                                or the authors' file interpretations_tbl_col_train.
#   AMBIQT_TEST, AMBIQT_TEST_DB  test records of ambit-data ambiguate, and their databases (default: a tenth of AMBIQT).
#   AMBROSIA, AMBROSIA_DB        ambrosia.csv, or rows with gold_queries and gold_interpretations, and their databases
#   AMBROSIA_TEST                test rows, as those of the official split; AMBROSIA is then for few-shot examples only
#                                (default: a part of AMBROSIA, split as published)
#   MODEL                        rewrites questions, writes default interpretations, and is the base of adapters
#   DEFAULT_MODEL                writes and corrects the default interpretations of test questions (default: MODEL)
#   SQL_MODEL                    writes SQL, also in the end-to-end rows without training (default: MODEL)
#   VALID_SQL_MODEL              writes SQL while checkpoints are compared (default: SQL_MODEL)
#   TRAINED_ON                   some of "ambiqt ambrosia both" (default: all that the given corpora allow)
#   ADAPTERS                     OUT of another run, whose corpora and adapters are used (tables 2 and 3)
#   PUBLISHED=1                  uses the authors' parser, filter and rule of comparison
#   ASK, TRAIN, WRITE            options of prompts (--context dump), of ambit-train infill (beside --preset), of generation
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
for name in AMBIQT AMBIQT_DB AMBIQT_TEST AMBIQT_TEST_DB AMBROSIA AMBROSIA_DB AMBROSIA_TEST MODEL DEFAULT_MODEL SQL_MODEL VALID_SQL_MODEL ADAPTERS; do
    if [ -n "${!name:-}" ]; then declare "$name=$(realpath "${!name}")"; fi
done
# refuse TEXT...: ends the script because of its variables.
refuse() {
    echo "$*" >&2
    exit 2
}
# needs NAME OTHER: a variable is of no use without another one.
needs() { [ -z "${!1:-}" ] || [ -n "${!2:-}" ] || refuse "$1=${!1}: expected $2 as well"; }
for pair in "AMBIQT AMBIQT_DB" "AMBIQT MODEL" "AMBIQT_TEST AMBIQT_TEST_DB" "AMBIQT_TEST AMBIQT" "AMBROSIA AMBROSIA_DB" \
    "AMBROSIA MODEL" "AMBROSIA_TEST AMBROSIA" "SQL_MODEL MODEL" "DEFAULT_MODEL MODEL" \
    "ADAPTERS MODEL"; do
    read -r name other <<<"$pair"
    needs "$name" "$other"
done
[ -z "${MODEL:-}" ] || [ -n "${AMBIQT:-}${AMBROSIA:-}" ] || refuse "MODEL=$MODEL: expected AMBIQT or AMBROSIA as well"
# sets: the training sets.  Without AMBIQT and AMBROSIA the script makes both.
corpora=(ambiqt ambrosia) allowed=(ambiqt ambrosia both)
if [ -n "${MODEL:-}" ]; then
    corpora=(${AMBIQT:+ambiqt} ${AMBROSIA:+ambrosia})
    allowed=(${AMBIQT:+ambiqt})
    if [ -n "${AMBROSIA:-}" ] && [ -z "${AMBROSIA_TEST:-}" ]; then allowed+=(ambrosia ${AMBIQT:+both}); fi
fi
read -ra sets <<<"${TRAINED_ON:-${allowed[*]}}"
for set in "${sets[@]}"; do
    [[ " ${allowed[*]} " == *" $set "* ]] || refuse "TRAINED_ON=$set: the given corpora allow ${allowed[*]:-nothing}"
done
mkdir -p "${1:?the folder to fill}" && cd "$1"

# some COMMAND...: runs COMMAND, and accepts exit code 7: some records failed.
some() { "$@" || [ $? = 7 ]; }
# done_by FILE COMMAND...: writes the output of COMMAND to FILE, unless FILE exists.  A failed command leaves no FILE.
done_by() { [ -e "$1" ] || { "${@:2}" >"$1.new" && mv "$1.new" "$1"; }; }
# together FOLDER...: links the databases of both corpora into one folder.
together() { mkdir -p db && find "$@" -name '*.sqlite' -exec ln -sf -t db {} +; }

# --- synthetic data: ten databases with questions from which AmbiQT records are made, ten others with rows in AMBROSIA's form
small_corpora() {
    local part db table one other
    [ -e practice ] || ambit-data practice -o practice >&2
    rm -f plain.*.jsonl
    while read -r part db table one; do
        echo "{\"db_id\": \"$db\", \"question\": \"What is the $one of each $table?\", \"query\": \"SELECT $one FROM $table\"}" >>"plain.$part.jsonl"
    done <<'END'
train airline aircraft maker
train bank account currency
train chess_club player country
train dog_kennel dog breed
train ferry_line port town
train railway station region
train taxi_company cab fuel
test music_label band style
test post_office parcel weight
test ski_resort slope difficulty
END
    while read -r db table one other; do
        echo "{\"db\": \"$db\", \"question\": \"Tell me about each $table.\", \"ambig_type\": \"vague\", \"is_ambiguous\": true, \"gold_queries\": [\"SELECT $one FROM $table\", \"SELECT $other FROM $table\"], \"gold_interpretations\": [{\"questions\": [\"Give the $one of each $table.\"]}, {\"questions\": [\"Give the $other of each $table.\"]}]}"
        echo "{\"db\": \"$db\", \"question\": \"Give the $one of each $table.\", \"ambig_type\": \"vague\", \"is_ambiguous\": false, \"gold_queries\": [\"SELECT $one FROM $table\"]}"
    done >ambrosia.rows.jsonl <<'END'
library author country birth_year
clinic doctor specialty salary
bakery bread flour weight
museum artist style birth_year
school teacher age office
cinema film genre duration
hotel room view beds
restaurant dish course calories
gym trainer fee specialty
brewery beer bitterness style
END
    for part in train test; do
        [ -e "ambiqt.$part.jsonl" ] || ambit-data ambiguate --kinds C --questions plain.$part.jsonl --db practice/db --seed 1 \
            --materialise "altered.$part" -o "ambiqt.$part.jsonl" >&2
    done
    AMBIQT=ambiqt.train.jsonl AMBIQT_DB=altered.train AMBIQT_TEST=ambiqt.test.jsonl AMBIQT_TEST_DB=altered.test
    AMBROSIA=ambrosia.rows.jsonl AMBROSIA_DB=practice/db
}

# lessons KIND: reads records whose gold statements have texts.  KIND sql makes each text a question; KIND def keeps each
# question with its first gold statement.
lessons() {
    awk -v kind="$1" '{
        match($0, /"db_id":"[^"]*"/); db = substr($0, RSTART, RLENGTH)
        match($0, /"question":"[^"]*"/); question = substr($0, RSTART + 12, RLENGTH - 13)
        for (rest = $0; match(rest, /\{"sql":"[^"]*","text":"[^"]*"\}/); rest = substr(rest, RSTART + RLENGTH)) {
            gold = substr(rest, RSTART, RLENGTH); split(gold, part, "\"")
            if (kind == "sql" && !seen[db, part[8]]++)
                print "{\"id\":" ++n "," db ",\"question\":\"" part[8] "\",\"golds\":[" gold "]}"
            if (kind == "def" && !seen[db, question]++)
                print "{\"id\":" ++n "," db ",\"question\":\"" question "\",\"golds\":[" gold "]}"
        }
    }'
}

# --- a tiny model that has memorised its three tasks: rewriting, default interpretations, and SQL
small_model() {
    mkdir -p prompts
    printf '{}\n\n{}\n\nReading:\n' | tee prompts/def.txt >prompts/gold.txt
    printf '{}\n\n{}\n\nSQL:\n' | tee prompts/sql.txt >prompts/e2e.txt
    printf '{}\n\n{}\n\n{}\n\nSQL:\n' >prompts/e2e-shots.txt
    printf '{}\n\n{}\n\n{}\n\nMissing:\n' >prompts/fill.txt
    printf '{}\n\n{}\n\n{}\n\nReading:\n' >prompts/correct.txt
    printf '{}\n\n{}\n\n' >prompts/rewrite.txt
    for file in ambiqt.train.jsonl ambiqt.test.jsonl ambrosia.rows.jsonl; do
        ambit-data infilling rewrite "$file" --db db
    done >known.jsonl
    lessons sql <known.jsonl >sql.lessons
    lessons def <known.jsonl >def.lessons
    # shellcheck disable=SC2086 # several options
    {
        ambit-data infilling annotate sql.lessons --db db --target e2e $ASK
        ambit-data infilling annotate def.lessons --db db --target gold $ASK
        ambit-infer infill ambiqt.train.jsonl --db db --write-prompts rewrite $ASK |
            sed -nE 's/^(.*"content":"What is the )([^"]*)( of each [^?]*\?)\\n\\n([^"\\]*)\\n\\n"\}\]\}$/\1\2\3\\n\\n\4\\n\\n"},{"role":"assistant","content":"What is the \4\3"}]}/p'
    } >school.jsonl
    ambit-train tokenizer school.jsonl --vocab 800 -o vocabulary --force
    ambit-train infill --tokenizer vocabulary --data school.jsonl -o tiny --method full --device cpu --hidden 64 --heads 2 \
        --groups 1 --layers 2 --intermediate 128 --epochs 60 --batch 4 --lr 4e-3 --resume
}

if [ -z "${MODEL:-}" ]; then
    export OMP_NUM_THREADS=1 # a model this small is fastest on one core
    ASK="--context compact --prompt-dir prompts"
    TRAIN="--head none --epochs 6 --batch 4 --lr 1e-2 --device cpu"
    WRITE="--max-new 48 --device cpu"
    small_corpora
    together "$PWD/altered.train" "$PWD/altered.test" "$PWD/practice/db"
    [ -e tiny/config.json ] || small_model
    MODEL=tiny
fi
for folder in "${AMBIQT_DB:-}" "${AMBIQT_TEST_DB:-}" "${AMBROSIA_DB:-}"; do
    [ -z "$folder" ] || together "$(realpath "$folder")"
done
: "${SQL_MODEL:=$MODEL}" "${VALID_SQL_MODEL:=$SQL_MODEL}" "${DEFAULT_MODEL:=$MODEL}" "${ASK=}" "${TRAIN=}" "${WRITE=}"
read -ra ask <<<"$ASK" && read -ra train <<<"$TRAIN" && read -ra write <<<"$WRITE"
published=()
[ -z "${PUBLISHED:-}" ] || published=(--published)

# step OUT COMMAND...: adds COMMAND to those of the row, and runs it unless OUT exists.
step() {
    commands+=("$(printf '%q ' "${@:2}")-o $1")
    [ -e "$1" ] || some "${@:2}" -o "$1"
}
# infill RECORDS OUT OPTION...: writes OUT with SQL of SQL_MODEL.
infill() { step "$2" ambit-infer infill "$1" --db db --sql-model "$SQL_MODEL" "${published[@]}" "${ask[@]}" "${write[@]}" --resume "${@:3}"; }
# annotate RECORDS OUT OPTION...: writes training examples.
annotate() { step "$2" ambit-data infilling annotate "$1" --db db "${published[@]}" "${ask[@]}" "${@:3}"; }

# --- stage 0: the model rewrites AmbiQT's questions for each gold statement, in at most five attempts; then the splits.
# Gold statements of test records get their texts by rules, because texts that a model's SQL has accepted are no upper bound.
commands=()
for corpus in "${corpora[@]}"; do
    [ -z "${ADAPTERS:-}" ] || ln -sfn "$ADAPTERS/$corpus" "$corpus"
done
if [ -n "${AMBIQT:-}" ] && [ -z "${ADAPTERS:-}" ]; then
    if [ "$(head -c 1 "$AMBIQT")" = "[" ]; then
        annotate "$AMBIQT" rewritten.jsonl --target gold
    else
        infill "$AMBIQT" rewritten.jsonl --rewrite-model "$MODEL" --temperature 0.5 --seed 42
    fi
    [ -e ambiqt ] || ambit-data split rewritten.jsonl ${AMBIQT_TEST:+--test-share 0} -o ambiqt
    if [ -n "${AMBIQT_TEST:-}" ]; then
        [ -e tested.jsonl ] || ambit-data infilling rewrite "$AMBIQT_TEST" --db db -o tested.jsonl
        done_by ambiqt/tested.jsonl grep -vE '^\{"id":"[^"]*-plain"' tested.jsonl
    else
        ln -sf test.jsonl ambiqt/tested.jsonl
    fi
fi
if [ -n "${AMBROSIA_TEST:-}" ] && [ -z "${ADAPTERS:-}" ]; then
    mkdir -p ambrosia
    ln -sf "$AMBROSIA" ambrosia/train.jsonl
    ln -sf "$AMBROSIA_TEST" ambrosia/tested.jsonl
elif [ -n "${AMBROSIA:-}" ] && [ -z "${ADAPTERS:-}" ]; then
    [ -e ambrosia ] || ambit-data split "$AMBROSIA" --published -o ambrosia
    ln -sf test.jsonl ambrosia/tested.jsonl
fi

# --- stages 1 to 3: default interpretations with their SQL, one per distinct result; training examples of each system
# examples CORPUS: writes CORPUS/FOLD.TARGET.all.jsonl.
examples() {
    local fold target
    for fold in train valid; do
        infill "$1/$fold.jsonl" "$1/$fold.default.jsonl" --default-model "$MODEL"
        annotate "$1/$fold.jsonl" "$1/$fold.infill.all.jsonl" --interpretations "$1/$fold.default.jsonl"
        for target in e2e gold; do annotate "$1/$fold.jsonl" "$1/$fold.$target.all.jsonl" --target $target; done
    done
}
for corpus in "${corpora[@]}"; do
    [[ " ${sets[*]} " != *" $corpus "* && " ${sets[*]} " != *" both "* ]] || examples "$corpus"
done

# --- stage 4: three adapters of each set; --select recall keeps the checkpoint with the best execution recall on validation
# databases
# adapter SET TARGET: trains SET.TARGET, and remembers the command.
adapter() {
    local from=("$1") preset=dfpl fold learn
    if [ -n "${ADAPTERS:-}" ]; then
        ln -sfn "$ADAPTERS/$1.$2" "$1.$2"
        learnt[$1.$2]=$(<"$ADAPTERS/$1.$2.command")
        return
    fi
    [ "$1" != both ] || from=("${corpora[@]}")
    [ "$2" = infill ] || preset=dfpl-$2
    mkdir -p "$1"
    for fold in train valid; do
        done_by "$1/$fold.$2.jsonl" grep -hv '"error":' "${from[@]/%//$fold.$2.all.jsonl}"
    done
    learn=(ambit-train infill --base "$MODEL" --preset "$preset" --data "$1/train.$2.jsonl" --valid "$1/valid.$2.jsonl" --select recall
        --db db --sql-model "$VALID_SQL_MODEL" "${ask[@]}" "${train[@]}" -o "$1.$2" --resume)
    "${learn[@]}"
    learnt[$1.$2]=$(printf '%q ' "${learn[@]}" | tee "$1.$2.command")
}

# --- stages 5 and 6: the systems; each writes NAME.jsonl, where NAME has the corpus and the set of its model

# row SYSTEM NAME: scores NAME.jsonl, and keeps the commands that made it.
row() {
    local judge=(ambit-data score --rule dfpl --db db "${published[@]}" --pred "$2.jsonl")
    commands+=("$(printf '%q ' "${judge[@]}")")
    printf '%s\n' "${commands[@]}" >"$2.commands"
    done_by "$2.score" some "${judge[@]}"
    rows[$1]=$2
    commands=()
}
# answer NAME STAGE MODEL OPTION...: writes the prompts of a stage and their completions NAME.answers.  ADAPTER is a folder.
answer() {
    step "$1.prompts" ambit-infer infill "$tested" --db db --write-prompts "$2" "${ask[@]}" "${@:4}"
    step "$1.answers" ambit-infer generate "$1.prompts" --model "$3" ${ADAPTER:+--adapter "$ADAPTER"} "${write[@]}" --resume
}
# end_to_end NAME: reads the SQL of all interpretations.
end_to_end() { step "$1.jsonl" ambit-infer infill "$tested" --db db --e2e "$1.answers" "${published[@]}"; }
gold_answers() { sed -nE 's/^\{"id":("[^"]*"|[0-9]+),.*"target":("([^"\\]|\\.)*").*/{"id":\1,"text":\2}/p' "$1"; }

# untrained CORPUS: the systems without training.
untrained() {
    local tested=$1/tested.jsonl
    commands=()
    answer "$1.zero-shot" e2e "$SQL_MODEL"
    end_to_end "$1.zero-shot"
    row "end-to-end, zero-shot" "$1.zero-shot"
    answer "$1.few-shot" e2e "$SQL_MODEL" --examples "$1/train.jsonl" --shots 3 --seed 42
    end_to_end "$1.few-shot"
    row "end-to-end, few-shot" "$1.few-shot"
    infill "$tested" "$1.default.jsonl" --default-model "$DEFAULT_MODEL"
    row "default interpretations" "$1.default"
    infill "$tested" "$1.corrected.jsonl" --defaults "$1.default.jsonl" --correct-model "$DEFAULT_MODEL"
    row "with self-correction" "$1.corrected"
    annotate "$tested" "$1/tested.gold.jsonl" --target gold
    done_by "$1/tested.answers" gold_answers "$1/tested.gold.jsonl"
    infill "$tested" "$1.gold.jsonl" --defaults "$1/tested.answers"
    row "gold interpretations given" "$1.gold"
}

# trained CORPUS SET: the systems with adapters.
trained() {
    local tested=$1/tested.jsonl name=$1.after-$2
    commands=("${learnt[$2.e2e]}")
    ADAPTER=$2.e2e answer "$name.e2e" e2e "$MODEL"
    end_to_end "$name.e2e"
    row "end-to-end, trained" "$name.e2e"
    commands=("${learnt[$2.gold]}")
    ADAPTER=$2.gold answer "$name.gold" gold "$MODEL"
    infill "$tested" "$name.gold.jsonl" --defaults "$name.gold.answers"
    row "gold interpretations, trained" "$name.gold"
    commands=("${learnt[$2.infill]}")
    infill "$tested" "$name.infill.jsonl" --defaults "$1.default.jsonl" --model "$MODEL" --adapter "$2.infill"
    row "with infilling" "$name.infill"
}

# --- the tables: means over questions, with confidence intervals over databases
systems=("end-to-end, zero-shot" "end-to-end, few-shot" "end-to-end, trained" "gold interpretations, trained" "default interpretations"
    "with self-correction" "with infilling" "gold interpretations given")
# table CORPUS CLASS: prints the rows of a class of questions, each with its commands.
table() {
    local system name
    for system in "${systems[@]}"; do
        name=${rows[$system]}
        grep -q "^$2 *[1-9]" "$name.score" || continue
        awk -v class="$2" -v row="$(printf '%-9s %-29s' "$1" "$system")" -v first="$([ "$system" != "${systems[0]}" ] || echo 1)" '
            NR == 1 && first { sub(/^ *n/, ""); printf "%-9s %-29s %5s%s\n", "tested on", "system", "n", $0 }
            $1 == class { n = $2; sub(/^[a-z]+ +[0-9]+/, ""); printf "%s %5d%s\n", row, n, $0 }' "$name.score"
        awk '{ printf "%s%s", NR == 1 ? "    " : " && ", $0 } END { print "" }' "$name.commands"
    done
}

declare -A learnt title=([ambiqt]="tables 1 and 2" [ambrosia]="table 5, and AmbiQT unseen" [both]="table 6")
declare -A clear=([ambiqt]="table 4" [ambrosia]="as table 4" [both]="as table 4")
for set in "${sets[@]}"; do
    for target in infill e2e gold; do adapter "$set" $target; done
    for class in ambiguous unambiguous; do
        [ $class = ambiguous ] && tables=${title[$set]} || tables=${clear[$set]}
        printf '\n%s questions, trained on %s (%s)\n' $class "$set" "$tables"
        for corpus in "${corpora[@]}"; do
            declare -A rows=()
            untrained "$corpus"
            trained "$corpus" "$set"
            table "$corpus" $class
        done
    done
done

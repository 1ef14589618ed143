#!/usr/bin/env bash
# bench/dfpl.sh with its tiny model: every row of the tables of "Disambiguate First, Parse Later" from end to end.  Also the
# commands that make a row, another run over the same folder, the authors' file and rule, and wrong variables.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
told=(shown said)
export AMBIT_BIN=$bin
dfpl() { bash "$root/bench/dfpl.sh" "$@"; }
unset AMBIQT AMBIQT_DB AMBIQT_TEST AMBIQT_TEST_DB AMBROSIA AMBROSIA_DB AMBROSIA_TEST MODEL SQL_MODEL VALID_SQL_MODEL DEFAULT_MODEL ADAPTERS TRAINED_ON PUBLISHED ASK TRAIN WRITE

# rows SYSTEM: the rows of a system, without the spaces of the table
rows() { grep -E "^(ambiqt|ambrosia) +$1 +[0-9]" table | tr -s ' '; }

run 0 dfpl out
cp shown table
[ "$(grep -cE '^(ambiqt|ambrosia) ' table)" = 72 ] || complain "rows" "expected 24 for each of three sets, got $(grep -cE '^(ambiqt|ambrosia) ' table)"
for set in ambiqt ambrosia both; do
    for class in ambiguous unambiguous; do
        grep -q "^$class questions, trained on $set (" table || complain "$set, $class" "no table"
    done
done
for system in 'end-to-end, zero-shot' 'end-to-end, few-shot' 'end-to-end, trained' 'gold interpretations, trained' 'default interpretations' \
    'with self-correction' 'with infilling' 'gold interpretations given'; do
    [ "$(rows "$system" | wc -l)" = 9 ] || complain "$system" "expected 9 rows: $(rows "$system")"
done
point ok "a row of each system for each set, corpus and class of questions"

# All systems are scored on the same questions, and gold interpretations are the upper bound.
[ "$(grep -E '^ambiqt ' table | cut -c 40-46 | sort -u | tr -d ' ')" = 3 ] || complain "questions of AmbiQT" "$(grep -E '^ambiqt ' table)"
[ "$(grep -E '^ambrosia ' table | cut -c 40-46 | sort -u | tr -d ' ')" = 1 ] || complain "questions of AMBROSIA" "$(grep -E '^ambrosia ' table)"
rows 'gold interpretations given' | grep -vE '^[a-z]+ gold interpretations given [13]( 1\.0000 \[(-|1\.0000, 1\.0000)\]){5} ?$' >left
[ ! -s left ] || complain "the upper bound" "$(cat left)"
rows 'default interpretations' | grep -qE '^ambiqt .* 3 0\.5000 ' || complain "default interpretations" "$(rows 'default interpretations')"

# Each row has its commands below it: whole, with the settings of the paper for its target.
awk '/^(ambiqt|ambrosia) / { getline below; print (below ~ /^    ambit-.* && ambit-data score --rule dfpl .*--pred [^ ]*\.jsonl *$/) ? "yes" : "no: " $0 }' table | grep no
[ $? = 1 ] || complain "commands" "a row without"
for pair in 'end-to-end, trained:dfpl-e2e' 'gold interpretations, trained:dfpl-gold' 'with infilling:dfpl'; do
    [ "$(grep -A1 -E "^[a-z]+ +${pair%:*}" table | grep -c -- "ambit-train infill .*--preset ${pair#*:} .*--select recall")" = 9 ] || complain "$pair" "not the preset of the target"
done
grep -A1 -E '^[a-z]+ +with self-correction' table | grep -q -- '--correct-model' || complain "self-correction" "no command"
[ "$(grep -c 'Example 3:' out/ambiqt.few-shot.prompts)" = 3 ] || complain "few-shot" "not three examples in each prompt"
point ok "commands of each row"

# databases FILE: the unchanged databases of its records
databases() { grep -ohE '"(source_db|db)": ?"[^"]*"' "$@" | sed 's/.*: *//' | sort -u; }
for pair in 'ambiqt ambrosia' 'ambrosia ambiqt' 'ambiqt ambiqt' 'ambrosia ambrosia'; do
    read -r from to <<<"$pair"
    [ -z "$(comm -12 <(databases "out/$from"/{train,valid}.jsonl) <(databases "out/$to/tested.jsonl"))" ] || complain "$pair" "a test database in the training data"
done
point ok "test databases are unseen"

# The commands of a row make it again, byte for byte.
commands=$(grep -A1 -E '^ambrosia +with infilling' table | sed -n '2s/^ *//p')
mkdir kept && mv out/ambrosia.after-ambiqt.infill.{jsonl,score} out/ambiqt.infill kept
(cd out && PATH=$bin:$PATH bash -euc "$commands" >score.again 2>said) || complain "commands of a row" "$(tail -n 3 said)"
cmp out/score.again kept/ambrosia.after-ambiqt.infill.score || complain "commands of a row" "another score"
cmp out/ambiqt.infill/adapter_model.safetensors kept/ambiqt.infill/adapter_model.safetensors || complain "commands of a row" "another adapter"
run 0 dfpl out
cmp -s shown table || complain "the same folder" "another table: $(diff shown table | head -n 5)"

# --- variables that do not fit
while IFS='|' read -r text variables; do
    read -ra settings <<<"$variables"
    run 2 env "${settings[@]}" bash "$root/bench/dfpl.sh" new
    grep -qF -- "$text" said || complain "$variables" "expected $text: $(cat said)"
    [ ! -e new ] || complain "$variables" "leaves a folder"
done <<'END'
expected AMBIQT_DB as well|AMBIQT=table MODEL=out/tiny
expected MODEL as well|AMBIQT=table AMBIQT_DB=out
expected AMBIQT as well|AMBIQT_TEST=table AMBIQT_TEST_DB=out
expected AMBROSIA as well|AMBROSIA_TEST=table
expected AMBROSIA_DB as well|AMBROSIA=table MODEL=out/tiny
expected MODEL as well|SQL_MODEL=out/tiny
expected MODEL as well|ADAPTERS=out
expected AMBIQT or AMBROSIA as well|MODEL=out/tiny
TRAINED_ON=ambrosia: the given corpora allow ambiqt|AMBIQT=table AMBIQT_DB=out MODEL=out/tiny TRAINED_ON=ambrosia
TRAINED_ON=both: the given corpora allow nothing|AMBROSIA=table AMBROSIA_TEST=table AMBROSIA_DB=out MODEL=out/tiny TRAINED_ON=both
END

# --- by night: corpora and models of others
[ -n "${AMBIT_TEST_ALL:-}" ] || finish

# The authors' file, parser, filter and rule; AMBROSIA unseen, with test rows of its own.  The authors skip two records.
awk '{
    match($0, /"db_file":"[^"]*"/); file = substr($0, RSTART + 11, RLENGTH - 12)
    match($0, /"question":"[^"]*"/); question = substr($0, RSTART + 12, RLENGTH - 13)
    for (i = 1; i <= 2; i++) {
        match($0, "\"query" i "\":\"[^\"]*\""); sql[i] = substr($0, RSTART + 10, RLENGTH - 11)
        split(sql[i], word, " "); text[i] = "What is the " word[2] " of each " word[4] "?"
    }
    printf "%s{\"db_file\": \"x/%s\", \"db_dump\": \"\", \"question\": \"%s\", \"interpretations\": [[\"%s\", true], [\"%s\", %s]], \"gold_queries\": [\"%s\", \"%s\"], \"is_ambiguous\": true}",
        NR == 1 ? "[" : ",\n", file, question, text[1], text[2], NR == 7 ? "false" : "true", sql[1], sql[2]
} END { print "]" }' out/ambiqt.train.jsonl >interpretations_tbl_col_train
head -n 12 out/ambrosia.rows.jsonl >shots.jsonl
tail -n 6 out/ambrosia.rows.jsonl >asked.jsonl
theirs=(env MODEL=out/tiny AMBIQT=interpretations_tbl_col_train AMBIQT_DB=out/altered.train AMBIQT_TEST=out/ambiqt.test.jsonl AMBIQT_TEST_DB=out/altered.test
    AMBROSIA=shots.jsonl AMBROSIA_TEST=asked.jsonl AMBROSIA_DB=out/practice/db ASK="--context compact --prompt-dir $PWD/out/prompts"
    TRAIN="--head none --epochs 1 --lr 1e-2 --device cpu" WRITE="--max-new 32 --device cpu" PUBLISHED=1 OMP_NUM_THREADS=1)
run 0 "${theirs[@]}" bash "$root/bench/dfpl.sh" theirs
[ "$(grep -cE '^ambiqt .* 3 ' shown)$(grep -cE '^ambrosia .* 3 ' shown)" = 816 ] || complain "the authors' file" "$(grep -E '^ambi|^ambr' shown)"
[ "$(grep -c -- '--published' shown)" = "$(grep -c '^    ' shown)" ] || complain "PUBLISHED" "a row without the authors' rule"
grep -q 'skips the first 2 records' theirs/rewritten.jsonl || complain "PUBLISHED" "does not skip two records"
[ "$(cat theirs/ambiqt/{train,valid}.jsonl | wc -l)" = 4 ] || complain "the authors' file" "not four of seven records"
point ok "the authors' file and rule"

# Other models with the corpora and adapters of another run (tables 2 and 3); the same models give the same rows.
others=(env MODEL=out/tiny DEFAULT_MODEL=out/tiny ADAPTERS=out AMBIQT=out/ambiqt.train.jsonl AMBIQT_DB=out/altered.train AMBIQT_TEST=out/ambiqt.test.jsonl
    AMBIQT_TEST_DB=out/altered.test ASK="--context compact --prompt-dir $PWD/out/prompts" WRITE="--max-new 48 --device cpu" OMP_NUM_THREADS=1)
run 0 "${others[@]}" TRAINED_ON=ambiqt bash "$root/bench/dfpl.sh" others
grep -E '^ambiqt ' shown >left
sed -n '/^ambiguous.*on ambiqt/,/^unambiguous/p' table | grep -E '^ambiqt ' >right
{ [ -s left ] && cmp -s left right; } || complain "ADAPTERS" "other rows: $(diff left right)"
point ok "adapters of another run"
finish

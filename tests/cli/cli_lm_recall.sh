#!/usr/bin/env bash
# Validation by recall: a small model learns the infilling records of one database by heart, recall rises from nothing,
# and what is kept is the model of the best recall, of those the one of the lowest loss, though others have a lower one.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

made() { data "$@" >>log 2>&1 || fail "ambit-data $*"; }

# --- records of one database
cat >questions.json <<'END_OF_QUESTIONS'
[{"db_id": "bakery", "question": "What are the names of all bakers?", "query": "SELECT name FROM baker"},
 {"db_id": "bakery", "question": "List the shift of each baker.", "query": "SELECT shift FROM baker"},
 {"db_id": "bakery", "question": "In which year was each baker hired?", "query": "SELECT hire_year FROM baker"},
 {"db_id": "bakery", "question": "What is the flour of each bread?", "query": "SELECT flour FROM bread"},
 {"db_id": "bakery", "question": "Give the weight of every bread.", "query": "SELECT weight FROM bread"},
 {"db_id": "bakery", "question": "What does each bread cost?", "query": "SELECT price FROM bread"}]
END_OF_QUESTIONS
made practice -o all --seed 1
made ambiguate --kinds C --questions questions.json --tables all/tables.json --db all/db --seed 1 --materialise dbs -o ambiguous.jsonl
made reword ambiguous.jsonl --db dbs --seed 1 -o readings.jsonl
made annotate readings.jsonl --db dbs --context compact -o records.jsonl
sed -nE '1,4s/("role": ?"assistant", ?"content": ?")([^"\\]|\\.)*"/\11. A reading that nobody learns."/p' records.jsonl >unlearnt.jsonl
[ "$(grep -c 'nobody learns' unlearnt.jsonl)" = 4 ] || fail "records that are not learnt: $(cat unlearnt.jsonl)"
cat records.jsonl unlearnt.jsonl >valid.jsonl
"$bin/ambit-train" tokenizer records.jsonl --vocab 500 -o words 2>>log || fail "tokenizer"

# --- learnt by heart
"$bin/ambit-train" infill --tokenizer words --method full --hidden 64 --heads 2 --groups 1 --layers 2 --intermediate 128 --device cpu --data records.jsonl --valid valid.jsonl --out run --select recall --max-new 48 --epochs 60 --batch 2 --lr 4e-3 >>log 2>&1 || fail "training"

# Lines "step loss recall" of every validation.
sed -nE 's/.*"step":([0-9]+),.*"valid_loss":([^,]*),"valid_recall":([^,}]*).*/\1 \2 \3/p' run/metrics.jsonl >valid
[ "$(wc -l <valid)" = 60 ] || fail "60 validations wanted: $(cat valid)"
read -r best loss recall < <(sort -s -k3,3gr -k2,2g valid | head -n 1)
read -r other other_loss _ < <(sort -k2,2g valid | head -n 1)
awk -v r="$recall" 'NR == 1 { first = $3 } END { exit !(first == 0 && r >= 0.5) }' valid || fail "recall does not rise from 0: $(cat valid)"
[ "$best" != "$other" ] || fail "the best recall has the lowest loss, so this shows nothing: $(cat valid)"
awk -v a="$loss" -v b="$other_loss" 'BEGIN { exit !(a > 1.01 * b) }' || fail "losses $loss and $other_loss are too close to tell steps apart"

# --- what is kept: by its report and by its loss
tr -d '\n' <run/report.html | grep -qE "best step(<[^>]*>)+$best<" || fail "the report's best step is not $best"
"$bin/ambit-infer" loss --model run --device cpu valid.jsonl -o said.jsonl 2>>log || fail "loss"
awk -F '[:,}]' -v want="$loss" '{ for (i = 1; i < NF; i++) { if ($i == "\"nll\"") nll += $(i + 1); if ($i == "\"tokens\"") n += $(i + 1) } }
    END { d = nll / n - want; exit !(d < 1e-4 * want && d > -1e-4 * want) }' said.jsonl || fail "the model kept does not have the loss $loss of step $best: $(cat said.jsonl)"
echo "recall $recall at step $best with loss $loss is kept, not step $other with loss $other_loss"

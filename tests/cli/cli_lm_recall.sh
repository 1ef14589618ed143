#!/usr/bin/env bash
# Validation by recall: a small model learns the infilling records of one database by heart, so the recall by execution rises.
# The model with the best recall is kept, and among equals the one with the lowest loss.  Other steps may have a lower loss.
# The recall is the one that ambit-infer infill and ambit-data score find.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
# shellcheck source=tests/support/lm_records.sh
. "$support/lm_records.sh"

# --- records of one database
bakery_records records.jsonl
grep '"ambiguous":false' records.jsonl | sed -nE 's/("role": ?"assistant", ?"content": ?")([^"\\]|\\.)*"/\11. A reading that nobody learns."/p' >unlearnt.jsonl
[ "$(grep -c 'nobody learns' unlearnt.jsonl)" -gt 0 ] || fail "records that are not learnt: $(cat unlearnt.jsonl)"
cat records.jsonl unlearnt.jsonl >valid.jsonl
"$bin/ambit-train" tokenizer records.jsonl --vocab 500 -o words 2>>log || fail "tokenizer"

# --- learnt by heart
"$bin/ambit-train" infill --tokenizer words --method full --hidden 64 --heads 2 --groups 1 --layers 2 --intermediate 128 --device cpu --data records.jsonl --valid valid.jsonl --out run --select recall --db dbs --sqls records.jsonl --max-new 48 --epochs 60 --batch 2 --lr 4e-3 >>log 2>&1 || fail "training"

# Lines "step loss recall" of every validation.
sed -nE 's/.*"step":([0-9]+),.*"valid_loss":([^,]*),"valid_recall":([^,}]*).*/\1 \2 \3/p' run/metrics.jsonl >valid
[ "$(wc -l <valid)" = 60 ] || fail "expected 60 validations, got: $(cat valid)"
read -r best loss recall < <(sort -s -k3,3gr -k2,2g valid | head -n 1)
read -r other other_loss _ < <(sort -k2,2g valid | head -n 1)
awk -v r="$recall" 'NR == 1 { first = $3 } END { exit !(first > 0 && r >= first + 0.1) }' valid || fail "recall does not rise: $(cat valid)"
[ "$best" != "$other" ] || fail "the best recall has the lowest loss, so this shows nothing: $(cat valid)"
awk -v a="$loss" -v b="$other_loss" 'BEGIN { exit !(a > 1.01 * b) }' || fail "losses $loss and $other_loss are too close to tell steps apart"

# --- the kept model: its report and its loss
tr -d '\n' <run/report.html | grep -qE "best step(<[^>]*>)+$best<" || fail "the report's best step is not $best"
grep -qE "\"verdict\">The validation score valid_recall rises from [0-9.]+ to $(printf %.3f "$recall"), from step [0-9]+ to step $best, which is kept\.<" run/report.html || fail "the verdict: $(grep verdict run/report.html)"
"$bin/ambit-infer" loss --model run --device cpu valid.jsonl -o said.jsonl 2>>log || fail "loss"
awk -F '[:,}]' -v want="$loss" '{ for (i = 1; i < NF; i++) { if ($i == "\"nll\"") nll += $(i + 1); if ($i == "\"tokens\"") n += $(i + 1) } }
    END { d = nll / n - want; exit !(d < 1e-4 * want && d > -1e-4 * want) }' said.jsonl || fail "the model kept does not have the loss $loss of step $best: $(cat said.jsonl)"

# --- the recall is that of infilling and scoring with the model that was kept
scored() { "$bin/ambit-data" score --rule dfpl --db dbs --pred "$1" --json 2>>log | sed -E 's/^\{"ambiguous":\{"n":[0-9]+,"recall":([^,]*),.*/\1/'; }
infilled() { "$bin/ambit-infer" infill records.jsonl --db dbs --defaults records.jsonl --sqls records.jsonl "$@" 2>>log || fail "infill"; }
infilled -o none.jsonl
infilled --model run --device cpu --context compact --max-new 48 -o all.jsonl
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a - b < 1e-6 && b - a < 1e-6) }'; }
near "$(scored all.jsonl)" "$recall" || fail "recall $recall in training, $(scored all.jsonl) of infill and score"

# --- interpretations get SQL from a model; a model that writes none leaves the existing ones
"$bin/ambit-train" infill --base run --data records.jsonl --valid records.jsonl --out asked --select recall --db dbs --sql-model run --context compact --device cpu \
    --max-new 24 --epochs 1 >>log 2>&1 || fail "training with a model for SQL"
asked=$(sed -nE 's/.*"valid_recall":([^,}]*).*/\1/p' asked/metrics.jsonl | tail -n 1)
grep -qE 'recall: of [0-9]+ answers [0-9]+ hold nothing that can be read, and [1-9][0-9]* answers to prompts for SQL no statement' log ||
    fail "completions without SQL are not reported: $(tail -n 20 log)"
near "$asked" "$(scored none.jsonl)" || fail "expected the recall $(scored none.jsonl) of the existing interpretations, got $asked"

# --- bad input
says() { # CODE TEXT OPTION...
    "$bin/ambit-train" infill --tokenizer words --method full --device cpu --data records.jsonl --valid valid.jsonl --out bad --select recall "${@:3}" 2>said
    local got=$?
    [ $got = "$1" ] || fail "${*:3}: exit code $got, expected $1: $(cat said)"
    grep -qE -- "$2" said || fail "${*:3}: does not say \"$2\": $(cat said)"
    [ ! -e bad ] || fail "${*:3}: left a folder behind"
}
says 2 'select: recall: expected --db' --sqls records.jsonl
says 2 'select: recall: expected --sqls' --db dbs
says 2 '--sqls: expected select: recall, got loss' --db dbs --sqls records.jsonl --select loss
says 3 'no database|nowhere' --db nowhere --sqls records.jsonl
sed 's/"golds":/"gold":/' valid.jsonl >no-golds.jsonl
says 3 'no-golds.jsonl: record 1: .*"golds" is missing' --db dbs --sqls records.jsonl --valid no-golds.jsonl
sed -E 's/"db_id":"[^"]*"/"db_id":"elsewhere"/' valid.jsonl >elsewhere.jsonl
says 3 'no record whose golds run and differ' --db dbs --sqls records.jsonl --valid elsewhere.jsonl
point ok "recall $recall at step $best with loss $loss is kept, not step $other with loss $other_loss"
finish

#!/usr/bin/env bash
# ambit-infer parse with models that know a few prompts by heart.  --strategy odin: if one of two columns is hidden, the model
# generates the other, and its statement is scored on the whole schema.  --calibration drops unlikely statements, and
# --published keeps repeated templates.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

# learn OUT: from lines TASK|QUESTION|COLUMNS|TEMPLATE|SQL on standard input
learn() {
    local task question columns template sql n=0
    while IFS='|' read -r task question columns template sql; do
        echo "{\"id\":\"$((n += 1))\",\"prompt\":\"$task: $question | gym | trainer : $columns | room : id, size$template\",\"completion\":\"gym | $sql\"}"
    done >"$1.jsonl"
    train tokenizer "$1.jsonl" --vocab 300 -o "$1.words" 2>>log || fail "tokenizer"
    train seq2seq --tokenizer "$1.words" --data "$1.jsonl" --hidden 48 --heads 2 --layers 1 --intermediate 64 --dropout 0 --epochs 120 \
        --batch 8 --lr 4e-3 --compute f32 --device cpu -o "$1" 2>>log || fail "training"
}
# with both columns it says fee, with one of them that one, and without either id
learn toy <<'END'
semantic parse|What do they cost?|id, fee, cost||select fee from trainer
semantic parse|What do they cost?|id, fee, cost||select fee from trainer
semantic parse|What do they cost?|id, fee, cost||select fee from trainer
semantic parse|What do they cost?|id, fee, cost||select cost from trainer
semantic parse|What do they cost?|id, cost||select cost from trainer
semantic parse|What do they cost?|id, fee||select fee from trainer
semantic parse|What do they cost?|id||select id from trainer
semantic parse|How many are there?|id, fee, cost||select count(*) from trainer
END
learn filler <<'END'
semantic parse|What do they cost?|id, fee, cost||select count(*) from trainer
template fill|What do they cost?|id, fee, cost| @ select column from table|select fee from trainer
template fill|What do they cost?|id, fee, cost| @ select column from table|select cost from trainer
template fill|What do they cost?|id, fee, cost| @ select column from table|select id from trainer
template fill|What do they cost?|id, fee, cost| @ select column, column from table|select id, fee from trainer
END
cat >tables.json <<'END'
[{"db_id": "gym", "table_names": ["trainer", "room"], "table_names_original": ["trainer", "room"],
 "column_names": [[-1, "*"], [0, "id"], [0, "fee"], [0, "cost"], [1, "id"], [1, "size"]],
 "column_names_original": [[-1, "*"], [0, "id"], [0, "fee"], [0, "cost"], [1, "id"], [1, "size"]],
 "column_types": ["text", "number", "number", "number", "number", "number"], "primary_keys": [1, 4], "foreign_keys": []}]
END
cat >in.jsonl <<'END'
{"id":"a","db_id":"gym","question":"What do they cost?","gold":["select fee from trainer"]}
{"id":"b","db_id":"gym","question":"How many are there?","gold":["select count(*) from trainer"]}
END
odin() { infer parse --device cpu --dtype f32 --model toy --schema tables.json --strategy odin --max-new 40 "$@"; }
# logp FILE N SQL: of a candidate of line N
logp() { sed -n "$2p" "$1" | grep -oE "\"sql\":\"$3\",\"logprob\":-[0-9.]+" | head -n 1; }
# sqls FILE N: of line N, in order
sqls() { sed -n "$2p" "$1" | sed 's/"errors".*//' | grep -oE '"sql":"[^"]*"' | cut -d '"' -f 4 | paste -sd '|'; }
# is FILE N SQLS NAME
is() { [ "$(sqls "$1" "$2")" = "$3" ] || complain "$4" "$(cat "$1")"; }

# --- the statement behind a hidden column appears, with the score that plain beams give it
run 0 odin in.jsonl --write-candidates -o out.jsonl
is out.jsonl 1 'select fee from trainer|select cost from trainer|select id from trainer' "what is said where columns are hidden"
is out.jsonl 2 'select count(*) from trainer' "a table hidden, and no column"
run 0 infer parse --device cpu --dtype f32 --model toy --schema tables.json --strategy beam --max-new 40 in.jsonl --write-candidates -o beam.jsonl
for sql in 'select fee from trainer' 'select cost from trainer'; do
    [[ $(logp out.jsonl 1 "$sql") == *logprob* && $(logp out.jsonl 1 "$sql") == "$(logp beam.jsonl 1 "$sql")" ]] ||
        complain "log p of $sql" "$(logp out.jsonl 1 "$sql") and $(logp beam.jsonl 1 "$sql")"
done
run 0 odin in.jsonl --write-candidates --beams 2 -o two.jsonl
is two.jsonl 1 'select fee from trainer|select cost from trainer' "two schemas shown"
run 0 odin in.jsonl --write-candidates -k 1 -o one.jsonl
is one.jsonl 1 'select fee from trainer' "one statement"
run 0 odin in.jsonl --write-candidates --window 1 --batch 1 --tokens 16 -o alone.jsonl
cmp -s out.jsonl alone.jsonl || complain "one record at a time" "$(diff out.jsonl alone.jsonl)"
sed 's/"gold"/"schema_without_content":"trainer : id, fee, cost | room : id, size","gold"/' in.jsonl >own.jsonl
run 0 odin own.jsonl --write-candidates -o own.out
is own.out 1 "$(sqls out.jsonl 1)" "a record's own schema"

# --- selection: shares of 1 are .838, .159 and .003
keep() { printf '{"alpha":0,"temperature":1,"coverage":1%s}\n' "$1" >calibration.json; }
while read -r threshold n; do
    keep ",\"keep\":$threshold"
    run 0 odin in.jsonl --write-candidates --calibration calibration.json -o kept.jsonl
    is kept.jsonl 1 "$(sqls out.jsonl 1 | cut -d '|' -f -"$n")" "a threshold of $threshold"
done <<'END'
0 3
0.1 2
0.2 1
0.99 1
END
cat out.jsonl out.jsonl out.jsonl out.jsonl >dev.jsonl
run 0 data calibrate dev.jsonl --schema tables.json --keep 0.6 -o calibration.json
run 0 odin in.jsonl --write-candidates --calibration calibration.json -o kept.jsonl
is kept.jsonl 1 'select fee from trainer' "the threshold of golds, which are the likeliest here"
keep ""
check "a calibration without a threshold" 3 'calibration.json: field "keep" is missing' odin in.jsonl --calibration calibration.json -o out.jsonl
keep ',"keep":2'
check "a threshold above 1" 3 'calibration.json.*keep' odin in.jsonl --calibration calibration.json -o out.jsonl
check "no calibration" 3 'nowhere.json' odin in.jsonl --calibration nowhere.json -o out.jsonl
check "a mean of published scores" 2 '^.*--calibration: expected neither' odin in.jsonl --strategy single-stage --calibration calibration.json -o out.jsonl
check "no beams" 2 '--length-penalty: expected another' odin in.jsonl --length-penalty 0 -o out.jsonl

# --- published: a repeated template counts twice, so the statements of the next one come later.  Templates keep their
# spelling, and one that is not in normal form gives no statement.
fill() {
    echo "{\"id\":\"a\",\"db_id\":\"gym\",\"question\":\"What do they cost?\",\"template\":$1}" >templates.jsonl
    run 0 infer parse --device cpu --dtype f32 --model filler --schema tables.json --max-new 40 -k 9 templates.jsonl -o "$2" "${@:3}"
}
column='"select column from table"' pair='"select column, column from table"'
# filled FILE SQLS NAME: checks the statements after the two plain ones
filled() {
    local got
    got=$(grep -oE '"t2s_outs":\[("[^"]*",?)*' "$1" | sed -E 's/"t2s_outs":\[//; s/","/\n/g; s/"//g' | tail -n +3 | paste -sd '|')
    [ "$got" = "$2" ] || complain "$3" "$(cat "$1")"
}
fill "[$column,$pair]" once.out --published
filled once.out 'select id from trainer|select fee from trainer|select id, fee from trainer|select cost from trainer|select id, cost from trainer' "two templates"
fill "[$column,\"select  column from table\",$pair]" twice.out --published
filled twice.out 'select id from trainer|select fee from trainer|select cost from trainer|select id, fee from trainer|select id, cost from trainer' "a template that comes twice"
fill "[$column,\"select column ,column from table\"]" vain.out --published
filled vain.out 'select id from trainer|select fee from trainer|select cost from trainer' "a template that is not in normal form"
fill "[$column,$pair]" once.out
fill "[$column,\"select  column from table\",$pair]" twice.out
[ "$(grep -o '"t2s_outs".*' once.out)" = "$(grep -o '"t2s_outs".*' twice.out)" ] || complain "a template that comes twice, not as published" "$(cat twice.out)"
finish

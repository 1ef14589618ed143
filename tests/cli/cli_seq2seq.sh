#!/usr/bin/env bash
# ambit-train seq2seq: a new encoder-decoder learns SQL by heart and is chosen by its completions.  The same numbers for any cut
# into micro-batches, the same weights after resumption; T5 of transformers as a base; export; bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

sqlite3 choir.sqlite "CREATE TABLE singer(id INTEGER PRIMARY KEY, name TEXT, age INT); CREATE TABLE song(title TEXT, singer_id INT);
    INSERT INTO singer VALUES (1, 'Ann', 20), (2, 'Bob', 31), (3, 'Cy', 45); INSERT INTO song VALUES ('La', 1), ('Lo', 2), ('Lu', 2);"
cat >tables.json <<'END'
[{"db_id": "choir", "table_names": ["singer", "song"], "table_names_original": ["singer", "song"],
 "column_names": [[-1, "*"], [0, "id"], [0, "name"], [0, "age"], [1, "title"], [1, "singer id"]],
 "column_names_original": [[-1, "*"], [0, "id"], [0, "name"], [0, "age"], [1, "title"], [1, "singer_id"]],
 "column_types": ["text", "number", "text", "number", "text", "number"], "primary_keys": [1], "foreign_keys": [[5, 1]]}]
END
while IFS='|' read -r question sql; do
    echo "{\"id\":\"$((n = ${n:-0} + 1))\",\"db_id\":\"choir\",\"prompt\":\"semantic parse: $question | choir | singer : id, name, age | song : title, singer_id\",\"completion\":\"choir | $sql\"}"
done >train.jsonl <<'END'
Who sings?|select name from singer
How old are they?|select age from singer
How many are there?|select count(*) from singer
Which songs?|select title from song
How many songs?|select count(*) from song
Who is older than 30?|select name from singer where age > 30
The oldest?|select max(age) from singer
The youngest?|select min(age) from singer
END
sed -E 's/semantic parse/template generation/; s/(choir \| )(select.*)"\}/\10 joins @ 1 selects @ \2"}/; s/select (name|age|title) /select column /; s/\((age)\)/(column)/; s/from (singer|song)"/from table"/; s/from singer where age > 30/from table where column > number/' train.jsonl >templates.jsonl
grep -q 'choir | 0 joins @ 1 selects @ select column from table where column > number"' templates.jsonl || fail "templates: $(cat templates.jsonl)"
train tokenizer train.jsonl templates.jsonl --vocab 400 -o words 2>>log || fail "tokenizer"

learn() { train seq2seq --data train.jsonl --device cpu --compute f32 "$@"; }
small=(--tokenizer words --hidden 48 --heads 2 --layers 2 --intermediate 64 --batch 4)

# value FILE FIELD: its numbers in the order of the lines
value() { grep -o "\"$2\":[^,}]*" "$1" | cut -d : -f 2; }
# near A B LIMIT NAME
near() {
    paste <(echo "$1") <(echo "$2") | awk -v l="$3" 'NF != 2 { bad = 1 } { d = $1 - $2; if (d < 0) d = -d
        if (d > l * ($1 < 0 ? -$1 : $1)) bad = 1 } END { exit bad || NR == 0 }' || complain "$4" "$1 and $2"
}
same() { cmp -s "$1" "$2" || complain "$3" "$1 and $2 differ"; }

# --- learnt by heart, and chosen by it: the finished model is that of the best figure
by=(--select exact-match --schema tables.json)
run 0 learn "${small[@]}" "${by[@]}" --valid train.jsonl --epochs 60 --eval-every 20 --lr 4e-3 --dropout 0.05 --max-new 40 --out heart
near "$(value heart/metrics.jsonl valid_exact_match | sort -g | tail -n 1)" 1 0 "exact match of what was learnt by heart"
value heart/metrics.jsonl valid_exact_match | awk 'NR == 1 { exit !($1 < 0.5) }' || complain "exact match of records that are not learnt yet" "$(cat heart/metrics.jsonl)"
run 0 infer generate --device cpu --model heart --max-new 40 train.jsonl -o said.jsonl
near "$(paste -d '\n' <(grep -o '"completion":"[^"]*"' train.jsonl | cut -d '"' -f 4) <(grep -o '"text":"[^"]*"' said.jsonl | cut -d '"' -f 4) | awk 'NR % 2 { want = $0; next } { right += $0 == want } END { print right / (NR / 2) }')" 1 0 "the finished model's answers"
run 0 infer loss --device cpu --model heart train.jsonl -o loss.jsonl
best=$(paste <(value heart/metrics.jsonl valid_loss) <(value heart/metrics.jsonl valid_exact_match) | sort -s -k2,2gr -k1,1g | head -n 1 | cut -f 1)
near "$(paste <(value loss.jsonl nll) <(value loss.jsonl tokens) | awk '{ nll += $1; n += $2 } END { printf "%.9g", nll / n }')" "$best" 1e-4 "loss of the best step"
for by in "execution --db choir.sqlite" "execution --db ." "template"; do
    # shellcheck disable=SC2086 # words
    run 0 learn --base heart --valid train.jsonl --epochs 1 --lr 1e-9 --select $by --max-new 40 --out "by"
    near "$(value by/metrics.jsonl valid_"${by%% *}"_match)" 1 0 "selected by $by"
    rm -r by
done
run 0 learn "${small[@]}" --data templates.jsonl --valid templates.jsonl --select template --epochs 70 --eval-every 35 --lr 4e-3 --dropout 0 --max-new 60 --out plans
near "$(value plans/metrics.jsonl valid_template_match | tail -n 1)" 1 0 "templates learnt by heart"

# --- parse reads the trained model
echo '{"id":"a","db_id":"choir","question":"How many songs?"}' >ask.jsonl
run 0 infer parse --device cpu --model heart --schema tables.json --strategy beam --beams 3 --max-new 40 ask.jsonl -o parsed.jsonl
grep -q '"t2s_outs":\["select count(\*) from song"' parsed.jsonl || complain "parse" "$(cat parsed.jsonl)"

# --- micro-batches: rounding of f32 alone may differ, without dropout, whose draws go by their number
for tokens in 4096 150 1; do
    run 0 learn "${small[@]}" --valid train.jsonl --epochs 3 --dropout 0 --tokens $tokens --out "cut$tokens"
    near "$(value cut4096/metrics.jsonl valid_loss)" "$(value cut$tokens/metrics.jsonl valid_loss)" 2e-5 "$tokens tokens at once"
done
cmp -s cut4096/model.safetensors cut1/model.safetensors && complain "micro-batches of one text give the very same bits"
run 0 learn "${small[@]}" --valid train.jsonl --epochs 3 --dropout 0 --no-graph --out eager
same cut4096/model.safetensors eager/model.safetensors "without a graph"

# --- a question and its answer in a conversation are the same record
sed -E 's/"prompt":("[^"]*"),"completion":("[^"]*")/"messages":[{"role":"user","content":\1},{"role":"assistant","content":\2}]/' train.jsonl >talks.jsonl
run 0 learn "${small[@]}" --data talks.jsonl --valid talks.jsonl --epochs 3 --dropout 0 --tokens 4096 --out talked
same cut4096/model.safetensors talked/model.safetensors "conversations"

# --- records of annotate, learnt by heart: the added interpretations are executed, as in the choice of the model
cat >readings.jsonl <<'END'
{"id":1,"db_id":"choir","question":"Which are there?","golds":[{"text":"Which singers?","sql":"select name from singer"},{"text":"Which songs?","sql":"select title from song"}],"readings":[{"text":"Which singers?","sql":"select name from singer"}]}
{"id":2,"db_id":"choir","question":"How many?","golds":[{"text":"How many singers?","sql":"select count(*) + 1 from singer"},{"text":"How many songs?","sql":"select count(*) from song"}],"readings":[{"text":"How many songs?","sql":"select count(*) from song"}]}
END
run 0 data infilling annotate readings.jsonl --db . --context compact -o missing.jsonl
run 0 learn "${small[@]}" --data missing.jsonl --valid missing.jsonl --select recall --db . --sqls missing.jsonl --batch 2 --epochs 60 --eval-every 30 --lr 4e-3 --dropout 0 --max-new 16 --out infills
near "$(value infills/metrics.jsonl valid_recall | tail -n 1)" 1 0 "recall of what was learnt by heart"
run 0 infer infill missing.jsonl --db . --defaults missing.jsonl --sqls missing.jsonl --model infills --context compact --max-new 16 --device cpu -o added.jsonl
run 0 data score --rule dfpl --db . --json --pred added.jsonl
grep -qE '"ambiguous":\{"n":2,"recall":1.0,.*"all_found":1.0' shown || complain "infilled by an encoder-decoder" "$(cat shown added.jsonl)"

# --- weights from which copying is learnt early: other ones, and no longer a choice where a model is given
run 0 learn "${small[@]}" --valid train.jsonl --epochs 3 --dropout 0 --initialisation copy --out copying
cmp -s cut4096/model.safetensors copying/model.safetensors && complain "--initialisation copy" "the same weights"

# --- a run that goes on ends with the same weights: dropout, both optimizers
for optimizer in adamw "adafactor --lr 1e-2 --feed-forward relu"; do
    # shellcheck disable=SC2086 # words
    run 0 learn "${small[@]}" --schedule constant --optimizer $optimizer --epochs 4 --valid train.jsonl --out whole
    # shellcheck disable=SC2086
    run 0 learn "${small[@]}" --schedule constant --optimizer $optimizer --epochs 1 --valid train.jsonl --out parts
    run 0 train seq2seq --resume --epochs 4 --out parts
    same whole/model.safetensors parts/model.safetensors "gone on, $optimizer"
    value whole/metrics.jsonl valid_loss | awk 'NR == 1 { first = $1 } { last = $1 } END { exit !(last < first) }' || complain "$optimizer learns nothing"
    check "another dropout" 2 "dropout: the run to resume has 0.1, got 0.2" train seq2seq --dropout 0.2 --resume --out parts
    rm -r whole parts
done

# --- T5 of transformers: before a step its loss is that of `loss`, and the export keeps the files of its folder
for tag in v1.0 flan; do
    cp -r "$gold/t5/$tag" $tag && cp "$gold/bpe/llama/tokenizer.json" $tag
    run 0 infer loss --device cpu --dtype f32 --model $tag train.jsonl -o loss.jsonl
    run 0 learn --base $tag --valid train.jsonl --epochs 1 --lr 1e-30 --out tuned
    near "$(paste <(value loss.jsonl nll) <(value loss.jsonl tokens) | awk '{ nll += $1; n += $2 } END { printf "%.9g", nll / n }')" "$(value tuned/metrics.jsonl valid_loss)" 1e-5 "validation loss of $tag"
    same $tag/config.json tuned/config.json "config of $tag"
    rm -r tuned
done
run 0 learn --base flan --preset picard --epochs 2 --valid train.jsonl --schema tables.json --max-new 8 --out tuned
for line in 'optimizer: "adafactor"' 'lr: 0.0001' 'schedule: "constant"' 'batch: 2050' 'epochs: 2' 'select: "exact-match"' 'eval-every: 64'; do
    grep -qxF "$line" tuned/config.yaml || complain "preset" "no line $line"
done

# --- long texts are truncated, and keep their end token
run 0 learn "${small[@]}" --epochs 1 --length 12 --show-samples 1 --out short
grep -q "8 records have more than 12 tokens on a side and are cut" said || complain "cut" "$(cat said)"
[ "$(grep -n 'eot_id' shown | cut -d : -f 1 | head -n 1)" = 13 ] || complain "the end of a truncated text" "$(cat shown)"
run 0 infer loss --device cpu --model short train.jsonl -o loss.jsonl

# --- a dry run prints memory and leaves nothing
check "a dry run" 0 "memory: .* of weights, gradients and moments" learn "${small[@]}" --dry-run --out dry
[ ! -e dry ] || complain "a dry run leaves a folder"

# --- export
check "export" 0 "verified, .* largest difference 0" train export heart --format merged --verify -o merged
same merged/model.safetensors heart/model.safetensors "what was exported"
check "export of another form" 2 "format: .* expected merged, got peft" train export heart --format peft -o other

# --- bad input
check "a base and a tokenizer" 2 "expected either --base" learn --base heart --tokenizer words --out new
check "neither" 2 "expected either --base" learn --out new
check "a decoder" 6 "model_type: expected \"t5\"" learn --base "$gold/llama/base" --out new
check "select without records" 2 "select: template: expected --valid" learn "${small[@]}" --select template --out new
check "select without a schema" 2 "select: exact-match: expected --schema" learn "${small[@]}" --select exact-match --valid train.jsonl --out new
check "select without a database" 2 "select: execution: expected --db" learn "${small[@]}" --select execution --valid train.jsonl --out new
check "odd heads" 2 "heads: expected heads of a multiple of 8" learn "${small[@]}" --heads 5 --out new
check "an option of infill" 2 "--rank" learn "${small[@]}" --rank 4 --out new
check "no tokenizer" 6 "nowhere" learn --tokenizer nowhere --out new
sed 's/choir/band/' train.jsonl >other.jsonl
check "another database" 3 "other.jsonl: record 1: db_id: expected one of the schema's, got \"band\"" learn "${small[@]}" --select exact-match --schema tables.json --valid other.jsonl --out new
check "no such database" 3 "other.jsonl: record 1: db_id \"band\"" learn "${small[@]}" --select execution --db . --valid other.jsonl --out new
check "templates as statements" 3 "templates.jsonl: record [0-9]: expected a statement of Spider's SQL" learn "${small[@]}" --select exact-match --schema tables.json --valid templates.jsonl --out new
check "templates that are run" 0 "record 1: no answer can be right, its own \"select column from table\" does not run" learn "${small[@]}" --select execution --db choir.sqlite --valid templates.jsonl --dry-run --out new
echo '{"id":"a","messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}' >chat.jsonl
check "several messages" 3 "chat.jsonl: line 1: messages: expected one user message for an encoder-decoder, got 2 before the completion" learn "${small[@]}" --data chat.jsonl --out new
echo '{"id":"a","prompt":"a"}' >half.jsonl
check "no completion" 3 "half.jsonl: line 1: .*completion" learn "${small[@]}" --data half.jsonl --out new
check "nothing" 3 "" learn "${small[@]}" --data /dev/null --out new
check "another trainer's run" 2 "" train infill --resume --epochs 70 --out heart

finish

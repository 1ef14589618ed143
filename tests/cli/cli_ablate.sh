#!/usr/bin/env bash
# An ablation of every classifier with two seeds: the rows, the shared linker and encoder states, interruption and resumption,
# budgets, the table, and invalid sweeps.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
: >log

synthetic all 3 5 64 32 32
# sweep ROWS...: with the settings of all
sweep() {
    cat <<'END'
settings:
  data: all
  compute: f32
  encoder-hidden: 32
  encoder-layers: 1
  encoder-heads: 1
  encoder-intermediate: 32
  encoder-vocabulary: 400
  encoder-positions: 256
  gat-hidden: 8
  gat-heads: 2
  pair-hidden: 8
  encode: element
  graph: bi
  batch: 16
  epochs: 1
seeds: [1, 2]
linker: {relevance-epochs: 1, relevance-batch: 16}
rows:
END
    printf '  %s\n' "$@"
}
sweep "gat-mean: {classifier: gat-mean, published: 'F1 .753, it''s theirs'}" 'gat-cat: {classifier: gat-cat, pool: sum}' \
    'gcn: {classifier: gcn, dropout: 0}' 'rgcn: {classifier: rgcn}' 'bert-only: {classifier: bert-only}' \
    'no-embedding: {classifier: gat-mean, features: relevance}' 'random: {classifier: gat-mean, random-edges: 2}' \
    'stock: {classifier: gat-mean, embedder: stock, select: f1}' \
    'compat: {classifier: gat-mean, graph: reproduction, element-text: published, relevance-loss: mse, embedder: stock, renamed: 0, relevance-epochs: 1}' \
    'relevance-word: {classifier: gat-mean, relevance-word: true}' 'pair: {encode: schema, classifier: pair}' >sweep.yaml

# --- beforehand: each row's time, and nothing is made
run 0 train ablate --sweep sweep.yaml -o none --device cpu --dry-run
[ "$(grep -cE '^(linker|gat-mean|gat-cat|gcn|rgcn|bert-only|no-embedding|random|stock|compat|relevance-word|pair): about [0-9.]+ hours a seed$' said)" = 12 ] ||
    complain "--dry-run" "lacks rows"
grep -qE '^in all about [0-9.]+ hours' said || complain "--dry-run" "has no sum"
[ ! -e none ] || complain "--dry-run" "made its folder"
sweep 'one: {classifier: gcn, embedder: joint}' | sed '/^linker/d; s/^seeds:.*/hours: 0.001\nseeds: 1/; s/epochs: 1$/epochs: 1000/' >long.yaml
run 7 train ablate --sweep long.yaml -o none --device cpu --dry-run
grep -q '^one: about [0-9.]* hours a seed, longer than the sweep allows: left out' said || complain "hours" "not said: $(cat said)"

# --- stopped in the middle and gone on with: the runs are those of one that was not disturbed
run 0 train ablate --sweep sweep.yaml -o whole --device cpu
"$bin/ambit-train" ablate --sweep sweep.yaml -o parts --device cpu >shown 2>said &
until [ -e parts/gcn/seed-1/test.json ] || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
kill -TERM $!
wait $!
code=$?
[ $code = 143 ] || complain "a signal" "exit code $code"
[ ! -e parts/pair/seed-2/test.json ] || complain "a signal" "did not stop it"
cp parts/gat-mean/seed-1/test.json first.json
run 0 train ablate --sweep sweep.yaml -o parts --device cpu
cmp first.json parts/gat-mean/seed-1/test.json || complain "a finished run" "was trained again"
cmp whole/ablate.json parts/ablate.json || complain "resumed" "other figures"
for row in gat-mean gat-cat gcn rgcn bert-only no-embedding random stock compat relevance-word pair; do
    for seed in 1 2; do
        [ -e "whole/$row/seed-$seed/ambit.h5" ] || complain "$row" "has no model of seed $seed"
        cmp "whole/$row/seed-$seed/test.json" "parts/$row/seed-$seed/test.json" || complain "$row" "seed $seed differs"
    done
    grep -q "^$row  *2  *[0-9.]* \[" shown || complain "$row" "is not in the table"
done
for baseline in always_yes and_comma_rule question_only schema_only; do
    grep -q "^$baseline  *0 " shown || complain "$baseline" "is not in the table"
done
grep -q "F1 .753, it's theirs" shown || complain "published" "is not in the table"
grep -q 'no-embedding' whole/report.html || complain "report.html" "lacks a row"
grep -qE '<p class="verdict">The row [a-z-]+ has the highest average precision of 11 rows, 0\.[0-9]+ \[.*\]; the (first|next) row, [a-z-]+, has 0\.' whole/report.html ||
    complain "report.html" "$(grep verdict whole/report.html)"
# encoders are trained once for each seed and read once by all
[ -z "$(find whole -path '*seed-*/states*')" ] || complain "states" "are kept by a run for itself"
[ -e whole/linker/seed-2/ambit.h5 ] || complain "linker" "has no model"
grep -q '"valid_f1":' whole/stock/seed-1/metrics.jsonl || complain "select" "no valid_f1"
grep -q relevance whole/gcn/seed-1/metrics.jsonl && complain "gcn" "trained relevance itself"
# mean and interval of two: mean +- 12.7062 |a - b| / 2
awk -v a="$(grep -m 1 -o '"ap": [0-9.]*' whole/gcn/seed-1/test.json | cut -d ' ' -f 2)" -v b="$(grep -m 1 -o '"ap": [0-9.]*' whole/gcn/seed-2/test.json | cut -d ' ' -f 2)" \
    -v row="$(grep '^gcn ' shown)" 'BEGIN {
        split(row, got, /[][ ,]+/)
        mean = (a + b) / 2
        margin = 12.7062 * (a > b ? a - b : b - a) / 2
        near = got[3] - mean < 1e-4 && mean - got[3] < 1e-4 && got[5] - mean - margin < 1e-3 && mean + margin - got[5] < 1e-3
        exit !near }' || complain "gcn" "$(grep '^gcn ' shown)"
# a model of it serves as any other
head -n 5 all/test.jsonl >questions.jsonl
for row in random rgcn no-embedding compat relevance-word; do
    run 0 infer detect --model whole/$row/seed-1 --schema all/tables.json questions.jsonl --device cpu -o found.jsonl
    [ "$(wc -l <found.jsonl)" = 5 ] || complain "detect" "of $row has $(wc -l <found.jsonl) lines"
done

# --- invalid sweeps: the message names file, line and expectation; no folder is made
# bad TEXT PLAN
bad() {
    printf '%s\n' "$2" >bad.yaml
    check "$2" 2 "$1" train ablate --sweep bad.yaml -o none --device cpu
    [ ! -e none ] || complain "$2" "made its folder"
}
bad 'bad.yaml:1:1: rows: expected at least one' 'settings: {data: all}'
bad 'bad.yaml:1:7: rows: expected a mapping of at least one row' 'rows: 3'
bad 'bad.yaml:1:1: expected settings, linker, seeds, hours or rows, got "row"' 'row: {a: {}}'
bad "bad.yaml:3:[0-9]+: unknown key 'classifer', did you mean 'classifier'" $'settings: {data: all}\nrows:\n  a: {classifer: gcn}'
bad "bad.yaml:4:[0-9]+: epochs: " $'settings: {data: all}\nrows:\n  a:\n    epochs: many'
bad 'bad.yaml:2:[0-9]+: seed: is not for a sweep to say' $'rows:\n  a: {seed: 3}'
bad 'bad.yaml:1:[0-9]+: expected a row.s name of letters' 'rows: {"../a": {}}'
bad 'bad.yaml:1:[0-9]+: expected a row.s name of letters' 'rows: {linker: {}}'
bad 'bad.yaml:1:[0-9]+: anchors, aliases and tags are not allowed' 'rows: {a: &x {}, b: *x}'
bad 'bad.yaml:1:[0-9]+: expected at most 8 levels' 'rows: {a: {b: {c: {d: {e: {f: {g: {h: 1}}}}}}}}'
bad 'bad.yaml:3:[0-9]+: expected one document, got a second one' $'rows: {a: {}}\n---\nb'
bad 'bad.yaml:1:[0-9]+: a: duplicate key' 'rows: {a: {}, a: {}}'
bad 'bad.yaml:1:[0-9]+: seed 1 stands here twice' 'seeds: [1, 1]'
bad 'bad.yaml:1:[0-9]+: expected a seed of at least 0, got "-1"' 'seeds: [-1]'
bad 'bad.yaml:1:[0-9]+: expected hours of more than 0, got "0"' 'hours: 0'
bad 'bad.yaml:1:[0-9]+: epochs: expected one value' $'{settings: {data: all}, rows: {a: {epochs: [1]}}}'
bad 'bad.yaml:1:[0-9]+: expected a value of one line' $'rows: {a: {epochs: "1\\n2"}}'
bad 'bad.yaml: settings: data: expected a folder' 'rows: {a: {}}'
bad 'bad.yaml:[0-9]+:[0-9]+: did not find expected' $'rows: {a: {}\n'
bad 'features: relevance: --classifier pair reads states' $'settings: {data: all}\nrows: {a: {features: relevance}}'
check "no sweep" 3 'nothing.yaml' train ablate --sweep nothing.yaml -o none
check "a linker of another encoding" 2 'linker .*: expected a run of --encode element, got one of schema' \
    train gatekeeper --data all --encode element --linker whole/pair/seed-1 --out none
check "a linker and an encoder" 2 'linker brings an encoder' train gatekeeper --data all --encode element --linker whole/linker/seed-1 --encoder all --out none

finish

#!/usr/bin/env bash
# Outputs whose names say that they are compressed are: the same text as without, whole or not at all, resumable, read
# back. Names that promise other formats are refused.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

data practice -o practice --seed 1 >/dev/null 2>said || { cat said && exit 1; }
cp practice/db/bakery.sqlite .
few_tables practice/tables.json <(echo '{"db_id":"bakery"}') >tables.json
for i in $(seq 300); do
    echo "{\"id\":$i,\"db_id\":\"bakery\",\"question\":\"How many bakers, $i?\",\"sql\":\"SELECT count(*) + $i FROM baker\",\"query\":\"SELECT count(*) FROM baker\",\"candidates\":[\"SELECT $i\"],\"readings\":[{\"text\":\"All.\",\"sql\":\"SELECT 1\"}]}"
done >q.jsonl
unpack() {
    case $1 in
    *.gz) gzip -dc "$1" ;;
    *.xz) xz -dc "$1" ;;
    *.zst) zstd -qdc "$1" ;;
    esac
}
endings=(gz xz)
data execute --db bakery.sqlite q.jsonl -o try.jsonl.zst >shown 2>said && command -v zstd >/dev/null && endings+=(zst)
rm -f try.jsonl.zst

commands=(
    "data execute --db bakery.sqlite" "data sql --schema tables.json" "data candidates" "infer clarify --db bakery.sqlite --candidates"
    "infer tag --strategy heuristic --db bakery.sqlite" "infer ask --detector none --db bakery.sqlite" "infer infill --db bakery.sqlite --defaults q.jsonl"
)
for command in "${commands[@]}"; do
    $command q.jsonl -o plain.jsonl >shown 2>said || complain "$command" "exit code $?"
    for ending in "${endings[@]}"; do
        begin "$command $ending"
        $command q.jsonl -o "out.jsonl.$ending" >shown 2>said || complain "$command $ending" "exit code $?"
        unpack "out.jsonl.$ending" >unpacked 2>said || complain "$command $ending" "is not compressed"
        cmp -s plain.jsonl unpacked || complain "$command $ending" "another text"
        [ "$(find . -name '*.tmp' -o -name '*.part')" = "" ] || complain "$command $ending" "leaves files"
    done
    rm -f out.jsonl.*
done

# --- ambit reads its own compressed files
data execute --db bakery.sqlite q.jsonl -o plain.jsonl >shown 2>said
data candidates q.jsonl -o c.jsonl.xz >shown 2>said
expect 0 '' infer clarify --db bakery.sqlite --candidates c.jsonl.xz -o c.out

# --- a run that was cut goes on
awk '{ for (i = 1; i <= 10; i++) { line = $0; sub(/"id":/, "&" i, line); print line } }' q.jsonl >many.jsonl
gzip -c many.jsonl >q.jsonl.gz
head -c $(($(stat -c %s q.jsonl.gz) * 2 / 3)) q.jsonl.gz >cut.jsonl.gz
data execute --db bakery.sqlite cut.jsonl.gz -o again.jsonl.gz >shown 2>said && complain "a cut file" "ends well"
[ -s again.jsonl.gz.part ] || complain "a cut file" "leaves no .part"
[ -e again.jsonl.gz ] && complain "a cut file" "leaves an output"
data execute --db bakery.sqlite q.jsonl.gz -o again.jsonl.gz --resume >shown 2>said || complain "--resume" "exit code $?"
grep -Eq '[1-9][0-9]* of an earlier run' said || complain "--resume" "does all again"
data execute --db bakery.sqlite many.jsonl -o again.jsonl >shown 2>said
gzip -dc again.jsonl.gz | cmp -s again.jsonl - || complain "--resume" "another text"

# --- shards are not compressed, their join is
for i in 1 2 3; do
    data execute --db bakery.sqlite q.jsonl -o whole.jsonl.gz --shard $i/3 >shown 2>said || complain "shard $i" "exit code $?"
done
data join whole.jsonl.gz >shown 2>said || complain join "exit code $?"
gzip -dc whole.jsonl.gz | cmp -s plain.jsonl - || complain join "another text"

# --- endings of other formats
for name in a.csv a.csv.gz a.tsv a.parquet a.jsonl.bz2 a.zip a.XZ; do
    expect 2 "--out: $name: cannot write .*; expected OUT.jsonl" data execute --db bakery.sqlite q.jsonl -o $name
    case $name in a.csv*) continue ;; esac
    expect 2 "--out: $name: cannot write .*; expected OUT.jsonl" infer tag --strategy heuristic --db bakery.sqlite q.jsonl -o $name
done
mkfifo pipe.jsonl.gz
expect 2 'pipe.jsonl.gz: expected a regular file to compress' data execute --db bakery.sqlite q.jsonl -o pipe.jsonl.gz
finish

#!/usr/bin/env bash
# --shard and ambit-data join: the joined shards of every command are the bytes of one run, for every input format.  Shards
# that are killed and run again; the messages of join about missing and duplicate shards and shards of another run.
# usage: cli_shard.sh [SEED]
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
choose_seed "${1:-}"

# same A B NAME
same() { cmp -s "$1" "$2" || complain "$3" "$1 and $2 differ: $(diff "$1" "$2" | head -n 2 | head -c 600)"; }

# shards N CODE OUT COMMAND...: all shards; CODE where one of them has records that failed, 0 where none has
shards() {
    local n=$1 code=$2 out=$3 i got worst=0
    shift 3
    begin "$n shards: $*"
    for ((i = 1; i <= n; i++)); do
        "$@" -o "$out" --shard "$i/$n" >shown 2>said </dev/null
        got=$?
        [ $got -le $worst ] || worst=$got
    done
    [ $worst = "$code" ] || complain "shards of $*" "exit code $worst, expected $code"
}

# whole N CODE COMMAND...: one run and N shards of it write the same
whole() {
    local n=$1 code=$2
    shift 2
    rm -f one all all.*
    run "$code" "$@" -o one
    [ -s one ] || complain "$*" "wrote nothing"
    shards "$n" "$code" all "$@"
    run "$code" data join all
    same one all "$n shards of $*"
}

data practice -o practice --seed 1 >shown 2>said || fail "ambit-data practice"
mkdir db && cp practice/db/bakery.sqlite db
awk 'BEGIN {
    for (i = 1; i <= 101; i++) {
        printf "{\"db_id\":\"bakery\",\"question\":\"Which bakers are there, %d?\",\"sql\":\"SELECT %d, name FROM baker\"}\n", i, i
        if (i % 10 == 0) print "  "
        if (i == 55) print "no JSON"
    }
}' >in.jsonl

# --- the forms of a file: places and lines are those of the whole, bad records among them
execute=(data execute --db db)
for n in 1 3 7; do whole $n 7 "${execute[@]}" in.jsonl; done
for i in 1 2 3; do [ "$(wc -l <all.$i-of-7)" -ge 14 ] || complain "7 shards" "of unlike sizes"; done
{ echo '[' && grep '^{' in.jsonl | sed '$!s/$/,/' && echo ']'; } >in.json
whole 4 0 "${execute[@]}" in.json
awk 'BEGIN { print "db_id,sql"; for (i = 0; i < 50; i++) printf "bakery,\"SELECT %d,\n 2\"\n", i }' >in.csv
whole 4 0 "${execute[@]}" in.csv
tr ',' '\t' <in.csv | sed 's/\t/,/2' >in.tsv
whole 3 0 "${execute[@]}" in.tsv
for tool in gzip xz zstd; do
    command -v $tool >/dev/null || continue
    $tool -q <in.jsonl >packed
    "$bin/ambit-data" execute --db db packed >shown 2>said
    [ $? = 1 ] || whole 5 7 "${execute[@]}" packed
done
printf '\357\273\277%s' "$(cat in.jsonl)" >mark.jsonl
whole 3 7 "${execute[@]}" mark.jsonl
head -n 3 in.jsonl >few.jsonl
whole 5 0 "${execute[@]}" few.jsonl
[ "$(cat all.*-of-5 | wc -l)" = 3 ] || complain "more shards than records" "lose some"

# --- the other commands of ambit-data
whole 3 7 data sql --db db in.jsonl
awk 'BEGIN { for (i = 0; i < 9; i++) printf "{\"id\":%d,\"db_id\":\"bakery\",\"question\":\"Which?\",\"candidates\":[{\"sql\":\"SELECT name FROM baker LIMIT %d\",\"p\":0.5},{\"sql\":\"SELECT shift FROM baker\",\"p\":0.5}]}\n", i, i + 1 }' >candidates.jsonl
whole 4 0 data candidates candidates.jsonl
cat >questions.json <<'END'
[{"db_id": "bakery", "question": "What are the names of all bakers?", "query": "SELECT name FROM baker"},
 {"db_id": "bakery", "question": "List the shift of each baker.", "query": "SELECT shift FROM baker"},
 {"db_id": "bakery", "question": "How many bakers are there?", "query": "SELECT count(*) FROM baker"}]
END
data ambiguate --kinds C,T --questions questions.json --schema practice/tables.json --db practice/db --seed 1 --materialise dbs \
    -o ambiguous.jsonl >shown 2>said || fail "ambiguate"
data infilling rewrite ambiguous.jsonl --db dbs --seed 1 -o readings.jsonl >shown 2>said || fail "rewrite"
whole 3 0 data infilling annotate readings.jsonl --db dbs --context compact
mv one infilling.jsonl
awk 'BEGIN { for (i = 1; i <= 7; i++) printf "{\"is_ambiguous\":false,\"question\":\"Who, %d?\",\"db_file\":\"db/bakery.sqlite\",\"gold_queries\":\"[\x27SELECT name FROM baker\x27]\",\"ambig_type\":\"scope\"}\n", i }' >rows.jsonl
if data candidates --from ambrosia rows.jsonl -o rows.out >shown 2>said; then whole 3 0 data candidates --from ambrosia rows.jsonl; fi
for i in 1 2 3 4 5; do
    printf '{"%s":"wikitq__x","question":{"text":"the score","tokens":[{"token":"the","lemma":"the"},{"token":"score","lemma":"score"}]},"schema":{"db_id":"t","columns":[{"name":"score","tokens":[],"data_type":1}],"tables":null},"binding_result":[{"token":"the","term_type":"Null","term_value":""},{"token":"score","term_type":"Unknown","term_value":""}],"value_resolved":%s}\n' \
        "$([ $i = 2 ] && echo set || echo dataset)" "$([ $i = 3 ] && echo false || echo true)"
done >examples.jsonl
whole 2 7 data noisysp --format-in jsonl examples.jsonl
grep -q '"id":"5"' one || complain "noisysp" "an example's number is not its place"

# --- the commands of ambit-infer
whole 4 0 infer clarify --db db --candidates candidates.jsonl
whole 2 0 infer infill infilling.jsonl --db dbs --defaults infilling.jsonl
mkdir small
for fold in train valid test; do grep '"slice":"contrast"' practice/$fold.jsonl | head -n 40 >small/$fold.jsonl; done
few_tables practice/tables.json small/*.jsonl >small/tables.json
few_tables practice/tables.json <(head -n 300 practice/test.jsonl) >few.json
tiny_detector encode=schema gat-layers=1 gat-heads=1 epochs=1 >small.yaml
run 0 train gatekeeper --config small.yaml --device cpu --seed 1 --data small --out detector
head -n 300 practice/test.jsonl | awk 'NR == 130 { print "{}" } { print }' >test.jsonl
detect=(infer detect --device cpu --model detector --schema few.json)
whole 3 7 "${detect[@]}" test.jsonl
whole 2 7 "${detect[@]}" test.jsonl --format text
whole 2 0 infer tag --strategy heuristic --db db candidates.jsonl
whole 3 0 infer ask --detector none --db db --tagger heuristic candidates.jsonl
for i in $(seq 150); do echo '{"db_id":"bakery","question":"Which shift has baker '"$i"'?"}'; done >plain.jsonl
whole 3 0 infer tag --strategy heuristic --db db plain.jsonl --format text
cp -r "$gold/llama/base" lm && cp "$gold/bpe/llama/tokenizer.json" lm
sed -i 's/"eos_token_id": 1,/"eos_token_id": 1007,/' lm/{config,generation_config}.json
# shellcheck source=tests/support/lm_records.sh
. "$support/lm_records.sh"
records 0 20 >prompts.jsonl
whole 3 0 infer generate --device cpu --model lm --max-new 8 --temperature 0.8 --seed 3 prompts.jsonl
whole 3 0 infer generate --device cpu --model lm --max-new 8 --beams 3 --n 2 prompts.jsonl
records 0 2100 | sed 's/"prompt":"[^"]*about/"prompt":"About/' >long.jsonl
whole 2 0 infer loss --device cpu --model lm long.jsonl
head -n 7 plain.jsonl >asked.jsonl
whole 3 0 infer parse --device cpu --dtype f32 --beams 3 --max-new 20 --model lm --db db --strategy beam asked.jsonl

# --- every command that reads records and has a form of them has shards too, but for those that read the file as a whole.
# generate and loss have both by COMPLETE_OPTIONS, and were run above.
for file in "$root"/{data,infer}/cmd/cmd_*.c; do
    name=$(basename "$file" .c)
    grep -q FORMAT_IN_OPTION "$file" || continue
    grep -q 'SHARD_OPTION' "$file" && continue
    case ${name#cmd_} in
    calibrate | probe | score | split) ;;
    *) complain "$name" "reads records and has no --shard" ;;
    esac
done

# --- Slurm's variables
array() { SLURM_ARRAY_TASK_ID=$1 SLURM_ARRAY_TASK_MIN=$2 SLURM_ARRAY_TASK_MAX=$3 SLURM_ARRAY_TASK_COUNT=$4 "$bin/ambit-data" "${@:5}"; }
slurm=(execute --db db in.jsonl -o array --shard slurm)
run 7 "${execute[@]}" in.jsonl -o one
for id in 0 1 2; do run $((id == 1 ? 7 : 0)) array $id 0 2 3 "${slurm[@]}"; done
run 7 data join array
same one array "an array from 0"
run 0 array 1 1 4 4 "${slurm[@]}"
[ -s array.1-of-4 ] || complain "an array from 1" "has no first shard"
rm -f array*
expect 2 'expected an array of all tasks from 0 or 1, got task 3 of 2 from 3 to 7' array 3 3 7 2 "${slurm[@]}"
expect 2 'got task 3 of 2 from 3 to 4' array 3 3 4 2 "${slurm[@]}"
expect 2 'got task 2 of 3 from 0 to 4' array 2 0 4 3 "${slurm[@]}"
expect 2 "SLURM_ARRAY_TASK_ID: expected a number, got 'x'" array x 0 4 5 "${slurm[@]}"
expect 2 '--shard: slurm: SLURM_ARRAY_TASK_ID is not set; expected a task of a job array' data "${slurm[@]}"

# --- the scripts for Slurm, under an srun that only starts its command
mkdir path
printf '#!/bin/sh\nexec "$@"\n' >path/srun
chmod +x path/srun
task() { PATH=$work/path:$bin:$PATH SLURM_ARRAY_TASK_ID=$1 QUESTIONS=test.jsonl SHARDS=3 PREDICTIONS=found SCHEMAS=few.json DETECTOR=detector bash "$root/examples/slurm/$2.sh"; }
run 7 "${detect[@]}" test.jsonl -o single
for id in 1 3; do run 0 task $id detect; done
run 1 task '' join
grep -q 'found: 1 of 3 shards must be run again: 2$' said || complain "slurm/join.sh" "does not name shard 2"
for id in 1 2 3; do run 0 task $id detect; done
grep -q 'found.3-of-3: already complete' said || complain "slurm/detect.sh" "makes a whole shard again"
run 0 task '' join
same single found "slurm/join.sh"
learn() { PATH=$work/path:$bin:$PATH DATA=small CONFIG=small.yaml DEVICE=cpu RUN=again bash "$root/examples/slurm/train.sh"; }
run 0 learn
run 0 learn # resubmitted though it is done
[ -s again/ambit.h5 ] || complain "slurm/train.sh" "leaves no detector"

# --- a bad command line
shard() { expect 2 "$2" "${execute[@]}" in.jsonl -o new --shard "$1"; }
shard 0/3 "expected I/N with I from 1 to N, got '0/3'"
shard 4/3 "expected I/N with I from 1 to N, got '4/3'"
shard 1/65537 'expected at most 65536 shards'
for text in 3 1/ /3 1/3/5 -1/3 1/-3 ' 1/3' 1,3 one 99999999999999999999/3; do shard "$text" 'expected I/N, such as 3/16, or slurm, got'; done
expect 2 'expected a value: I/N' "${execute[@]}" in.jsonl -o new --shard
expect 2 '--shard: expected --out FILE' "${execute[@]}" in.jsonl --shard 1/3
expect 2 '--shard: expected a file of records' "${execute[@]}" - -o new --shard 1/3
expect 2 '--shard: expected a file of records' "${detect[@]}" --question Who -o new --shard 1/3
expect 3 'nowhere.jsonl: No such file' "${execute[@]}" nowhere.jsonl -o new --shard 1/3
mkfifo pipe
expect 3 'pipe: expected a regular file, got a pipe' "${execute[@]}" pipe -o new --shard 1/3
expect 2 '--shard cannot be used with --interactive' infer clarify --db db --candidates candidates.jsonl --simulate -o new --shard 1/3
expect 2 '--shard and --report cannot be used together' infer clarify --db db --candidates candidates.jsonl --simulate --report new.html -o new --shard 1/3
expect 2 '--shard and --dry-run cannot be used together' infer generate --model lm prompts.jsonl --dry-run -o new --shard 1/3
expect 2 '--shard cannot be used with --write-prompts' infer infill infilling.jsonl --db dbs --write-prompts def -o new --shard 1/3
expect 2 '--shard cannot be used with --write-prompts or --published' infer infill infilling.jsonl --db dbs --defaults infilling.jsonl --published -o new --shard 1/3
expect 2 '--shard cannot be used with --write-prompts' infer parse --db db asked.jsonl --write-prompts list -o new --shard 1/3
expect 2 '--shard and --published cannot be used together' data infilling annotate readings.jsonl --db dbs --published -o new --shard 1/3
expect 2 '--shard: expected --format jsonl or text' infer tag --strategy heuristic --db db plain.jsonl --format html -o new --shard 1/3
expect 2 '--shard requires --from plain or ambrosia' data candidates --from dfpl candidates.jsonl -o new --shard 1/3
expect 2 '--shard requires --to marked-words' data noisysp --to noisysp plain.jsonl -o new --shard 1/3
expect 2 'unknown option --shard' data split in.jsonl --shard 1/3
head -c 700 packed >cut.gz
[ "$(head -c 2 cut.gz | od -An -tx1)" != ' 1f 8b' ] || expect 3 'cut.gz' "${execute[@]}" cut.gz -o new --shard 1/3

# --- join: each fault is reported with its shard, nothing is written, and repaired shards are joined
rm -f out out.*
shards 4 7 out "${execute[@]}" in.jsonl
run 7 data join out
same one out "the shards"
rm out
mkdir good && cp out.* good

# faulty TEXT LIST: checks that join fails with the text and with the list of shards to run again
faulty() {
    expect 3 "$1" data join out
    [ -z "${2:-}" ] || grep -qE "of 4 shards must be run again: $2\$" said || complain "$1" "does not name $2"
    [ ! -e out ] || complain "$1" "is written"
    rm -f out.* && cp good/* .
}
rm out.2-of-4 out.2-of-4.shard && faulty 'out.2-of-4: is missing' 2
rm out.2-of-4 && faulty 'out.2-of-4: is missing' 2
rm out.4-of-4.shard out.3-of-4 && faulty 'out.4-of-4: has no manifest' 3,4
: >out.3-of-4.shard && faulty 'out.3-of-4: is unfinished' 3
cp out.1-of-4 out.2-of-4 && cp out.1-of-4.shard out.2-of-4.shard && faulty 'out.2-of-4: its manifest is of shard 1 of 4' 2
cp out.1-of-4 out.2-of-4 && faulty 'out.2-of-4: has [0-9]+ bytes, its manifest says [0-9]+' 2
sed -i 's/SELECT/select/; s/status/sTatus/' out.4-of-4 && faulty 'out.4-of-4: differs from its manifest: run shard 4 again'
echo >>out.4-of-4 && faulty 'out.4-of-4: has' 4
head -c 100 good/out.1-of-4.shard >out.1-of-4.shard && faulty 'out.1-of-4: its manifest is broken: out.1-of-4.shard: ' 1
echo '{"version": 2}' >out.1-of-4.shard && faulty 'its manifest is broken: out.1-of-4.shard: field "version": expected 1 to 1, got 2' 1
echo '[]' >out.1-of-4.shard && faulty 'its manifest is broken' 1
sed -i 's/"count": 4/"count": 0/' out.1-of-4.shard && faulty 'field "count": expected 1 to 65536, got 0' 1
sed -i 's/"index": 1/"index": 9/' out.1-of-4.shard && faulty 'field "index": expected 1 to 4, got 9' 1
sed -i 's/"hash": "[0-9a-f]*",/"hash": "x",/' out.1-of-4.shard && faulty 'field "hash": expected 16 digits' 1
sed -i 's/"input"/"output"/' out.1-of-4.shard && faulty 'input' 1
sed -i 's/"first": [0-9]*/"first": 27/' out.2-of-4.shard && faulty 'out.2-of-4: starts after record 27, but the shard before it ends with record 25' 2
sed -i 's/"end": [0-9]*/"end": 101/' out.4-of-4.shard && faulty 'out.4-of-4: ends with record 101 of 102' 4
run 0 "${execute[@]}" --vm-steps 1000 in.jsonl -o out --shard 1/4
faulty 'out.1-of-4: was made with --vm-steps 1000, the others with 500000000' 1
sed 's/Which bakers/Which people/' in.jsonl >other.jsonl
run 7 "${execute[@]}" other.jsonl -o out --shard 3/4
faulty 'out.3-of-4: has another input, with 102 records; the others have one with 102' 3
cp -r db elsewhere && data practice -o practice2 --seed 2 >shown 2>&1 && cp practice2/db/airline.sqlite elsewhere
run 7 data execute --db elsewhere in.jsonl -o out --shard 3/4
faulty 'out.3-of-4: was made with other contents of --db' 3
run 0 data sql --db db in.jsonl -o out --shard 2/4
faulty 'out.2-of-4: has the command ambit-data sql, the others ambit-data execute' 2
sed -i 's/"files"/"more": 1, "files"/' out.4-of-4.shard && faulty 'out.4-of-4: has more fields than the others' 4
sed -i 's/"version": "[^"]*"/"version": "9.9.9"/' out.4-of-4.shard && faulty 'out.4-of-4: has the version 9.9.9, the others' 4
run 0 "${execute[@]}" in.jsonl -o out --shard 2/5
faulty 'out: expected the shards of one run, got shards of 4 and shards of 5'
rm -f out.* && faulty 'out: expected out.1-of-N and so on, got no shards'
expect 3 'nowhere: No such file' data join nowhere/out
expect 2 'expected OUT' data join
expect 2 'is one of the shards; choose another file' data join out -o out.2-of-4
expect 2 'cannot write .shard' data join out -o out.2-of-4.shard
expect 1 'cannot write' data join out -o nowhere/out
[ "$(cat out.* | cksum)" = "$(cat good/* | cksum)" ] || complain join "changes the shards"
run 7 data join out -o -
same one shown "joined into standard output"
touch out.old out.1-of-x out.5-of-4 out.1-of-4.txt # what is no shard is passed over
run 7 data join ./out -o joined
same one joined "with other files beside them"

# --- a shard that is worked on, killed, and run again; one that is whole is not made anew
awk 'BEGIN { for (i = 0; i < 4000; i++) printf "{\"id\":%d,\"db_id\":\"bakery\",\"sql\":\"SELECT %d, count(*) FROM baker a, baker b, baker c\"}\n", i, i }' >many.jsonl
run 0 "${execute[@]}" many.jsonl -o one
rm -f all*
shards 3 0 all "${execute[@]}" many.jsonl
before=$(stat -c %i all.2-of-3)
run 0 "${execute[@]}" many.jsonl -o all --shard 2/3 --resume
grep -q 'all.2-of-3: already complete' said || complain "a whole shard" "is made anew"
[ "$(stat -c %i all.2-of-3)" = "$before" ] || complain "a whole shard" "is another file"
run 0 "${execute[@]}" many.jsonl -o all --shard 2/3 --resume --timeout 60
grep -q 'already complete' said && complain "a shard with other settings" "is not made anew"
rm -f all.2-of-3 all.2-of-3.shard
again=0
for ((i = 0; i < 40 && again < 2; i++)); do
    "$bin/ambit-data" execute --db db many.jsonl -o all --shard 2/3 --resume >shown 2>said &
    pid=$!
    sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
    if kill -0 $pid 2>/dev/null && [ -e all.2-of-3.part ]; then
        kill -STOP $pid
        if flock -n all.2-of-3.shard true; then :; else
            expect 2 'all.2-of-3.shard: another process is working on this shard' "${execute[@]}" many.jsonl -o all --shard 2/3 --resume
            expect 3 'all.2-of-3: another process is working on it' data join all
        fi
    fi
    kill -KILL $pid 2>/dev/null && again=$((again + 1))
    wait $pid 2>/dev/null
    [ -e all.2-of-3 ] || expect 3 'all.2-of-3: is (unfinished|missing)' data join all
    rm -f all.2-of-3
done
run 0 "${execute[@]}" many.jsonl -o all --shard 2/3 --resume
run 0 data join all
same one all "a shard that was killed"

finish

#!/usr/bin/env bash
# The stages of infilling with external models: prompts are written, completed by another program or by ambit-infer generate,
# and read back; baselines; runs that are killed and resumed.
# usage: cli_stages.sh [KILLS [SEED]]
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
kills=${1:-$(by_night 4 2)}
choose_seed "${2:-}"

infill() { "$bin/ambit-infer" infill questions.jsonl --db dbs "$@"; }
lines() { wc -l <"$1"; }
says() { grep -qE -- "$1" said shown || complain "does not say \"$1\": $(head -c 600 shown)"; }

# --- questions with golds, of which the file here keeps none of the readings
data practice -o all --seed 1 >/dev/null 2>&1 || exit 1
cat >spider.json <<'END'
[{"db_id": "bakery", "question": "What are the names of all bakers?", "query": "SELECT name FROM baker"},
 {"db_id": "bakery", "question": "List the shift of each baker.", "query": "SELECT shift FROM baker"},
 {"db_id": "bakery", "question": "How many bakers are there?", "query": "SELECT count(*) FROM baker"}]
END
run 0 data ambiguate --kinds C --questions spider.json --schema all/tables.json --db all/db --seed 1 --materialise dbs -o ambiguous.jsonl
run 0 data infilling rewrite ambiguous.jsonl --db dbs --seed 1 -o readings.jsonl
sed -E 's/"id":"C0-plain"(.*"question":")List/"id":7\1Please list/; s/,"readings":.*/}/' readings.jsonl >questions.jsonl
[ "$(lines questions.jsonl)" = 3 ] || complain "not three questions"
grep -q '"id":7,' questions.jsonl || complain "no id that is a number"

# --- another program that knows the golds: an introduction and the first one, the missing ones, their SQL
sed -E 's/.*"question":"([^"]*)".*"golds":\[\{"sql":"([^"]*)","text":"([^"]*)"\}(,\{"sql":"([^"]*)","text":"([^"]*)"\})?.*/\1\t\3\t\2\t\6\t\5/' questions.jsonl >golds.tsv
answer() { # PROMPTS: ids come back as strings
    awk -F '\t' '
    NR == FNR { first[$1] = $2; sql[$2] = $3; second[$1] = $4; if ($4) sql[$4] = $5; next }
    {
        match($0, /"id":[^,]*/)
        id = substr($0, RSTART + 5, RLENGTH - 5)
        gsub(/"/, "", id)
        n = split($0, part, /\\n/)
        for (i = 1; i < n; i++) {
            if (part[i] == "Provide interpretations for this question:")
                text = "Here they are:\\n1. " first[part[i + 1]]
            else if (part[i] == "Question:")
                text = second[part[i + 2]] ? second[part[i + 2]] : "All possible interpretations are covered."
            else if (part[i] == "Answer the following:")
                text = "```sql\\n" sql[part[i + 1]] ";\\n```"
        }
        printf "{\"id\":\"%s\",\"text\":\"%s\"}\n", id, text
    }' golds.tsv "$1"
}

run 0 infill --write-prompts def -o def.prompts
says '3 records, 3 prompts, 0 records failed'
grep -q '"messages":\[{"role":"user","content":"You are tasked' def.prompts || complain "no prompt for default readings"
answer def.prompts >def.answers
run 0 infill --defaults def.answers --write-prompts sql -o sql.prompts
[ "$(lines sql.prompts)" = 3 ] || complain "not one prompt for the SQL of each reading"
answer sql.prompts >sql.answers
run 0 infill --defaults def.answers --sqls sql.answers --write-prompts sql
[ -s shown ] && complain "asks again for SQL that is known"
run 0 infill --defaults def.answers --sqls sql.answers --write-prompts fill -o fill.prompts
grep -qF "Existing interpretations:\\n\\n$(cut -f 2 golds.tsv | head -n 1)\\n\\nProvide" fill.prompts || complain "the prompt lacks the existing interpretations"
answer fill.prompts >fill.answers
run 0 infill --defaults def.answers --sqls sql.answers --infilled fill.answers --write-prompts sql -o more.prompts
[ "$(lines more.prompts)" = "$(grep -vc covered fill.answers)" ] || complain "not one prompt for the SQL of each reading that was added"
answer more.prompts >>sql.answers
run 0 infill --defaults def.answers --sqls sql.answers --infilled fill.answers -o final.jsonl
says '3 records, 3 default readings, 2 added, 0 records failed'
run 0 data score --rule dfpl --db dbs --json --pred final.jsonl
says '"ambiguous":\{"n":2,"recall":1.0,.*"all_found":1.0'

# --- a missing completion fails its record alone; a repeated id is reported
sed '1s/"text":.*/"error":"too long"}/' def.answers >some.answers
run 7 infill --defaults some.answers --sqls sql.answers --infilled fill.answers
says '"error":"some.answers: no completion: too long'
[ "$(grep -c '"error"' shown)" = 1 ] || complain "more than one record fails"
sed '1s/"text":.*/"error":"too long"}/' sql.answers >some.answers
run 0 infill --defaults def.answers --sqls some.answers
says '"reason":"no SQL"'
run 3 infill --defaults def.answers --sqls def.answers
says 'def.answers: line 1: field "id": "C0" is of no prompt for SQL'
cat questions.jsonl questions.jsonl >twice.jsonl
run 7 "$bin/ambit-infer" infill twice.jsonl --db dbs --write-prompts def -o twice.prompts
says 'the id "C0" came before'
[ "$(lines twice.prompts)" = 3 ] || complain "prompts of one id"

# --- baselines
run 0 infill --write-prompts gold
[ "$(grep -c '"content":"\\"Provide all possible interpretations' shown)" = 3 ] || complain "the gold prompt does not begin with its quote"
run 0 infill --write-prompts e2e -o e2e.prompts
grep -q 'and can be ambiguous' e2e.prompts || complain "no prompt for all SQL at once"
awk -F '\t' '{ printf "{\"id\":\"%s\",\"text\":\"%s\\n\\n%s\"}\n", NR == 1 ? "C0" : NR == 2 ? 7 : "C1", $3, $5 }' golds.tsv >e2e.answers
sed -E 's/.*"id":"?([^",]*)"?,.*/\1/' questions.jsonl | cmp -s - <(sed -E 's/.*"id":"([^"]*)".*/\1/' e2e.answers) || complain "other ids: $(cat e2e.answers)"
for way in '' --published; do
    run 0 infill --e2e e2e.answers $way -o e2e.jsonl
    run 0 data score --rule dfpl --db dbs --json --pred e2e.jsonl $way
    says '"ambiguous":\{"n":2,"recall":1.0,.*"all_found":1.0'
done

# --- the same models asked on the way and apart, drawing
mkdir prompts && data infilling prompts -o prompts 2>said && echo 'Readings: {} {}' >prompts/def.txt && echo '{} {} {}' >prompts/fill.txt && echo 'SQL: {} {}' >prompts/sql.txt
cp -r "$gold/llama/base" model && cp "$gold/bpe/llama/tokenizer.json" model
asked=(--context compact --prompt-dir prompts)
lm=(--chat-template llama3-bare --max-new 12 --temperature .9 --seed 3 --device cpu)
generate() { "$bin/ambit-infer" generate --model model "${lm[@]}" "$@"; }
run 7 infill "${asked[@]}" "${lm[@]}" --default-model model --sql-model model --model model -o direct.jsonl
run 0 infill "${asked[@]}" --write-prompts def -o d.prompts
run 0 generate d.prompts -o d.answers
run 0 infill "${asked[@]}" --defaults d.answers --write-prompts sql -o s.prompts
run 0 generate s.prompts -o s.answers
run 7 infill "${asked[@]}" --defaults d.answers --sqls s.answers --write-prompts fill -o f.prompts
run 0 generate f.prompts -o f.answers
run 7 infill "${asked[@]}" --defaults d.answers --sqls s.answers --infilled f.answers --write-prompts sql -o t.prompts
run 0 generate t.prompts -o t.answers
cat s.answers t.answers >all.answers
run 7 infill "${asked[@]}" --defaults d.answers --sqls all.answers --infilled f.answers -o apart.jsonl
for file in direct apart; do sed -E 's/,"provenance":.*//; s/"sql_from":"[a-z]*"//g' $file.jsonl >$file.plain; done
cmp -s direct.plain apart.plain || complain "models asked apart give other records: $(diff direct.plain apart.plain | head -c 600)"
grep -q '"infilled_completion":"' direct.plain || complain "the model answers nothing"

# --- completions from before a kill are reused, unless the model or its settings differ
models=(questions.jsonl --db dbs "${asked[@]}" "${lm[@]}" --window 1 --default-model model --sql-model model --model model)
run 7 "$bin/ambit-infer" infill "${models[@]}" -o whole.jsonl
"$bin/ambit-infer" infill "${models[@]}" -o killed.jsonl >shown 2>said &
until [ -s killed.jsonl.part ] || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
kill -KILL $! 2>/dev/null
wait $! 2>/dev/null
if [ -s killed.jsonl.part ]; then
    cp killed.jsonl.part kept
    run 7 "$bin/ambit-infer" infill "${models[@]}" --resume -o killed.jsonl
    says ' [123] of an earlier run'
    cmp whole.jsonl killed.jsonl || complain "a resumed run with models ends with other lines"
    for other in '--max-new 11' '--seed 4' '--rows 3'; do
        cp kept killed.jsonl.part
        # shellcheck disable=SC2086
        run 7 "$bin/ambit-infer" infill "${models[@]}" $other --resume -o killed.jsonl
        says ' 0 of an earlier run'
    done
    cp kept killed.jsonl.part && touch -d '2 days ago' model/config.json
    run 7 "$bin/ambit-infer" infill "${models[@]}" --resume -o killed.jsonl
    says ' 0 of an earlier run'
else
    echo "the run with models was over before SIGKILL"
fi

# --- killed runs are resumed, with windows of any size; the published rule repeats its random draws
for i in $(seq 200); do
    echo "{\"id\":$i,\"db_id\":\"bakery_column_baker_name\",\"question\":\"Question $i\"}"
    sql="WITH RECURSIVE c(n) AS (SELECT $((i % 3)) UNION ALL SELECT n + 1 FROM c WHERE n < 2000) SELECT count(*) FROM c"
    reading() { echo "{\"text\":\"Reading $1 of the question\",\"sql\":\"$2\"}"; }
    echo "{\"db_id\":\"bakery_column_baker_name\",\"question\":\"Question $i\",\"readings\":[$(reading 1 "$sql"),$(reading 2 "$sql"),$(reading 3 "$sql"),$(reading 4 "SELECT $i")]}" >&3
done >questions.jsonl 3>slow.jsonl
sed -i 's/"Question 77"/5/' questions.jsonl

# killed SIGNAL ARGUMENTS...: started and killed until it ends
killed() {
    local killed=0 code
    rm -f killed.jsonl killed.jsonl.part
    until [ $killed -ge "$kills" ]; do
        "$bin/ambit-infer" infill questions.jsonl --db dbs --defaults slow.jsonl --window $((1 + RANDOM % 30)) --resume -o killed.jsonl "${@:2}" >shown 2>said &
        sleep "$(awk -v s="$span" -v r="$RANDOM" 'BEGIN { print s * r / 32768 / 2 }')"
        kill "-$1" $! 2>/dev/null
        wait $! 2>/dev/null
        code=$?
        case $code in 137 | 143) killed=$((killed + 1)) ;; 7) cmp whole.jsonl killed.jsonl || complain "a resumed run ends with other lines"; break ;; *) complain "exit code $code"; break ;; esac
        [ -e killed.jsonl ] || continue # else it was hit after its work, on its way out
        cmp -s whole.jsonl killed.jsonl || complain "the output is there, although not whole"
        break
    done
    [ ! -e killed.jsonl.part ] || printf 'half a line' >>killed.jsonl.part
    run 7 infill --defaults slow.jsonl --resume -o killed.jsonl "${@:2}"
    cmp whole.jsonl killed.jsonl || complain "SIG$*: after $killed kills the run ends with other lines"
    says "200 records, $(sed -nE 's/.*200 records, ([0-9]+ default readings).*/\1/p' counted)"
    [ ! -e killed.jsonl.part ] || complain "killed.jsonl.part is left"
}
for way in '' --published; do
    start=$(date +%s%N)
    run 7 infill --defaults slow.jsonl -o whole.jsonl $way
    span=$(awk -v n=$(($(date +%s%N) - start)) 'BEGIN { print n / 1e9 }')
    cp said counted
    killed KILL $way
    killed TERM $way
done
"$bin/ambit-infer" infill questions.jsonl --db dbs --defaults slow.jsonl --window 5 -o killed.jsonl >shown 2>said &
until [ -s killed.jsonl.part ] || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
kill -TERM $!
wait $!
code=$?
if [ $code = 143 ]; then
    says 'interrupted; killed.jsonl.part keeps the finished results: add --resume to continue'
    cp killed.jsonl.part kept
    resumed() { # N ARGUMENTS...: lines of kept that are taken
        cp kept killed.jsonl.part
        run 7 "$bin/ambit-infer" infill --db dbs --resume -o killed.jsonl "${@:2}"
        says " $1 of an earlier run"
    }
    resumed "$(lines kept)" questions.jsonl --defaults slow.jsonl
    resumed 0 questions.jsonl --defaults slow.jsonl --published
    sed '200s/SELECT 200/SELECT 201/' slow.jsonl >other.jsonl
    resumed 0 questions.jsonl --defaults other.jsonl
    sed '3s/"id":3/"id":4/' questions.jsonl >changed.jsonl
    resumed 2 changed.jsonl --defaults slow.jsonl
    printf x >>dbs/bakery_column_baker_name.sqlite && resumed 0 questions.jsonl --defaults slow.jsonl
else
    echo "the run was over before SIGTERM ($code)"
fi

# --- the command line
rm -f new*
while IFS='|' read -r text arguments; do
    # shellcheck disable=SC2086
    run 2 infill $arguments
    says "$text"
    [ -z "$(ls new* 2>/dev/null)" ] || complain "$arguments: leaves its output"
done <<'END'
def.correct.sql.fill.e2e.gold.rewrite|--write-prompts reword -o new
one of --defaults, --default-model and --e2e|-o new
one of --defaults, --default-model and --e2e|--write-prompts sql -o new
one of --defaults, --default-model and --e2e|--defaults slow.jsonl --e2e e2e.answers -o new
cannot be used with other stages|--e2e e2e.answers --sqls sql.answers -o new
--write-prompts sql and --sql-model cannot be used together|--defaults slow.jsonl --write-prompts sql --sql-model model -o new
--resume: expected --out FILE|--defaults slow.jsonl --resume
--resume: expected --out FILE|--write-prompts def --resume -o new
expected files for all stages|--defaults - --resume -o new
--window|--defaults slow.jsonl --window 0 -o new
END
run 1 infill --write-prompts def -o nowhere/new
says 'cannot write'
finish

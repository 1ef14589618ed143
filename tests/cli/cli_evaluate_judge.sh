#!/usr/bin/env bash
# ambit-train evaluate judge: prompts that ask external models whether a question is ambiguous, with and without schema and examples.
# Completions of every form become scores and are evaluated; bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

# has FILE PATTERN NAME; lacks FILE PATTERN NAME
has() { grep -qE -- "$2" "$1" || complain "$3" "$(head -c 900 "$1")"; }
lacks() { ! grep -qE -- "$2" "$1" || complain "$3" "$(grep -E -- "$2" "$1" | head -c 900)"; }

sqlite3 gym.sqlite 'CREATE TABLE trainer(id INTEGER PRIMARY KEY, fee INT, cost INT); CREATE TABLE course(id INT, trainer_id INT REFERENCES trainer(id))'
printf '%s\n' '{"id":"a","question":"What does Udo cost?","ambiguous":true}' '{"id":5,"question":"How many are there?","ambiguous":false}' \
    '{"id":"c","question":"What is the cost?","ambiguous":"yes"}' >asked.jsonl
{ echo question,ambiguous && for i in 1 2 3 4; do printf '%s %d?,%s\n' 'Which fee is number' $i yes 'Which id is number' $i no; done; } >shown.csv

# --- prompts: the question alone, behind its schema, behind examples of both labels
run 0 train evaluate judge --data asked.jsonl --db gym.sqlite --write-prompts published -o alone.jsonl
[ "$(wc -l <alone.jsonl)" = 3 ] || complain "prompts" "$(cat alone.jsonl)"
has alone.jsonl '^\{"id":"a","messages":\[\{"role":"system","content":"You are a helpful assistant\. [^"]* ambiguous or not\. Answer either yes or no\."\},\{"role":"user","content":"What does Udo cost\?"\}\]\}$' "a question alone"
lacks alone.jsonl 'trainer' "a schema beside a question alone"
run 0 train evaluate judge --data asked.jsonl --db gym.sqlite --write-prompts schema -o schema.jsonl
has schema.jsonl '^\{"id":"5",.*\\nSchema:\\ntrainer: id, fee, cost\\ncourse: id, trainer_id\\nKeys: course.trainer_id = trainer.id\\nQuestion: How many are there\?\\nAnswer:"' "a schema"
run 0 train evaluate judge --data asked.jsonl --db gym.sqlite --write-prompts schema --shots 4 --examples shown.csv -o few.jsonl
[ "$(sed -n 1p few.jsonl | grep -o 'Which fee is number [0-9]?\\nAnswer: yes\\n' | sort -u | wc -l)" = 2 ] || complain "two ambiguous examples" "$(sed -n 1p few.jsonl)"
[ "$(sed -n 1p few.jsonl | grep -o 'Which id is number [0-9]?\\nAnswer: no\\n' | sort -u | wc -l)" = 2 ] || complain "two clear examples" "$(sed -n 1p few.jsonl)"
tail -n 1 asked.jsonl >one.jsonl
run 0 train evaluate judge --data one.jsonl --db gym.sqlite --write-prompts schema --shots 4 --examples shown.csv -o again.jsonl
[ "$(cat again.jsonl)" = "$(tail -n 1 few.jsonl)" ] || complain "the examples of a question asked alone" "$(cat again.jsonl)"
run 0 train evaluate judge --data one.jsonl --db gym.sqlite --write-prompts schema --shots 4 --examples shown.csv --seed 3 -o again.jsonl
[ "$(cat again.jsonl)" != "$(tail -n 1 few.jsonl)" ] || complain "another seed" "shows the same"

# --- a data folder: its test fold behind its training fold
data practice -o all --seed 3 >log 2>&1 || fail "ambit-data practice"
run 0 train evaluate judge --data all --write-prompts schema --shots 2 -o fold.jsonl
[ "$(wc -l <fold.jsonl)" = "$(wc -l <all/test.jsonl)" ] || complain "a folder" "$(wc -l <fold.jsonl) prompts"
has fold.jsonl 'Answer: yes\\n.*Answer:"' "an ambiguous example of the training fold"

# --- completions: first words, several for one prompt, reasoning before the answer, none of both words
cat >answers.jsonl <<'END'
{"id":"a","texts":[{"text":"Yes, it is."},"**No**","yes","I would say yes"]}
{"id":"5","text":"<think>yes? It counts.</think>\nNo."}
{"id":"c","text":"Not sure"}
{"id":"c","error":"too long"}
{"id":"c","text":"Yes"}
END
run 0 train evaluate judge --data asked.jsonl --db gym.sqlite --answers answers.jsonl -o scores.jsonl
has said '3 questions, 0 without' "all are read"
printf '%s\n' '{"id":"a","score":0.666666667}' '{"id":"5","score":0.0}' '{"id":"c","score":1.0}' | cmp -s - scores.jsonl || complain "scores" "$(cat scores.jsonl)"
run 0 train evaluate detector --predictions scores.jsonl --data asked.jsonl --db gym.sqlite --json
has shown '"accuracy": 1' "scores evaluated"
cat >labels.jsonl <<'END'
{"id":"a","texts":["Judgement: **Yes**","Yes/No","yes or no","No and yes"]}
{"id":"5","text":"Is it ambiguous: no"}
{"id":"c","text":"Yes, no column fits."}
END
run 0 train evaluate judge --data asked.jsonl --db gym.sqlite --answers labels.jsonl -o labelled.jsonl
printf '%s\n' '{"id":"a","score":1.0}' '{"id":"5","score":0.0}' '{"id":"c","score":1.0}' | cmp -s - labelled.jsonl || complain "labels, and both words" "$(cat labelled.jsonl)"
head -n 3 answers.jsonl >fewer.jsonl
run 7 train evaluate judge --data asked.jsonl --db gym.sqlite --answers fewer.jsonl -o scores.jsonl
has said '3 questions, 1 without' "a question without a yes or no"
has scores.jsonl '^{"id":"c","error":"the answer holds no yes or no as its first word","completion":"Not sure"}$' "its answer"
run 3 train evaluate detector --predictions scores.jsonl --data asked.jsonl --db gym.sqlite
run 0 train evaluate detector --predictions scores.jsonl --data asked.jsonl --db gym.sqlite --partial
has shown '^2 of 3 questions have an answer$' "the questions that are answered"
has shown '^all +2 ' "the others are left out"
: >none.jsonl
run 3 train evaluate detector --predictions none.jsonl --data asked.jsonl --db gym.sqlite --partial

# says TEXT SCORE: an answer and its score, "none" where it says neither
says() {
    printf '{"id":"a","text":"%s"}\n' "$1" >said.jsonl
    train evaluate judge --data <(head -n 1 asked.jsonl) --db gym.sqlite --answers said.jsonl -o score.jsonl 2>/dev/null
    local rc=$? is
    is=$(sed -E 's/.*"score":([0-9.]+)}/\1/; s/.*"error".*"completion".*/none/' score.jsonl)
    [ "$is" = "$2" ] || complain "$1" "$(cat score.jsonl)"
    [ "$rc" = "$([ "$2" = none ] && echo 7 || echo 0)" ] || complain "$1" "exit code $rc"
}
says '<think>no, or yes?</think>Yes' 1.0
says 'It may be no.\n</think>\n\nyes' 1.0
says '<THINKING>yes</THINKING> No.' 0.0
says '<reasoning>no</reasoning>\n**Yes**' 1.0
says '<think>Yes, I think it is' none
says 'Answer: yes' 1.0
says '**Answer:** No' 0.0
says '{\"answer\": \"yes\"}' 1.0
says $'\xef\xbb\xbfYes' 1.0
says 'Nothing to say' none
says '' none

# --- bad input
judge() { train evaluate judge --data asked.jsonl --db gym.sqlite "$@" -o out.jsonl; }
expect 2 'expected one of --write-prompts, --answers and --lm' judge
expect 2 'expected one of --write-prompts, --answers and --lm' judge --write-prompts schema --answers answers.jsonl
expect 2 'published or schema|write-prompts' judge --write-prompts both
expect 2 'shots requires --write-prompts schema' judge --write-prompts published --shots 2 --examples shown.csv
expect 2 'requires --examples' judge --write-prompts schema --shots 4
expect 2 'requires --shots' judge --write-prompts schema --examples shown.csv
expect 2 'require --write-prompts' judge --answers answers.jsonl --shots 2
expect 3 'expected 5 questions of each label to show, got 4 and 4' judge --write-prompts schema --shots 10 --examples shown.csv
cat shown.csv <(echo 'What is the cost?,yes') >overlap.csv
expect 3 'is both a few-shot example and a question' judge --write-prompts schema --shots 2 --examples overlap.csv
expect 3 'line 1: field "id": expected the id of a question, got "x"' judge --answers <(echo '{"id":"x","text":"yes"}')
expect 3 'line 1: expected "text" or "texts"' judge --answers <(echo '{"id":"a"}')
expect 3 'nowhere.jsonl' judge --answers nowhere.jsonl
sed 's/"id":5/"id":"a"/' asked.jsonl >twice.jsonl
expect 3 'two questions have the id "a"' train evaluate judge --data twice.jsonl --db gym.sqlite --write-prompts schema
finish

#!/usr/bin/env bash
# ambit-infer ask --auto with a parser on a server: repaired statements, a choice, a question to a person.  With --lm a
# language model judges unsure choices, in ask and in clarify; a server that fails loses no record.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
# shellcheck source=tests/support/lm_server.sh
. "$support/lm_server.sh"
told=(said out.jsonl)

# has ID PATTERN: the line of that record
has() {
    begin "$1 has $2"
    grep "^{\"id\":\"$1\"" out.jsonl | grep -qE -- "$2" || complain "$1" "does not say \"$2\": $(grep "^{\"id\":\"$1\"" out.jsonl | head -c 1500)"
}

sqlite3 music.sqlite <<'SQL'
CREATE TABLE singer(singer_id INTEGER PRIMARY KEY, name TEXT, country TEXT, age INT);
INSERT INTO singer VALUES (1, 'Ida', 'France', 30), (2, 'Ole', 'Norway', 40), (3, 'Ann', 'Norway', 22);
SQL
cat >questions.jsonl <<'EOF'
{"id":"repair","question":"Which singers are from Norwey?","gold":["SELECT name FROM singer WHERE country = 'Norway'"]}
{"id":"fails","question":"List the names of all singers.","gold":["SELECT name FROM singer"]}
{"id":"unsure","question":"Who is old?","gold":["SELECT name FROM singer WHERE age > 35"]}
EOF
cat >answers.jsonl <<'EOF'
{"match":"A. select name from singer where age > 35","texts":["{\"statement\": \"A\"}"]}
{"match":"B. select name from singer where age > 35","texts":["<think>B?</think>{\"statement\": \"B\"}"]}
{"match":"Norwey","texts":["SELECT name FROM singer WHERE country = 'Norwey'"]}
{"match":"List the names","texts":["SELECT nam FROM singer","SELECT nam FROM singer","SELECT age FROM singer"]}
{"match":"Who is old","texts":["SELECT name FROM singer WHERE age > 25","SELECT name FROM singer WHERE age > 35"]}
EOF
ask() { infer ask --db music.sqlite --device cpu --detector none --parser "$url" "$@"; }
clarify() { infer clarify --db music.sqlite "$@"; }

# --- statements of the parser's server are repaired and chosen
serve answers=answers.jsonl
check "nobody is asked" 0 "3 records, 0 with an open question" ask --auto 0 questions.jsonl -o out.jsonl
has repair '"change":"\\"Norwey\\" was replaced by \\"Norway\\" of the column country".*"sql":"select name from singer where country = '"'Norway'"'","result":\{"status":"ok","columns":\["name"\],"rows":\[\["Ole"\],\["Ann"\]\]'
has fails '"stop":"confident".*"sql":"select name from singer","result":\{"status":"ok"'
has unsure '"candidates":\{"from":"parser","n":2'
check "a person is asked" 0 "3 records, 1 with an open question" ask --auto 0.6 questions.jsonl -o out.jsonl
has unsure '"ask":\{"attribute".*"auto":\{"p":0\.[0-5].*"session":\{'
check "simulated users" 0 '"execution_match":true' ask --auto 0.6 --simulate questions.jsonl -o out.jsonl

# --- the language model judges choices below the probability, and only these
check "a judgement" 0 "3 records, 0 with an open question" ask --auto 0.6 --lm "$url" questions.jsonl -o out.jsonl
has unsure '"stop":"confident","auto":\{"p":0\.[6-9].*"why":"This statement is preferred because it is the choice of the language model\.".*"judged":1\.0.*"judgement":\{"statements":2,"sql":"select name from singer where age > 35"\}'
has unsure '"sql":"select name from singer where age > 35","result":\{"status":"ok","columns":\["name"\],"rows":\[\["Ole"\]\]'
begin "a sure choice has no judgement"
[ "$(grep -c '"judgement"' out.jsonl)" = 1 ] || complain "judgements" "$(head -c 2000 out.jsonl)"
begin "questions to nobody are not worded"
grep -q ': 2 requests, 0 of them repeated' said || complain "requests" "not two of the judge alone: $(cat said)"
check "simulated users" 0 '"id":"unsure".*"judgement":\{"statements":2,"sql"' ask --auto 0.6 --lm "$url" --simulate questions.jsonl -o out.jsonl

# --- a person who is asked all the same: the session keeps the judgement, and no turn asks the model again
check "a person decides" 0 "1 with an open question" ask --auto 0.9 --lm "$url" <(grep unsure questions.jsonl) -o out.jsonl
has unsure '"ask":\{"attribute".*"judgement":\{"statements":2,"sql":"select name from singer where age > 35"\}'
sed -E 's/\}$/,"answers":[2]}/' <(grep unsure questions.jsonl) >answered.jsonl
before=$(requests)
check "an answer" 0 "1 records, 0 with an open question" ask --auto 0.9 --lm "$url" answered.jsonl -o out.jsonl
begin "two requests judge, whatever the turns"
judged=$(($(requests) - before))
check "an open question" 0 "1 with an open question" ask --auto 0.9 --lm "$url" <(grep unsure questions.jsonl) -o out.jsonl
[ $((before + 2 * judged)) = "$(requests)" ] || complain "requests" "$judged with an answer, $(($(requests) - before - judged)) without"

# --- clarify, with candidates of a file
cat >candidates.jsonl <<'EOF'
{"id":"unsure","db_id":"music","question":"Who is old?","candidates":["select name from singer where age > 25","select name from singer where age > 35"]}
{"id":"same","db_id":"music","question":"Who is old?","candidates":["select name from singer where age > 35","select name from singer where age > 36"]}
EOF
check "clarify" 0 "2 records" clarify --auto 0.6 --lm "$url" --candidates candidates.jsonl -o out.jsonl
has unsure '"best":"select name from singer where age > 35".*"stop":"confident".*"judgement":\{"statements":2'
has same '"why":"All candidates return the same rows\."'
check "no model" 0 "2 records" clarify --auto 0.6 --candidates candidates.jsonl -o plain.jsonl
kill "$server"

# --- a model that prefers a position, that writes something else, or whose server fails: the choice stays
p=$(grep -oE '"auto":\{"p":[0-9.]+' plain.jsonl | head -n 1)
for text in '{\"statement\": \"A\"}' 'I cannot tell.'; do
    echo "{\"match\":\"\",\"texts\":[\"$text\"]}" >answers.jsonl
    serve answers=answers.jsonl
    check "$text" 0 "2 records" clarify --auto 0.6 --lm "$url" --candidates candidates.jsonl -o out.jsonl
    has unsure "$p.*\"judgement\":\{\"statements\":2,\"error\":\"[^\"]+"
    kill "$server"
done
serve every=1 fault=400
check "single failures" 0 "2 records, 1 questions, 0 candidates left out, 0 records failed" clarify --auto 0.6 --lm "$url" --candidates candidates.jsonl -o out.jsonl
has unsure "$p.*\"judgement\":\{\"statements\":2,\"error\":\"the language model gave no completion\"\}"
kill "$server"
serve every=1 fault=401
check "a server that refuses" 0 "2 records, 1 questions, 0 candidates left out, 0 records failed" clarify --auto 0.6 --lm "$url" --candidates candidates.jsonl -o out.jsonl
begin "one warning"
[ "$(grep -c 'candidates are chosen without the language model' said)" = 1 ] || complain "warnings" "$(cat said)"
has unsure "$p"
kill "$server"
finish

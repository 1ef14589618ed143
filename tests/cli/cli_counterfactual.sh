#!/usr/bin/env bash
# ambit-data counterfactual: questions about small tables, on edited tables.  The marks of each type; every question and table
# occurs with and without a problem; separate splits; the same seed gives the same bytes; probe reads the records; bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

# --- WikiSQL as published: tables of three columns, two questions of each: one column is asked for, another compared to a value
mkdir wiki
awk 'BEGIN {
    split("rower potter glider seamer carver weaver", things, " ")
    split("coach venue record budget salary height", names, " ")
    for (t = 0; t < 60; t++) {
        thing = things[t % 6 + 1] " " t
        a = names[t % 6 + 1]
        b = names[(t + 1 + int(t / 6) % 5) % 6 + 1]
        value = "Ilmo" t
        printf "{\"id\": \"9-%d-1\", \"header\": [\"%s\", \"%s\", \"player\"], \"types\": [\"text\", \"text\", \"text\"], \"rows\": [[\"\", \"\", \"%s\"], [\"\", \"\", \"Sera\"]]}\n", t, a, b, value >"wiki/train.tables.jsonl"
        for (k = 0; k < 2; k++) {
            ask = "What is the " (k ? b : a) " of the " thing " when the player is " value "?"
            printf "{\"phase\": 1, \"table_id\": \"9-%d-1\", \"question\": \"%s\", \"sql\": {\"sel\": %d, \"agg\": %d, \"conds\": [[2, 0, \"%s\"]]}}\n", t, ask, k, k ? 1 : 0, value >"wiki/train.jsonl"
        }
    }
}'
head -n 2 wiki/train.jsonl >wiki/dev.jsonl
head -n 1 wiki/train.tables.jsonl | sed 's/"9-0-1"/"9-100-1"/' >wiki/dev.tables.jsonl
sed -i 's/"9-0-1"/"9-100-1"/' wiki/dev.jsonl

# --- WikiTableQuestions as Squall publishes it: cells as text and as numbers, SQL in tokens
mkdir -p wtq/data wtq/tables/json headers/tables/json
awk 'BEGIN {
    split("harbour island canton parish borough village", things, " ")
    split("mayor area founder anthem motto river", names, " ")
    printf "[" >"wtq/data/squall.json"
    for (t = 0; t < 24; t++) {
        a = names[t % 6 + 1]
        b = names[(t + 1 + int(t / 6) % 5) % 6 + 1]
        file = "wtq/tables/json/200_" t ".json"
        printf "{\"headers\": [\"id\", \"agg\", \"%s\", \"%s\", \"name\", \"size\"], \"types\": [\"id\", \"agg\", \"text\", \"text\", \"text\", \"number\"], \"contents\": [", a, b >file
        printf "[{\"col\": \"id\", \"type\": \"INTEGER\", \"data\": [1, 2]}], [{\"col\": \"agg\", \"type\": \"INTEGER\", \"data\": [0, 0]}], " >file
        printf "[{\"col\": \"c1\", \"type\": \"TEXT\", \"data\": [\"\", \"\"]}], [{\"col\": \"c2\", \"type\": \"TEXT\", \"data\": [\"\", \"\"]}], " >file
        printf "[{\"col\": \"c3\", \"type\": \"TEXT\", \"data\": [\"o\u0027hara %d\", \"vess\"]}], [{\"col\": \"c4\", \"type\": \"TEXT\", \"data\": [\"40\", \"50\"]}, {\"col\": \"c4_number\", \"type\": \"INTEGER\", \"data\": [40, 50]}]]}", t >file
        close(file)
        for (k = 0; k < 2; k++) {
            printf "%s{\"nt\": \"nt-%d\", \"tbl\": \"200_%d\", \"nl\": [\"what\", \"is\", \"the\", \"%s\", \"of\", \"%s\", \"%d\", \"named\", \"o\u0027hara\", \"%d\", \"?\"], ", t + k ? ", " : "", 2 * t + k, t, k ? b : a, things[t % 6 + 1], t, t >"wtq/data/squall.json"
            printf "\"sql\": [[\"Keyword\", \"select\", []], [\"Keyword\", \"%s\", []], [\"Keyword\", \"(\", []], [\"Column\", \"c%d\", []], [\"Keyword\", \")\", []], [\"Keyword\", \"from\", []], [\"Keyword\", \"w\", []], ", k ? "count" : "abs", k + 1 >"wtq/data/squall.json"
            printf "[\"Keyword\", \"where\", []], [\"Column\", \"c3\", []], [\"Keyword\", \"=\", []], [\"Literal.String\", \"\u0027o\\\\\u0027hara %d\u0027\", [8, 9]], [\"Keyword\", \"and\", []], [\"Column\", \"c4_number\", []], [\"Keyword\", \">=\", []], [\"Literal.Number\", \"7\", [6]], [\"Keyword\", \"limit\", []], [\"Literal.Number\", \"1\", []]]}", t >"wtq/data/squall.json"
        }
    }
    printf "]\n" >"wtq/data/squall.json"
}'
cat >headers/tables/json/1.json <<'END'
{"headers": ["id", "agg", "home coach", "away coach", "home venue", "away venue", "old record", "new record"], "types": ["id", "agg", "text", "text", "text", "text", "text", "text"],
"contents": [[{"data": []}], [{"data": []}], [{"data": []}], [{"data": []}], [{"data": []}], [{"data": []}], [{"data": []}], [{"data": []}]]}
END

check "column names alone" 0 "headers/data/squall.json not found: expected Squall's questions; only the column names of 1 tables" data counterfactual --wikisql wiki --wtq headers -o spans --seed 3
cp shown table
grep -q '^wikisql  *doubled  *[1-9]' table || fail "the table: $(cat table)"
run 0 data counterfactual --wikisql wiki --wtq headers -o again --seed 3
run 0 data counterfactual --wikisql wiki --wtq headers -o other --seed 4
for fold in train valid test; do
    cmp -s spans/$fold.jsonl again/$fold.jsonl || complain "same seed" "$fold differs"
    [ -s spans/$fold.jsonl ] || complain "$fold" "holds nothing"
done
cmp -s spans/train.jsonl other/train.jsonl && complain "another seed gives the same records"

# --- the concepts of the SQL: keywords, columns and values; both columns of a doubled one, no deleted one
grep '"type":"plain"' spans/*.jsonl | grep -c '"concepts":\[{"keyword":"="},{"column":0},{"column":2},{"column":2,"value":"Ilmo[0-9]*"}\]' >n
[ "$(cat n)" = 60 ] || complain "concepts of unedited tables" "$(cat n): $(grep -m 1 plain spans/train.jsonl)"
grep '"type":"plain"' spans/*.jsonl | grep -c '"concepts":\[{"keyword":"MAX"},{"keyword":"="},{"column":1}' >n
[ "$(cat n)" = 60 ] || complain "keywords of unedited tables" "$(cat n)"
grep '"type":"doubled"' spans/train.jsonl | grep '"AMB","alternatives":\[{"column":0},{"column":1}\]' | grep -v '"concepts":\[{"keyword":"="},{"column":0},{"column":1},{"column":3},{"column":3,"value"' >through
[ -s through ] && complain "concepts of a doubled column" "$(head -n 1 through)"
grep '"type":"deleted"' spans/train.jsonl | grep '"UNK"' | grep '"MAX"' | grep -v '"concepts":\[{"keyword":"MAX"},{"keyword":"="},{"column":1},{"column":1,"value"' >through
[ -s through ] && complain "concepts of a deleted column" "$(head -n 1 through)"

# --- Squall: the words are joined, a literal's column is the one it is compared with, c4_number is c4
run 0 data counterfactual --wtq wtq -o squall --seed 3
grep -q '^wikitq  *doubled  *[1-9]' shown || fail "the table: $(cat shown)"
cat squall/*.jsonl >squall.jsonl
grep -F '"type":"plain"' squall.jsonl | grep -F '"question":"what is the mayor of harbour 0 named o'"'"'hara 0 ?"' >one
grep -qF '"concepts":[{"keyword":"="},{"keyword":">="},{"column":0},{"column":2},{"column":2,"value":"o'"'"'hara 0"},{"column":3}]' one || complain "concepts of Squall" "$(cat one)"
grep -qF '"start":37,"end":45,"label":"VAL","alternatives":[{"column":2,"value":"o'"'"'hara 0"}]' one || complain "a value of Squall" "$(cat one)"
grep -qF '{"name":"size","type":"number","values":["' one || complain "a type of Squall" "$(cat one)"
[ "$(grep -c '"keyword":"COUNT"' squall.jsonl)" = "$(($(grep -c . squall.jsonl) / 2))" ] || complain "keywords of Squall"

# field LINES NAME: its text
field() { grep -o "\"$1\":\"[^\"]*\"" | cut -d '"' -f 4; }

# --- every span marks the words that the question has there, and an UNK's words are in no column
cat spans/*.jsonl | grep -v '"type":"out-of-scope"' >all.jsonl
awk '
    match($0, /"question":"[^"]*"/) { question = substr($0, RSTART + 12, RLENGTH - 13) }
    {
        columns = substr($0, index($0, "\"columns\":["), index($0, "\"spans\":[") - index($0, "\"columns\":["))
        rest = substr($0, index($0, "\"spans\":["))
        sub(/"edit":.*/, "", rest)
        while (match(rest, /"start":[0-9]+,"end":[0-9]+,"label":"[A-Z]+"/)) {
            split(substr(rest, RSTART, RLENGTH), part, /[:,"]+/)
            words = substr(question, part[3] + 1, part[5] - part[3])
            label = part[7]
            span = substr(rest, RSTART)
            list = substr(span, 1, index(span, "]"))
            alternatives = gsub(/"column":/, "", list)
            if (words !~ /^[A-Za-z0-9]+$/) print "no word: " words
            if (label == "AMB" && alternatives < 2) print "AMB of " alternatives ": " $0
            if (label == "UNK" && (alternatives || index(columns, "\"" words "\"") || index(columns, words " ") || index(columns, " " words))) print "UNK that the table has: " $0
            if ((label == "COL" || label == "VAL") && alternatives != 1) print label " of " alternatives ": " $0
            count[label]++
            rest = substr(rest, RSTART + RLENGTH)
        }
    }
    END { for (l in count) n++; if (n != 4) print "labels: " n }' all.jsonl >wrong
[ -s wrong ] && complain "spans" "$(head -n 3 wrong)"

# --- each question, and each table, stands as often with a problem as without, plain records aside
grep -v '"type":"plain"' all.jsonl >edited.jsonl
# halves KEY: of each text of the key, records with a problem less those without
halves() {
    awk -v key="$1" '{
        problem = /"label":"(AMB|UNK)"/ ? 1 : -1
        text = key == "question" ? substr($0, index($0, "\"question\":"), index($0, "\"type\":") - index($0, "\"question\":")) : \
            substr($0, index($0, "\"columns\":["), index($0, "\"spans\":[") - index($0, "\"columns\":["))
        sum[text] += problem
    } END { for (t in sum) if (sum[t]) n++; print n + 0 }' edited.jsonl
}
[ "$(halves question)" = 0 ] || complain "questions tell a problem" "$(halves question)"
[ "$(halves table)" = 0 ] || complain "tables tell a problem" "$(halves table)"

# --- folds share no table and no question
for key in db_id question; do
    for fold in train valid test; do field $key <spans/$fold.jsonl | sort -u; done | sort | uniq -d >twice
    [ -s twice ] && complain "$key in two folds" "$(head -n 1 twice)"
done

# --- each question with a doubled column stands on a table that has one new column too
field question <<<"$(grep '"type":"doubled"' all.jsonl | grep '"label":"AMB"')" | sort -u >ambiguous
field question <<<"$(grep '"type":"doubled-and-replaced"' all.jsonl | grep -v '"label":"AMB"')" | sort -u >controls
[ -s ambiguous ] || fail "no question is ambiguous"
comm -23 ambiguous controls >alone
[ -s alone ] && complain "AMB without a control of one new column" "$(head -n 1 alone)"

# --- cases that the guards reject: a word that another column shares, a similar name, a stated modifier, a column in a
# comparison.  A value that is part of a longer word is marked only where it stands alone.
mkdir guarded
# ask N COLUMNS QUESTION SEL VALUE: a question of table N, which is written once
ask() {
    grep -qs "\"8-$1-1\"" guarded/train.tables.jsonl || printf '{"id": "8-%d-1", "header": [%s], "types": ["text", "text", "text", "text"], "rows": []}\n' "$1" "$2" >>guarded/train.tables.jsonl
    printf '{"phase": 1, "table_id": "8-%d-1", "question": "%s", "sql": {"sel": %d, "agg": 0, "conds": [[2, 0, "%s"]]}}\n' "$1" "$3" "$4" "$5" >>guarded/train.jsonl
}
for k in 1 2 3 4 5; do
    shared='"coach", "coach name", "player", "venue"'
    ask "$k" "$shared" "What is the coach when the player is Q$k?" 0 "Q$k"
    ask "$k" "$shared" "What is the venue when the player is Z$k?" 3 "Z$k"
    alike='"colour", "colours", "player", "venue"'
    ask $((k + 5)) "$alike" "What is the colour when the player is Q$k?" 0 "Q$k"
    ask $((k + 5)) "$alike" "What is the venue when the player is Z$k?" 3 "Z$k"
    said='"coach", "record", "player", "venue"'
    ask $((k + 10)) "$said" "What is the home away old new first second former current coach of player Q$k?" 0 "Q$k"
    ask $((k + 10)) "$said" "What is the venue when the player is Z$k?" 3 "Z$k"
done
ask 20 '"round", "year", "grade", "venue"' "What was found for grade f?" 0 f
ask 20 '"round", "year", "grade", "venue"' "What was found for the venue?" 3 f
run 0 data counterfactual --wikisql guarded -o kept --seed 1
cat kept/*.jsonl | grep -v '"type":"out-of-scope"' >kept.jsonl
grep '"label":"UNK"' kept.jsonl | grep -E '"question":"What is the (coach|colour) when' >through && complain "a guard" "$(head -n 1 through)"
grep '"label":"AMB"' kept.jsonl | grep -E '"question":"What is the (coach|colour) when' >through && complain "a guard" "$(head -n 1 through)"
awk '/"label":"AMB"/ && /home away old/ {
    rest = substr($0, index($0, "\"added\":["))
    if (rest ~ /"(home|away|old|new|first|second|former|current) coach"/) print
}' kept.jsonl >through
[ -s through ] && complain "a modifier that the question says" "$(head -n 1 through)"
grep -q '"question":"What was found for grade f?".*"start":25,"end":26,"label":"VAL"' kept.jsonl || complain "a value within a word" "$(grep 'grade f' kept.jsonl)"
grep '"question":"What was found for the venue?"' kept.jsonl | grep '"VAL"' >through && complain "a value within a word" "$(cat through)"

# --- whole databases, and names from a dictionary: records about a single table do not change.  A question that two tables
# answer keeps both interpretations.  A name that another table has is not used.
mkdir spider
awk 'BEGIN {
    printf "["
    for (i = 0; i < 24; i++) {
        printf "%s{\"db_id\": \"club%d\", \"table_names\": [\"member\", \"visit\"], \"table_names_original\": [\"member\", \"visit\"], ", i ? ", " : "", i
        printf "\"column_names\": [[-1, \"*\"], [0, \"club%d id\"], [0, \"salary\"], [0, \"color\"], [1, \"visit id\"], [1, \"member id\"], [1, \"weather\"], [1, \"color\"]], ", i
        printf "\"column_names_original\": [[-1, \"*\"], [0, \"member_id\"], [0, \"salary\"], [0, \"color\"], [1, \"visit_id\"], [1, \"member_id\"], [1, \"weather\"], [1, \"color\"]], "
        printf "\"column_types\": [\"text\", \"number\", \"number\", \"text\", \"number\", \"number\", \"text\", \"text\"], \"foreign_keys\": [[5, 1]], \"primary_keys\": [1, 4]}"
    }
    print "]"
}' >spider/tables.json
# asked FIRST LAST: three questions of each of these clubs
asked() {
    awk -v first="$1" -v last="$2" 'BEGIN {
        printf "["
        for (i = first; i <= last; i++) {
            printf "%s{\"db_id\": \"club%d\", \"question\": \"What was the weather on visits of club %d?\", \"query\": \"SELECT T2.weather FROM member AS T1 JOIN visit AS T2 ON T1.member_id = T2.member_id\"}, ", (i > first) ? ", " : "", i, i
            printf "{\"db_id\": \"club%d\", \"question\": \"What is the salary of those of club %d?\", \"query\": \"SELECT salary FROM member\"}, ", i, i
            printf "{\"db_id\": \"club%d\", \"question\": \"Show each color in club %d.\", \"query\": \"SELECT color FROM member\"}", i, i
        }
        print "]"
    }'
}
asked 0 19 >spider/train_spider.json
asked 20 23 >spider/dev.json
awk 'BEGIN {
    printf "{"
    for (i = 0; i < 24; i++) printf "%s\"club%d\": {\"member\": {\"Salary\": [\"Monthly_pay\", \"Earnings\"]}}", i ? ", " : "", i
    print "}"
}' >synonyms.json
run 0 data counterfactual --spider spider --databases --synonyms synonyms.json -o whole --seed 1
cat whole/*.jsonl | grep -v '"type":"out-of-scope"' >whole.jsonl
grep -q '"question":"What was the weather.*"table":"member".*"table":"visit"' whole.jsonl || complain "a question of two tables is not asked"
grep -q '"label":"AMB"' <<<"$(grep '"question":"What was the weather' whole.jsonl)" || complain "no question of two tables is ambiguous"
grep -q '"name":"monthly pay","type":"number".*"name":"earnings","type":"number"' whole.jsonl || complain "no name of the dictionary"
grep '"table"' whole.jsonl | grep '"question":"Show each color' | grep -E '"label":"(AMB|UNK)"' >through && complain "a name that two tables have" "$(head -n 1 through)"
grep -E '"deleted":\[[^]]*"(member|club[0-9]*) id"' whole.jsonl >through && complain "a column that joins is deleted" "$(head -n 1 through)"
grep -v '"type":"plain"' whole.jsonl >edited.jsonl
[ "$(halves question)" = 0 ] || complain "questions of databases tell a problem" "$(halves question)"
[ "$(halves table)" = 0 ] || complain "databases tell a problem" "$(halves table)"
run 0 data probe --data whole
check "a dictionary that is none" 3 "synonyms.jsonl|wiki" data counterfactual --spider spider --synonyms wiki/dev.jsonl -o no

# --- a value is one that the statement compares its column with, not any word of the statement
mkdir -p compared/db
sqlite3 compared/db/club0.sqlite "CREATE TABLE member(member_id INT, salary INT, color TEXT); INSERT INTO member VALUES (1, 5, 'count'), (2, 7, 'green');
CREATE TABLE visit(visit_id INT, member_id INT, weather TEXT, color TEXT); INSERT INTO visit VALUES (1, 1, 'rain', 'blue');"
sed 's/}, {"db_id": "club1".*/}]/' spider/tables.json >compared/tables.json
cat >compared/train_spider.json <<'END'
[{"db_id": "club0", "question": "What is the count of salary for green ones?", "query": "SELECT count(salary) FROM member WHERE color = \"green\""},
{"db_id": "club0", "question": "What is the count of salary for those in red?", "query": "SELECT count(salary) FROM member WHERE color = 'red'"}]
END
echo '[]' >compared/dev.json
run 0 data counterfactual --spider compared -o values --seed 1
cat values/*.jsonl >values.jsonl
grep -q '"question":"What is the count of salary for green ones?".*"column":2,"value":"green"' values.jsonl || complain "a compared value" "$(cat values.jsonl)"
grep -E '"value":"count"' values.jsonl >through && complain "a function taken for a value" "$(cat through)"

# --- calculations: two numbers of a table, and the question asks for a quantity that only the other question's table has
mkdir numbers
awk 'BEGIN {
    split("height budget salary weight income length", names, " ")
    for (t = 0; t < 90; t++) {
        a = names[t % 6 + 1]
        b = names[(t + 1 + int(t / 6) % 5) % 6 + 1]
        printf "{\"id\": \"7-%d-1\", \"header\": [\"%s\", \"%s\", \"player\", \"town %d\"], \"types\": [\"real\", \"real\", \"text\", \"text\"], \"rows\": [[%d, %d, \"Ilmo%d\", \"\"]]}\n", t, a, b, t, t + 3, t + 900, t >"numbers/train.tables.jsonl"
        for (k = 0; k < 2; k++)
            printf "{\"phase\": 1, \"table_id\": \"7-%d-1\", \"question\": \"For the player Ilmo%d, which %s has ship %d?\", \"sql\": {\"sel\": %d, \"agg\": 4, \"conds\": [[2, 0, \"Ilmo%d\"]]}}\n", t, t, k ? b : a, t, k, t >"numbers/train.jsonl"
    }
}'
run 0 data counterfactual --wikisql numbers -o computed --seed 1
grep -qE '^wikisql +calculation +0 +[1-9]' shown || complain "the row of calculations" "$(cat shown)"
for split in train valid test; do
    grep '"type":"calculation"' computed/$split.jsonl >$split.some
    [ -s $split.some ] || complain "calculations of $split" "none"
    grep -oE '"added":\["[a-z]+ [a-z]+"' $split.some | grep -oE '[a-z]+"$' | sort -u
done | sort | uniq -d >twice
[ -s twice ] && complain "a quantity in two splits" "$(cat twice)"
cat ./*.some >edited.jsonl
[ "$(halves question)" = 0 ] || complain "questions tell a calculation" "$(halves question)"
[ "$(halves table)" = 0 ] || complain "tables tell a calculation" "$(halves table)"
# The quantity's words are UNK, or COL where the table has its column; the value behind them keeps its place.
awk '
    match($0, /"question":"[^"]*"/) { question = substr($0, RSTART + 12, RLENGTH - 13) }
    {
        match($0, /"added":\["[^"]*"/)
        added = substr($0, RSTART + 10, RLENGTH - 11)
        at = match(question, /which [a-z]+ [a-z]+ has/)
        words = substr(question, at + 6, RLENGTH - 10)
        label = words == added ? "COL" : "UNK"
        if (!at || index($0, sprintf("{\"start\":%d,\"end\":%d,\"label\":\"%s\"", at + 5, at + 5 + length(words), label)) == 0) print
        if (!/"label":"VAL"/ || /"keyword":"SUM"},{"keyword":"="},{"column":[0-9]+},{"column":[0-9]+},{"column":[0-9]+},/) print
    }' edited.jsonl >wrong
[ -s wrong ] && complain "marks of calculations" "$(head -n 2 wrong)"
run 0 data probe --data computed
grep -qE '^UNK: [1-9]' shown || complain "a probe of calculations" "$(cat shown)"

# --- requests beyond SQL: the words after the question are UNK, and nothing else changes
cat computed/*.jsonl spans/*.jsonl | grep '"type":"out-of-scope"' >beyond
[ "$(wc -l <beyond)" -ge 5 ] || complain "requests" "$(wc -l <beyond)"
awk '
    match($0, /"question":"[^"]*"/) {
        question = substr($0, RSTART + 12, RLENGTH - 13)
        at = match(question, / and [a-zA-Z ]+[?]$/)
        if (!at || index($0, sprintf("{\"start\":%d,\"end\":%d,\"label\":\"UNK\"", at + 4, length(question) - 1)) == 0 || gsub(/"UNK"|"AMB"/, "") != 1) print
    }' beyond >wrong
[ -s wrong ] && complain "marks of requests" "$(head -n 2 wrong)"

# --- probes are at chance, and say so where they are not
run 0 data probe --data spans
[ "$(grep -c 'AUC 0.500' shown)" = 8 ] || complain "probes" "$(cat shown)"
mkdir leaky
for fold in train valid test; do
    grep -v '"type":"plain"' spans/$fold.jsonl | awk '/"label":"(AMB|UNK)"/ { sub(/"question":"What/, "\"question\":\"Pray") } { print }' >leaky/$fold.jsonl
done
check "a leak" 3 'leak: the probe "question only"' data probe --data leaky

# --- bad input
check "no source" 2 "expected --wikisql, --wtq or --spider" data counterfactual -o no
check "no folder" 3 "none" data counterfactual --wikisql none -o no
check "no Spider" 3 "none" data counterfactual --spider none -o no
check "a folder that is there" 2 "spans" data counterfactual --wikisql wiki -o spans
run 0 data counterfactual --wikisql wiki --wtq headers -o spans --seed 3 --force
mkdir bad
# broken NAME TEXT FILE SED: the first line of a file changed
broken() {
    cp wiki/train.jsonl wiki/train.tables.jsonl bad/
    sed "1$4" "wiki/$3" >"bad/$3"
    check "$1" 3 "bad/$3: line 1.*$2" data counterfactual --wikisql bad -o no
}
broken "half a line" "" train.jsonl 's/}$//'
broken "a question that is a number" "question" train.jsonl 's/"question": "[^"]*"/"question": 7/'
broken "a question without SQL" '"sql"' train.jsonl 's/"sql"/"query"/'
broken "an unknown table" 'table_id.*expected a table.*"9-7777-1"' train.jsonl 's/9-0-1/9-7777-1/'
broken "a column that is not there" '"sel".*9' train.jsonl 's/"sel": 0/"sel": 9/'
broken "an aggregate" '"agg".*6' train.jsonl 's/"agg": 0/"agg": 6/'
broken "conditions that are no list" "conds" train.jsonl 's/"conds": \[\[.*\]\]/"conds": 7/'
broken "a condition's column" 'conds.*a column from 0 to 2, got 77' train.jsonl 's/\[\[2,/[[77,/'
broken "a condition's comparison" 'conds.*a comparison from 0 to 3, got -1' train.jsonl 's/\[\[2, 0/[[2, -1/'
broken "a condition's value" 'conds.*string or number' train.jsonl 's/"Ilmo0"\]\]/null]]/'
broken "a header that is no list" "header" train.tables.jsonl 's/"header": \[[^]]*\]/"header": 7/'
broken "a header of numbers" "header" train.tables.jsonl 's/"player"/7/'
broken "too few types" "types.*3 types, got 2" train.tables.jsonl 's/"types": \["text", /"types": [/'
broken "a type" 'types.*blob' train.tables.jsonl 's/"types": \["text"/"types": ["blob"/'
broken "a short row" 'rows.*3 cells, got 2' train.tables.jsonl 's/"Sera"\]/8], [7, 7]/'
cp wiki/train.jsonl bad/ && cat wiki/train.tables.jsonl wiki/train.tables.jsonl >bad/train.tables.jsonl
check "a table twice" 3 "train.tables.jsonl: line 61.*9-0-1 twice" data counterfactual --wikisql bad -o no
rm bad/train.tables.jsonl
check "no tables" 3 "bad/train.tables.jsonl" data counterfactual --wikisql bad -o no
rm bad/train.jsonl
check "no questions" 3 "bad: expected train.jsonl with train.tables.jsonl" data counterfactual --wikisql bad -o no
check "no Squall" 3 "bad: expected data/squall.json or tables/json" data counterfactual --wtq bad -o no
check "no questions at all" 3 "expected questions with SQL" data counterfactual --wtq headers -o no
# broken_squall NAME TEXT SED: the first question changed;  broken_table NAME TEXT SED: the first table
broken_squall() {
    rm -rf bad && cp -r wtq bad
    sed -i "$3" bad/data/squall.json
    check "$1" 3 "squall.json: record 1.*$2" data counterfactual --wtq bad -o no
}
broken_squall "a table outside of the folder" 'tbl.*204_590, got "../200_0"' 's/"200_0"/"..\/200_0"/'
broken_squall "a table that is not there" 'tbl.*201_0.json' 's/"200_0"/"201_0"/'
broken_squall "words that are no list" 'nl' 's/"nl": \[[^]]*\]/"nl": 7/'
broken_squall "words that are numbers" 'nl.*an integer' 's/"what"/7/'
broken_squall "no SQL" '"sql"' 's/"sql"/"query"/'
broken_squall "a column that is not there" 'sql.*c1 to c4, got "c5"' 's/"c3"/"c5"/'
broken_squall "a token without text" 'sql.*tokens' 's/\["Keyword", "where", \[\]\]/["Keyword"]/'
broken_squall "a type of token" 'sql.*Keyword, Column.*"Verb"' 's/\["Keyword", "where"/["Verb", "where"/'
broken_table() {
    rm -rf bad && cp -r wtq bad
    sed -i "$3" bad/tables/json/200_0.json
    check "$1" 3 "200_0.json: .*$2" data counterfactual --wtq bad -o no
}
broken_table "half a table" "" 's/}$//'
broken_table "headers that are no list" "headers" 's/"headers": \[[^]]*\]/"headers": 7/'
broken_table "too few types" "as many headers" 's/"types": \["id", /"types": [/'
broken_table "a header that is a number" "headers.*an integer" 's/"agg", "mayor"/"agg", 7/'
broken_table "a column without cells" "contents" 's/\[{"col": "c2"[^]]*\]}\]/[]/'
finish

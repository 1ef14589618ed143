#!/usr/bin/env bash
# ambit-data counterfactual: questions about small tables, on edited tables.  The marks of each type; every question and table
# occurs with and without a problem; separate splits; the same seed gives the same bytes; probe reads the records; bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

# --- tables of three columns, two questions of each: one column is asked for, another compared to a value
mkdir wiki wtq
awk 'BEGIN {
    split("rower potter glider seamer carver weaver", things, " ")
    split("coach venue record budget salary height", names, " ")
    for (t = 0; t < 60; t++) {
        thing = things[t % 6 + 1] " " t
        a = names[t % 6 + 1]
        b = names[(t + 1 + int(t / 6) % 5) % 6 + 1]
        value = "Ilmo" t
        header = "[\"" a "\", \"" b "\", \"player\"]"
        for (k = 0; k < 2; k++) {
            what = k ? b : a
            ask = "What is the " what " of the " thing " when the player is " value "?"
            printf "{\"question\": \"%s\", \"table_id\": \"9-%d-1\", \"split\": \"train\", \"header\": %s, \"agg\": null, \"sel\": %d, \"sel_name\": \"%s\", ", ask, t, header, k, toupper(what)
            printf "\"conds\": [{\"col\": 2, \"col_name\": \"PLAYER\", \"op\": \"=\", \"value\": \"%s\", \"span\": [%d, %d]}]}\n", value, index(ask, value) - 1, index(ask, value) - 1 + length(value)
        }
    }
}' >wiki/wikisql_with_headers_extra.jsonl
head -n 2 wiki/wikisql_with_headers_extra.jsonl >wiki/wikisql_with_headers_dev.jsonl
echo '{"id": "1", "path": "1.csv", "header": ["home coach", "away coach", "home venue", "away venue", "old record", "new record"], "nrows": 0, "rows": []}' >wtq/wtq_tables_head.jsonl

run 0 data counterfactual --wikisql wiki --wtq wtq -o spans --seed 3
cp shown table
grep -q '^wikisql  *doubled  *[1-9]' table || fail "the table: $(cat table)"
run 0 data counterfactual --wikisql wiki --wtq wtq -o again --seed 3
run 0 data counterfactual --wikisql wiki --wtq wtq -o other --seed 4
for fold in train valid test; do
    cmp -s spans/$fold.jsonl again/$fold.jsonl || complain "same seed" "$fold differs"
    [ -s spans/$fold.jsonl ] || complain "$fold" "holds nothing"
done
cmp -s spans/train.jsonl other/train.jsonl && complain "another seed gives the same records"

# field LINES NAME: its text
field() { grep -o "\"$1\":\"[^\"]*\"" | cut -d '"' -f 4; }

# --- every span marks the words that the question has there, and an UNK's words are in no column
cat spans/*.jsonl >all.jsonl
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
# ask N COLUMNS QUESTION SEL VALUE START: a question of table N
ask() {
    printf '{"question": "%s", "table_id": "8-%d-1", "split": "train", "header": [%s], "agg": null, "sel": %d, "sel_name": "", ' "$3" "$1" "$2" "$4"
    printf '"conds": [{"col": 2, "col_name": "", "op": "=", "value": "%s", "span": [%d, %d]}]}\n' "$5" "$6" $(($6 + ${#5}))
}
for k in 1 2 3 4 5; do
    shared='"coach", "coach name", "player", "venue"'
    ask "$k" "$shared" "What is the coach when the player is Q$k?" 0 "Q$k" 37
    ask "$k" "$shared" "What is the venue when the player is Z$k?" 3 "Z$k" 37
    alike='"colour", "colours", "player", "venue"'
    ask $((k + 5)) "$alike" "What is the colour when the player is Q$k?" 0 "Q$k" 38
    ask $((k + 5)) "$alike" "What is the venue when the player is Z$k?" 3 "Z$k" 37
    said='"coach", "record", "player", "venue"'
    ask $((k + 10)) "$said" "What is the home away old new first second former current coach of player Q$k?" 0 "Q$k" 74
    ask $((k + 10)) "$said" "What is the venue when the player is Z$k?" 3 "Z$k" 37
done >guarded/wikisql_with_headers_extra.jsonl
{
    ask 20 '"round", "year", "grade", "venue"' "What was found for grade f?" 0 f 9
    ask 20 '"round", "year", "grade", "venue"' "What was found for the venue?" 3 f 9
} >guarded/wikisql_with_headers_dev.jsonl
run 0 data counterfactual --wikisql guarded -o kept --seed 1
cat kept/*.jsonl >kept.jsonl
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
cat whole/*.jsonl >whole.jsonl
grep -q '"question":"What was the weather.*"table":"member".*"table":"visit"' whole.jsonl || complain "a question of two tables is not asked"
grep -q '"label":"AMB"' <<<"$(grep '"question":"What was the weather' whole.jsonl)" || complain "no question of two tables is ambiguous"
grep -q '"name":"monthly pay","type":"number".*"name":"earnings","type":"number"' whole.jsonl || complain "no name of the dictionary"
grep '"table"' whole.jsonl | grep '"question":"Show each color' | grep -E '"label":"(AMB|UNK)"' >through && complain "a name that two tables have" "$(head -n 1 through)"
grep -E '"deleted":\[[^]]*"(member|club[0-9]*) id"' whole.jsonl >through && complain "a column that joins is deleted" "$(head -n 1 through)"
grep -v '"type":"plain"' whole.jsonl >edited.jsonl
[ "$(halves question)" = 0 ] || complain "questions of databases tell a problem" "$(halves question)"
[ "$(halves table)" = 0 ] || complain "databases tell a problem" "$(halves table)"
run 0 data probe --data whole
check "a dictionary that is none" 3 "synonyms.jsonl|wiki" data counterfactual --spider spider --synonyms wiki/wikisql_with_headers_dev.jsonl -o no

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

# --- probes are at chance, and say so where they are not
run 0 data probe --data spans
[ "$(grep -c 'AUC 0.500' shown)" = 8 ] || complain "probes" "$(cat shown)"
mkdir leaky
for fold in train valid test; do
    grep -v '"type":"plain"' spans/$fold.jsonl | awk '/"label":"(AMB|UNK)"/ { sub(/"question":"What/, "\"question\":\"Pray") } { print }' >leaky/$fold.jsonl
done
check "a leak" 3 'leak: the probe "question only"' data probe --data leaky

# --- bad input
check "no source" 2 "expected --wikisql or --spider" data counterfactual -o no
check "no folder" 3 "none" data counterfactual --wikisql none -o no
check "no Spider" 3 "none" data counterfactual --spider none -o no
check "a folder that is there" 2 "spans" data counterfactual --wikisql wiki -o spans
run 0 data counterfactual --wikisql wiki --wtq wtq -o spans --seed 3 --force
mkdir bad
# broken NAME TEXT SED: the first question changed
broken() {
    sed "1$3" wiki/wikisql_with_headers_extra.jsonl >bad/wikisql_with_headers_extra.jsonl
    check "$1" 3 "$2" data counterfactual --wikisql bad -o no
}
broken "half a line" "extra.jsonl" 's/}$//'
broken "a header that is no list" "header" 's/"header": \[[^]]*\]/"header": 7/'
broken "a question that is a number" "question" 's/"question": "[^"]*"/"question": 7/'
broken "a column that is not there" "sel" 's/"sel": 0/"sel": 9/'
broken "a condition's column" "col" 's/"col": 2/"col": 77/'
broken "conditions that are no list" "conds" 's/"conds": \[.*\]}$/"conds": 7}/'
finish

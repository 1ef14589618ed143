#!/usr/bin/env bash
# ambit-data natural: a small corpus in Spider's form. Which questions lose a modifier, on which schemas they stand, the
# balance of labels, clear questions, splits that are kept, same seed same bytes, and bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

# --- six databases of one shape: trips with two dates and two airports, and riders whose name has a namesake
mkdir small
awk 'BEGIN {
    split("trip tour ride walk cruise flight", things, " ")
    printf "[" >"small/tables.json"
    printf "[" >"small/train_spider.json"
    for (d = 1; d <= 6; d++) {
        t = things[d]
        printf "%s{\"db_id\": \"%ss\", \"table_names\": [\"%s\", \"rider\"], \"table_names_original\": [\"%s\", \"rider\"], ", (d > 1 ? "," : ""), t, t, t >"small/tables.json"
        printf "\"column_names\": [[-1, \"*\"], [0, \"id\"], [0, \"start date\"], [0, \"end date\"], [0, \"home airport\"], [0, \"target airport\"], [0, \"name\"], [0, \"rider id\"], [1, \"rider id\"], [1, \"name\"]], " >"small/tables.json"
        printf "\"column_names_original\": [[-1, \"*\"], [0, \"id\"], [0, \"start_date\"], [0, \"end_date\"], [0, \"home_airport\"], [0, \"target_airport\"], [0, \"name\"], [0, \"rider_id\"], [1, \"rider_id\"], [1, \"name\"]], " >"small/tables.json"
        printf "\"column_types\": [\"text\", \"number\", \"time\", \"time\", \"text\", \"text\", \"text\", \"number\", \"number\", \"text\"], \"primary_keys\": [1, 8], \"foreign_keys\": [[7, 8]]}\n" >"small/tables.json"
        printf "%s", (d > 1 ? "," : "") >"small/train_spider.json"
        printf "{\"db_id\": \"%ss\", \"question\": \"What is an end date of the %s?\", \"query\": \"SELECT end_date FROM %s\"},\n", t, t, t >"small/train_spider.json"
        printf "{\"db_id\": \"%ss\", \"question\": \"Which home airport does the %s have?\", \"query\": \"SELECT home_airport FROM %s\"},\n", t, t, t >"small/train_spider.json"
        printf "{\"db_id\": \"%ss\", \"question\": \"List the name of each %s.\", \"query\": \"SELECT name FROM %s\"},\n", t, t, t >"small/train_spider.json"
        printf "{\"db_id\": \"%ss\", \"question\": \"List the name of the rider of the %s.\", \"query\": \"SELECT rider.name FROM rider JOIN %s ON rider.rider_id = %s.rider_id\"}\n", t, t, t, t >"small/train_spider.json"
    }
    print "]" >"small/tables.json"
    print "]" >"small/train_spider.json"
}'

run 0 data natural small -o made --seed 1 --edits 0 --wording 0
cat made/train.jsonl made/valid.jsonl made/test.jsonl >all
grep -q '"question":"What is a date of the trip?"' all || complain "article" "$(grep 'of the trip' all)"
grep -q '"question":"Which airport does the walk have?"' all || complain "modifier" "$(grep -c airport all)"
grep '"question":"List the name."' all | grep -q '"type":"J","ambiguous":true' || complain "a name of two tables"
grep '"reason":"under-specified"' all >short
[ "$(grep -c '"ambiguous":true' short)" -ge 10 ] || complain "ambiguous questions" "$(grep -c '"ambiguous":true' short)"
grep '"slice":"contrast"' all | grep -q '"reason":"whole name"' || complain "no column goes by the whole name that a question says"
grep '"reason":"template"' all | grep -q '"ambiguous":true' || complain "no question from a template"
grep '"ambiguous":true' short | grep -q '"alternatives":\["trip.end_date","trip.start_date"\]' || complain "alternatives"
grep '"reason":"table named"' all | grep -q 'List the name of each' || complain "a question that names its table"
if grep '"question":"List the name of the rider' all | grep -q '"reason":"table named"'; then complain "a question that names both tables"; fi
[ "$(grep -c '"source":"small"' all)" = "$(wc -l <all)" ] || complain "source"

# each contrast question and schema has both labels equally often
for field in question db_id; do
    grep '"slice":"contrast"' all | sed -E "s/.*\"$field\":\"([^\"]*)\".*\"ambiguous\":(true|false).*/\1\t\2/" |
        awk -F '\t' '{ sum[$1] += $2 == "true" ? 1 : -1 } END { for (k in sum) if (sum[k]) { print k; exit 1 } }' >said ||
        complain "balance of $field"
done

run 0 data natural small -o again --seed 1 --edits 0 --wording 0
cmp -s made/train.jsonl again/train.jsonl || complain "same seed, other bytes"
run 0 data natural small -o edited --seed 1
cat edited/train.jsonl edited/valid.jsonl edited/test.jsonl >all
for reason in "two columns" "two tables" "modifier said"; do
    grep -q "\"reason\":\"$reason\"" all || complain "no example: $reason"
done
run 0 data natural small -o kept --seed 5 --edits 0 --wording 0 --splits made
for split in train valid test; do
    for folder in made kept; do
        grep -oE '"source_db":"[^"]*"' $folder/$split.jsonl | sort -u >$folder.$split
    done
    cmp -s made.$split kept.$split || complain "--splits: other databases in $split"
done

# --- our own domains as a corpus
run 0 data practice --unlabelled -o domains --seed 1
[ -f domains/db/domain_bank.sqlite ] || complain "databases of the domains"
run 0 data natural domains -o shipped --seed 1 --edits 5
[ "$(grep -c '"ambiguous":true' shipped/train.jsonl)" -ge 100 ] || complain "examples of the domains" "$(wc -l shipped/train.jsonl)"

for kind in attachment scope vague; do
    for label in true false; do
        grep -q "\"slice\":\"custom\",\"type\":\"$kind\",\"ambiguous\":$label" shipped/train.jsonl || complain "no $kind, $label"
    done
done
run 0 data probe --data shipped

# --- tables that belong to nothing, such as those of WikiSQL
mkdir apart
cp domains/train_spider.json apart
sed -E 's/("foreign_keys": ?\[)(\[[0-9, ]*\],? ?)*\]/\1]/g' domains/tables.json >apart/tables.json
run 0 data natural apart -o single --seed 1 --edits 0
left=$(grep -cE '"foreign_keys": ?\[\[' apart/tables.json || :)
[ "$left" = 0 ] || complain "foreign keys are left" "$left"
! grep -qE '"type":"(attachment|scope|vague)"' single/*.jsonl || complain "a question about wording without foreign keys"

# --- bad input
check "a folder that is missing" 3 nothing/tables.json data natural nothing -o other
mkdir wrong
cp small/tables.json wrong
echo '[{"db_id": "unknown", "question": "Why?", "query": "SELECT 1"}]' >wrong/train_spider.json
check "an unknown database" 3 'record 1: field "db_id": expected a database of tables.json, got "unknown"' data natural wrong -o other
mkdir odd
cp shipped/* odd 2>/dev/null || :
sed -i 's/"slice":"custom","type":"scope"/"slice":"custom","type":"C"/' odd/train.jsonl
check "a schema type in the slice custom" 3 'expected one of attachment, .* in the slice custom, got "C"' data probe --data odd
check "no folder" 2 DIR data natural -o other

finish

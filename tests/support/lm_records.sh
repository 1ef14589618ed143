# shellcheck shell=bash
# Sourced by cli_*.sh: conversations for a small language model.

# Records $1 to $2, of 20 to 140 tokens, whose answers follow from the question.
records() {
    local i n
    for ((i = $1; i < $2; i++)); do
        n=$(printf 'word%d ' $(seq 1 $((1 + i * 7 % 23))))
        printf '{"id":"%d","prompt":"Question %d about %s:","completion":" Answer %d, %s."}\n' $i $i "$n" $((i % 5)) "${n:0:$((5 + i % 30))}"
    done
}

made() { data "$@" >>log 2>&1 || fail "ambit-data $*"; }

# bakery_records FILE: infilling records of one database, which lies in dbs with columns under two names.
bakery_records() {
    cat >questions.json <<'END_OF_QUESTIONS'
[{"db_id": "bakery", "question": "What are the names of all bakers?", "query": "SELECT name FROM baker"},
 {"db_id": "bakery", "question": "List the shift of each baker.", "query": "SELECT shift FROM baker"},
 {"db_id": "bakery", "question": "In which year was each baker hired?", "query": "SELECT hire_year FROM baker"},
 {"db_id": "bakery", "question": "What is the flour of each bread?", "query": "SELECT flour FROM bread"},
 {"db_id": "bakery", "question": "Give the weight of every bread.", "query": "SELECT weight FROM bread"},
 {"db_id": "bakery", "question": "What does each bread cost?", "query": "SELECT price FROM bread"}]
END_OF_QUESTIONS
    made practice -o all --seed 1
    made ambiguate --kinds C --questions questions.json --schema all/tables.json --db all/db --seed 1 --materialise dbs -o ambiguous.jsonl
    made infilling rewrite ambiguous.jsonl --db dbs --seed 1 -o readings.jsonl
    made infilling annotate readings.jsonl --db dbs --context compact -o "$1"
}

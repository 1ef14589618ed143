#!/usr/bin/env bash
# ambit-data score --rule spans: labels and grounding of words, counted by hand; bad predictions.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

cat >gold.jsonl <<'END'
{"id":"a","source":"own","db_id":"shop","type":"plain","question":"old price of red boats","columns":[{"name":"price","type":"number"},{"name":"color","type":"text","values":["red","blue"]}],"spans":[{"start":0,"end":9,"label":"COL","alternatives":[{"column":0}]},{"start":13,"end":16,"label":"VAL","alternatives":[{"column":1,"value":"red"}]}]}
{"id":"b","source":"own","db_id":"game","type":"plain","question":"net score","columns":[{"name":"home score","type":"number"},{"name":"away score","type":"number"}],"spans":[{"start":4,"end":9,"label":"AMB","alternatives":[{"column":0},{"column":1}]}]}
{"id":"c","source":"own","db_id":"game","type":"plain","question":"best score","columns":[{"name":"home score","type":"number"},{"name":"away score","type":"number"}],"spans":[{"start":5,"end":10,"label":"AMB","alternatives":[{"column":0},{"column":1}]}]}
{"id":"d","source":"own","db_id":"shop","type":"plain","question":"show warranty","columns":[{"name":"price","type":"number"}],"spans":[{"start":5,"end":13,"label":"UNK","alternatives":[]}]}
END
# said ID SPAN...: a line of the tagger
said() {
    local id=$1
    shift
    (IFS=,; printf '{"id":"%s","problem":0.5,"spans":[%s]}\n' "$id" "$*")
}
# span START END LABEL CONCEPT...: a span of it
span() {
    local start=$1 end=$2 label=$3
    shift 3
    (IFS=,; printf '{"start":%d,"end":%d,"label":"%s","probability":0.9,"alternatives":[%s]}' "$start" "$end" "$label" "$*")
}
column() { printf '{"concept":"%s","type":"column","score":0.5}' "$1"; }
value() { printf '{"concept":"%s","type":"value","score":0.5,"values":["%s"]}' "$1" "$2"; }
{
    said a "$(span 0 9 COL "$(column price)")" "$(span 13 16 VAL "$(value color blue)")"
    said b "$(span 4 9 AMB "$(column 'home score')" "$(column 'final score')")"
    said c "$(span 5 10 AMB "$(column 'away score')" "$(column 'home score')")"
    said d "$(span 0 4 COL "$(column price)")"
} >said.jsonl
run 0 data score --rule spans --gold gold.jsonl --pred said.jsonl
# shows LINE NUMBER: the measure of the printed table
shows() { awk -v name="$1" -v wanted="$2" 'index($0, name) == 1 { found = substr($0, length(name) + 1) + 0 == wanted } END { exit !found }' shown || complain "$1" "expected $2: $(grep -F "$1" shown)"; }
shows "words of COL found, %" 100
shows "words of VAL found, %" 100
shows "words of AMB found, %" 100
shows "words of UNK found, %" 0
shows "words of COL grounded, %" 100
shows "words of VAL grounded, %" 0
shows "words of AMB grounded, %" 50
shows "words of these grounded, %" 60
run 0 data score --rule spans --gold gold.jsonl --pred said.jsonl --json
grep -o '"grounding": *{.*' <(tr -d '\n ' <shown) | grep -q '"COL":{"value":1.0,.*"VAL":{"value":0.0,.*"AMB":{"value":0.5,.*"all":{"value":0.6,' || complain "grounding" "$(tr -d '\n ' <shown | tail -c 700)"

# --- counts of each record
run 0 data score --rule spans --gold gold.jsonl --pred said.jsonl --per-example each.jsonl
grep -q '"id":"a",.*"labels":{"COL":{"gold":1,"tagged":1,"exact":1,"words":2,"words_found":2,"words_grounded":2},"VAL":{"gold":1,"tagged":1,"exact":1,"words":1,"words_found":1,"words_grounded":0}' each.jsonl || complain "counts of a record" "$(head -n 1 each.jsonl)"
grep -q '"id":"d",.*"UNK":{"gold":1,"tagged":0,"exact":0,"words":1,"words_found":0,"words_grounded":0}' each.jsonl || complain "counts of a record" "$(tail -n 1 each.jsonl)"

# --- the label decides first: the right column under another label is not grounded
said a "$(span 0 9 AMB "$(column price)" "$(column color)")" "$(span 13 16 VAL "$(value color RED)")" >other.jsonl
run 7 data score --rule spans --gold gold.jsonl --pred other.jsonl
shows "words of COL grounded, %" 0
shows "words of VAL grounded, %" 100

# --- bad predictions
{
    said a "$(span 0 9 MAYBE "$(column price)")"
    said c "$(span 5 10 AMB "$(column 'away score')" "$(column 'home score')")"
} >bad.jsonl
run 7 data score --rule spans --gold gold.jsonl --pred bad.jsonl
grep -q 'line 1: span 0: field "label": expected COL, VAL, AMB or UNK, got "MAYBE"' shown || complain "a label" "$(tail -n 4 shown)"
check "no gold" 2 "requires --gold" data score --rule spans --pred said.jsonl
check "a file that is not there" 3 "none.jsonl" data score --rule spans --gold gold.jsonl --pred none.jsonl
finish

#!/usr/bin/env bash
# Measures the gain of combining detector and clarifier on AmbiQT's published predictions of types J and P.  Simulated
# truthful users mean each of the two gold statements in turn.  Prints the accuracy after 0, 1 and 2 questions for four
# settings: no detector, its predictions, its alternatives as additional candidates, and the gate.
# With PARSER, a model folder of ambit-infer parse, the same is measured on the parser's candidates.  It takes every
# EVERYth of these records, and every EVERYth of Spider's dev questions, which are unambiguous.
# usage: ask.sh SHARED_DATA DETECTOR OUT [GATE [PARSER]]     environment: AMBIT_BIN, folder of the programs; EVERY=4
set -euo pipefail
shared=$1 detector=$2 out=$3 gate=${4:-0.2} parser=${5:-}
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
tables=$shared/spider/tables.json
mkdir -p "$out"

# row NAME FILE: prints the measures in the last line of FILE.
row() {
    tail -n 1 "$2" | awk -v name="$1" '
    function number(field, text) {
        text = $0
        sub(".*\"" field "\":\\{", "", text)
        match(text, /"mean":[0-9.]+,"low":[0-9.]+,"high":[0-9.]+/)
        text = substr(text, RSTART, RLENGTH)
        gsub(/[^0-9.,]/, "", text)
        split(text, part, ",")
        return sprintf("%.3f [%.3f, %.3f]", part[1], part[2], part[3])
    }
    {
        list = $0
        sub(/.*"accuracy":\[/, "", list)
        sub(/\].*/, "", list)
        n = split(list, item, /\},\{/)
        printf "| %s |", name
        for (i = 1; i <= n; i++) {
            gsub(/[^0-9.,]/, "", item[i])
            split(item[i], part, ",")
            printf " %.3f [%.3f, %.3f] |", part[1], part[2], part[3]
        }
        printf " %s | %s |\n", number("coverage"), number("questions")
    }'
}
talk() { "$bin/ambit-infer" "$@" --simulate --noise 0 --max-turns 2 "${about[@]}" 2>>"$out/log" || [ $? = 7 ]; }
# rows NAME BASE: prints the four rows for the candidates in BASE.jsonl.
rows() {
    talk clarify --candidates "$2.jsonl" -o "$2.none.jsonl"
    talk ask --detector "$detector" --alternatives off "$2.jsonl" -o "$2.findings.jsonl"
    talk ask --detector "$detector" "$2.jsonl" -o "$2.both.jsonl"
    talk ask --detector "$detector" --gate "$gate" "$2.jsonl" -o "$2.gate.jsonl"
    row "$1, no detector" "$2.none.jsonl"
    row "$1, findings" "$2.findings.jsonl"
    row "$1, findings and alternatives" "$2.both.jsonl"
    row "$1, with --gate $gate" "$2.gate.jsonl"
    echo "$1: $(grep -c '"gated":true' "$2.gate.jsonl" || true) of $(wc -l <"$2.jsonl") records gated" >&2
}
# own NAME RECORDS BASE: measures the parser's candidates for every EVERYth record.
own() {
    awk -v every="${EVERY:-4}" 'NR % every == 1 || every == 1' "$2" >"$3.records.jsonl"
    "$bin/ambit-infer" parse --model "$parser" "${about[@]}" -k 10 --write-candidates "$3.records.jsonl" -o "$3.parsed.jsonl" 2>>"$out/log" || [ $? = 7 ]
    python3 - "$3" <<'PY'
import json, sys

base = sys.argv[1]
parsed = {line["id"]: line for line in map(json.loads, open(base + ".parsed.jsonl"))}
with open(base + ".jsonl", "w") as out:
    for record in map(json.loads, open(base + ".records.jsonl")):
        candidates = parsed.get(record["id"], {}).get("candidates")
        if candidates:
            print(json.dumps({**record, "candidates": candidates}), file=out)
PY
    rows "$1" "$3"
}

about=(--schema "$tables")
echo "| predictions and setting | 0 questions | 1 question | 2 questions | coverage | questions asked |"
echo "|---|---|---|---|---|---|"
for kind in J P; do
    folder=join-ambiguity gold=tbl-split
    [ $kind = J ] || folder=precomputed-aggregates gold=tbl-agg
    for method in chatgpt logical-beam t5-3b-bw10; do
        "$bin/ambit-data" candidates --from ambiqt-output "$shared/ambiqt/outputs/$folder/$method.json" \
            --gold "$shared/ambiqt/$gold.validation.jsonl" --schema "$tables" -o "$out/$kind-$method.jsonl" 2>>"$out/log" || [ $? = 7 ]
        rows "$kind $method" "$out/$kind-$method"
    done
    [ -z "$parser" ] || own "$kind own parser" "$out/$kind-logical-beam.jsonl" "$out/$kind-own"
done
[ -n "$parser" ] || exit 0

about=(--db "$shared/spider/db")
python3 - "$shared/spider/dev.json" >"$out/dev.jsonl" <<'PY'
import json, sys

for number, record in enumerate(json.load(open(sys.argv[1])), 1):
    print(json.dumps({"id": number, "db_id": record["db_id"], "question": record["question"], "gold": [record["query"]]}))
PY
own "Spider dev, own parser" "$out/dev.jsonl" "$out/dev-own"

#!/usr/bin/env bash
# What joining detector and clarifier buys, on AmbiQT's published predictions of kinds J and P, both golds meant in turn by
# truthful users: accuracy after 0, 1 and 2 questions without a detector, with its findings alone, with its alternatives
# as candidates too, and with the gate.
# usage: ask.sh SHARED_DATA DETECTOR OUT [GATE]     AMBIT_BIN says where the programs are
set -euo pipefail
shared=$1 detector=$2 out=$3 gate=${4:-0.2}
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
tables=$shared/spider/tables.json
mkdir -p "$out"

# row NAME FILE: the measures of a file's last line
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
talk() { "$bin/ambit-infer" "$@" --simulate --noise 0 --max-turns 2 --schema "$tables" 2>>"$out/log" || [ $? = 7 ]; }

echo "| predictions, and what is joined | 0 questions | 1 question | 2 questions | coverage | questions asked |"
echo "|---|---|---|---|---|---|"
for kind in J P; do
    folder=join-ambiguity gold=tbl-split
    [ $kind = J ] || folder=precomputed-aggregates gold=tbl-agg
    for method in chatgpt logical-beam t5-3b-bw10; do
        base=$out/$kind-$method
        "$bin/ambit-data" candidates --from ambiqt-output "$shared/ambiqt/outputs/$folder/$method.json" \
            --gold "$shared/ambiqt/$gold.validation.jsonl" --tables "$tables" -o "$base.jsonl" 2>>"$out/log" || [ $? = 7 ]
        talk clarify --candidates "$base.jsonl" -o "$base.none.jsonl"
        talk ask --detector "$detector" --alternatives off "$base.jsonl" -o "$base.findings.jsonl"
        talk ask --detector "$detector" "$base.jsonl" -o "$base.both.jsonl"
        talk ask --detector "$detector" --gate "$gate" "$base.jsonl" -o "$base.gate.jsonl"
        row "$kind $method, no detector" "$base.none.jsonl"
        row "$kind $method, findings" "$base.findings.jsonl"
        row "$kind $method, findings and alternatives" "$base.both.jsonl"
        row "$kind $method, with --gate $gate" "$base.gate.jsonl"
        echo "$kind $method: $(grep -c '"gated":true' "$base.gate.jsonl" || true) records gated" >&2
    done
done

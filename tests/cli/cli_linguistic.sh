#!/usr/bin/env bash
# Linguistic ambiguity: rows in AMBROSIA's format as labels beside a data folder, a detector with a head for these types, the
# output of detect and evaluate, and bad input.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
: >log
told=(said shown)

synthetic all 3 5 320 64 64
mkdir db && for name in gym bakery hotel library zoo airline; do cp "all/db/$name.sqlite" "db/my_$name.sqlite"; done

# rows in AMBROSIA's format: questions with "each" are ambiguous, those with "all ... in common" and "for each" are not
awk -v names="gym bakery hotel library zoo airline" 'BEGIN {
    n = split(names, db)
    for (k = 1; k <= n; k++)
        for (i = 0; i < 20; i++) {
            text = i % 3 == 0 ? "Show the name and size " i " that each " db[k] " has." : i % 3 == 1 ? "For each " db[k] ", show its own name and size " i "." : "Which name and size " i " do all of " db[k] " have in common?"
            printf "{\"db\":\"my_%s\",\"domain\":\"Test\",\"question\":\"%s\",\"is_ambiguous\":%s,\"ambig_type\":\"%s\",\"gold_queries\":[\"SELECT 1\"]}\n",
                db[k], text, i % 3 ? "false" : "true", "scope"
        }
}' >rows.jsonl
tiny_detector batch=16 epochs=6 lr=3e-3 head-lr=3e-3 labelled-share=0.2 compute=f32 device=cpu >tiny.yaml
gatekeeper() { train gatekeeper --config tiny.yaml "$@"; }

expect 0 'rows.jsonl: 120 questions, 42 of them ambiguous, about 6 databases; split by database' \
    gatekeeper --data all --labelled rows.jsonl --db db --out run
grep -qE '^scope +[0-9]+ +0\.350 ' shown || complain "training" "no row of scope: $(cat shown)"

# --- evaluate: these rows, by kind; the words are learnt
expect 0 '^scope +120 ' train evaluate detector run --data rows.jsonl --db db --device cpu
expect 0 '"scope": ' train evaluate detector run --data rows.jsonl --db db --device cpu --json
auc=$(sed -nE '/"scope"/,$ s/.*"auc": *([0-9.]*),?$/\1/p' shown | head -n 1)
awk -v x="$auc" 'BEGIN { exit !(x > 0.9) }' || complain "evaluate" "the AUC of scope is $auc"

# --- detect: the kind is named, without alternatives; a detector without the head knows none of them
sed -E 's/"db"/"db_id"/; s/"(domain|gold_queries)":[^,}]*,?//g' rows.jsonl | awk '{ sub(/\{/, "{\"id\":" NR ","); sub(/,\}/, "}"); print }' >asked.jsonl
expect 0 '' infer detect --model run --db db --threshold 0.5 --relevance none asked.jsonl --device cpu -o found.jsonl
grep -q '"type":"scope","alternatives":\[\],"ambiguities":\[\],"sentence":"This question has several readings: all may share one answer' found.jsonl ||
    complain "detect" "names no scope: $(head -n 3 found.jsonl)"
[ "$(grep -c '"type":"scope"' found.jsonl)" -gt 20 ] || complain "detect" "names scope $(grep -c '"type":"scope"' found.jsonl) times"
expect 0 '' gatekeeper --data all --epochs 1 --out plain
expect 0 '' infer detect --model plain --db db --threshold 0 --relevance none asked.jsonl --device cpu -o plain.jsonl
grep -q '"type":"scope"' plain.jsonl && complain "detect" "a detector that was not taught names scope"
grep -q '"question":"Show the name and size 0 that each gym has.","score"' plain.jsonl || complain "detect" "$(head -n 1 plain.jsonl)"

# --- bad input
expect 2 'rows.jsonl: expected --db' gatekeeper --data all --labelled rows.jsonl --out new
sed 's/my_gym/gym/' rows.jsonl >clash.jsonl
cp all/db/gym.sqlite db/gym.sqlite
expect 3 'gym' gatekeeper --data all --labelled clash.jsonl --db db --out new
sed '2s/"scope"/"mood"/' rows.jsonl >odd.jsonl
expect 3 'line 2: field "type": expected one of C, .*, got "mood"' gatekeeper --data all --labelled odd.jsonl --db db --out new
sed '3s/"is_ambiguous":false/"is_ambiguous":"perhaps"/' rows.jsonl >odd.jsonl
expect 3 'line 3: field "is_ambiguous"' train evaluate detector run --data odd.jsonl --db db --device cpu
expect 2 'labelled-share' gatekeeper --data all --labelled rows.jsonl --db db --labelled-share 1 --out new

finish

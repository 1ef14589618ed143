#!/usr/bin/env bash
# The detector that comes with ambit: it opens, is small, is the one that its card describes, and every command that reads
# a detector uses it when none is named.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
own=$root/models/detector
: >log

# --- the folder
bytes=$(cat "$own"/* | wc -c)
[ "$bytes" -le 25000000 ] || complain "$own" "has $bytes bytes, expected at most 25,000,000"
run 0 train inspect "$own"
grep -q 'every checksum holds' shown || complain inspect "does not say that every checksum holds"
grep -q '"weights": "int8"' shown || complain inspect "does not say that weights are in int8"
cmp -s "$own/ambit.h5" "$bin/../share/ambit/detector/ambit.h5" || complain "$bin/../share/ambit/detector" "is not the folder models/detector"
for file in ambit.h5 triage.json words.h5 tokenizer.json tokenizer_config.json special_tokens_map.json; do
    grep -q "^$(sha256sum <"$own/$file" | cut -d' ' -f1)  $file$" "$own/README.md" || complain README.md "does not have the checksum of $file"
done

# --- a database as people have them: two addresses of a purchase, one of a customer's mail
sqlite3 shop.sqlite <"$root/scripts/demo.sql"
cat >questions.jsonl <<'JSON'
{"id": "two", "db_id": "shop", "question": "Show the address of each purchase."}
{"id": "one", "db_id": "shop", "question": "Show the email of each customer."}
JSON
run 0 infer detect --db shop.sqlite --device cpu questions.jsonl -o found.jsonl
grep -q '"id":"two",.*"ambiguous":true,.*"alternatives":\["purchase.billing_address","purchase.shipping_address"\]' found.jsonl ||
    complain detect "does not find the two addresses: $(head -c 700 found.jsonl)"
grep -q '"id":"one",.*"ambiguous":false' found.jsonl || complain detect "flags a plain question: $(tail -n 1 found.jsonl | head -c 500)"

# --- small talk is refused, a plain question is not; each has one sentence
printf '{"id":"%s","db_id":"shop","question":"%s"}\n' thanks "Thanks a lot, bye!" plain "Show the email of each customer." >classes.jsonl
run 0 infer detect --db shop.sqlite --device cpu classes.jsonl -o classes.found.jsonl
grep -q '"id":"thanks".*"class":"improper".*"sentence":"This seems to be no question about the database. It contains \\"Thanks\\", \\"bye\\"' classes.found.jsonl ||
    complain detect "does not refuse small talk: $(head -n 1 classes.found.jsonl)"
grep -q '"id":"plain".*"class":"answerable"' classes.found.jsonl || complain detect "refuses a plain question: $(tail -n 1 classes.found.jsonl)"

# --- it tags words, in the pass of detect and alone
printf '{"id":"%s","db_id":"shop","question":"%s"}\n' two "Show the address of each purchase." none "Show the warranty of each purchase." >words.jsonl
run 0 infer detect --db shop.sqlite --device cpu words.jsonl -o words.found.jsonl
run 0 infer tag --db shop.sqlite --device cpu words.jsonl -o words.tagged.jsonl
for file in words.found.jsonl words.tagged.jsonl; do
    grep -q '"id":"two".*"text":"address","label":"AMB".*"concept":"purchase.[a-z]*_address".*"concept":"purchase.[a-z]*_address"' $file ||
        complain "$file" "does not have the two addresses: $(head -n 1 $file | head -c 900)"
    grep -q '"id":"none".*"text":"warranty","label":"UNK"' $file || complain "$file" "knows a warranty: $(tail -n 1 $file | head -c 900)"
done

# --- every command uses it
run 0 infer detect --model "$own" --db shop.sqlite --device cpu questions.jsonl -o named.jsonl
cmp -s found.jsonl named.jsonl || complain detect "answers otherwise than with --model models/detector"
run 0 infer ask --db shop.sqlite --device cpu questions.jsonl -o asked.jsonl
scores() { grep -o '"score":[0-9.e-]*,"ambiguous"' "$1"; }
[ "$(scores asked.jsonl)" = "$(scores found.jsonl)" ] || complain ask "has other scores: $(head -c 500 asked.jsonl)"
for i in 1 2 3 4 5 6; do
    echo "{\"id\": \"a$i\", \"db_id\": \"shop\", \"question\": \"List $i addresses of purchases.\", \"ambiguous\": true}"
    echo "{\"id\": \"b$i\", \"db_id\": \"shop\", \"question\": \"List $i titles of products.\", \"ambiguous\": false}"
done >labels.jsonl
run 0 train evaluate detector --data labels.jsonl --db shop.sqlite --device cpu --json
cp shown default.json
run 0 train evaluate detector "$own" --data labels.jsonl --db shop.sqlite --device cpu --json
cmp -s default.json shown || complain evaluate "measures otherwise than with RUN models/detector"
run 0 train adapt --support labels.jsonl --db shop.sqlite --device cpu --method threshold -o shop.adapter
run 0 infer detect --adapter shop.adapter --db shop.sqlite --device cpu questions.jsonl -o adapted.jsonl
[ "$(wc -l <adapted.jsonl)" = 2 ] || complain "detect --adapter" "answers $(wc -l <adapted.jsonl) of 2 questions"

# --- a small address space is no reason to end
if [ -z "${ASAN_OPTIONS:-}" ]; then # which wants address space without end
    echo '{"id":1,"question":"q","candidates":["SELECT 1"]}' >small.jsonl
    (ulimit -v 1048576 && "$bin/ambit-infer" ask --db shop.sqlite small.jsonl -o small.out) 2>said || complain "ask in 1 GiB" "ends with an error: $(cat said)"
    grep -q 'less than 2 GiB: the detector that comes with ambit is left out' said || complain "ask in 1 GiB" "does not say so: $(cat said)"
    grep -q '"detector":null' small.out || complain "ask in 1 GiB" "writes $(cat small.out)"
fi

# --- a program without its data folder names the missing file
if [ ! -e /usr/local/share/ambit/detector ] && [ ! -e /usr/share/ambit/detector ]; then
    mkdir -p alone/bin alone/lib/ambit
    cp "$bin/../lib/ambit/ambit-sql-worker" alone/lib/ambit
    cp "$bin/ambit-infer" "$bin/ambit-train" alone/bin
    for command in "infer detect --db shop.sqlite --question x:--model" "infer ask --db shop.sqlite --question x:--detector" "infer tag --db shop.sqlite --question x:--model" \
        "train evaluate detector --data labels.jsonl --db shop.sqlite:RUN" "train adapt --support labels.jsonl --db shop.sqlite -o new:RUN"; do
        program=alone/bin/ambit-${command%% *} arguments=${command#* }
        read -ra words <<<"${arguments%:*}"
        check "$command" 6 "default detector is missing: $work/alone/share/ambit or .* has no folder detector.*gatekeeper with ${command##*:}\$" "$program" "${words[@]}"
    done
fi
finish

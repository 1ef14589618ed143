#!/usr/bin/env bash
# Tags the ambiguous and unanswerable words of questions about your own SQLite file, each with its possible meanings.
# First with the detector that comes with ambit, then without a model, then with a small tagger trained here in seconds.
# A few corrections then teach it a new word.
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1 # a model this small is fastest on one core

# --- your own database; here, two columns may be the price, and no column is the warranty
sqlite3 shop.sqlite <<'SQL'
CREATE TABLE product(product_id INTEGER PRIMARY KEY, name TEXT, list_price REAL, sale_price REAL, maker TEXT);
INSERT INTO product VALUES (1, 'Lantern', 35, 28, 'Bright & Co'), (2, 'Tent', 142, 99, 'Hillside'), (3, 'Kettle', 28, 28, 'Hillside');
CREATE TABLE delivery(delivery_id INTEGER PRIMARY KEY, product_id INT REFERENCES product(product_id), city TEXT, quantity INT);
INSERT INTO delivery VALUES (1, 1, 'Paris', 3), (2, 2, 'Oslo', 1), (3, 2, 'Lyon', 2);
SQL
cat >questions.jsonl <<'JSONL'
{"id": "q1", "question": "What is the price of the Tent?"}
{"id": "q2", "question": "What is the warranty of the Tent?"}
{"id": "q3", "question": "What is the maker of the Tent?"}
JSONL

# --- with the detector that comes with ambit: text for people, JSON records, an HTML page
ambit-infer tag --db shop.sqlite --format text questions.jsonl
ambit-infer tag --db shop.sqlite questions.jsonl -o tagged.jsonl
ambit-infer tag --db shop.sqlite --format html questions.jsonl -o tagged.html
grep -q '"id":"q1",.*"text":"price","label":"AMB"' tagged.jsonl
grep -q '"id":"q2",.*"text":"warranty","label":"UNK"' tagged.jsonl

# --- without a model
ambit-infer tag --strategy heuristic --db shop.sqlite --format text questions.jsonl
echo '{"id": 1, "question": "Show the fee.", "columns": [{"name": "entry fee", "type": "number"}, {"name": "late fee", "type": "number"}]}' |
    ambit-infer tag --strategy heuristic --format text -

# --- training records with marked words: the column of each question exists once, twice, or not at all.
# records FIRST LAST: prints the records of the questions FIRST to LAST.
records() {
    awk -v first="$1" -v last="$2" 'BEGIN {
        n = split("price weight maker size owner color", names, " ")
        split("Tent Lamp Desk Boat Ring", things, " ")
        split("list sale old new gross net", kinds, " ")
        place = column("delivery", "delivery id", "") "," column("delivery", "product id", "") "," column("delivery", "city", "") "," column("delivery", "quantity", "")
        for (i = first; i <= last; i++) {
            name = names[i % n + 1]
            other = column("product", names[(i + 1 + int(i / n) % (n - 1)) % n + 1], "")
            if (i % 4 == 0)
                other = column("product", kinds[1 + i % 6] " date", "") "," other
            thing = things[i % 5 + 1]
            two = 1 + 2 * (i % 3)
            start = length("What is the ")
            end = start + length(name)
            for (k = 0; k < 3; k++) {
                own = k == 0 ? column("product", kinds[two] " " name, "") "," column("product", kinds[two + 1] " " name, "") "," : \
                    k == 1 ? column("product", name, "") "," : ""
                means = k == 0 ? "\"AMB\",\"alternatives\":[{\"column\":2},{\"column\":3}]" : \
                    k == 1 ? "\"COL\",\"alternatives\":[{\"column\":2}]" : "\"UNK\",\"alternatives\":[]"
                printf "{\"id\":\"%d-%d\",\"source\":\"own\",\"db_id\":\"shop%d\",\"type\":\"made\",", i, k, i
                printf "\"question\":\"What is the %s of the %s?\",", name, thing
                printf "\"columns\":[%s,%s,%s%s,%s],", column("product", "product id", ""), column("product", "name", thing), own, other, place
                printf "\"spans\":[{\"start\":%d,\"end\":%d,\"label\":%s},", start, end, means
                printf "{\"start\":%d,\"end\":%d,\"label\":\"VAL\",\"alternatives\":[{\"column\":1,\"value\":\"%s\"}]}]}\n", end + 8, end + 8 + length(thing), thing
            }
        }
    }
    function column(table, name, value) {
        return "{\"table\":\"" table "\",\"name\":\"" name "\",\"type\":\"" (name ~ /price|weight|size|id$|quantity/ ? "number" : "text") "\",\"values\":[" (value ? "\"" value "\"" : "") "]}"
    }'
}
mkdir spans
records 1 60 >spans/train.jsonl
records 61 75 >spans/valid.jsonl
records 76 90 >spans/test.jsonl

# --- tune the four thresholds of the heuristic on your own records
ambit-infer tag --strategy heuristic --tune spans/valid.jsonl --db shop.sqlite questions.jsonl -o tuned.jsonl

# --- train a tiny tagger from scratch
cat >small.yaml <<'YAML'
encoder-hidden: 32
encoder-layers: 1
encoder-heads: 2
encoder-intermediate: 64
encoder-vocabulary: 600
encoder-dropout: 0
dropout: 0
hidden: 32
epochs: 25
batch: 16
lr: 3e-3
head-lr: 3e-3
YAML
ambit-train tag --data spans --config small.yaml --device cpu --out run

# --- tag with it, and score the tags
ambit-infer tag --model run --db shop.sqlite --format text questions.jsonl
ambit-infer tag --model run --db shop.sqlite --format html questions.jsonl -o page.html
ambit-infer tag --model run --db shop.sqlite --threshold 0.9 questions.jsonl -o surer.jsonl
ambit-infer tag --model run --strategy eta --db shop.sqlite questions.jsonl -o eta.jsonl
ambit-infer tag --model run spans/test.jsonl -o said.jsonl
ambit-data score --rule spans --gold spans/test.jsonl --pred said.jsonl

# --- corrections: teach the tagger the word warranty
cat >corrections.jsonl <<'JSONL'
{"id":"c1","source":"own","db_id":"own","type":"own","question":"What is the warranty of the Lamp?","columns":[{"name":"maker","type":"text"},{"name":"price","type":"text"}],"spans":[{"start":12,"end":20,"label":"UNK","alternatives":[]}]}
{"id":"c2","source":"own","db_id":"own","type":"own","question":"Show the warranty of each boat.","columns":[{"name":"size","type":"text"},{"name":"owner","type":"text"}],"spans":[{"start":9,"end":17,"label":"UNK","alternatives":[]}]}
{"id":"c3","source":"own","db_id":"own","type":"own","question":"What is the warranty of the Desk?","columns":[{"name":"color","type":"text"},{"name":"weight","type":"text"}],"spans":[{"start":12,"end":20,"label":"UNK","alternatives":[]}]}
JSONL
ambit-train tag --data corrections.jsonl --init run --heads-only --epochs 5 --device cpu --out own
ambit-infer tag --model own --db shop.sqlite --format text questions.jsonl

# --- resume an interrupted run
ambit-infer tag --model own --db shop.sqlite questions.jsonl -o again.jsonl --resume

#!/usr/bin/env bash
# --db takes a file or a folder, with any file ending and in every command, with the same result.  Files that are no
# databases, and the choice of the database.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
told=(said shown out.jsonl)

# --- a database of our own, questions about it, and a small model
sqlite3 shop.sqlite <<'END' || exit 1
CREATE TABLE customers(id INTEGER PRIMARY KEY, name TEXT, full_name TEXT, city TEXT);
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer_id INT REFERENCES customers(id), total REAL, paid REAL);
INSERT INTO customers VALUES(1, 'ann', 'Ann Low', 'a'), (2, 'bob', 'Bob Ray', 'b'), (3, 'cy', 'Cy Orr', 'a');
INSERT INTO orders VALUES(1, 1, 60, 0), (2, 1, 20, 20), (3, 3, 80, 70);
END
data practice -o all --seed 1 >/dev/null || exit 1
mkdir good
for fold in train valid test; do
    grep '"slice":"contrast"' all/$fold.jsonl | head -n 40 >good/$fold.jsonl
done
few_tables all/tables.json good/*.jsonl >good/tables.json
cat >small.yaml <<'END'
encode: schema
encoder-hidden: 32
encoder-layers: 1
encoder-heads: 1
encoder-intermediate: 32
encoder-vocabulary: 400
gat-hidden: 8
gat-layers: 1
gat-heads: 1
pair-hidden: 8
epochs: 1
batch: 16
END
train gatekeeper --data good --config small.yaml --out model --device cpu >shown 2>said || { cat said && exit 1; }

cat >q.jsonl <<'END'
{"id":"a","db_id":"shop","question":"What is the name of each customer?","query":"SELECT name FROM customers","sql":"SELECT name FROM customers","golds":[{"sql":"SELECT name FROM customers","text":"The short names."},{"sql":"SELECT full_name FROM customers","text":"The full names."}],"gold":["SELECT name FROM customers"],"candidates":[{"sql":"SELECT name FROM customers","p":0.5},{"sql":"SELECT full_name FROM customers","p":0.5}],"readings":[{"text":"The short names.","sql":"SELECT name FROM customers"}]}
END
sed 's/"db_id":"shop",//' q.jsonl >unnamed.jsonl
sed 's/"db_id":"shop"/"db_id":"bay"/' q.jsonl >stranger.jsonl

# with COMMAND DB RECORDS: runs the command; its records go to out.jsonl
commands=(sql execute annotate ambiguate calibrate score clarify infill detect)
with() {
    case $1 in
    detect) infer detect --relevance all "$3" --db "$2" --model model --device cpu -o out.jsonl ;;
    infill) infer infill "$3" --db "$2" --defaults q.jsonl -o out.jsonl ;;
    clarify) infer clarify --candidates "$3" --db "$2" -o out.jsonl ;;
    score) data score --gold "$3" --pred q.jsonl --db "$2" --json --per-example out.jsonl ;;
    ambiguate) data ambiguate --kinds C,T --questions "$3" --db "$2" --materialise made -o out.jsonl ;;
    annotate) data infilling annotate "$3" --db "$2" -o out.jsonl ;;
    *) data "$1" "$3" --db "$2" -o out.jsonl ;;
    esac
}

# --- a folder with shop.sqlite is the reference for the other cases
mkdir flat && cp shop.sqlite flat
for command in "${commands[@]}"; do
    run 0 with "$command" flat q.jsonl && mv out.jsonl "$command.jsonl"
done
same() { # DB RECORDS
    local command
    for command in "${commands[@]}"; do
        rm -rf made
        run 0 with "$command" "$@"
        cmp -s out.jsonl "$command.jsonl" || complain "$command --db $1 $2" "$(diff out.jsonl "$command.jsonl" | head -c 900)"
    done
}
mkdir -p nested/shop
for end in sqlite db sqlite3; do
    rm -f flat/* nested/shop/* && cp shop.sqlite "flat/shop.$end" && cp shop.sqlite "nested/shop/shop.$end"
    same flat q.jsonl
    same nested/ q.jsonl
    same "flat/shop.$end" q.jsonl
    same "flat/shop.$end" unnamed.jsonl
done
cp shop.sqlite flat/shop && same flat/shop unnamed.jsonl && rm flat/shop
cp shop.sqlite flat/shop.bin && same "$PWD/flat/shop.bin" q.jsonl
ln -s shop.sqlite3 flat/shop.db && same flat q.jsonl && rm flat/shop.*
rm -rf made && run 0 with ambiguate shop.sqlite q.jsonl
made=$(sed -nE '1s/.*"db_file":"([^"]*)".*/\1/p' out.jsonl) && head -n 1 out.jsonl >made.jsonl && mkdir moved
cp "made/$made" "moved/${made%.sqlite}.db" && run 0 data infilling rewrite made.jsonl --db made -o rewritten.jsonl
for db in moved "made/$made" "moved/${made%.sqlite}.db"; do
    expect 0 'wrote 1 ambiguous and' data infilling rewrite made.jsonl --db "$db" -o out.jsonl
    cmp -s out.jsonl rewritten.jsonl || complain "rewrite --db $db" "other records"
done

# --- which database is meant: by a record that names none in a folder, by one that names another than the file, by two
# files of one name, by a path
cp shop.sqlite flat
for command in "${commands[@]}"; do
    code=7
    case $command in ambiguate | calibrate | score) code=3 ;; esac # one record, and nothing is left
    fails() { rm -rf made && expect $code "$1" with "$command" "${@:2}"; }
    fails 'field ..?db_id..? is missing' flat unnamed.jsonl
    fails 'shop.sqlite is the database ..?shop..?; expected that db_id or none, got ..?bay' shop.sqlite stranger.jsonl
    fails 'no database bay: neither flat/bay.sqlite nor flat/bay/bay.sqlite, nor with .db or .sqlite3' flat stranger.jsonl
    cp shop.sqlite flat/shop.db
    fails 'expected one database shop, got flat/shop.sqlite and flat/shop.db' flat q.jsonl
    rm flat/shop.db && mkdir flat/shop && cp shop.sqlite flat/shop/shop.sqlite3
    fails 'expected one database shop, got flat/shop.sqlite and flat/shop/shop.sqlite3' flat q.jsonl
    rm -r flat/shop
    for name in ../shop ./shop .shop flat/shop ''; do
        sed "s,\"db_id\":\"shop\",\"db_id\":\"$name\"," q.jsonl >bad.jsonl
        fails "expected the name of a database, got ..?$name" flat bad.jsonl
    done
done

# --- a file that is no database is an error before any record is read
head -c 9000 /dev/urandom >noise.db
echo 'id,name' >short.csv
mkfifo pipe.db
for command in "${commands[@]}"; do
    expect 3 'noise.db: file is not a database; expected a SQLite file or a folder of them' with "$command" noise.db q.jsonl
    expect 3 'short.csv: file is not a database' with "$command" short.csv q.jsonl
    expect 3 'nowhere.db: No such file' with "$command" nowhere.db q.jsonl
    expect 3 'pipe.db: expected a regular file' with "$command" pipe.db q.jsonl
done

# --- views and virtual tables count as tables; a view that cannot be resolved gives one warning and disturbs no record
sqlite3 seen.db <<'END' || exit 1
CREATE TABLE orders(id INTEGER PRIMARY KEY, total REAL, paid REAL, due AS (total - paid));
INSERT INTO orders(total, paid) VALUES(60, 0), (20, 20), (80, 70);
CREATE VIEW big_orders AS SELECT id, total, paid, due FROM orders WHERE total > 50;
CREATE VIEW lost AS SELECT x FROM gone;
CREATE VIRTUAL TABLE notes USING fts5(title, body);
INSERT INTO notes VALUES('a', 'late again');
END
cat >seen.jsonl <<'END'
{"id":"v","question":"How many big orders?","sql":"SELECT count(*) FROM big_orders","query":"SELECT total FROM big_orders","candidates":[{"sql":"SELECT count(*) FROM big_orders","p":0.5},{"sql":"SELECT count(*) FROM orders","p":0.5}]}
{"id":"n","question":"What are the titles of notes?","sql":"SELECT title FROM notes","query":"SELECT title FROM notes","candidates":[{"sql":"SELECT title FROM notes","p":0.5},{"sql":"SELECT body FROM notes","p":0.5}]}
{"id":"g","question":"What is due?","sql":"SELECT due FROM big_orders","query":"SELECT due FROM orders","candidates":[{"sql":"SELECT due FROM big_orders","p":0.5},{"sql":"SELECT due FROM orders","p":0.5}]}
END
out() { # TEXT...: a line of out.jsonl holds each
    local text
    for text; do grep -qE -- "$text" out.jsonl || complain "out.jsonl" "does not hold $text: $(head -c 900 out.jsonl)"; done
}
run 0 with sql seen.db seen.jsonl
[ "$(grep -c 'warning: seen.db: omitting lost: no such table: main.gone' said)" = 1 ] || complain sql "does not tell once of lost"
out '"table":"big_orders","column":"total"' '"table":"notes","column":"title"'
run 0 with execute seen.db seen.jsonl
out '"columns":\["count\(\*\)"\],"rows":\[\[2\]\]' '"rows":\[\["a"\]\]' '"columns":\["due"\],"rows":\[\[60.0\],\[10.0\]\]'
run 0 with clarify seen.db seen.jsonl
[ "$(grep -c '"ask":{' out.jsonl)" = 3 ] || complain clarify "does not ask three times: $(head -c 900 out.jsonl)"
run 0 with detect seen.db seen.jsonl
out '"table":"big_orders","column":"total"' '"table":"notes","column":"body"'
grep -q notes_ out.jsonl && complain detect "reads the tables in which notes keeps its rows"
rm -rf made && run 0 with ambiguate seen.db seen.jsonl
grep -E '"(column|table)":"(big_orders|notes)"' out.jsonl && complain ambiguate "doubles what cannot stand twice"

# --- full-text tables: the columns that * does not give
sqlite3 text.db <<'END' || exit 1
CREATE VIRTUAL TABLE docs USING fts5(title, body);
INSERT INTO docs VALUES('a', 'late again'), ('b', 'in time');
CREATE VIRTUAL TABLE notes USING fts4(note);
INSERT INTO notes VALUES('late'), ('soon');
END
cat >text.jsonl <<'END'
{"id":1,"question":"?","sql":"SELECT title FROM docs WHERE docs MATCH 'late' ORDER BY rank"}
{"id":2,"question":"?","sql":"SELECT d.title FROM docs AS d WHERE d.Docs MATCH 'time' AND d.rank < 0"}
{"id":3,"question":"?","sql":"SELECT docid, note FROM notes WHERE notes MATCH 'soon'"}
{"id":4,"question":"?","sql":"SELECT title FROM docs('again')"}
END
run 0 with execute text.db text.jsonl
out '"rows":\[\["a"\]\]' '"rows":\[\["b"\]\]' '"rows":\[\[2,"soon"\]\]'
run 0 with sql text.db text.jsonl
out '"table":"docs","column":"title"' '"table":"notes","column":"note"'
grep -E '"column":"(rank|docs|docid)"' out.jsonl && complain sql "lists columns that the schema does not have"
cat >wrong.jsonl <<'END'
{"id":1,"sql":"SELECT rank FROM notes"}
{"id":2,"sql":"SELECT docid FROM docs"}
{"id":3,"sql":"SELECT d FROM docs AS d"}
END
run 7 with sql text.db wrong.jsonl
[ "$(grep -c '"error":"wrong.jsonl.*no column' out.jsonl)" = 3 ] || complain sql "takes hidden columns of others: $(cat out.jsonl)"
sed -n 1p text.jsonl | sed "s/\"sql\":.*/\"candidates\":[{\"sql\":\"SELECT title FROM docs WHERE docs MATCH 'late'\",\"p\":0.5},{\"sql\":\"SELECT body FROM docs WHERE docs MATCH 'late'\",\"p\":0.5}]}/" >ask.jsonl
run 0 with clarify text.db ask.jsonl && out '"ask":\{'

# --- a name that no record can contain is an error; names without letters are read; a missing collation gives one warning
latin=$(printf 'caf\351.db') && cp shop.sqlite "$latin"
for command in "${commands[@]}"; do
    expect 3 '.db: expected a file name in UTF-8, which is its db_id' with "$command" "$latin" unnamed.jsonl
done
sqlite3 blank.db <<'END' || exit 1
CREATE TABLE "" (id INTEGER PRIMARY KEY, "" TEXT, name TEXT);
INSERT INTO "" VALUES(1, 'x', 'y');
END
cat >blank.jsonl <<'END'
{"id":"e","question":"What is the name?","sql":"SELECT \"\" FROM \"\"","candidates":[{"sql":"SELECT \"\" FROM \"\"","p":0.5},{"sql":"SELECT name FROM \"\"","p":0.5}]}
END
run 0 with sql blank.db blank.jsonl && out '"table":"","column":""'
run 0 with execute blank.db blank.jsonl && out '"rows":\[\["x"\]\]'
run 0 with clarify blank.db blank.jsonl && out '"ask":\{'
run 0 with detect blank.db blank.jsonl && out '"table":"","column":"","text"'
cp shop.sqlite sorted.db && sqlite3 sorted.db >/dev/null <<'END' || exit 1
.dbconfig defensive off
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = 'CREATE TABLE customers(id INTEGER PRIMARY KEY, name TEXT COLLATE german, full_name TEXT COLLATE [by sound], city TEXT COLLATE nocase)' WHERE name = 'customers';
END
sed 's/"shop"/"sorted"/' q.jsonl q.jsonl >sorted.jsonl
for command in sql detect; do
    run 0 with $command sorted.db sorted.jsonl
    for name in german 'by sound'; do
        [ "$(grep -c "warning: sorted.db: the collation $name is missing: SQL that compares or sorts with it fails" said)" = 1 ] ||
            complain $command "does not tell once of the collation $name: $(cat said)"
    done
    grep -q 'collation nocase' said && complain $command "misses a collation that SQLite has"
done
echo '{"id":"o","sql":"SELECT name FROM customers ORDER BY name"}' >order.jsonl
run 7 with execute sorted.db order.jsonl && out 'the statement uses a collation that is missing'
finish

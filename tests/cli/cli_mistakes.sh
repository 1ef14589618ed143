#!/usr/bin/env bash
# Mistakes of first days: each line has an exit code, a regular expression of the message that tells the user what to do,
# and the command.  No mistake changes a file.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

sqlite3 shop.sqlite "CREATE TABLE purchase (purchase_id INTEGER PRIMARY KEY, billing_address TEXT, shipping_address TEXT);
    INSERT INTO purchase VALUES (1, 'Mill Lane 2', 'Harbour 9')"
echo '{"id": "q1", "db_id": "shop", "question": "Show the address of each purchase."}' >q.jsonl
echo '{"id": "q1", "db_id": "shop", "sql": "SELECT 1", "prompt": "One"}' >sql.jsonl
echo '{"id": "q1", "db_id": "shop", "question": "Show it.", "candidates": ["SELECT 1", "SELECT 2"]}' >c.jsonl
printf 'id;question\n1;Show it.\n' >semicolons.csv
printf 'id,question,ambiguous\n1,Show it.,1\n' >labels.csv
printf 'PK\003\004\0\0' >q.xlsx
cp q.jsonl plain.jsonl.gz
echo 'CREATE TABLE a (b INTEGER);' >schema.sql
echo 'epoch: 3' >key.yaml
echo 'epochs: many' >value.yaml
mkdir notes full nothere && echo text >notes/text.txt && : >full/ambit.h5
mkdir alone alone/bin && cp "$bin/ambit-infer" "$bin/ambit-train" alone/bin # without the process that runs SQL

export PATH=$bin:$PATH
while IFS=$'\t' read -r code text command; do
    expect "$code" "$text" bash -c "$command"
done <<'END'
2	expected a file, IN.jsonl, got "Show it now"; it has a JSON object	ambit-infer parse "Show it now" --db shop.sqlite
2	expected a file, IN.jsonl, got "SELECT 1"; its lines are	ambit-data execute "SELECT 1" --db shop.sqlite
3	a server is not asked: copy its tables .* or give its schema by --schema	ambit-infer detect q.jsonl --db postgres://localhost/shop
3	sqlite3 NEW.sqlite <FILE.sql; --schema FILE.sql reads its tables alone	ambit-infer detect q.jsonl --db schema.sql
6	it is a detector .*, which ambit-infer detect takes as --model	ambit-infer parse q.jsonl --db shop.sqlite --model "$OLDPWD/models/detector"
6	huggingface-cli download google/flan-t5-base --local-dir DIR	ambit-infer parse q.jsonl --db shop.sqlite --model google/flan-t5-base
6	takes the address of a language-model server as --parser URL, other commands as --lm URL	ambit-infer parse q.jsonl --db shop.sqlite --model http://localhost:8080/v1
6	other commands as --lm URL	ambit-infer generate sql.jsonl --model https://localhost/v1
6	huggingface-cli download bert-base-uncased	ambit-infer generate sql.jsonl --model bert-base-uncased
2	did you mean --detector or --parser\?	ambit-infer ask --db shop.sqlite --model gate --question "Show it."
2	did you mean --lr\?	ambit-train gatekeeper --data notes --out new --learning-rate 1e-4
2	did you mean --db\?	ambit-infer detect q.jsonl --database shop.sqlite
2	did you mean --out\?	ambit-infer detect q.jsonl --db shop.sqlite --outfile x.jsonl
2	expected ADDRESS:PORT, such as 127.0.0.1:8080	ambit-infer ask --db shop.sqlite --serve 8080
2	did you mean --candidates c.jsonl\?	ambit-infer clarify c.jsonl --db shop.sqlite
2	for the default interpretations; with --lm URL add --default-model lm	ambit-infer infill q.jsonl --db shop.sqlite
2	did you mean 'detect'\?	ambit-infer detct q.jsonl --db shop.sqlite
2	did you mean ambit-infer detect\?	ambit-data detect q.jsonl
2	did you mean ambit-data score\?	ambit-train score q.jsonl
2	did you mean ambit-train evaluate\?	ambit-infer evaluate q.jsonl
2	see ambit-infer --help	ambit-infer frobnicate q.jsonl
2	expected either --schema or --db	ambit-infer detect q.jsonl
2	did you mean --threshold\?	ambit-infer detect q.jsonl --db shop.sqlite --treshold 0.5
2	--threshold: expected 0 to 1, got 5	ambit-infer detect q.jsonl --db shop.sqlite --threshold 5
2	--seed: expected 0 to 9007199254740991, got -1	ambit-data practice -o new --seed -1
2	'sql.jsonl' is an unexpected operand; expected one IN.jsonl.QUESTION; put a question in quotes	ambit-infer detect q.jsonl sql.jsonl --db shop.sqlite
2	'it' is an unexpected operand; expected one IN.jsonl.QUESTION; put a question in quotes	ambit-infer detect Show it now --db shop.sqlite
2	--format: expected one of jsonl.text.csv, got 'xml'	ambit-infer detect q.jsonl --db shop.sqlite --format xml
2	unknown option -x in '-x'; expected -o -m -d	ambit-infer detect q.jsonl --db shop.sqlite -x
2	--strategy eta: expected --model RUN, a tagger of ambit-train tag	ambit-infer tag --strategy eta q.jsonl --db shop.sqlite
2	expected one of --model, --lm, --write-prompts and --answers	ambit-infer parse q.jsonl --db shop.sqlite
3	missing.jsonl: No such file or directory	ambit-infer detect missing.jsonl --db shop.sqlite
3	missing.sqlite: No such file or directory	ambit-infer detect q.jsonl --db missing.sqlite
3	notes/text.txt: file is not a database; expected a SQLite file or a folder of them	ambit-infer detect q.jsonl --db notes/text.txt
3	got zero bytes; it is a SQLite database, which --db takes	ambit-infer detect shop.sqlite --db shop.sqlite
3	got zero bytes; it is a spreadsheet or an archive: export the questions as CSV	ambit-infer detect q.xlsx --db shop.sqlite
3	expected fields separated by commas	ambit-infer detect semicolons.csv --db shop.sqlite
3	expected gzip data as its name says	ambit-infer detect plain.jsonl.gz --db shop.sqlite
2	--out: q.jsonl is an input of this command .*; choose another file	ambit-infer detect q.jsonl --db shop.sqlite -o q.jsonl
1	cannot write: No such file or directory; make the folder gone/here first	ambit-infer detect q.jsonl --db shop.sqlite -o gone/here/x.jsonl
1	cannot write: No such file or directory; make the folder gone first	ambit-data sql sql.jsonl --db shop.sqlite -o gone/x.jsonl
2	cannot write .parquet; expected OUT.jsonl.OUT.csv, .ndjson, .* compress	ambit-infer detect q.jsonl --db shop.sqlite -o x.parquet
2	cannot write .foo; expected OUT.jsonl, .ndjson, .* or no ending	ambit-data execute sql.jsonl --db shop.sqlite -o x.foo
2	cannot write .jsonl; expected FILE.html, or no ending	ambit-infer clarify --candidates c.jsonl --db shop.sqlite --simulate --report x.jsonl
2	--resume: expected --out FILE, a file to go on with	ambit-infer detect q.jsonl --db shop.sqlite --resume
6	notes: expected ambit.h5 or a checkpoint-N folder	ambit-infer detect q.jsonl --db shop.sqlite --model notes
1	ambit-sql-worker, which runs SQL, not found in .*; build the target ambit-sql-worker, or install the package ambit	alone/bin/ambit-infer detect q.jsonl --db shop.sqlite
3	gone/tables.json: .*; expected a folder of ambit-data contrast, natural or practice$	ambit-train gatekeeper --data gone --out new
3	labels.csv/tables.json: .*; a file of labelled questions needs --db or --schema	ambit-train evaluate detector --data labels.csv
2	full: holds a run already; --resume goes on with it, another --out starts anew	ambit-train gatekeeper --data notes --out full
2	key.yaml:1:1: unknown key 'epoch', did you mean 'epochs'\?	ambit-train gatekeeper --config key.yaml --data notes --out new
2	value.yaml:1:9: epochs: expected an integer, got 'many'	ambit-train gatekeeper --config value.yaml --data notes --out new
2	expected --token-file, or a local address	ambit-infer ask --db shop.sqlite --serve 0.0.0.0:8080
1	127.0.0.1:9/v1: .*; is the server running\?	ambit-infer generate sql.jsonl --lm http://127.0.0.1:9/v1 --lm-model m
END
[ "$cases" = 54 ] || complain "the list" "$cases mistakes, expected 54"

# --- one error of the run, not one of each record
for i in $(seq 20); do echo "{\"id\": $i, \"db_id\": \"shop\", \"question\": \"Show it, $i.\", \"ambiguous\": true}"; done >labels.jsonl
expect 1 'ambit-sql-worker, which runs SQL, not found' alone/bin/ambit-train gatekeeper --data labels.jsonl --db shop.sqlite --out new
[ "$(grep -c ambit-sql-worker said)" = 1 ] || complain "a missing worker" "$(wc -l <said) lines"

# --- an empty file is likely a mistake too, but one of a pipeline
: >empty.jsonl
expect 0 'warning: empty.jsonl: expected records, got an empty file' infer detect empty.jsonl --db shop.sqlite -o out.jsonl

# --- every command of a program is known to the others
for program in data infer train; do
    for other in data infer train; do
        "$bin/ambit-$other" --help | sed -nE 's/^  ([a-z0-9]+) {4,}.*/\1/p' | grep -vE '^(help|man|completion)$' >commands
        [ -s commands ] || complain "ambit-$other --help" "names no command"
        while read -r command; do
            "$bin/ambit-$program" help "$command" >/dev/null 2>&1 && continue
            expect 2 "unknown command '$command', did you mean (.* or )?ambit-$other $command( or .*)?\?" "$bin/ambit-$program" "$command"
        done <commands
    done
done
finish

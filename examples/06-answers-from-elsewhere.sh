#!/usr/bin/env bash
# Runs infilling with external models: each stage writes prompts, and the next stage reads the completions.
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

ambit-data practice -o practice
cat >questions.jsonl <<'JSON'
{"id": "q1", "db_id": "bakery", "question": "Which bakers are on the night shift?", "golds": [{"sql": "SELECT name FROM baker WHERE shift = 'night'", "text": "What are the names of the bakers on the night shift?"}, {"sql": "SELECT baker_id FROM baker WHERE shift = 'night'", "text": "What are the numbers of the bakers on the night shift?"}]}
JSON
infill() { ambit-infer infill questions.jsonl --db practice/db "$@"; }

# answer ID TEXT: prints a completion record.  It stands for the output of a model, an API or a person.
answer() { printf '{"id":"%s","text":"%s"}\n' "$1" "$2"; }
# id FILE: prints the id of the only prompt of FILE.
id() { sed -E 's/^\{"id":"([^"]*)".*/\1/' "$1"; }

# --- default interpretations, their SQL, the missing interpretations, their SQL
infill --write-prompts def -o def.prompts
answer "$(id def.prompts)" "1. What are the names of the bakers on the night shift?" >def.answers
infill --defaults def.answers --write-prompts sql -o sql.prompts
answer "$(id sql.prompts)" "SELECT name FROM baker WHERE shift = 'night'" >sql.answers
infill --defaults def.answers --sqls sql.answers --write-prompts fill -o fill.prompts
answer "$(id fill.prompts)" "What are the numbers of the bakers on the night shift?" >fill.answers
infill --defaults def.answers --sqls sql.answers --infilled fill.answers --write-prompts sql -o more.prompts
answer "$(id more.prompts)" "SELECT baker_id FROM baker WHERE shift = 'night'" >more.answers
cat sql.answers more.answers >all.answers
infill --defaults def.answers --sqls all.answers --infilled fill.answers -o final.jsonl
ambit-data score --rule dfpl --db practice/db --json --pred final.jsonl >score.json
grep -q '"all_found":1.0' score.json

# --- your own prompts
ambit-data infilling prompts -o prompts
sed -i 's/^You are/You, dear model, are/' prompts/def.txt
infill --write-prompts def --prompt-dir prompts | grep -q 'dear model'

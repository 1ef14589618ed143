#!/usr/bin/env bash
# Infilling whose models run elsewhere: each stage writes its prompts, anybody answers, the next stage reads the answers.
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

# answer ID TEXT: what a model, an API or a person writes to the prompts; here it is known beforehand
answer() { printf '{"id":"%s","text":"%s"}\n' "$1" "$2"; }
# id FILE: of its only prompt
id() { sed -E 's/^\{"id":"([^"]*)".*/\1/' "$1"; }

# --- default readings, their SQL, the readings that are missing, their SQL
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

# --- prompts of one's own
ambit-data prompts -o prompts
sed -i 's/^You are/You, dear model, are/' prompts/def.txt
infill --write-prompts def --prompt-dir prompts | grep -q 'dear model'

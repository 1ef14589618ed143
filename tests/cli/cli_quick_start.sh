#!/usr/bin/env bash
# The quick start as it stands: the page's own commands, taken from it and run in an empty folder, lead from a SQLite file
# and questions to findings and to a question for the user.
set -euo pipefail
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
page=$(realpath docs/quick-start.md)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export PATH=$bin:$PATH

# Blocks of shell but those marked as not run, and what the page shows of their output.
awk '/^<!-- not run -->$/ { skip = 1; next }
    /^```sh$/ { inside = !skip; skip = 0; next }
    /^```/ { inside = 0 }
    inside' "$page" >commands.sh
awk '/^```text$/ { inside = 1; next } /^```/ { inside = 0 } inside && NF' "$page" >promised

if ! bash -euo pipefail commands.sh >shown 2>said; then
    echo "the commands of docs/quick-start.md fail:"
    tail -n 20 said
    exit 1
fi

# Numbers and the spaces behind prompts aside, each line that the page shows was shown.
plain() { sed -E 's/[0-9]+ %/N %/g; s/[[:space:]]+$//' "$1"; }
plain shown | sed 's/^> .*/> 2/' >lines
missing=$(plain promised | grep -vxFf lines | grep -v '^> 2$' || true)
if [ -n "$missing" ]; then
    printf 'docs/quick-start.md shows lines that did not come:\n%s\n' "$missing"
    exit 1
fi
[ "$(wc -l <findings.jsonl)" = 3 ]
grep -q '"id":"q1",.*"ambiguous":true,"kind":"C","alternatives":\["purchase.billing_address","purchase.shipping_address"\]' findings.jsonl
[ "$(grep -c '"ambiguous":false' findings.jsonl)" = 2 ]
echo "$(wc -l <commands.sh) lines of the quick start run as written, $(wc -l <promised) lines are shown as promised"

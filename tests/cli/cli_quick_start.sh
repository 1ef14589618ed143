#!/usr/bin/env bash
# Runs the commands of the quick start and of the README as the pages have them, and compares the output with the pages.
set -euo pipefail
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH=$bin:$PATH

# Numbers and the spaces behind prompts aside.
plain() { sed -E 's/[0-9]+ %/N %/g; s/[[:space:]]+$//' "$1"; }

# run_page PAGE: runs the shell blocks of a page, except those marked as not run and the README's two scripts, in an empty folder.
# The detector learns from a part of the synthetic data, which saves time.  Each line that the page shows must be printed.
run_page() {
    local missing
    mkdir "$work/$1" && cd "$work/$1"
    awk '/^<!-- not run -->$/ { skip = 1; next }
        /^```sh$/ { inside = !skip; skip = 0; next }
        /^```/ { inside = 0 }
        inside && !/^scripts\//
        inside && /^ambit-data practice/ { print "sed -i 201,\\$d practice/*.jsonl" }' "$2" >commands.sh
    awk '/^```text$/ { inside = 1; next } /^```/ { inside = 0 } inside && NF' "$2" >promised
    if ! bash -euo pipefail commands.sh >shown 2>messages; then
        echo "the commands of $2 fail:"
        tail -n 20 messages
        exit 1
    fi
    plain shown | sed 's/^> .*/> 2/' >lines
    missing=$(plain promised | grep -vxFf lines | grep -v '^> 2$' || true)
    if [ -n "$missing" ]; then
        printf '%s shows lines that were not printed:\n%s\n' "$2" "$missing"
        exit 1
    fi
    echo "$(wc -l <commands.sh) lines of $2 run as written, $(wc -l <promised) lines are printed as shown"
}

run_page quick-start "$root/docs/quick-start.md"
[ "$(wc -l <predictions.jsonl)" = 3 ]
grep -q '"id":"q1",.*"ambiguous":true,"type":"C","alternatives":\["purchase.billing_address","purchase.shipping_address"\]' predictions.jsonl
[ "$(grep -c '"ambiguous":false' predictions.jsonl)" = 2 ]
run_page readme "$root/README.md"

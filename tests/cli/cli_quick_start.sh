#!/usr/bin/env bash
# Runs the commands of the quick start and of the README as the pages have them, and compares the output with the pages.
# The language-model server of the quick start is that of tests/support, with two statements for the question of the page.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
# shellcheck source=tests/support/lm_server.sh
. "$support/lm_server.sh"
export PATH=$bin:$PATH

# Numbers and the spaces behind prompts aside.
plain() { sed -E 's/[0-9]+ %/N %/g; s/[[:space:]]+$//' "$1"; }

# run_page PAGE: runs the shell blocks of a page, except those marked as not run and the README's two scripts, in an empty folder.
# The detector learns from a part of the synthetic data, which saves time.  Each line that the page shows must be printed.
run_page() {
    local missing
    mkdir "$work/$1"
    cd "$work/$1" || fail "no folder $1"
    awk '/^<!-- not run -->$/ { skip = 1; next }
        /^```sh$/ { inside = !skip; skip = 0; next }
        /^```/ { inside = 0 }
        inside && !/^scripts\//
        inside && /^ambit-data practice/ { print "sed -i 201,\\$d practice/*.jsonl" }' "$2" >commands.sh
    awk '/^```text$/ { inside = 1; next } /^```/ { inside = 0 } inside && NF' "$2" >promised
    begin "$(wc -l <commands.sh) lines of $1 run as written"
    sed -i "s|http://localhost:8080/v1|$url|" commands.sh
    bash -euo pipefail commands.sh >shown 2>said || fail "the commands of $1: $(tail -n 20 said)"
    plain shown | sed 's/^> .*/> 2/' >lines
    missing=$(plain promised | grep -vxFf lines | grep -v '^> 2$' || true)
    begin "$(wc -l <promised) lines of $1 are printed as shown"
    [ -z "$missing" ] || complain "$1" "shows lines that were not printed: $missing"
}

lamps="FROM purchase_line JOIN product USING (product_id) WHERE title = 'lamp'"
echo "{\"match\":\"lamps\",\"texts\":[\"SELECT sum(quantity) $lamps\",\"SELECT count(*) $lamps\"]}" >answers.jsonl
serve answers=answers.jsonl
run_page quick-start "$root/docs/quick-start.md"
begin "the predictions of the quick start"
[ "$(wc -l <predictions.jsonl)" = 3 ] || complain "predictions" "$(wc -l <predictions.jsonl) lines"
grep -q '"id":"q1",.*"ambiguous":true,"type":"C","alternatives":\["purchase.billing_address","purchase.shipping_address"\]' predictions.jsonl ||
    complain "predictions" "q1 is not ambiguous as shown: $(cat predictions.jsonl)"
[ "$(grep -c '"ambiguous":false' predictions.jsonl)" = 2 ] || complain "predictions" "not two are clear"
run_page readme "$root/README.md"
finish

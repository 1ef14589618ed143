#!/usr/bin/env bash
# The page of ask --serve in a browser: the databases of the service, and dialogues reopened by links, one with names that are HTML.
# Skipped without Chromium.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "no Chromium"; exit 77; }
command -v curl >/dev/null || { echo "curl is not here"; exit 77; }

mkdir dbs
sqlite3 dbs/gym.sqlite "CREATE TABLE trainer(name TEXT, fee INT, weight REAL); INSERT INTO trainer VALUES ('<b>Udo</b>', 9007199254740993, 28), (NULL, 35, 0.5)"
sqlite3 dbs/evil.sqlite 'CREATE TABLE "<img src=x onerror=document.title=1>"("</text><script>document.title=2</script>" TEXT)'
: >log
"$bin/ambit-infer" ask --detector none --db dbs --device cpu --serve 127.0.0.1:0 2>log &
server=$!
trap 'kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
await_service $server
url=http://127.0.0.1:$port

# Skips the test where the browser cannot start at all.
never_started() {
    [ "$points" = 0 ] || fail "the browser does not start again: $(tail -n 3 browser.log)"
    echo "the browser does not start: $(tail -n 3 browser.log)"
    exit 77
}
# browse NAME ADDRESS TEXT...: the page, when its work is done, has the texts.  On a busy machine the browser's virtual time may
# end before the replies, so the first text is awaited in several tries.
browse() {
    local name=$1 address=$2 text try
    shift 2
    for try in 1 2 4 8; do
        timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" \
            --virtual-time-budget=$((20000 * try)) --dump-dom "$address" >page.html 2>browser.log || never_started
        grep -qF -- "$1" page.html && break
    done
    for text in "$@"; do
        cases=$((cases + 1))
        if grep -qF -- "$text" page.html; then
            point ok "$name: ${text//[<>]/ }"
        else
            complain "$name" "lacks $text: $(head -c 3000 page.html)"
        fi
    done
}
# link JSON: the session of a reply, as the page writes it
link() { perl -MCompress::Zlib -MMIME::Base64 -e 'my $l = encode_base64(compress($ARGV[0]), ""); $l =~ tr|+/=|-_|d; print "#session=$l"' "$1"; }
session() {
    local value
    value=$(curl -s --max-time 60 -H 'Content-Type: application/json' -d "$1" "$url/start")
    value=${value#*,\"session\":}
    echo "${value%\}}"
}

browse page "$url/" '<option value="evil">evil</option><option value="gym">gym</option>' '<main id="main">' '<p id="status" role="status" class="note"></p>'
perl -MCompress::Zlib -MMIME::Base64 -e 1 2>/dev/null || { echo "# no Compress::Zlib"; finish; }
who=$(session '{"record":{"db_id":"gym","question":"Who <i>?","candidates":["SELECT name, fee, weight FROM trainer","SELECT weight FROM trainer"]}}')
browse link "$url/$(link "$who")" 'aria-label="schema of gym"' '<p>Who &lt;i&gt;?</p>' 'Question 1: choose one of 2 answers.' '<td>&lt;b&gt;Udo&lt;/b&gt;</td><td class="number">9007199254740993</td><td class="number">28.0</td>' \
    '<td class="null">NULL</td>' '<caption id="rows">2 rows</caption>' '<button class="side" id="save">'
evil=$(session '{"record":{"db_id":"evil","question":"<img src=x onerror=document.title=3>","candidates":["SELECT count(*) FROM \"<img src=x onerror=document.title=1>\""]}}')
browse "names that are HTML" "$url/$(link "$evil")" 'The result has 1 row.' '&lt;img src=x onerror=document.title=1&gt;' \
    '<title>&lt;img src=x onerror=document.title=3&gt; - ambit</title>'
browse "a cut link" "$url/$(link "$who" | head -c 200)" 'The link of the dialogue is damaged: it may have been cut.'
browse "a foreign session" "$url/$(link '{"version":1,"record":{}}')" '<p id="status" role="status" class="error">'
browse "a huge session" "$url/$(perl -MCompress::Zlib -MMIME::Base64 -e 'my $l = encode_base64(compress(" " x 6000000), ""); $l =~ tr|+/=|-_|d; print "#session=$l"')" \
    'The link of the dialogue is damaged'
finish

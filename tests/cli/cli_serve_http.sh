#!/usr/bin/env bash
# ambit-infer ask --serve: a dialogue over HTTP, the page, health and metrics; tokens; bad requests; slow statements.
# 200 connections at once, some of them killed; constant memory; folders of databases; requests without an id.
# usage: cli_serve_http.sh [REQUESTS]     how many the memory is watched over
# shellcheck disable=SC2015,SC2016
requests=${1:-1500}
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
command -v curl >/dev/null || { echo "curl is not here"; exit 77; }

sqlite3 gym.sqlite <<'SQL'
CREATE TABLE trainer(trainer_id INTEGER PRIMARY KEY, name TEXT, trainer_fee INT, fee_of_trainer INT);
INSERT INTO trainer VALUES (1, 'Udo', 35, 28), (2, 'Suri', 42, 50), (3, 'Rik', 28, 28);
SQL
host=127.0.0.1
fee="Which trainer has the highest fee?"
best="SELECT name FROM trainer ORDER BY"
cat >candidates.jsonl <<END
{"id":"q1","question":"$fee","candidates":[{"sql":"$best trainer_fee DESC LIMIT 1","p":0.6},{"sql":"$best fee_of_trainer DESC LIMIT 1","p":0.4}]}
END

# start ARGUMENTS...: a service in the background, on a port of its own
start() {
    rm -f log
    AMBIT_LOG=info "$bin/ambit-infer" ask --detector none --db "${db:-gym.sqlite}" --candidates candidates.jsonl --device cpu "$@" 2>log &
    server=$!
    await_service $server
}
stop() {
    begin "SIGTERM ends the service"
    kill -TERM "$server"
    wait "$server"
    got=$?
    [ $got = 143 ] || complain stop "exit code $got, expected 143: $(tail -n 3 log)"
}
trap 'kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
fetch() { curl -s --max-time 60 "$@"; }
# post PATH BODY [ARGUMENTS...]: the reply
post() { fetch -H 'Content-Type: application/json' -d "$2" "${@:3}" "http://$host:$port$1"; }
# says NAME PATTERN REPLY
says() {
    begin "$1 says $2"
    grep -qE -- "$2" <<<"$3" || complain "$1" "nowhere says \"$2\": ${3:0:900}"
}
# status CODE TEXT ARGUMENTS...: of a request that is refused, or not
status() {
    local got
    begin "${*:3}"
    got=$(fetch -o shown -w '%{http_code}' "${@:3}")
    [ "$got" = "$1" ] || complain "${*:3}" "status $got, expected $1: $(head -c 300 shown)"
    grep -qE -- "$2" shown || complain "${*:3}" "does not say \"$2\": $(head -c 300 shown)"
}
session() {
    local value=${1#*,\"session\":}
    value=${value%,\"id\":*}
    echo "${value%\}}"
}

# --- a dialogue: the same bytes as those of ask in files, session by session
start --serve 127.0.0.1:0
url=http://$host:$port json='Content-Type: application/json'
first=$(post /ask "{\"id\":1,\"question\":\"$fee\"}")
says ask '"question":"Which trainer has the highest fee\?","sentence":null,"detector":null,"tagger":null,"candidates":\{"from":"file","n":2,' "$first"
says ask '"ask":\{"attribute":"order#1.expr","text":"What should the result be sorted by\?"' "$first"
says ask '"sql":"SELECT name FROM trainer ORDER BY trainer_fee DESC LIMIT 1","result":\{"status":"ok","columns":\["name"\],"rows":\[\["Suri"\]\],"truncated":false\}' "$first"
infer ask --detector none --db gym.sqlite --candidates candidates.jsonl --question "$fee" -o file.jsonl 2>said
[ "$(<file.jsonl)" = "$first" ] || complain ask "other than in a file: $first"
s0="{\"version\"${first#*\"session\":\{\"version\"}"
s0=${s0%\}}
second=$(post /answer "{\"session\":$s0,\"answer\":2}")
says answer '"stop":"settled".*"sql":"SELECT name FROM trainer ORDER BY fee_of_trainer DESC LIMIT 1","result":' "$second"
s1=$(session "$second")
says words '"stop":"settled".*fee_of_trainer' "$(post /answer "{\"session\":$s0,\"answer\":\"fee of trainer of trainer\"}")"
says none '"stop":"escalated".*"sql":null,"result":null' "$(post /answer "{\"session\":$s0,\"answer\":\"none\"}")"
says show '"stop":"settled"' "$(post /show "{\"session\":$s1}")"
says undo '"turns":\[\]' "$(post /undo "{\"session\":$s1}")"
says start '"ask":null,"stop":"settled"' "$(post /start '{"record":{"db_id":"gym","question":"Who?","candidates":["SELECT name FROM trainer"]}}')"
says own '"from":"record","n":1' "$(post /ask '{"question":"Who?","candidates":["SELECT name FROM trainer"]}')"
says nothing '"candidates":null,.*"stop":"no-candidates"' "$(post /ask '{"question":"Who?"}')"
says schema '"db_id":"gym".*"table_names_original":\["trainer"\]' "$(post /schema '{}')"
drawn=$(post /schema '{"alternatives":["trainer.FEE_of_trainer","trainer"]}')
says schema '"drawing":"<style>.*aria-label=..schema of gym..' "$drawn"
[ "$(grep -o 'class=."named' <<<"$drawn" | wc -l)" = 2 ] || complain schema "does not mark both: $drawn"
says databases '^\{"databases":\["gym"\]\}' "$(fetch "$url/databases")"
says id '^\{"id":"a",' "$(post /ask '{"id":"a","question":"Who?"}')"
says id '^\{"db_id":.*"result":null\}' "$(post /ask '{"id":null,"question":"Who?"}')"
says health '^\{"status":"ok","db_id":"gym","detector":false,' "$(fetch "$url/health")"
page=$(fetch "$url/")
says page '<title>ambit</title>' "$page"
says page '</html>' "$page"
style=$(fetch -D head "$url/page.css")
says style '^Content-Type: text/css' "$(cat head)"
script=$(fetch -D head "$url/page.js")
says script '^Content-Type: text/javascript' "$(cat head)"
says script "^'use strict';" "$script"
grep -oE '(src|href|url\(|import)[^a-z]{0,3}https?://[^"]*' <<<"$page$style$script" && complain page "needs something of the network"
grep -nE '<script>|<style|style=| on[a-z]+=' <<<"$page" && complain page "has inline code, which the policy forbids"
grep -nE 'innerHTML|insertAdjacentHTML|document\.write|eval\(|new Function' <<<"$script" && complain script "runs texts as code"
policy=$(fetch -D - -o shown "$url/" | grep -i '^content-security-policy:')
says policy "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" "$policy"
# every control has a label, every label a control, and the parts are inside <main>
grep -oE '<(input|select)[^>]*' <<<"$page" | grep -oE 'id="[a-z]+"' >controls
[ "$(wc -l <controls)" = 3 ] || complain page "has other controls: $(cat controls)"
while read -r control; do says "control $control" "<label for=${control#id=}>[A-Z]" "$page"; done <controls
says main '<main id="main">.*id="question".*id="status" role="status".*id="schema".*</main>' "$(tr '\n' ' ' <<<"$page")"
says metrics '^ambit_questions_total 5$' "$(fetch "$url/metrics")"
says metrics '^ambit_http_request_seconds_count 13$' "$(fetch "$url/metrics")"

# --- requests that are refused, and leave the service as it was
status 400 'request: .* at line 1, column' -H "$json" -d '{"question":' "$url/ask"
status 400 'expected an object, got an array' -H "$json" -d '[]' "$url/ask"
status 400 'request: ' -H "$json" -d '' "$url/ask"
status 400 'field \\"question\\"' -H "$json" -d '{}' "$url/ask"
deep=$(head -c 2000 /dev/zero | tr '\0' '[')1$(head -c 2000 /dev/zero | tr '\0' ']')
for id in '{}' '[1]' 1.5 true "$deep"; do
    status 400 'field \\"id\\": expected a string or an integer, got ' -H "$json" -d "{\"id\":$id,\"question\":\"Who?\"}" "$url/ask"
    status 400 'field \\"id\\": expected a string or an integer, got ' -H "$json" -d "{\"record\":{\"id\":$id,\"question\":\"Who?\",\"candidates\":[\"SELECT 1\"]}}" "$url/start"
done
status 400 'field \\"question\\": expected a string, got an integer' -H "$json" -d '{"question":1}' "$url/ask"
status 400 'duplicate' -H "$json" -d '{"question":"a","question":"b"}' "$url/ask"
status 400 'bank' -H "$json" -d '{"question":"Who?","db_id":"bank"}' "$url/ask"
status 400 'none can be read' -H "$json" -d '{"question":"Who?","candidates":["DROP TABLE trainer"]}' "$url/ask"
status 200 '"stop":"no-candidates"' -H "$json" -d '{"question":"Who?","candidates":[]}' "$url/ask"
status 400 'unknown rule' -H "$json" -d '{"question":"Who?","candidates":["SELECT name FROM trainer"],"rules":{"x":1}}' "$url/ask"
status 400 'field \\"session\\"' -H "$json" -d '{}' "$url/answer"
status 400 '"type":"session"' -H "$json" -d '{"session":{}}' "$url/show"
status 400 'expected 1 to 2, got 9' -H "$json" -d "{\"session\":$s0,\"answer\":9}" "$url/answer"
status 400 '"type":"ended"' -H "$json" -d "{\"session\":$s1,\"answer\":1}" "$url/answer"
status 400 '"type":"undo"' -H "$json" -d "{\"session\":$s0}" "$url/undo"
status 400 'field \\"session\\"' -H "$json" -d '{}' "$url/rows"
status 400 'field \\"session\\"' -H "$json" -d '{"session":"../rows"}' "$url/rows"
status 400 '"type":"session"' -H "$json" -d "{\"session\":${s0/SELECT name/SELECT readfile}}" "$url/rows"
status 405 'expected POST' "$url/rows"
status 400 'there is no detector' -H "$json" -d '{"question":"Who?"}' "$url/detect"
status 400 'database gym has no table or table.column \\"trainer.x\\"' -H "$json" -d '{"alternatives":["trainer.x"]}' "$url/schema"
status 400 '"alternatives\\": expected strings, got an integer' -H "$json" -d '{"alternatives":[1]}' "$url/schema"
status 400 'field \\"alternatives\\": expected an array' -H "$json" -d '{"alternatives":"trainer"}' "$url/schema"
status 400 '' -H "$json" --data-binary $'{"question":"\xff\xfe"}' "$url/ask"
status 404 'nothing here' "$url/nothing"
status 404 'nothing here' -H "$json" -d '{}' "$url/nothing"
status 404 'nothing here' "$url/../etc/passwd" --path-as-is
status 405 'expected POST' "$url/ask"
status 405 'expected GET' -H "$json" -d '{}' "$url/health"
status 405 'expected GET' -H "$json" -d '{}' "$url/databases"
status 405 'expected GET' -H "$json" -d '{}' "$url/page.js"
for path in /page.js/ /PAGE.JS /page.html //page.js /%2e%2e/page.js /./page.js /.. /%2fetc/passwd; do
    status 404 'nothing here' --path-as-is "$url$path"
done
status 200 "^'use strict'" "$url/page.js?v=1"
status 405 'expected GET or POST' -X DELETE "$url/ask"
status 415 'expected Content-Type' -d '{"question":"Who?"}' "$url/ask"
status 415 'expected Content-Type' -H 'Content-Type: text/plain' -d '{"question":"Who?"}' "$url/ask"
status 403 'expected Host' -H 'Host: evil.example' "$url/health"
status 403 'expected Host' -H 'Host: localhost.evil.example' -H "$json" -d '{"question":"Who?"}' "$url/ask"
head -c 5000000 /dev/zero | tr '\0' ' ' >large
status 413 'at most 4 MiB' -H "$json" --data-binary @large -H Expect: "$url/ask"
status 413 'at most 4 MiB' -H "$json" --data-binary @large -H Expect: -H 'Transfer-Encoding: chunked' "$url/ask"
(printf '%s' '{"question":"' && head -c 3000000 /dev/zero | tr '\0' 'x' && printf '"}') >long
status 200 'no-candidates' -H "$json" --data-binary @long -H Expect: "$url/ask"
long_header=$(head -c 60000 /dev/zero | tr '\0' 'y')
begin "a long header"
[[ $(fetch -o shown -w '%{http_code}' -H "X: $long_header" "$url/health") =~ ^(000|431|413|400)$ ]] || complain "long header" "is taken"
says "after all" '"sql":"SELECT name' "$(post /ask "{\"question\":\"$fee\"}")"

# --- pages of other origins: none may use the service, and the page itself may
status 403 'expected Origin to be this service' -H 'Origin: https://example.org' "$url/databases"
status 403 'expected Origin to be this service' -H 'Origin: null' -H "$json" -d '{"question":"Who?"}' "$url/ask"
status 403 'expected Origin' -X OPTIONS -H 'Origin: https://example.org' -H 'Access-Control-Request-Method: POST' "$url/ask"
status 200 'no-candidates' -H "Origin: $url" -H "$json" -d '{"question":"Who?"}' "$url/ask"
says "no list" '^0$' "$(fetch -D - -o shown -H "Origin: $url" "$url/health" | grep -ci access-control)"

# --- 200 connections at once, all answered alike; others are killed in the middle
for ((i = 0; i < 200; i++)); do
    printf 'url = "%s/ask"\ndata = "{\\"id\\":1,\\"question\\":\\"%s\\"}"\nheader = "%s"\noutput = "many.%d"\n' "$url" "$fee" "$json" $i
    [ $i = 199 ] || echo next
done >many
for ((i = 0; i < 5; i++)); do # half of a head, of a body, and a whole request that nobody waits for
    for half in 'POST /ask HTTP/1.1\r\nHost: localhost' 'POST /ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"question":' \
        "POST /ask HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\nContent-Length: $((${#fee} + 15))\\r\\n\\r\\n{\"question\":\"$fee\"}"; do
        # shellcheck disable=SC2059 # the text is a format
        (exec 9<>"/dev/tcp/127.0.0.1/$port" && printf "$half" >&9)
    done
done
begin "200 connections at once"
fetch -Z --parallel-max 200 --parallel-immediate -K many >shown 2>&1 || complain "200 connections" "curl: exit code $?"
alike=0
for ((i = 0; i < 200; i++)); do [ "$(cat many.$i)" = "$first" ] && alike=$((alike + 1)); done
[ $alike = 200 ] || complain "200 connections" "$alike are answered as the first one was"
kill -0 $server || fail "the service is gone: $(tail -n 3 log)"

# --- memory does not grow with requests
resident() { awk '/^VmRSS/ { print $2 }' /proc/$server/status; }
# ask_many N: over one connection
ask_many() {
    for ((i = 0; i < $1; i++)); do
        printf 'url = "%s/ask"\ndata = "{\\"question\\":\\"%s\\"}"\nheader = "%s"\noutput = "/dev/null"\n' "$url" "$fee" "$json"
        [ $((i + 1)) = "$1" ] || echo next
    done >config
    curl -s --max-time 600 -K config || complain "many requests" "curl: exit code $?"
}
ask_many $((requests / 5))
before=$(resident)
ask_many "$requests"
after=$(resident)
[ $((after - before)) -lt 2048 ] || complain "$requests requests" "from $before to $after KiB"
echo "$requests requests: from $before to $after KiB"
stop

# --- tokens: with one, only the page and health answer a request without it
echo 'a-token-of-some-length' >token
chmod 644 token
start --serve 127.0.0.1:0 --token-file token
url=http://$host:$port
bearer='Authorization: Bearer a-token-of-some-length'
status 401 'expected Authorization' -H "$json" -d '{"question":"Who?"}' "$url/ask"
status 401 'expected Authorization' -H "$json" -H "${bearer}x" -d '{"question":"Who?"}' "$url/ask"
status 401 'expected Authorization' -H "$json" -H 'Authorization: Bearer ' -d '{"question":"Who?"}' "$url/ask"
status 401 'expected Authorization' "$url/metrics"
status 401 'expected Authorization' "$url/databases"
says token 'token: other users can read the token' "$(cat log)"
status 200 'no-candidates' -H "$json" -H "$bearer" -d '{"question":"Who?"}' "$url/ask"
status 200 ambit_http -H "$bearer" "$url/metrics"
status 200 '</html>' "$url/"
status 200 '"status":"ok"' -H 'Host: example.org' "$url/health"
stop
chmod 600 token
start --serve 127.0.0.2:0 --token-file token --allow-origin https://example.org,http://localhost:3000
url=http://127.0.0.2:$port origin='Origin: http://localhost:3000'
preflight=$(fetch -i -X OPTIONS -H "$origin" -H 'Access-Control-Request-Method: POST' "$url/ask")
says preflight '^HTTP/1.1 204 ' "$preflight"
for line in 'Access-Control-Allow-Origin: http://localhost:3000' 'Access-Control-Allow-Methods: GET, POST' \
    'Access-Control-Allow-Headers: Authorization, Content-Type' 'Vary: Origin'; do
    says preflight "^$line.?$" "$preflight"
done
says listed 'Allow-Origin: http://localhost:3000' "$(fetch -i -H "$origin" -H "$json" -H "$bearer" -d '{"question":"Who?"}' "$url/ask")"
says listed '401 .*Allow-Origin: http://localhost:3000.*expected Authorization' "$(fetch -i -H "$origin" -H "$json" -d '{}' "$url/ask" | tr -d '\r\n')"
status 403 'expected Origin' -H 'Origin: https://evil.example' -H "$json" -H "$bearer" -d '{"question":"Who?"}' "$url/ask"
[ "$(grep -c 'other users' log)" = 0 ] || complain token "$(cat log)"
stop
start --serve 127.0.0.2:0
host=127.0.0.2
status 200 no-candidates -H "$json" -d '{"question":"Who?"}' "http://$host:$port/ask"
refused_there() { check "$*" 1 'cannot listen there: Address already in use' infer ask --detector none --db gym.sqlite --device cpu --serve "$1"; }
refused_there "127.0.0.2:$port"
host=127.0.0.1
stop

# --- a folder: its databases are listed, and one must be named unless it is the only one
mkdir -p dbs/inside .hidden
cp gym.sqlite dbs/b.sqlite
cp gym.sqlite dbs/a.db
cp gym.sqlite dbs/inside/inside.sqlite3
cp gym.sqlite dbs/.hidden.sqlite
echo "no database" >dbs/notes.db
mkdir dbs/empty dbs/folder.sqlite
db=dbs start --serve 127.0.0.1:0
url=http://$host:$port
says databases '^\{"databases":\["a","b","inside"\]\}' "$(fetch "$url/databases")"
for path in ask detect schema; do
    status 400 '(expected one of the 3 databases that GET /databases lists|there is no detector)' -H "$json" -d '{"question":"Who?"}' "$url/$path"
done
status 400 'expected one of the 3 databases' -H "$json" -d '{"record":{"question":"Who?","candidates":["SELECT 1"]}}' "$url/start"
says folder '"db_id":"inside"' "$(post /ask '{"question":"Who?","db_id":"inside"}')"
rm -r dbs/b.sqlite dbs/inside
says databases '^\{"databases":\["a"\]\}' "$(fetch "$url/databases")"
says only '"db_id":"a"' "$(post /ask '{"question":"Who?"}')"
says only '"stop":"settled"' "$(post /start '{"record":{"question":"Who?","candidates":["SELECT name FROM trainer"]}}')"
says only '"db_id":"a"' "$(post /schema '{}')"
stop

# --- rows as CSV: exact numbers, quotes, texts that spreadsheets or readers stumble over; 10,000 at most
sqlite3 rows.sqlite <<'SQL'
CREATE TABLE thing(thing_id INTEGER PRIMARY KEY, name TEXT, weight REAL, code);
INSERT INTO thing VALUES (1, 'a, "b"', 565.2, 9007199254740993), (2, char(10) || 'x', 28, NULL), (3, '=1+2', 1e300 * 1e300, x'00ff'),
    (4, char(97, 0, 98), -0.1, CAST(x'ff' AS TEXT));
CREATE TABLE many(n INTEGER);
INSERT INTO many WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n <= 10000) SELECT n FROM c;
SQL
cat >want.csv <<'CSV'
name,weight,code
"a, ""b""",565.2,9007199254740993
"
x",28.0,
=1+2,inf,"{""blob"":""00ff""}"
"""a\u0000b""",-0.1,"{""text"":""ff""}"
CSV
db=rows.sqlite start --serve 127.0.0.1:0
url=http://$host:$port
# rows STATEMENT: the reply about its rows, in the file shown, and its head
rows() {
    local of
    of=$(post /start "{\"record\":{\"question\":\"Which?\",\"candidates\":[\"$1\"]}}")
    fetch -D head -o shown -H "$json" -d "{\"session\":$(session "$of")}" "$url/rows"
}
rows "SELECT name, weight, code FROM thing ORDER BY thing_id"
cmp -s shown want.csv || complain rows "$(diff shown want.csv)"
says rows '^Content-Type: text/csv; charset=utf-8' "$(cat head)"
says rows '^Content-Disposition: attachment; filename="rows.csv"' "$(cat head)"
rows "SELECT code FROM thing WHERE thing_id = 2"
[ "$(cat shown)" = $'code\n""' ] || complain "one NULL" "$(cat shown)"
rows "SELECT name FROM thing WHERE thing_id > 9"
[ "$(cat shown)" = name ] || complain "no rows" "$(cat shown)"
rows "SELECT n FROM many WHERE n <= 10000"
says "10,000 rows" 'filename="rows.csv"' "$(cat head)"
[ "$(wc -l <shown)" = 10001 ] || complain "10,000 rows" "$(wc -l <shown) lines"
rows "SELECT n FROM many"
says "10,001 rows" 'filename="first-10000-rows.csv"' "$(cat head)"
[ "$(wc -l <shown)" = 10001 ] || complain "10,001 rows" "$(wc -l <shown) lines"
two=$(post /start '{"record":{"question":"Which?","candidates":["SELECT name FROM thing","SELECT weight FROM thing"]}}')
none=$(session "$(post /answer "{\"session\":$(session "$two"),\"answer\":\"none\"}")")
status 400 '"type":"rows","text":"request: the dialogue has no statement' -H "$json" -d "{\"session\":$none}" "$url/rows"
rm rows.sqlite
status 400 '"error":\{' -H "$json" -d "{\"session\":$(session "$two")}" "$url/rows"
stop

# --- a detector and a tagger answer requests without an id
small_detector model
start --serve 127.0.0.1:0 --detector model --tagger heuristic
with=$(post /ask "{\"id\":7,\"question\":\"$fee\"}")
without=$(post /ask "{\"question\":\"$fee\"}")
says detector '"detector":\{"score":' "$without"
[ "$(sed -E 's/"id":(1|7),?//g; s/,\}$/}/' <<<"$with")" = "$(sed -E 's/"id":1,//g' <<<"$without")" ] || complain "no id" "$with other than $without"
[ "$(head -c 9 <<<"$without")" = '{"db_id":' ] || complain "no id" "$without"
says detect '^\{"id":1,"db_id":"gym"' "$(post /detect "{\"question\":\"$fee\"}")"
says detect '^\{"id":"x","db_id":"gym"' "$(post /detect "{\"id\":\"x\",\"question\":\"$fee\"}")"
stop

# --- statements that are slow: a request ends in its time, for a client that has gone sooner, by a signal too
cross="FROM trainer a$(printf ', trainer t%d' {1..18})"
for ((i = 0; i < 32; i++)); do printf '%s"SELECT count(*) %s WHERE a.trainer_id > -%d"' "$([ $i = 0 ] || echo ,)" "$cross" $((i + 1)); done >slow
slow="{\"question\":\"Who?\",\"candidates\":[$(cat slow)]}"
start --serve 127.0.0.1:0 --request-seconds 2
url=http://$host:$port
# within SECONDS NAME: since $begun
within() {
    local now
    begin "$2 within $1 s"
    now=$(date +%s%N)
    [ $(((now - begun) / 1000000)) -lt $(($1 * 1000)) ] || complain "$2" "takes $(((now - begun) / 1000000)) ms"
}
begun=$(date +%s%N)
status 503 '"type":"time","text":"the request was stopped: it took more than 2 seconds \(--request-seconds\)"' -H "$json" -d "$slow" "$url/ask"
within 4 "a request of 2 seconds"
says "after it" '"sql":"SELECT name' "$(post /ask "{\"question\":\"$fee\"}")"
stop
start --serve 127.0.0.1:0
url=http://$host:$port
begun=$(date +%s%N)
curl -s --max-time 0.5 -H "$json" -d "$slow" "$url/ask"
says "next client" '"sql":"SELECT name' "$(post /ask "{\"question\":\"$fee\"}")"
within 3 "a client that leaves"
curl -s -H "$json" -d "$slow" "$url/ask" >stopped &
client=$!
sleep 0.5
begun=$(date +%s%N)
stop
within 5 "SIGTERM while a request is worked on"
wait $client
says stopped '"type":"http","text":"the service stops"' "$(cat stopped)"
refused() { check "$*" "$1" "$2" infer ask --detector none --db gym.sqlite --device cpu "${@:3}"; }
refused 2 'expected --token-file, or a local address' --serve 0.0.0.0:0
refused 2 'expected ADDRESS:PORT' --serve 8080
refused 2 'expected ADDRESS:PORT' --serve 127.0.0.1:99999
refused 2 'numeric address or localhost' --serve example.org:80
echo short >short
refused 3 'at least 16 bytes' --serve 0.0.0.0:0 --token-file short
refused 3 'No such file' --serve 0.0.0.0:0 --token-file nowhere
refused 2 'questions come in requests' --serve 127.0.0.1:0 --question x
refused 2 'expected no --interactive' --serve 127.0.0.1:0 --simulate
refused 2 'expected --serve as well' --token-file token --question x
refused 2 'expected --serve as well' --allow-origin https://example.org --question x
refused 2 'allow-origin: expected origins such as .*, got .\*.$' --serve 127.0.0.1:0 --allow-origin '*'
refused 2 'got .https://example.org/.$' --serve 127.0.0.1:0 --allow-origin http://localhost:1,https://example.org/
finish

#!/usr/bin/env bash
# The files of examples/serve: systemd verifies the unit, which knows the options of ask.  Behind nginx with TLS, a dialogue, the page
# below a path, a foreign origin, and a body that is too large.  Each half is left out without its program.
# shellcheck disable=SC2016
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
serve=$root/examples/serve
command -v curl >/dev/null || { echo "curl is not here"; exit 77; }

# --- the unit: its command line is one that ask takes
read -r -a command < <(sed -n 's/^ExecStart=[^ ]* //p' "$serve/ambit.service")
options=" $(infer ask --help | grep -oE -- '--[a-z-]+' | sort -u | tr '\n' ' ')"
begin "the command of the unit"
for word in "${command[@]}"; do
    [[ $word != --* || $options == *" $word "* ]] || complain "the unit" "ask has no $word"
done
[ "${command[0]}" = ask ] || complain "the unit" "starts ${command[*]}"
if command -v systemd-analyze >/dev/null; then
    sed "s#/usr/bin/ambit-infer#$bin/ambit-infer#; /^Documentation=/d" "$serve/ambit.service" >ambit.service
    run 0 systemd-analyze verify ./ambit.service
    [ ! -s said ] || complain "systemd-analyze verify" "$(cat said)"
    sed -i 's/^ProtectHome=.*/ProtectHoem=yes/' ambit.service
    systemd-analyze verify ./ambit.service 2>&1 | grep -q "Unknown key .*'ProtectHoem'" || complain "systemd-analyze verify" "takes any key"
fi

# --- the site, with a certificate and ports of its own
if ! command -v nginx >/dev/null || ! command -v openssl >/dev/null; then
    echo "# nginx or openssl is not here"
    finish
fi
sqlite3 gym.sqlite "CREATE TABLE trainer(name TEXT, fee INT); INSERT INTO trainer VALUES ('Udo', 35)"
echo 'a-token-of-some-length' >token
chmod 600 token
: >log
"$bin/ambit-infer" ask --detector none --db gym.sqlite --device cpu --serve 127.0.0.1:0 --token-file token 2>log &
server=$!
trap 'kill "$server" "$(cat nginx.pid 2>/dev/null)" 2>/dev/null; rm -rf "$work"' EXIT
await_service $server
openssl req -x509 -newkey rsa:2048 -nodes -keyout site.key -out site.pem -days 2 -subj /CN=ambit.example.org \
    -addext subjectAltName=DNS:ambit.example.org >log.openssl 2>&1 || fail "openssl: $(cat log.openssl)"
site=$((20000 + RANDOM % 10000))
sed "s#127.0.0.1:8080#127.0.0.1:$port#; s#listen 443 ssl#listen 127.0.0.1:$site ssl#; s#/etc/ssl/certs/ambit.example.org.pem#$work/site.pem#
    s#/etc/ssl/private/ambit.example.org.key#$work/site.key#" "$serve/nginx.conf" >site.conf
# The same service below a path.
sed -i "\$s#^}#    location /ambit/ {\n        proxy_pass http://127.0.0.1:$port/;\n        proxy_http_version 1.1;\n        proxy_set_header Host \$http_host;\n    }\n}#" site.conf
{
    [ "$(id -u)" != 0 ] || echo "user root;"
    echo "pid $work/nginx.pid; error_log $work/nginx.log; events {}"
    echo "http { access_log off;"
    for path in client_body proxy fastcgi uwsgi scgi; do echo "${path}_temp_path $work/temp.$path;"; done
    echo "include $work/site.conf; }"
} >nginx.conf
run 0 nginx -t -q -c "$work/nginx.conf"
run 0 nginx -q -c "$work/nginx.conf"
url=https://ambit.example.org:$site
fetch() { curl -s --max-time 60 --cacert site.pem --resolve "ambit.example.org:$site:127.0.0.1" "$@"; }
# status CODE TEXT ARGUMENTS...: of a request
status() {
    local got
    begin "${*:3}"
    got=$(fetch -o shown -w '%{http_code}' "${@:3}")
    [ "$got" = "$1" ] || complain "${*:3}" "status $got, expected $1: $(head -c 300 shown)"
    grep -qE -- "$2" shown || complain "${*:3}" "does not say \"$2\": $(head -c 300 shown)"
}
json='Content-Type: application/json' bearer='Authorization: Bearer a-token-of-some-length'
who='{"question":"Who?","candidates":["SELECT name FROM trainer"]}'
status 200 '</html>' "$url/"
status 200 "^'use strict'" "$url/ambit/page.js"
status 200 '"databases":\["gym"\]' -H "$bearer" "$url/ambit/databases"
status 401 'expected Authorization' -H "$json" -d "$who" "$url/ask"
status 200 '"rows":\[\["Udo"\]\]' -H "$json" -H "$bearer" -H "Origin: $url" -d "$who" "$url/ask"
status 403 'expected Origin to be this service' -H "$json" -H "$bearer" -H "Origin: https://evil.example" -d "$who" "$url/ask"
head -c 5000000 /dev/zero | tr '\0' ' ' >large
status 413 '413' -H "$json" -H "$bearer" --data-binary @large -H Expect: "$url/ask"
finish

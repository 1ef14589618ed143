# shellcheck shell=bash
# Sourced behind cli.sh by scripts that ask a language-model server of their own (tests/support/lm_server.c).
# shellcheck disable=SC2034,SC2154 # read by those who source this; set by cli.sh
[ -x "$bin/lm_server" ] || { echo "built without libmicrohttpd"; exit 77; }
unset AMBIT_LM_KEY
servers=()
trap 'kill "${servers[@]}" 2>/dev/null; rm -rf "$work"' EXIT

# serve [NAME=VALUE]...: starts a server; its address goes to url, its process to server.
serve() {
    rm -f port
    "$bin/lm_server" port "$@" &
    server=$!
    servers+=("$server")
    until [ -s port ]; do sleep 0.01; done
    url=http://127.0.0.1:$(cat port)/v1
}

# Prints the number of requests for completions that the server has got.
requests() { curl -s "${url%/v1}/count"; }

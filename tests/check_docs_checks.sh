#!/usr/bin/env bash
# check_docs.sh itself: it must find each fault that is put before it, and pass a tree without one.
# shellcheck disable=SC2016 # marks of Markdown and another script's dollars
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# docs PAGE CONTENT WORD: check_docs on a small tree with the page; WORD "" means that it passes.
docs() {
    rm -rf "${root:?}"/*
    mkdir -p "$root"/{docs/guides,examples,kernels,bin,bench/log,bench/results}
    printf '# A\n\n[b](docs/guides/b.md#the-b)\n' | tee "$root/CONTRIBUTING.md" "$root/CHANGELOG.md" >"$root/README.md"
    printf '# The `b`\n' >"$root/docs/guides/b.md"
    printf '# Day 1\n\n`kernels/gone.c`\n' >"$root/bench/log/1.md"
    printf 'ambit-data one --seed 1\n' >"$root/examples/01-b.sh"
    printf '#!/bin/sh\ncase $1 in one) echo "  --seed N" ;; --help) printf "  one  does it\\n  man  the page\\n" ;; *) exit 2 ;; esac\n' >"$root/bin/ambit-data"
    chmod +x "$root/bin/ambit-data"
    printf '%b' "$2" >"$root/$1"
    if output=$(AMBIT_BIN=$root/bin bash "$here/check_docs.sh" "$root" 2>&1); then found=""; else found=$output; fi
    if [ -z "$3" ] && [ -n "$found" ] || [ -n "$3" ] && [[ "$found" != *"$3"* ]]; then
        printf 'check_docs on %s, expected "%s":\n%s\n' "$2" "$3" "$output"
        exit 1
    fi
}

page=docs/guides/c.md
quoted='<!-- examples/01-b.sh -->\n```sh\n'
docs $page "# C\n\n[b](b.md#the-b) [a](../../README.md) [c](#c) \`kernels/\` \`ambit-data one --seed 1\`\n\n${quoted}ambit-data one --seed 1\n\`\`\`\n" ""
docs $page '[b](gone.md)\n' "leads nowhere"
docs $page '[b](b.md#gone)\n' "has no heading #gone"
docs $page '# C\n\n[c](#gone)\n' "has no heading #gone"
docs $page '[b](../../bench/log/1.md#day-1)\n' ""
docs $page '[b](../../bench/log/1.md#day-2)\n' "has no heading #day-2"
docs bench/results/a.md '[b](gone.md)\n' "leads nowhere"
docs $page 'See `kernels/gone.c`.\n' '`kernels/gone.c` is not there'
docs docs/adding-a-c.md 'Make `kernels/new.c`.\n' ""
docs docs/adding-a-c.md 'Make `kernels/gone/new.c`.\n' '`kernels/gone` is not there'
docs $page "${quoted}ambit-data one --seed 2\n\`\`\`\n" "does not have the line"
docs $page '<!-- examples/02-gone.sh -->\n```sh\ntrue\n```\n' "examples/02-gone.sh is not there"
docs $page '```sh\ntrue\n```\n' "a block of shell without"
docs $page '<!-- not run -->\n```sh\ntrue | ambit-data one \\\n  --sed 2\n```\n' "has no option --sed"
docs $page 'Say `ambit-data two --seed 1`.\n' "has no command two"
docs $page 'The option `--seed` and `--sed N`.\n' "no command has the option --sed"
docs bench/a.sh '"$bin/ambit-data" one --seed 1\n' ""
docs bench/a.sh 'other || "$bin/ambit-data" two x >y\n' "bench/a.sh: ambit-data has no command two"
docs bench/a.sh '"$bin/ambit-data" one \\\n    --sed 2\n' "ambit-data one has no option --sed"
docs README.md "$(printf 'a\\n%.0s' $(seq 91))" "got 91"
echo "check_docs finds what it is for"

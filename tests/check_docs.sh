#!/usr/bin/env bash
# Checks README.md, CONTRIBUTING.md, CHANGELOG.md, docs/ and bench/results/.  Links and anchors must lead somewhere, and paths
# of the repository must exist.  Quoted lines must be in their example, and options must be those of the programs (of
# AMBIT_BIN).  The README must be short.  Scripts of bench/, which no test runs, must call commands with options that exist.
#
# A shell block in docs/guides/ has a mark before it.  <!-- examples/NAME.sh --> says that the script has each of its lines,
# <!-- not run --> that a test cannot run it.
set -euo pipefail
bin=${AMBIT_BIN:+$(realpath "$AMBIT_BIN")}
cd "${1:-$(dirname "$0")/..}"
shopt -s globstar nullglob
pages=(README.md CONTRIBUTING.md CHANGELOG.md docs/**/*.md bench/results/*.md)
notebooks=(bench/log/*.md) # their links and anchors alone are checked; their commands are those of their day
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

fail() {
    echo "$1"
    bad=1
}

# Prints the contents of pages as lines of PLACE, kind and text, with tabs.  Kinds: heading (its anchor), link, code (in
# backticks), quote (MARK, line of its block), shell (a line of shell, continued ones joined), unmarked (a block).
# shellcheck disable=SC2016 # the $ are awk's
awk -v OFS='\t' '
function tell(kind, text) {
    if (FILENAME !~ /^bench\/log\// || kind ~ /^(heading|link)$/)
        print FILENAME ":" FNR, kind, text
}
FNR == 1 { block = ""; mark = ""; joined = "" }
/^ *```/ {
    if (block == "") {
        block = $0
        gsub(/[ `]/, "", block)
        block = block == "" ? "text" : block
        quoted = mark
        mark = ""
        if (block == "sh" && quoted == "" && FILENAME ~ /^docs\/guides\//)
            tell("unmarked", "")
    } else
        block = ""
    next
}
block != "" {
    if (quoted ~ /^examples\// && $0 != "")
        tell("quote", quoted "\t" $0)
    if (block == "sh") {
        joined = joined $0
        if (!sub(/\\$/, "", joined)) {
            tell("shell", joined)
            joined = ""
        }
    }
    next
}
/^<!-- .* -->$/ { mark = substr($0, 6, length($0) - 9); next }
/^#+ / {
    anchor = tolower($0)
    sub(/^#+ /, "", anchor)
    gsub(/[^a-z0-9 _-]/, "", anchor)
    gsub(/ /, "-", anchor)
    tell("heading", anchor)
}
{
    for (rest = $0; match(rest, /`[^`]+`/); rest = substr(rest, RSTART + RLENGTH))
        tell("code", substr(rest, RSTART + 1, RLENGTH - 2))
    for (rest = $0; match(rest, /\]\([^) ]+\)/); rest = substr(rest, RSTART + RLENGTH))
        tell("link", substr(rest, RSTART + 2, RLENGTH - 3))
}' "${pages[@]}" "${notebooks[@]}" >"$work/all"

# of KIND: its lines without the kind
of() { grep -P "^[^\t]*\t$1\t" "$work/all" | sed -E 's/\t[a-z]+\t/\t/' || true; }

links=0
while IFS=$'\t' read -r place target; do
    page=${place%:*} links=$((links + 1))
    [[ $target == *://* ]] && continue
    path=${target%%#*}
    [ -n "$path" ] && path=$(dirname "$page")/$path || path=$page
    path=$(realpath -m --relative-to=. "$path")
    if [ ! -e "$path" ]; then
        fail "$place: the link $target leads nowhere"
    elif [[ $target == *#* ]] && ! grep -qP "^\Q$path\E:\d+\theading\t\Q${target#*#}\E$" "$work/all"; then
        fail "$place: $path has no heading #${target#*#}"
    fi
done < <(of link)

while IFS=$'\t' read -r place code; do
    [[ $code == */* ]] || continue
    for word in $(set -f && echo "${code%%[,;:]}"); do
        [[ $word =~ ^(kernels|data|models|train|infer|tests|docs|examples|scripts|bench|cmake|\.ci)/[^\<\>{}]*$ ]] || continue
        [[ $word == *[A-Z][A-Z]* && $word != *.md ]] && continue # NAME stands for a name
        [[ $place == */adding-*.md:* ]] && [ ! -e "$word" ] && word=${word%/*} # a file to be made, in a folder that is there
        compgen -G "${word%/}" >/dev/null || fail "$place: \`$word\` is not there"
    done
done < <(of code)

while IFS=$'\t' read -r place script line; do
    if [ ! -e "$script" ]; then
        fail "$place: $script is not there"
    elif ! grep -qxF -- "$line" "$script"; then
        fail "$place: $script does not have the line: $line"
    fi
done < <(of quote)

while IFS=$'\t' read -r place _; do
    fail "$place: a block of shell without <!-- examples/NAME.sh --> or <!-- not run -->"
done < <(of unmarked)

[ "$(wc -l <README.md)" -le 90 ] || fail "README.md: expected at most 90 lines, got $(wc -l <README.md)"

# help PROGRAM COMMAND: the file with its help; nothing when there is no such command
help() {
    local file="$work/$1 $2"
    [ -e "$file" ] || "$bin/$1" "$2" --help >"$file" 2>&1 || : >"$file"
    [ -s "$file" ] && echo "$file"
}
# options PLACE TEXT: those of each call of a program in it
options() {
    local call program command file word
    while read -r call; do
        [[ $call =~ (^|[^a-z-])(ambit-(data|train|infer))\ ([a-z][a-z0-9-]*|-[a-z-]*)(.*) ]] || continue
        program=${BASH_REMATCH[2]} command=${BASH_REMATCH[4]}
        case $command in -* | help | man | completion) continue ;; esac
        file=$(help "$program" "$command") || { fail "$1: $program has no command $command"; continue; }
        for word in $(set -f && grep -oE -- '(^| |`)--[a-z0-9][a-z0-9-]*' <<<"${BASH_REMATCH[5]}" | tr -d ' `'); do
            grep -qE -- "(^|[ ,])$word( |\$)" "$file" || fail "$1: $program $command has no option $word"
        done
    done < <(sed -E 's/[|;&]+/\n/g; s/ # .*//' <<<"$2")
}
# every: the help of all commands
every() {
    local program command
    for program in "$bin"/ambit-{data,train,infer}; do
        [ -x "$program" ] || continue
        "$program" --help
        for command in $("$program" --help 2>/dev/null | awk '/^  [a-z]/ { print $1 }'); do
            "$program" "$command" --help || true # help, man and completion are words of another kind
        done
    done 2>/dev/null
}
# calls: the lines of bench/*.sh that call "$bin/PROGRAM", as PLACE and text
# shellcheck disable=SC2016 # a dollar of the scripts
calls() {
    local script
    for script in bench/*.sh; do
        sed -E ':a; /\\$/ { N; s/\\\n//; ta }; /^ *#/d' "$script" | grep -E '"\$bin/ambit-(data|train|infer)" ' |
            sed -E "s/\"\\\$bin\/(ambit-(data|train|infer))\"/\1/g; s|^|$script\t|" || true
    done
}
if [ -n "$bin" ] && [ -x "$bin/ambit-data" ]; then
    while IFS=$'\t' read -r place text; do
        options "$place" "$text"
    done < <({ of shell && of code; } | grep -E 'ambit-(data|train|infer) ')
    while IFS=$'\t' read -r place text; do
        options "$place" "$text"
    done < <(calls)
    every >"$work/every"
    while IFS=$'\t' read -r place text; do
        for word in $(set -f && grep -oE -- '(^| )--[a-z][a-z0-9-]*' <<<"$text"); do
            [[ $word == *- ]] && continue # --no-NAME
            grep -qE -- "(^|[ ,])$word( |\$)" "$work/every" || grep -qF -- "\"$word\"" bench/*.py 2>/dev/null ||
                fail "$place: no command has the option $word"
        done
    done < <(of code | grep -P '\t--')
fi

[ "$bad" -eq 0 ] && echo "docs: ${#pages[@]} pages, $links links, $(of quote | wc -l) lines quoted from examples"
exit "$bad"

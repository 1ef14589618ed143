#!/usr/bin/env bash
# Help, manual pages and completion of the three programs, held against the tables in the sources: every cmd_NAME.c is a
# command of its program, and every option of its table is told everywhere.
set -u
bin=${AMBIT_BIN:-build/release/bin}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0 options=0

fail() {
    echo "$*"
    failed=1
}

# run FILE COMMAND...: exit code 0, nothing on standard error
run() {
    local out=$work/$1
    shift
    "$@" >"$out" 2>"$work/said" || fail "$*: exit code $?"
    [ ! -s "$work/said" ] || fail "$*: $(cat "$work/said")"
}

# has FILE TEXT...: each text is a word of the file
has() {
    local file=$1 text
    shift
    for text; do
        grep -qE -- "(^|[^a-z-])$text([^a-z-]|\$)" "$work/$file" || fail "$program: $text is not in its $file"
    done
}

# completed WORDS...: what the completion offers behind the words, the last of which is being typed
completed() {
    (
        # shellcheck disable=SC1091
        source "$work/completion"
        COMP_WORDS=("$program" "$@") COMP_CWORD=$#
        "_${program//-/_}"
        printf '%s\n' "${COMPREPLY[@]}"
    ) >"$work/completed"
}

# The names in a command's table, whichever way its rows are written.
table_of() { sed -nE 's/^    \{ (\.name = )?"([a-z-]+)",.*/\2/p' "$1"; }

check_command() {
    local name=$1 source=$2 option
    run help "$bin/$program" "$name" --help
    run again "$bin/$program" help "$name"
    cmp -s "$work/help" "$work/again" || fail "$program: help $name and $name --help differ"
    has help "usage: $program $name" --help
    grep -qE "^\.SS $program $name\$" "$work/man" || fail "$program: $name is not in its manual page"
    sed -n "/^\.SS $program $name\$/,/^\.S[SH] /{/^\.SS $program $name\$/p;/^\.S/!p}" "$work/man" | sed 's/\\-/-/g' >"$work/section"
    completed "$name" --
    for option in $(table_of "$source"); do
        has help "--$option"
        has section "--$option"
        has completed "--$option"
        options=$((options + 1))
    done
}

for program in ambit-data ambit-train ambit-infer; do
    run version "$bin/$program" --version
    has version "$program [0-9.]+ \(commit [0-9a-z]+\)" compiler sanitizers oneDNN CUDA jansson hdf5 sqlite OpenBLAS
    run help "$bin/$program" --help
    has help "usage: $program" man completion --version "Exit codes" AMBIT_LOG
    cp "$work/help" "$work/commands"
    run man "$bin/$program" man
    has man "\.TH $program 1" "\.SH NAME" "\.SH SYNOPSIS" "\.SH COMMANDS" "\.SH EXIT STATUS" "\.SH ENVIRONMENT"
    if command -v groff >/dev/null; then
        groff -man -Tutf8 -ww "$work/man" >"$work/page" 2>"$work/said" || fail "groff refuses the page of $program"
        [ ! -s "$work/said" ] || fail "$program man: $(head -n 3 "$work/said")"
    fi
    run completion "$bin/$program" completion bash
    for source in "${program#ambit-}"/cmd/cmd_*.c; do
        name=$(basename "$source" .c)
        name=${name#cmd_}
        has commands "$name"
        completed ""
        has completed "$name"
        [ "$name" = gatekeeper ] && source=train/gate/gate_settings.c
        check_command "$name" "$source"
    done
done

program=ambit-train
run completion "$bin/$program" completion bash
completed gatekeeper --encode sch
[ "$(cat "$work/completed")" = schema ] || fail "the choices of --encode are not offered: $(cat "$work/completed")"
[ $options -gt 60 ] || fail "only $options options were found in the tables"
[ $failed = 0 ] && echo "$options options are told in help, manual page and completion"
exit $failed

#!/usr/bin/env bash
# Help, manual pages and completion of the three programs, held against the tables in the sources: every cmd_NAME.c is a
# command of its program, and every option of its table is told everywhere.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

# prints FILE COMMAND...: exit code 0, nothing on standard error
prints() {
    local out=$1
    shift
    "$@" >"$out" 2>said || complain "$*: exit code $?"
    [ ! -s said ] || complain "$*: $(cat said)"
}

# has FILE TEXT...: each text is a word of the file
has() {
    local file=$1 text
    shift
    for text; do
        grep -qE -- "(^|[^a-z-])$text([^a-z-]|\$)" "$file" || complain "$program: $text is not in its $file"
    done
}

# completed WORDS...: what the completion offers behind the words, the last of which is being typed
completed() {
    (
        # shellcheck source=/dev/null
        . ./completion
        COMP_WORDS=("$program" "$@") COMP_CWORD=$#
        "_${program//-/_}"
        printf '%s\n' "${COMPREPLY[@]}"
    ) >completed
}

# The names in a command's table, whichever way its rows are written.
table_of() { sed -nE 's/^    \{ (\.name = )?"([a-z-]+)",.*/\2/p' "$1"; }

check_command() {
    local name=$1 source=$2 option
    prints help "$bin/$program" "$name" --help
    prints again "$bin/$program" help "$name"
    cmp -s help again || complain "$program: help $name and $name --help differ"
    has help "usage: $program $name" --help
    grep -qE "^\.SS $program $name\$" man || complain "$program: $name is not in its manual page"
    sed -n "/^\.SS $program $name\$/,/^\.S[SH] /{/^\.SS $program $name\$/p;/^\.S/!p}" man | sed 's/\\-/-/g' >section
    completed "$name" --
    for option in $(table_of "$source"); do
        has help "--$option"
        has section "--$option"
        has completed "--$option"
        cases=$((cases + 1))
    done
}

for program in ambit-data ambit-train ambit-infer; do
    prints version "$bin/$program" --version
    module="not built"
    [ -e "$bin/../lib/ambit/libambit_cuda.so" ] && module="built with nvcc [0-9.]+ for [0-9]"
    has version "$program [0-9.]+ \(commit [0-9a-z]+\)" compiler sanitizers oneDNN "CUDA module $module" jansson hdf5 sqlite \
        OpenBLAS
    prints help "$bin/$program" --help
    has help "usage: $program" man completion --version "Exit codes" AMBIT_LOG
    cp help commands
    prints man "$bin/$program" man
    has man "\.TH $program 1" "\.SH NAME" "\.SH SYNOPSIS" "\.SH COMMANDS" "\.SH EXIT STATUS" "\.SH ENVIRONMENT"
    if command -v groff >/dev/null; then
        groff -man -Tutf8 -ww man >"page" 2>said || complain "groff refuses the page of $program"
        [ ! -s said ] || complain "$program man: $(head -n 3 said)"
    fi
    prints completion "$bin/$program" completion bash
    for source in "$root/${program#ambit-}"/cmd/cmd_*.c; do
        name=$(basename "$source" .c)
        name=${name#cmd_}
        has commands "$name"
        completed ""
        has completed "$name"
        [ "$name" = gatekeeper ] && source=$root/train/gate/gate_settings.c
        check_command "$name" "$source"
    done
done

program=ambit-train
prints completion "$bin/$program" completion bash
completed gatekeeper --encode sch
[ "$(cat completed)" = schema ] || complain "the choices of --encode are not offered: $(cat completed)"
[ $cases -gt 60 ] || complain "only $cases options were found in the tables"
finish

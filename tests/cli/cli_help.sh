#!/usr/bin/env bash
# Help, manual pages and completion of the three programs against the tables in the sources.  Every cmd_NAME.c is a command
# of its program, every option of its table appears in all of them, and its examples use its own options.
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
    local file=$1 content word text
    content=$(<"$1")
    shift
    for text; do
        word="(^|[^a-z-])$text([^a-z-]|\$)"
        [[ $content =~ $word ]] || complain "$program: $text is not in its $file"
    done
}

# clean PAGE: no complaint of the tools that are here
clean() {
    if command -v groff >/dev/null; then
        groff -man -Tutf8 -ww "$1" >page 2>said || complain "groff refuses $1 of $program"
        [ ! -s "said" ] || complain "$1 of $program: $(head -n 3 "said")"
    fi
    if command -v mandoc >/dev/null; then
        mandoc -T lint -W warning "$1" >said || complain "$1 of $program: $(head -n 3 "said")"
    fi
}

# completed SHELL WORDS...: writes the completions of the last word to the file "completed".  The functions of zsh are
# replaced by ones that print their arguments.
completed() {
    local shell=$1
    shift
    case $shell in
    bash) (
        # shellcheck source=/dev/null
        . ./bash
        COMP_WORDS=("$program" "$@") COMP_CWORD=$#
        "_${program//-/_}"
        printf '%s\n' "${COMPREPLY[@]}"
    ) ;;
    zsh) zsh -f -c "compdef() { :; }; _arguments() { print -rl -- \"\$@\"; }; compadd() { print -rl -- \"\$@\"; }
        _describe() { print -rl -- \"\${(@P)4}\"; }
        source '$work/zsh'; words=($program $*); CURRENT=$(($# + 1)); _${program//-/_}" ;;
    fish) HOME=$work fish --no-config -c "source '$work/fish'; complete -C '$program $*'" ;;
    esac >completed 2>&1
}

# The names in rows of option tables on standard input; rows that several commands have are named by their macro.
names_of_rows() {
    sed -E ':more; /_OPTION\($/{N; s/\n *//; b more}' | sed -nE '
        /, NULL\),$/d # keys of config files
        s/^ +(FLAG|STRING|INT|REAL|CHOICE|WORD|PRESET)_OPTION\("([a-z0-9-]+)".*/\2/p; t
        s/^ +(OUT)_(DIR|JSONL)_OPTION\(.*/\1/; s/^ +([A-Z_]+)_OPTION\(.*/\1/; /^[A-Z_]+$/{y/ABCDEFGHIJKLMNOPQRSTUVWXYZ_/abcdefghijklmnopqrstuvwxyz-/; p}'
}

# used_rows: of a source the lines without macros of rows that nothing in it has
used_rows() {
    awk '
        { line[NR] = $0 }
        !/^#define/ { for (s = $0; match(s, /[A-Z]+_ROWS/); s = substr(s, RSTART + RLENGTH)) used[substr(s, RSTART, RLENGTH)] }
        END {
            for (i = 1; i <= NR; i++) {
                if (match(line[i], /^#define [A-Z]+_ROWS/))
                    skip = !(substr(line[i], 9, RLENGTH - 8) in used)
                if (!skip)
                    print line[i]
                skip = skip && line[i] ~ /\\$/
            }
        }'
}

# The names in a command's table, which is its own source's or that of its settings, where other commands' may stand too.
table_of() {
    local source=$1 macro table text
    table=$(sed -nE 's/.*OPTIONS\(([a-z0-9]+_request_table),.*/\1/p' "$source")
    [ -z "$table" ] || source=$(grep -rl --include='*.c' "^const struct option $table" "$root/train")
    text=$(sed "/^const struct option ${table:-none}\[/,/^};/b; /^const struct option [a-z0-9]*_request_table\[/,/^};/d" "$source" | used_rows)
    names_of_rows <<<"$text"
    for macro in COMPLETE_OPTIONS COMPLETE_PERFORMANCE_OPTIONS ANSWER_OPTIONS SAMPLING_OPTIONS PROMPTER_OPTIONS TRAIN_OPTIONS RUN_OPTIONS ENCODER_OPTIONS; do
        grep -qE "^ +$macro" <<<"$text" || continue
        sed -n "/#define $macro/,/[^\\\\]\$/p" "$root"/{infer/lm/complete.h,data/prompt/prompter.h,train/run/train_settings.h,train/run/encoder.h} | names_of_rows
    done
}

# check_examples NAME: two command lines of this command, whose options the help has.  The second command of a pipe has its
# own help.
check_examples() {
    local line option part own n=0
    while read -r line; do
        n=$((n + 1))
        [[ "$line " == "$program $1 "* ]] || complain "$program $1: an example is '$line'"
        while read -r part; do
            read -ra own <<<"$part"
            prints example "$bin/${own[0]}" "${own[1]}" --help
            while read -r option; do
                grep -qE -- "^  (-[a-z], )?$option( |\$)|^  $option, " example || complain "$program $1: $option in '$part'"
            done < <(grep -oE -- ' --?[a-z][a-z-]*' <<<"$part")
        done <<<"${line// | /$'\n'}"
    done < <(sed '1,/^examples:$/d' "help")
    [ $n = 2 ] || complain "$program $1: $n examples"
}

check_command() {
    local name=$1 source=$2 option shell names
    prints help "$bin/$program" "$name" --help
    prints again "$bin/$program" help "$name"
    cmp -s "help" "again" || complain "$program: help $name and $name --help differ"
    prints again "$bin/$program" "$name" -h
    cmp -s "help" "again" || complain "$program: $name -h and $name --help differ"
    has help "usage: $program $name" --help
    check_examples "$name"
    prints roff "$bin/$program" man "$name"
    has roff "\.SH (NAME|SYNOPSIS|OPTIONS|EXIT STATUS|EXAMPLES|SEE ALSO)"
    clean roff
    sed 's/\\-/-/g' "roff" >page
    has page "\.TH ${program^^}-${name^^} 1" "$program-$name" "$program $name"
    mapfile -t names < <(table_of "$source")
    for shell in "${shells[@]}"; do
        completed "$shell" "$name" --
        for option in "${names[@]}"; do
            has completed "--$option"
        done
    done
    for option in "${names[@]}"; do
        begin "help and page have --$option"
        has help "--$option"
        has page "--$option"
    done
}

shells=(bash)
for shell in zsh fish; do
    command -v $shell >/dev/null && shells+=("$shell")
done
for program in ambit-data ambit-train ambit-infer; do
    prints version "$bin/$program" --version
    module="not built"
    [ -e "$bin/../lib/ambit/libambit_cuda.so" ] && module="built with nvcc [0-9.]+ for [0-9]"
    has version "$program [0-9.]+ \(commit [0-9a-z]+\)" compiler sanitizers oneDNN "CUDA module $module" jansson hdf5 sqlite \
        OpenBLAS
    prints help "$bin/$program" --help
    has help "usage: $program" man completion --version "Exit codes" AMBIT_LOG
    prints again "$bin/$program" help --help
    cmp -s "help" "again" || complain "$program: help --help and --help differ"
    cp "help" "commands"
    prints man "$bin/$program" man
    has man "\.TH ${program^^} 1" "\.SH (NAME|SYNOPSIS|COMMANDS|EXIT STATUS|ENVIRONMENT|SEE ALSO)"
    clean man
    for shell in bash zsh fish; do
        prints $shell "$bin/$program" completion $shell
        command -v $shell >/dev/null && { $shell -n "$shell" || complain "$program: $shell refuses its completion"; }
    done
    for source in "$root/${program#ambit-}"/cmd/cmd_*.c; do
        name=$(basename "$source" .c)
        name=${name#cmd_}
        has commands "$name"
        has man "$program-$name"
        for shell in "${shells[@]}"; do
            completed "$shell" ""
            has completed "$name"
        done
        check_command "$name" "$source"
    done
done

# Choices stand behind their option, the former name of a command leads to it, and is not offered.
program=ambit-train
for shell in "${shells[@]}"; do
    prints "$shell" "$bin/$program" completion "$shell"
    completed "$shell" gatekeeper --encode sch
    grep -q schema "completed" || complain "the choices of --encode are not offered: $(cat "completed")"
done
program=ambit-data
for shell in "${shells[@]}"; do
    prints "$shell" "$bin/$program" completion "$shell"
    completed "$shell" parse --sch
    grep -q -- --schema "completed" || complain "the options of parse are not offered: $(cat "completed")"
    completed "$shell" p
    grep -qw parse "completed" && complain "parse is offered: $(cat "completed")"
done
prints help "$bin/ambit-data" help sql
prints again "$bin/ambit-data" parse --help
cmp -s "help" "again" || complain "parse is not sql"
[ $cases -gt 200 ] || complain "only $cases options were found in the tables"
finish

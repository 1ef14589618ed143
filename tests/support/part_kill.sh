# shellcheck shell=bash
# Sourced by cli_*.sh after cli.sh: commands that keep their lines in OUT.part, interrupted at random moments.
# The caller sets kills, the least number of interruptions of each, and span, the duration of an undisturbed run in nanoseconds.
# It defines go FORM OUT, which becomes a run that resumes and ends with exit code 7.
# shellcheck disable=SC2154 # kills and span: see above

# stop_and_resume FORM WHOLE [FORM WHOLE]...: in turn, until each run ends with the bytes of WHOLE; some resume with lines.
stop_and_resume() {
    local pairs=("$@") signals=(KILL TERM INT) resumed=0 i
    for ((i = 0; i < kills || (resumed == 0 && i < 50); i++)); do # an early end leaves nothing
        stop_until_done "${pairs[2 * i % $#]}" "${signals[i % 3]}"
        begin "${pairs[2 * i % $#]}, SIG${signals[i % 3]}: the resumed run ends with the same bytes"
        cmp out "${pairs[2 * i % $# + 1]}" || complain "$1, SIG${signals[i % 3]}: the resumed run ends with other bytes"
    done
    [ $resumed -gt 0 ] || complain "$1: no run went on with anything"
}

# stop_until_done FORM SIGNAL: starts runs and sends each the signal, until one has written out.
stop_until_done() {
    local code kept
    rm -f out out.part
    while :; do
        (go "$1" out) >shown 2>said &
        sleep "$(awk -v n="$span" -v r="$RANDOM" 'BEGIN { print n / 1e9 * r / 32768 }')"
        kill -"$2" $! 2>/dev/null
        wait $! 2>/dev/null
        code=$?
        [ $code = 7 ] || [ -e out ] && break # the signal may come behind the end
        case $2:$code in
        KILL:137) ;;
        TERM:143 | INT:130)
            [ ! -e out.part ] || [ ! -s said ] || grep -q 'interrupted; out.part keeps the finished results: add --resume to continue' said ||
                complain "$1, SIG$2: does not say how to go on"
            ;;
        *) complain "$1, SIG$2: exit code $code" && break ;;
        esac
        [ -e out.part ] && kept=$(wc -l <out.part) && [ "$kept" -gt 0 ] && resumed=$((resumed + 1))
    done
    [ $code != 7 ] || [ ! -e out.part ] || complain "$1: out.part is left"
}

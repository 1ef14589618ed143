#!/usr/bin/env bash
# Checks comments and Markdown against the rule for plain English in docs/develop/style.md.
# usage: check_english.sh [ROOT]                fails where a folder is worse than its row of check_english.txt
#        check_english.sh --update [ROOT]       lowers the rows of check_english.txt to the present counts
#        check_english.sh --list FILE...        prints each breach with its place
#        check_english.sh --table [ROOT]        prints words, "what" in 1,000 words and the longest sentence of each folder
#        check_english.sh --titles RANGE        checks the titles of commits: "layer: imperative title", at most 72 characters
#
# Four counts are taken for each folder: "what" in 1,000 words, sentences of more than 30 words, sentences that open with a free
# relative ("What is ...", "Who asks ...") without a question mark or hold a banned phrase, and Markdown lines of more than 120 columns.
# The notebooks of bench/log stay as they were written, so they are not counted.
# A row of check_english.txt allows a folder more than the limits (3, 0, 0, 0). The rows only ever shrink.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mode=check
case ${1:-} in
--update) mode=update && shift ;;
--list) mode=list && shift ;;
--table) mode=table && shift ;;
--titles) mode=titles && shift ;;
esac
if [ "$mode" = titles ]; then
    cd "$here/.."
    git log --no-merges --format=%s "${1:?usage: check_english.sh --titles RANGE}" | awk '
        function fail(text) { printf "commit title \"%s\": %s\n", $0, text; bad = 1 }
        length($0) > 72 { fail("expected at most 72 characters, got " length($0)) }
        !/^[a-z0-9_\/-]+: [a-z]/ { fail("expected \"layer: imperative title\""); next }
        $2 ~ /(ing|[^e]ed|[^s]s)$/ && $2 !~ /^(focus|bias|canvas|bring)$/ { fail("expected an imperative verb, got \"" $2 "\"") }
        $2 ~ /^(a|all|an|and|both|each|every|fewer|how|more|no|of|one|only|the|what|when|where|which|who)$/ {
            fail("expected an imperative verb, got \"" $2 "\"")
        }
        END { if (!bad) printf "titles: %d hold to the rule\n", NR; exit bad }'
    exit
fi
if [ "$mode" = list ]; then
    files=("$@")
else
    cd "${1:-$here/..}"
    mapfile -t files < <(find . -path ./build -prune -o -path './.?*' -prune -o -path ./tests/corpus -prune -o -path ./tests/gold -prune -o -path ./bench/log -prune -o -type f \
        \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.sh' -o -name '*.py' -o -name '*.md' \) -printf '%P\n' |
        grep -v '/check_english\.sh$' | sort)
fi
[ "${#files[@]}" -gt 0 ] || { echo "no files to check below $PWD"; exit 1; }

# shellcheck disable=SC2016 # the $ are awk's
awk_program='
BEGIN {
    OPENING = "^(What|Whatever|Who|Whoever|Whose|Which of|Of (a|an|the|each|all|which)) "
    BANNED = "(as it were|is not there: |nothing that |whoever |as often as not|to each its own)"
}
function folder(path, part, n) {
    n = split(path, part, "/")
    return n == 1 ? "." : n == 2 || part[1] == "docs" && n == 2 ? part[1] : part[1] "/" part[2]
}
function breach(column, text) {
    count[folder(FILENAME), column]++
    if (list)
        printf "%s:%d: %s: %s\n", FILENAME, start, name[column], text
}
# One sentence, without its end.
function sentence(text, end, words, word, i) {
    gsub(/`[^`]*`/, "NAME", text)
    sub(/^[ *>#|-]+/, "", text)
    words = split(text, word, /[ \t]+/)
    total[folder(FILENAME)] += words
    if (words > longest[folder(FILENAME)])
        longest[folder(FILENAME)] = words
    for (i = 1; i <= words; i++)
        if (tolower(word[i]) ~ /^[("]?what[,.:;?)]?$/)
            whats[folder(FILENAME)]++
    if (words > 30)
        breach(2, words " words: " text)
    if (text ~ OPENING && end != "?" || tolower(text) ~ BANNED)
        breach(3, text)
}
# The sentences of a paragraph.
function paragraph(text, at) {
    gsub(/(e\.g|i\.e|cf|et al|Fig|Eq|vs|etc)\. /, "&\001", text)
    gsub(/\. \001/, " ", text)
    while (match(text, /[.!?]["\047)]*( |$)/)) {
        sentence(substr(text, 1, RSTART - 1), substr(text, RSTART, 1))
        text = substr(text, RSTART + RLENGTH)
    }
    if (text ~ /[A-Za-z]/)
        sentence(text, "")
}
function flush() {
    if (gathered != "")
        paragraph(gathered)
    gathered = ""
}
function gather(text) {
    gsub(/^[ \t]+|[ \t]+$/, "", text)
    if (text == "") {
        flush()
        return
    }
    if (text ~ /^([-*] |[0-9]+\. )/ || text ~ /   /) # a list, or a table in a comment
        flush()
    if (gathered == "")
        start = FNR
    gathered = gathered (gathered == "" ? "" : " ") text
}
FNR == 1 { flush(); code = comment = 0 }
FILENAME ~ /\.md$/ {
    if (length($0) > 120 && !code && $0 !~ /^\|/ && $0 !~ /https?:/) {
        start = FNR
        breach(4, length($0) " columns")
    }
    if ($0 ~ /^ *```/) { code = !code; flush(); next }
    if (code || $0 ~ /^<!--/) next
    if ($0 ~ /^\|/) {
        flush()
        start = FNR
        n = split($0, cell, /\|/)
        for (i = 2; i < n; i++)
            paragraph(cell[i])
        next
    }
    if ($0 ~ /^#/) flush()
    gather($0)
    if ($0 ~ /^#/) flush()
    next
}
FILENAME ~ /\.(sh|py)$/ {
    if ($0 ~ /^[ \t]*#[^!]/ && $0 !~ /shellcheck|usage:/) { sub(/^[ \t]*# ?/, ""); gather($0) }
    else flush()
    next
}
{
    line = $0
    while (line != "") {
        if (!comment) {
            if (!match(line, /\/\*|\/\/ /)) { line = ""; break }
            if (substr(line, 1, RSTART - 1) ~ /"[^"]*$/ ) { line = ""; break }
            if (substr(line, RSTART, 2) == "//") { gather(substr(line, RSTART + 2)); flush(); line = ""; break }
            line = substr(line, RSTART + 2)
            comment = 1
        }
        at = index(line, "*/")
        text = at ? substr(line, 1, at - 1) : line
        sub(/^[ \t]*\*+ ?/, "", text)
        gather(text)
        if (at) { flush(); comment = 0; line = substr(line, at + 2) }
        else line = ""
    }
    if (comment && $0 ~ /^[ \t]*\*?[ \t]*$/) flush()
}
END {
    flush()
    for (f in total) {
        rate = int(1000 * whats[f] / total[f] * 10 + .5) / 10
        if (table)
            printf "%s %d %.1f %d %d\n", f, total[f], rate, longest[f], count[f, 4]
        else
            printf "%s%s %.1f %d %d %d\n", list ? "# " : "", f, rate, count[f, 2], count[f, 3], count[f, 4]
    }
}'
name='BEGIN { name[2] = "long sentence"; name[3] = "riddle"; name[4] = "long line" }'
counts=$(awk -v list="$([ "$mode" = list ] && echo 1 || echo 0)" -v table="$([ "$mode" = table ] && echo 1 || echo 0)" "$name $awk_program" "${files[@]}")
case $mode in
list) printf '%s\n' "$counts" | sort -t: -k1,1 -k2,2n ;;
table) printf '%s\n' "$counts" | sort ;;
update)
    printf '%s\n' "$counts" | awk '$2 > 3 || $3 || $4 || $5' | sort >"$here/check_english.txt"
    echo "english: $(wc -l <"$here/check_english.txt") folders are above the limits"
    ;;
check)
    printf '%s\n' "$counts" | awk -v rows="$here/check_english.txt" '
        BEGIN {
            while ((getline line < rows) > 0) { split(line, f, " "); for (i = 2; i <= 5; i++) most[f[1], i] = f[i] }
            name[2] = "\"what\" in 1,000 words"; name[3] = "sentences of more than 30 words"; name[4] = "riddles"; name[5] = "long lines in Markdown"
        }
        {
            for (i = 2; i <= 5; i++) {
                limit = (($1, i) in most) ? most[$1, i] : 0
                if (i == 2 && limit < 3) limit = 3
                if ($i > limit) { printf "%s: expected at most %s %s, got %s; check_english.sh --list FILE shows where\n", $1, limit, name[i], $i; bad = 1 }
            }
            folders++
        }
        END { if (!bad) printf "english: %d folders hold to the rule or their row\n", folders; exit bad }'
    ;;
esac

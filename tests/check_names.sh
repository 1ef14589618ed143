#!/usr/bin/env bash
# Checks names in the five layers: sources with their headers, duplicate structs, names in comments that do not exist, and
# the form of messages.
# usage: check_names.sh [ROOT]
#
# - A source has a header of its own name beside it, or begins with "/* Part of NAME.h: ...", NAME.h or NAME_impl.h being
#   beside it.  kernels/{ops,cpu,cuda} have a file for each op, and a main.c is nobody's part.
# - No struct is defined twice.
# - A word of a comment is a name if it has an underscore, "()" or "struct" with it, or is a file.  It must occur outside
#   comments, or in check_names.txt, the list of foreign names.
# - A message says "expected X, got Y", never that something was wanted; a question may.
set -euo pipefail
allowed=$(cd "$(dirname "$0")" && pwd)/check_names.txt
cd "${1:-$(dirname "$0")/..}"

# shellcheck disable=SC2016 # the $ are awk's
awk_program='
function fail(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad = 1 }
function folder(path) { sub(/[^\/]*$/, "", path); return path }
function in_a_room() { return FILENAME ~ /^(kernels|data|models|train|infer)\// }

# Words of code, string literals included: each is a name that a comment may use.
function learn(text, n, part) {
    for (n = split(text, part, /[^A-Za-z0-9_]+/); n > 0; n--)
        known[part[n]]
}
# The line as code[0] and comment[0]; in_comment lasts from line to line.
function cut(line, at, piece, c) {
    code = comment = ""
    while (line != "") {
        if (in_comment) {
            at = index(line, "*/")
            comment = comment " " (at ? substr(line, 1, at - 1) : line)
            line = at ? substr(line, at + 2) : ""
            in_comment = !at
        } else if (match(line, /"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047|\/\*|\/\//)) {
            piece = substr(line, RSTART, RLENGTH)
            code = code substr(line, 1, RSTART - 1)
            line = substr(line, RSTART + RLENGTH)
            if (piece == "/*")
                in_comment = 1
            else if (piece == "//") {
                comment = comment " " line
                line = ""
            } else {
                code = code piece
                if (piece ~ /^"/ && piece ~ /[^a-z]wanted[^a-z]/ && piece !~ /[?]"$/ && in_a_room())
                    fail("a message that says \"wanted\": expected X, got Y")
            }
        } else {
            code = code line
            line = ""
        }
    }
}
# Keeps the names that the comment uses; they are looked up when all code is known.
function keep(text, word, after, structure) {
    while (match(text, /[A-Za-z0-9_.\/-]*[A-Za-z0-9_]/)) {
        word = substr(text, RSTART, RLENGTH)
        structure = structure && RSTART == 2
        text = substr(text, RSTART + RLENGTH)
        after = substr(text, 1, 2)
        if (word ~ /[A-Za-z0-9]\.(c|h|cu|cuh|cpp|sh)$/)
            used[++n_used] = "file " word
        else if (word ~ /^[A-Za-z][A-Za-z0-9]*_[A-Za-z0-9_]*$/ && word !~ /_([a-z]|ij)$/ || (after == "()" || structure) && word ~ /^[A-Za-z][A-Za-z0-9_]*$/)
            used[++n_used] = (word ~ /_$/ || after ~ /^[*<]/ ? "prefix " : "name ") word
        if (n_used in used && !(n_used in place))
            place[n_used] = FILENAME ":" FNR
        structure = word == "struct"
    }
}
function begins_a_name(word, name) {
    for (name in known)
        if (index(name, word) == 1)
            return 1
    for (name in file)
        if (index(name, word) == 1)
            return 1
    return 0
}
function look_up(i, part) {
    split(used[i], part, " ")
    if (part[1] == "name" && (part[2] in known) || part[1] == "prefix" && begins_a_name(part[2]))
        return
    if (part[1] == "file" && (part[2] in file))
        return
    if (part[2] in other)
        return
    printf "%s: \"%s\" is nowhere\n", place[i], part[2]
    bad = 1
}

FILENAME == allowed { if ($0 !~ /^#/) other[$1]; next }
FILENAME == "-" { # every file of the tree
    for (path = $0; ; path = substr(path, index(path, "/") + 1)) {
        file[path]
        if (!index(path, "/"))
            break
    }
    next
}
FNR == 1 {
    in_comment = 0
    if (in_a_room() && FILENAME ~ /\.(c|cpp|cu)$/ && FILENAME !~ /\/main\.c$|^kernels\/(ops|cpu|cuda)\//) {
        header = FILENAME
        sub(/\.[a-z]+$/, ".h", header)
        part_of = ""
        if (match($0, /^\/\* Part of [a-z0-9_]+\.h: /))
            part_of = substr($0, 12, RLENGTH - 15)
        if (!(header in file) && part_of == "")
            fail("no header of its own name, and no first line \"/* Part of NAME.h: ...\"")
        else if (!(header in file) && !(folder(FILENAME) part_of ".h" in file) && !(folder(FILENAME) part_of "_impl.h" in file))
            fail("part of " part_of ".h, which is not in its folder")
    }
}
FILENAME ~ /(CMakeLists\.txt|\.cmake)$/ { learn($0); next }
{
    cut($0)
    learn(code)
    if (code ~ /#[ \t]*include/ && match(code, /[<"][^>"]*/))
        file[substr(code, RSTART + 1, RLENGTH - 1)]
    if (!in_a_room())
        next
    if (comment != "")
        keep(comment)
    if (match(code, /struct [a-z][a-z0-9_]* \{/)) {
        name = substr(code, RSTART + 7, RLENGTH - 9)
        if (name in defined)
            fail("struct " name " is defined in " defined[name] " too")
        defined[name] = FILENAME ":" FNR
    }
}
END {
    for (i = 1; i <= n_used; i++)
        look_up(i)
    exit bad
}'

list() { find . -type f ! -path './build*' ! -path './.git/*' -printf '%P\n'; }
mapfile -t sources < <(list | grep -E '^(kernels|data|models|train|infer|tests|bench)/.*\.(c|h|cu|cuh|cpp)$|CMakeLists\.txt$|\.cmake$' | sort)
[ "${#sources[@]}" -gt 0 ] || { echo "no sources below $PWD"; exit 1; }
list | awk -v allowed="$allowed" "$awk_program" "$allowed" - "${sources[@]}"
echo "names: ${#sources[@]} files hold to them"

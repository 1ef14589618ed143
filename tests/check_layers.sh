#!/bin/bash
# Which room may include what: kernels <- data (base.h, arena.h, rng.h only) <- models <- train, infer.
# Includes are written from the root; train and infer never see each other; a library's header stays in its place.
# usage: check_layers.sh [ROOT]
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

# shellcheck disable=SC2016 # the $ are awk's
awk_program='
function fail(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad = 1 }
function room(path) { return substr(path, 1, index(path, "/") - 1) }
BEGIN {
    allowed["kernels"] = " kernels "
    allowed["data"] = " data kernels "
    allowed["models"] = " models data kernels "
    allowed["train"] = " train models data kernels "
    allowed["infer"] = " infer models data kernels "
    place["hdf5.h"] = "models/checkpoint/"
    place["yaml.h"] = "data/"
    place["sqlite3.h"] = "data/"
    place["jansson.h"] = "(data|models|train|infer|tests)/"
    place["utf8proc.h"] = "models/"
    place["pcre2.h"] = "models/"
    place["cuda_runtime.h"] = "kernels/"
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, part, "\"")
    path = part[2]
    from = room(FILENAME)
    if (path ~ /(^|\/)\.\.?\//)
        fail("\"" path "\" is not written from the root")
    else if ((getline line < path) < 0)
        fail("\"" path "\" is not written from the root, or is not there")
    else if ((from in allowed) && index(allowed[from], " " room(path) " ") == 0)
        fail(from " may not include \"" path "\"")
    else if (from == "data" && room(path) == "kernels" && path !~ /^kernels\/(base|arena|rng)\.h$/)
        fail("data may include only base.h, arena.h and rng.h of kernels, not \"" path "\"")
    close(path)
}
/^[ \t]*#[ \t]*include[ \t]*</ {
    header = $0
    gsub(/^[^<]*<|>.*$/, "", header)
    if ((header in place) && FILENAME !~ "^(tests|bench|" place[header] ")")
        fail("<" header "> belongs in " place[header])
}
END { exit bad }'

mapfile -t files < <(find kernels data models train infer tests bench -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \
    -o -name '*.cpp' | sort)
if [ "${#files[@]}" -eq 0 ]; then
    echo "no sources below $PWD"
    exit 1
fi
awk "$awk_program" "${files[@]}"
echo "layers: ${#files[@]} files hold to the include direction"

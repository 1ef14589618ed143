#!/usr/bin/env bash
# Checks the includes of layers and folders: kernels <- data (four headers only) <- models <- train, infer.
# Inside a layer a folder includes itself and those before it in the table below.
# Includes are written from the root; train and infer never see each other; a library's header stays in its place.
# usage: check_layers.sh [ROOT]    check_layers.sh --table [ROOT]    the folders with their files and lines
set -euo pipefail

# The rooms' folders, lowest first; kernels/ is whole: its headers lie above kernels/{ops,cpu,cuda,simt}.
folders="
data/base data/endpoint data/sqlite data/schema data/sql data/db data/worker data/corpora data/span data/eval data/prompt data/published data/synth data/clarify data/cmd
models/text models/io models/net models/hf models/embed models/lm models/gatekeeper models/tagger models/engine
train/run train/tagger train/detector train/lm train/cmd
infer/detect infer/tag infer/clarify infer/api infer/infill infer/lm infer/parse infer/http infer/ask infer/cmd
"
table=false
[ "${1:-}" = --table ] && table=true && shift
cd "${1:-$(dirname "$0")/..}"
if $table; then
    for folder in kernels kernels/{ops,cpu,cuda,simt,mpi} $folders; do
        [ -d "$folder" ] || continue
        mapfile -t files < <(find "$folder" -maxdepth 1 -type f ! -name CMakeLists.txt)
        printf '%-24s %3d files %6d lines\n' "$folder" "${#files[@]}" "$(cat "${files[@]}" </dev/null | wc -l)"
    done
    exit
fi

# shellcheck disable=SC2016 # the $ are awk's
awk_program='
function fail(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad = 1 }
function room(path) { return substr(path, 1, index(path, "/") - 1) }
function folder(path, part) { split(path, part, "/"); return part[1] "/" part[2] }
BEGIN {
    for (n = split(folders, listed, /[ \n]+/); n > 0; n--)
        place_of[listed[n]] = n
    allowed["kernels"] = " kernels "
    allowed["data"] = " data kernels "
    allowed["models"] = " models data kernels "
    allowed["train"] = " train models data kernels "
    allowed["infer"] = " infer models data kernels "
    place["hdf5.h"] = "models/io/"
    place["yaml.h"] = "data/base/"
    place["sqlite3.h"] = "data/"
    place["jansson.h"] = "(data|models|train|infer|tests)/"
    place["utf8proc.h"] = "models/|data/base/"
    place["pcre2.h"] = "models/"
    place["curl/curl.h"] = "data/endpoint/"
    place["microhttpd.h"] = "infer/http/"
    place["histedit.h"] = "infer/clarify/"
    place["cuda_runtime.h"] = "kernels/"
}
FNR == 1 && FILENAME ~ /^(data|models|train|infer)\// {
    if (!(folder(FILENAME) in place_of))
        fail(folder(FILENAME) " is not a folder of the table in check_layers.sh")
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
    else if (from == "data" && room(path) == "kernels" && path !~ /^kernels\/(base|arena|rng|module_path)\.h$/)
        fail("data may include only base.h, arena.h, rng.h and module_path.h of kernels, not \"" path "\"")
    else if (room(path) == from && place_of[folder(path)] > place_of[folder(FILENAME)])
        fail(folder(FILENAME) " may not include \"" path "\": " folder(path) " comes after it")
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
awk -v folders="$folders" "$awk_program" "${files[@]}"
echo "layers: ${#files[@]} files hold to the include direction"

#!/usr/bin/env bash
# The pages of bench/results must be those that bench/results.py writes, and its check must find faults. Needs Python.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v python3 >/dev/null || exit 77
python3 bench/results.py --check

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
# finds WORDS FILE SED: after the change of a copy of the pages by SED, the check fails with WORDS.
finds() {
    rm -f "$copy"/*
    cp bench/results/* "$copy"
    sed -i "$3" "$copy/$2"
    if output=$(python3 bench/results.py --check "$copy") || [[ $output != *"$1"* ]]; then
        printf 'results.py --check after %s on %s: expected "%s", got:\n%s\n' "$3" "$2" "$1" "$output"
        exit 1
    fi
}
finds "differs from its measurements" detection.md '1s/$/ today/'
finds "differs from its measurements" README.md '1s/$/ today/'
finds "the field value is missing" detection.jsonl '2s/"value": [0-9.]*, //'
finds "baseline and baseline_value" detection.jsonl '2s/"baseline_value": [0-9.]*, //'
finds "unknown field" detection.jsonl '2s/"unit"/"units"/'

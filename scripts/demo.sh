#!/usr/bin/env bash
# From a fresh checkout to findings: installs, builds, makes practice data, trains a small GATekeeper, reads new questions.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh
gpu=OFF
[ -e /dev/nvidia0 ] && gpu=AUTO
cmake --preset release -DAMBIT_CUDA="$gpu" >/dev/null
cmake --build --preset release -j "$(nproc)" --target ambit-data ambit-train ambit-infer | tail -n 1

bin=build/release/bin
out=build/demo
rm -rf "$out"
"$bin/ambit-data" practice -o "$out/data" --seed 1
"$bin/ambit-train" gatekeeper --data "$out/data" --config scripts/demo.yaml --out "$out/model" --seed 1
echo
echo "Questions the model never saw, on databases it never saw:"
grep '"slice":"crossed"' "$out/data/test.jsonl" | awk 'NR % 32 == 1 && n++ < 12' |
    "$bin/ambit-infer" detect --model "$out/model" --schema "$out/data/tables.json" --format text -
echo
echo "A question that statements read in several ways, and somebody who answers:"
printf '1\n20 or more\n\n' | "$bin/ambit-infer" clarify --interactive --candidates scripts/demo.jsonl --db "$out/data/db"
echo
echo "model: $out/model   report: $out/model/report.html   data: $out/data"

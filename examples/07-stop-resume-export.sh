#!/usr/bin/env bash
# Kills and resumes a training run, checks that the final weights are bitwise the same, and exports the adapter for other
# tools.
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1 # a model this small is fastest on one core

# --- your own conversations, a tokenizer, and a small base model
for i in $(seq 40); do
    printf '{"id":"%d","messages":[{"role":"user","content":"How much is %d and %d?"},{"role":"assistant","content":"%d"}]}\n' \
        "$i" "$i" $((i % 7)) $((i + i % 7))
done >train.jsonl
ambit-train tokenizer train.jsonl --vocab 400 -o vocabulary
cat >tiny.yaml <<'YAML'
method: full
hidden: 64
heads: 2
groups: 1
layers: 2
intermediate: 128
epochs: 2
YAML
ambit-train infill --tokenizer vocabulary --data train.jsonl --config tiny.yaml --device cpu -o base

# --- a dry run estimates memory before anything is loaded
ambit-train infill --base base --data train.jsonl --epochs 20 --rank 4 --device cpu -o adapter --dry-run

# --- kill a run after its first checkpoint, resume it, and compare with an uninterrupted run
ambit-train infill --base base --data train.jsonl --epochs 20 --rank 4 --save-every 10 --device cpu -o adapter &
until compgen -G "adapter/checkpoint-*[0-9]" >/dev/null; do sleep 0.1; done
kill -KILL $! || true # on a fast machine the run may have ended
wait || true
ambit-train infill --resume -o adapter
ambit-train infill --base base --data train.jsonl --epochs 20 --rank 4 --device cpu -o whole-run
cmp adapter/adapter_model.safetensors whole-run/adapter_model.safetensors

# --- inspect the result, and export it in the formats of other tools
ambit-train inspect adapter | tail -n 3
ambit-train export adapter --format peft -o adapter-peft --verify
ambit-train export adapter --format merged -o merged --verify
ambit-train export adapter --format gguf-adapter -o adapter.gguf

#!/usr/bin/env bash
# A run that is killed goes on and ends with the same weights, bit for bit; its adapter in the forms of other tools.
set -euo pipefail
if [ -n "${AMBIT_BIN:-}" ]; then PATH=$(realpath "$AMBIT_BIN"):$PATH; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1 # so small a model is fastest on one core

# --- conversations of our own, a vocabulary, and a small base model
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

# --- what a run would take, before anything is loaded
ambit-train infill --base base --data train.jsonl --epochs 20 --rank 4 --device cpu -o adapter --dry-run

# --- killed behind its first checkpoint, gone on with, and once more without the kill
ambit-train infill --base base --data train.jsonl --epochs 20 --rank 4 --save-every 10 --device cpu -o adapter &
until compgen -G "adapter/checkpoint-*[0-9]" >/dev/null; do sleep 0.1; done
kill -KILL $! || true # a fast machine may be done
wait || true
ambit-train infill --resume -o adapter
ambit-train infill --base base --data train.jsonl --epochs 20 --rank 4 --device cpu -o whole-run
cmp adapter/adapter_model.safetensors whole-run/adapter_model.safetensors

# --- what came out, and the forms that other tools load
ambit-train inspect adapter | tail -n 3
ambit-train export adapter --format peft -o adapter-peft --verify
ambit-train export adapter --format merged -o merged --verify
ambit-train export adapter --format gguf-adapter -o adapter.gguf

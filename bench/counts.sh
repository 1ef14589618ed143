#!/usr/bin/env bash
# Counts the launches, copies and waits of a training step and of a generated token, as reported by the device's driver.
# Prints a table for BERT, the GAT, and Llama with and without an adapter.  The models are small and have two layers: the
# counts depend on the number of layers and hardly on sizes.
# usage: [BIN=DIR] bench/counts.sh [DEVICE]    DEVICE: simt (default) or cuda; BIN: folder of built programs
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${BIN:-build/release/bin}
device=${1:-simt}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

mkdir "$out/bert"
printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' which bands are the best name rank songs title : >"$out/bert/vocab.txt"
cat >"$out/bert/config.json" <<END
{"model_type": "bert", "vocab_size": $(wc -l <"$out/bert/vocab.txt"), "hidden_size": 64, "num_hidden_layers": 2,
 "num_attention_heads": 2, "intermediate_size": 128, "max_position_embeddings": 64, "type_vocab_size": 2,
 "hidden_act": "gelu", "layer_norm_eps": 1e-12, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}
END
echo '{"question": "which bands are the best", "elements": ["bands : name", "bands : rank", "songs : title"]}' \
    >"$out/pairs.jsonl"
cp -r tests/gold/llama/base "$out/llama"
cp tests/gold/bpe/llama/tokenizer.json "$out/llama"
for _ in {1..4}; do echo '{"nodes": 5, "edges": [[0, 1], [1, 2], [2, 0], [3, 4], [4, 3]]}'; done >"$out/graphs.jsonl"
for i in 1 2 3 4; do
    echo '{"id": "'$i'", "prompt": "list the names of all bands", "completion": " select name from bands"}'
done >"$out/texts.jsonl"

# row NAME PER LINE [BASE]: prints the counts in LINE minus those in BASE, divided by PER.
row() {
    awk -v name="$1" -v per="$2" -v line="$3" -v less="${4:-}" 'BEGIN {
        split(line, n); split(less, o)
        printf "| %s |", name
        for (i = 1; i <= 7; i++)
            printf " %.10g |", (n[i] - o[i]) / per
        printf "\n" }'
}
# counted COMMANDS PROGRAM...: sends COMMANDS to the program and prints its last line.
counted() { printf '%b' "$1" | "$bin/$2" "${@:3}" 2>/dev/null | tail -n 1; }
encoder() { counted "$2" bench_encoder "$out/bert" "$out/pairs.jsonl" "$device" bf16 "$1"; }
gat() { counted "$1" bench_gat "$out/graphs.jsonl" "$device" f32; }
lm() { counted "$2" bench_lm "$out/llama" "$out/texts.jsonl" "$device" bf16 2 "$1"; }

echo "| | launches | replays | uploads | bytes | downloads | bytes | waits |"
echo "|---|---|---|---|---|---|---|---|"
row "BERT, a batch scored" 1 "$(encoder score 'run\ncounts\nrun\ncounts\n')"
row "BERT, the first training step" 1 "$(encoder train 'counts\nrun\ncounts\n')"
row "BERT, a later one" 1 "$(encoder train 'run\nrun\ncounts\nrun\ncounts\n')"
row "GAT, a training step" 1 "$(gat 'run\ncounts\nrun\ncounts\n')"
row "GAT, captured" 1 "$(gat 'replay 1\ncounts\nreplay 1\ncounts\n')"
row "Llama, a LoRA step" 1 "$(lm 1 'train\ntrain\ncounts\ntrain\ncounts\n')"
row "Llama, a LoRA step that is not replayed" 1 "$(lm 1 'trainer\neager\ntrain\ncounts\ntrain\ncounts\n')"
name() { case $1 in *adapter*) printf ' with an adapter' ;; esac; case $1 in *eager*) printf ', not replayed' ;; esac; }
for with in '' "adapter tests/gold/llama/adapter\n" "eager\n" "adapter tests/gold/llama/adapter\neager\n"; do
    few=$(lm 8 "${with}decode\ncounts\ndecode\ncounts\n")
    row "Llama$(name "$with"), a token of 2 texts" 16 "$(lm 24 "${with}decode\ncounts\ndecode\ncounts\n")" "$few"
done

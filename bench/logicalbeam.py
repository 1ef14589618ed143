"""Compares template filling on the CPU: bench_published and LogicalBeam's released code (peers/logicalbeam.py) take turns.
Prints the median wall seconds for all records, by the published rules and under compiled constraints.

usage: logicalbeam.py BENCH_PUBLISHED MODEL RECORDS [--rounds N] [--dtype f32|bf16]
OMP_NUM_THREADS sets the number of threads.
"""
import argparse
import os
import statistics
import sys

from runner import Runner, here

p = argparse.ArgumentParser()
p.add_argument("bench")
p.add_argument("model")
p.add_argument("records")
p.add_argument("--rounds", type=int, default=5)
p.add_argument("--dtype", default="f32")
a = p.parse_args()

ours = Runner("ambit", [a.bench, a.model, a.records, "cpu", a.dtype])
peer = Runner("transformers", [sys.executable, here + "/peers/logicalbeam.py", a.model, a.records, a.dtype])
rows = [("released", peer, "published"), ("published", ours, "published"), ("bound", ours, "bound")]
said = {}
for name, runner, command in rows:
    runner.seconds(command)
    said[name] = runner.ask("said").split()
times = {name: [] for name, _, _ in rows}
for _ in range(a.rounds):
    for name, runner, command in rows:
        times[name].append(runner.seconds(command))
print("load %.1f" % os.getloadavg()[0])
released = statistics.median(times["released"])
for name, runner, _ in rows:
    seconds = statistics.median(times[name])
    print("%-10s %-13s %8.4f s (%.1fx as fast as released), %s statements for %s records" % (
        name, runner.name, seconds, released / seconds, *said[name]))

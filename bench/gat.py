"""Compares a training step of GATekeeper's graph classifier on 32 graphs on the CPU; ambit and torch_geometric take turns.

Both compute in f32, and in bf16 with f32 weights and moments.

usage: gat.py BENCH_GAT [--rounds N]
"""
import argparse
import sys

from runner import Runner, here, take_turns, write_graphs

p = argparse.ArgumentParser()
p.add_argument("bench")
p.add_argument("--rounds", type=int, default=50)
a = p.parse_args()

path = write_graphs(32, (30, 70))
ours = [Runner("ambit " + dtype, [a.bench, path, "cpu", dtype]) for dtype in ("f32", "bf16")]
peers = [Runner("torch_geometric " + dtype, [sys.executable, here + "/peers/gat.py", system, path, "cpu"])
         for dtype, system in (("f32", "pyg"), ("bf16", "pyg-bf16"))]
take_turns(ours + peers, 10)
for r in ours + peers:
    r.times = []
take_turns(ours + peers, a.rounds, rest=0.02)
print("GAT training step, 32 graphs, batching included: " +
      ", ".join("%s %.3f ms" % (r.name, r.median() * 1e3) for r in ours + peers))
for mine in ours:
    print("%s against the faster torch_geometric: %.1fx" %
          (mine.name, min(r.median() for r in peers) / mine.median()))

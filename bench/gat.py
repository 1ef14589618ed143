"""A training step of the thesis' graph classifier on 32 graphs on the CPU: ours and torch_geometric take turns.

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
ours = Runner("ambit", [a.bench, path, "cpu"])
peer = Runner("pyg", [sys.executable, here + "/peers/gat.py", "pyg", path, "cpu"])
take_turns([ours, peer], 10)
ours.times, peer.times = [], []
take_turns([ours, peer], a.rounds)
mine, theirs = ours.median(), peer.median()
print("GAT training step, 32 graphs, batching included: ambit %.3f ms, torch_geometric %.3f ms, %.1fx" %
      (mine * 1e3, theirs * 1e3, theirs / mine))

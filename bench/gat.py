"""A training step of the thesis' graph classifier on 32 graphs: ours and torch_geometric take turns.

usage: gat.py BENCH_GAT [--device cpu] [--rounds N]
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile
import time

import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, global_mean_pool

p = argparse.ArgumentParser()
p.add_argument("bench")
p.add_argument("--device", default="cpu")
p.add_argument("--rounds", type=int, default=50)
a = p.parse_args()
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
place = "cuda" if a.device.startswith("cuda") else "cpu"


def graph(rng):
    """Tables with their columns, both directions, and a few foreign keys, as a schema has them."""
    tables = rng.randint(3, 7)
    n = rng.randint(30, 70)
    edges = []
    for column in range(tables, n):
        t = rng.randrange(tables)
        edges += [[column, t], [t, column]]
    for _ in range(tables):
        u, v = rng.sample(range(tables, n), 2)
        edges += [[u, v], [v, u]]
    return {"nodes": n, "edges": edges + [[i, i] for i in range(n)]}


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one = GATConv(768, 64, heads=4, concat=False, dropout=0.3, add_self_loops=False)
        self.two = GATConv(64, 64, heads=4, concat=False, dropout=0.3, add_self_loops=False)
        self.score = torch.nn.Linear(64, 1)

    def forward(self, batch):
        x = batch.x
        for layer in (self.one, self.two):
            x = torch.nn.functional.dropout(torch.nn.functional.elu(layer(x, batch.edge_index)), 0.3, self.training)
        x = torch.nn.functional.dropout(global_mean_pool(x, batch.batch), 0.3, self.training)
        return self.score(x)[:, 0]


rng = random.Random(1)
graphs = [graph(rng) for _ in range(32)]
path = os.path.join(tempfile.mkdtemp(), "graphs.jsonl")
with open(path, "w") as f:
    f.writelines(json.dumps(g) + "\n" for g in graphs)
features = [torch.rand(g["nodes"], 768) - 0.5 for g in graphs]
edges = [torch.tensor(g["edges"]).T.contiguous() for g in graphs]
target = (torch.arange(32) % 2).float().to(place)
model = Classifier().to(place).train()
optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)


def peer_step():
    """Batching is part of the step, for both sides."""
    start = time.perf_counter()
    batch = Batch.from_data_list([Data(x=x, edge_index=e) for x, e in zip(features, edges)]).to(place)
    optimiser.zero_grad()
    torch.nn.functional.binary_cross_entropy_with_logits(model(batch), target).backward()
    optimiser.step()
    if place == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


ours = subprocess.Popen([a.bench, path, a.device], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def our_step():
    ours.stdin.write("run\n")
    ours.stdin.flush()
    return float(ours.stdout.readline())


for _ in range(10):
    our_step(), peer_step()
times = [(our_step(), peer_step()) for _ in range(a.rounds)]
mine, theirs = (statistics.median(t) for t in zip(*times))
print("GAT training step, 32 graphs, %d nodes: ambit %.3f ms, torch_geometric %.3f ms, %.1fx" %
      (sum(g["nodes"] for g in graphs), mine * 1e3, theirs * 1e3, theirs / mine))

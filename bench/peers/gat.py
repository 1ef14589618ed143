"""torch_geometric beside bench_gat: SYSTEM GRAPHS cpu|cuda, SYSTEM being pyg, pyg-bf16, pyg-compile or pyg-graph.

Speaks the protocol of bench_gat; "workers N" sets how many processes load an epoch's batches.
"""
import json
import os
import sys
import time

import torch
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, global_mean_pool

system, path, place = sys.argv[1:4]
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))
torch.set_float32_matmul_precision("highest")
cuda = place == "cuda"
workers = 0


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one = GATConv(768, 64, heads=4, concat=False, dropout=0.3, add_self_loops=False)
        self.two = GATConv(64, 64, heads=4, concat=False, dropout=0.3, add_self_loops=False)
        self.score = torch.nn.Linear(64, 1)

    def forward(self, x, edges, owner, n):
        for layer in (self.one, self.two):
            x = torch.nn.functional.dropout(torch.nn.functional.elu(layer(x, edges)), 0.3, self.training)
        x = torch.nn.functional.dropout(global_mean_pool(x, owner, n), 0.3, self.training)
        return self.score(x)[:, 0]


data = []
for i, graph in enumerate(map(json.loads, open(path))):
    data.append(Data(x=torch.rand(graph["nodes"], 768) - 0.5, edge_index=torch.tensor(graph["edges"]).T.contiguous(),
                     y=torch.tensor([float(i & 1)])))
model = Classifier().to(place).train()
optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, capturable=cuda and system == "pyg-graph")
run_model = torch.compile(model, mode="reduce-overhead") if system == "pyg-compile" else model


def step(batch):
    optimiser.zero_grad()
    with torch.autocast(place, torch.bfloat16, enabled=system == "pyg-bf16"):
        out = run_model(batch.x, batch.edge_index, batch.batch, batch.num_graphs)
    torch.nn.functional.binary_cross_entropy_with_logits(out.float(), batch.y).backward()
    optimiser.step()


def on_device(graphs):
    return Batch.from_data_list(graphs).to(place)


def capture(batch):
    """The whole step as one CUDA graph, after a warm-up on a stream of its own."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            step(batch)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(batch)
    return graph


def loader_of(size):
    return DataLoader(data, batch_size=size, shuffle=True, num_workers=workers, pin_memory=cuda,
                      persistent_workers=workers > 0)


resident = graph = loader = None
for line in sys.stdin:
    command = line.split()
    start = time.perf_counter()
    if command[0] == "workers":
        workers, loader = int(command[1]), None
    elif command[0] == "epoch":
        loader = loader or loader_of(int(command[1]))
        for batch in loader:
            step(batch.to(place, non_blocking=cuda))
    elif command[0] == "run":
        step(on_device(data))
    elif command[0] == "replay":
        if resident is None:
            resident = on_device(data)
            graph = capture(resident) if system == "pyg-graph" else None
        for _ in range(int(command[1])):
            graph.replay() if graph else step(resident)
    if cuda:
        torch.cuda.synchronize()
    print("%.7f" % (time.perf_counter() - start), flush=True)

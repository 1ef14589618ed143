"""Writes gat_mean.safetensors: the thesis' classifier in f64 as torch_geometric computes it, logits and gradients.

Two GATConv layers with their heads averaged, ELU after each, a mean over the nodes of each graph, one linear layer.
"""
import os

import numpy as np
import torch
from formula import digest, values, words
from safetensors.numpy import save_file
from torch_geometric.nn import GATConv, global_mean_pool

torch.set_default_dtype(torch.float64)
WIDE, HIDDEN, HEADS, NODES = 32, 16, 4, (1, 12, 7)


def parameter(name, *shape):
    x = values(name, int(np.prod(shape))).reshape(shape)
    return torch.tensor(x / 4)


def edges():
    """Some directed edges within each graph, none of them twice and none a loop."""
    out, first = [], 0
    for graph, n in enumerate(NODES):
        pairs = {(int(w % np.uint64(n)), int((w >> np.uint64(32)) % np.uint64(n))) for w in words(f"graph {graph}", 3 * n)}
        out += [(first + a, first + b) for a, b in sorted(pairs) if a != b]
        first += n
    return np.array(out)


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(GATConv(n, HIDDEN, heads=HEADS, concat=False) for n in (WIDE, HIDDEN))
        self.score = torch.nn.Linear(HIDDEN, 1)

    def forward(self, x, edge_index, batch):
        for layer in self.layers:
            x = torch.nn.functional.elu(layer(x, edge_index))
        return self.score(global_mean_pool(x, batch))[:, 0]


model, named = Classifier(), {}
for i, layer in enumerate(model.layers):
    for ours, p in (("weight", layer.lin.weight), ("a_src", layer.att_src), ("a_dst", layer.att_dst),
                    ("bias", layer.bias)):
        named[f"classifier.gat.{i}.{ours}"] = p
named["graph.score.weight"], named["graph.score.bias"] = model.score.weight, model.score.bias
for name, p in named.items():
    p.data = parameter(name, *p.shape)
x = torch.tensor(values("states", sum(NODES) * WIDE)).reshape(-1, WIDE).requires_grad_()
between = edges()
batch = torch.repeat_interleave(torch.arange(len(NODES)), torch.tensor(NODES))
y = model(x, torch.tensor(between.T), batch)
y.backward(torch.tensor(values("loss", len(NODES))))
answers = {"edges": between.astype(np.float32), "logits": y.detach().numpy().astype(np.float32)}
for name, p in [*named.items(), ("states", x)]:
    answers[name] = digest(name, p.grad.numpy())
save_file(answers, os.path.join(os.path.dirname(os.path.abspath(__file__)), "gat_mean.safetensors"))

"""Writes the classifiers of Skadborg and Mortensen in f64 as torch_geometric computes them: logits and gradients, a file each.

gat_mean    two GATConv layers with their heads averaged, ELU after each, a mean over the nodes of each graph
gat_cat     heads side by side, a layer norm before ELU, a sum over the nodes
gcn, rgcn   two GCNConv or RGCNConv layers with ReLU, a mean over the nodes
bert_only   a mean over the nodes, a hidden layer with ReLU
and one linear layer behind each.
"""
import os

import numpy as np
import torch
from formula import digest, values, words
from safetensors.numpy import save_file
from torch_geometric.nn import GATConv, GCNConv, RGCNConv, global_add_pool, global_mean_pool

torch.set_default_dtype(torch.float64)
WIDE, HIDDEN, HEADS, RELATIONS, NODES = 32, 16, 4, 3, (1, 12, 7)


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
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        cat = HEADS * HIDDEN
        self.layers = torch.nn.ModuleList({
            "gat_mean": lambda: [GATConv(n, HIDDEN, heads=HEADS, concat=False) for n in (WIDE, HIDDEN)],
            "gat_cat": lambda: [GATConv(n, HIDDEN, heads=HEADS) for n in (WIDE, cat)],
            "gcn": lambda: [GCNConv(n, HIDDEN) for n in (WIDE, HIDDEN)],
            "rgcn": lambda: [RGCNConv(n, HIDDEN, RELATIONS) for n in (WIDE, HIDDEN)],
            "bert_only": list,
        }[kind]())
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(cat) for _ in range(2 if kind == "gat_cat" else 0))
        self.dense = torch.nn.Linear(WIDE, HIDDEN) if kind == "bert_only" else None
        self.score = torch.nn.Linear(cat if kind == "gat_cat" else HIDDEN, 1)

    def forward(self, x, between, batch):
        types = (between[0] + 2 * between[1]) % RELATIONS
        for i, layer in enumerate(self.layers):
            x = layer(x, between, types) if self.kind == "rgcn" else layer(x, between)
            x = self.norms[i](x) if self.norms else x
            x = torch.relu(x) if self.kind in ("gcn", "rgcn") else torch.nn.functional.elu(x)
        x = (global_add_pool if self.kind == "gat_cat" else global_mean_pool)(x, batch)
        return self.score(torch.relu(self.dense(x)) if self.dense else x)[:, 0]

    def parameters_by_name(self):
        """Ours -> parameter, and how ours lies in it."""
        named = {"graph.score.weight": self.score.weight, "graph.score.bias": self.score.bias}
        if self.dense:
            named |= {"graph.dense.weight": self.dense.weight, "graph.dense.bias": self.dense.bias}
        for i, layer in enumerate(self.layers):
            part = f"classifier.{'gat' if self.kind.startswith('gat') else 'gcn'}.{i}."
            named[part + "bias"] = layer.bias
            if self.kind.startswith("gat"):
                named |= {part + "weight": layer.lin.weight, part + "a_src": layer.att_src, part + "a_dst": layer.att_dst}
            if self.kind == "gcn":
                named[part + "weight"] = layer.lin.weight
            if self.norms:
                named |= {part + "norm.weight": self.norms[i].weight, part + "norm.bias": self.norms[i].bias}
        return named


def relations(model):
    """Of R-GCN, whose matrices are [in, out], those of all relations in one parameter, and of the node itself apart."""
    for i, layer in enumerate(model.layers if model.kind == "rgcn" else ()):
        for r in range(RELATIONS):
            yield f"classifier.gcn.{i}.relation.{r}.weight", layer.weight, r
        yield f"classifier.gcn.{i}.relation.{RELATIONS}.weight", layer.root, None


def write(kind):
    model = Classifier(kind)
    named = model.parameters_by_name()
    for name, p in named.items():
        p.data = parameter(name, *p.shape)
    for name, p, r in relations(model):
        (p.data if r is None else p.data[r])[:] = parameter(name, *reversed(p.shape[-2:])).T
    x = torch.tensor(values("states", sum(NODES) * WIDE)).reshape(-1, WIDE).requires_grad_()
    between = edges()
    y = model(x, torch.tensor(between.T), torch.repeat_interleave(torch.arange(len(NODES)), torch.tensor(NODES)))
    y.backward(torch.tensor(values("loss", len(NODES))))
    answers = {"edges": between.astype(np.float32), "logits": y.detach().numpy().astype(np.float32)}
    for name, p in [*named.items(), ("states", x)]:
        answers[name] = digest(name, p.grad.numpy())
    for name, p, r in relations(model):
        answers[name] = digest(name, np.ascontiguousarray((p.grad if r is None else p.grad[r]).numpy().T))
    save_file(answers, os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{kind}.safetensors"))


for kind in ("gat_mean", "gat_cat", "gcn", "rgcn", "bert_only"):
    write(kind)

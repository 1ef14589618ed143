"""Writes gat.json: layers of torch_geometric's GATConv in f64, outputs and gradients, on graphs with double edges."""
import json
import os

import torch
from torch_geometric.nn import GATConv

torch.manual_seed(5)
torch.set_default_dtype(torch.float64)


def exact(*shape):
    """Numbers that are the same in f32 and f64."""
    return torch.randint(-128, 129, shape).double() / 64


cases = []
for heads, concat, bias in ((4, True, True), (3, False, True), (1, True, False)):
    nodes, wide, dim = 11, 9, 6
    edges = torch.randint(0, nodes - 1, (2, 40))  # the last node hears only itself
    edges = edges[:, edges[0] != edges[1]]
    edges = torch.cat([edges, edges[:, :5]], dim=1)
    conv = GATConv(wide, dim, heads=heads, concat=concat, bias=bias)
    for p in conv.parameters():
        p.data = exact(*p.shape) / 8
    x = exact(nodes, wide).requires_grad_()
    y = conv(x, edges)
    dy = exact(*y.shape)
    y.backward(dy)
    loops = torch.arange(nodes).repeat(2, 1)  # GATConv adds these itself
    case = {"heads": heads, "mean": not concat, "edges": torch.cat([edges, loops], dim=1).t().tolist(),
            "x": x, "w": conv.lin.weight, "a_src": conv.att_src, "a_dst": conv.att_dst, "bias": conv.bias, "y": y,
            "dy": dy, "dx": x.grad, "dw": conv.lin.weight.grad, "da_src": conv.att_src.grad,
            "da_dst": conv.att_dst.grad, "dbias": conv.bias.grad if bias else None}
    cases.append({k: v.detach().flatten().tolist() if isinstance(v, torch.Tensor) else v for k, v in case.items()})
with open(os.path.join(os.path.dirname(__file__), "gat.json"), "w") as f:
    json.dump(cases, f)
    f.write("\n")

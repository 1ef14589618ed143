"""Writes adafactor.json: steps of transformers' Adafactor (no momentum, a rate of its own) with clipping, in f64.

Values and gradients are formulas, which the test has too; of what comes out some numbers of each parameter and step.
"""
import json
import os

import torch
from transformers import Adafactor, get_constant_schedule, get_linear_schedule_with_warmup

torch.set_default_dtype(torch.float64)
STEPS, WARMUP, TOTAL, SAMPLES = 6, 2, 8, 12
SHAPES = [(127, 33), (1, 65), (129, 1), (64, 64), (65, 127), (48,), (1,), (5000,)]


def formula(shape, a, b, scale):
    n = 1
    for s in shape:
        n *= s
    return (((torch.arange(n) * a + b) % 257 - 128).double() / 64 * scale).reshape(shape)


def gradient(i, step):
    """Some beyond the clip, some not; of the first matrix a column that is zero."""
    g = formula(SHAPES[i], 31 + i, 17 * step + i, 2 if step % 3 else 2 ** -7)
    if i == 0:
        g[:, 5] = 0
    return g


cases = []
for schedule, clip, decay in ((get_linear_schedule_with_warmup, 1.0, 0.1), (get_constant_schedule, 0.0, 0.0)):
    params = [torch.nn.Parameter(formula(s, 7, i, 1)) for i, s in enumerate(SHAPES)]
    groups = [{"params": [p], "weight_decay": decay if p.dim() == 2 else 0.0} for p in params]
    optimizer = Adafactor(groups, lr=0.01, scale_parameter=False, relative_step=False, warmup_init=False)
    linear = schedule is get_linear_schedule_with_warmup
    rates = schedule(optimizer, WARMUP, TOTAL) if linear else schedule(optimizer)
    steps = []
    for step in range(STEPS):
        for i, p in enumerate(params):
            p.grad = gradient(i, step)
        norm = float(torch.nn.utils.get_total_norm([p.grad for p in params]))
        if clip and norm > clip:
            for p in params:
                p.grad *= clip / norm
        rate = optimizer.param_groups[0]["lr"]
        optimizer.step()
        rates.step()
        values = [[float(p.detach().flatten()[k * 977 % p.numel()]) for k in range(SAMPLES)] for p in params]
        steps.append({"norm": norm, "rate": rate, "values": values})
    cases.append({"linear": linear, "clip": clip, "decay": decay, "warmup": WARMUP if linear else 0, "total": TOTAL,
                  "steps": steps})
with open(os.path.join(os.path.dirname(__file__), "adafactor.json"), "w") as f:
    json.dump(cases, f)
    f.write("\n")

"""Writes optim.json: ten steps of torch's AdamW with clipping and transformers' schedules, in f64."""
import json
import os

import torch
from transformers import get_cosine_schedule_with_warmup, get_linear_schedule_with_warmup

torch.manual_seed(3)
torch.set_default_dtype(torch.float64)
STEPS, WARMUP, TOTAL = 10, 3, 12


def exact(*shape):
    """Numbers that are the same in f32 and f64."""
    return torch.randint(-128, 129, shape).double() / 64


cases = []
for schedule, clip in ((get_linear_schedule_with_warmup, 1.0), (get_cosine_schedule_with_warmup, 0.0)):
    decayed, plain = torch.nn.Parameter(exact(37)), torch.nn.Parameter(exact(5))
    start = [decayed.tolist(), plain.tolist()]
    groups = [{"params": [decayed], "weight_decay": 0.1}, {"params": [plain], "weight_decay": 0.0, "lr": 0.02}]
    optimizer = torch.optim.AdamW(groups, lr=0.01, betas=(0.9, 0.98), eps=1e-6)
    rates = schedule(optimizer, WARMUP, TOTAL)
    steps = []
    for step in range(STEPS):
        scale = 3 if step % 3 else 0.01  # some beyond the clip, some not
        decayed.grad, plain.grad = scale * exact(37), scale * exact(5)
        decayed.grad, plain.grad = decayed.grad.float().double(), plain.grad.float().double()
        gradients = [decayed.grad.tolist(), plain.grad.tolist()]
        norm = float(torch.nn.utils.get_total_norm([decayed.grad, plain.grad]))
        if clip and norm > clip:
            for p in (decayed, plain):
                p.grad *= clip / norm
        rate = optimizer.param_groups[0]["lr"]
        optimizer.step()
        rates.step()
        steps.append({"gradients": gradients, "norm": norm, "rate": rate, "values": [decayed.tolist(), plain.tolist()]})
    cases.append({"cosine": schedule is get_cosine_schedule_with_warmup, "clip": clip, "warmup": WARMUP, "total": TOTAL,
                  "start": start, "steps": steps})
with open(os.path.join(os.path.dirname(__file__), "optim.json"), "w") as f:
    json.dump(cases, f)
    f.write("\n")

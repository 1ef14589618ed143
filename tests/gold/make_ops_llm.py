"""Writes ops_llm.safetensors: the language model's ops as torch and transformers compute them, outputs and gradients.

The rotary embedding is transformers' own of Llama 3.1, frequencies and product with the positions in f32; the rest is
torch in f64.
"""
import os

import numpy as np
import torch
from formula import digest, values
from safetensors.numpy import save_file
from torch.nn import functional as F
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

HEADS, HEAD, WIDE = 3, 64, 96
POSITIONS = (0, 1, 2, 17, 511, 4095, 8192, 131071)
ROWS = len(POSITIONS)
LLAMA3 = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
answers = {}


def tensor(name, *shape):
    return torch.tensor(values(name, int(np.prod(shape))).reshape(shape), requires_grad=True)


def keep(name, x):
    answers[name] = digest(name, x.detach().double().numpy())


def run(name, y, inputs):
    keep(name, y)
    y.backward(tensor(name + ".dy", *y.shape).detach().to(y.dtype))
    for key, x in inputs.items():
        keep(f"{name}.{key}", x.grad)


rotary = LlamaRotaryEmbedding(LlamaConfig(head_dim=HEAD, max_position_embeddings=131072, rope_parameters=LLAMA3))
answers["freqs"] = rotary.inv_freq.numpy()
x = tensor("rope.x", ROWS, HEADS * HEAD)
cos, sin = rotary(x.float(), torch.tensor([POSITIONS]))
keep("angles", torch.cat((cos[0, :, : HEAD // 2], sin[0, :, : HEAD // 2]), -1))
q = x.reshape(1, ROWS, HEADS, HEAD).transpose(1, 2)
q, _ = apply_rotary_pos_emb(q, q, cos.double(), sin.double())
run("rope", q.transpose(1, 2).reshape(ROWS, HEADS * HEAD), {"x": x})

x, w = tensor("rms_norm.x", ROWS, HEADS * WIDE), tensor("rms_norm.w", WIDE)
run("rms_norm", F.rms_norm(x.reshape(ROWS, HEADS, WIDE), (WIDE,), w, 1e-6).reshape(ROWS, -1), {"x": x, "w": w})

gate, up = tensor("swiglu.gate", ROWS, WIDE), tensor("swiglu.up", ROWS, WIDE)
run("swiglu", F.silu(gate) * up, {"gate": gate, "up": up})

save_file(answers, os.path.join(os.path.dirname(os.path.abspath(__file__)), "ops_llm.safetensors"))

"""Writes attention.safetensors: self-attention with relative positions as transformers' T5 computes it, in f64.

The layer's weights pass q, k and v on as they are, so that its input is what op_attention reads; buckets[r] is the
bucket of a key r - REACH places behind its query.
"""
import os

import numpy as np
import torch
from formula import digest, values
from safetensors.numpy import save_file
from transformers import T5Config
from transformers.models.t5.modeling_t5 import T5Attention

HEADS, HEAD, REACH, LENGTHS = 3, 20, 128, (150, 9)
INNER = HEADS * HEAD


def tensor(name, *shape):
    return torch.tensor(values(name, int(np.prod(shape))).reshape(shape), requires_grad=True)


config = T5Config(d_model=3 * INNER, d_kv=HEAD, num_heads=HEADS, dropout_rate=0.0, relative_attention_num_buckets=32,
                  relative_attention_max_distance=REACH)
layer = T5Attention(config, has_relative_attention_bias=True, layer_idx=0).double().eval()
weight = tensor("bias", config.relative_attention_num_buckets, HEADS)
with torch.no_grad():
    for i, part in enumerate((layer.q, layer.k, layer.v)):
        part.weight.copy_(torch.eye(3 * INNER, dtype=torch.float64)[i * INNER:(i + 1) * INNER])
    layer.o.weight.copy_(torch.eye(3 * INNER, INNER, dtype=torch.float64))
    layer.relative_attention_bias.weight.copy_(weight)

x = tensor("x", sum(LENGTHS), 3 * INNER)
y = torch.cat([layer(part[None])[0][0, :, :INNER] for part in torch.split(x, LENGTHS)])
y.backward(tensor("dy", sum(LENGTHS), INNER).detach())
distances = torch.arange(-REACH, REACH + 1)
buckets = T5Attention._relative_position_bucket(distances, True, config.relative_attention_num_buckets, REACH)
beyond = T5Attention._relative_position_bucket(torch.tensor([-10**6, 10**6]), True,
                                               config.relative_attention_num_buckets, REACH)
assert (beyond == buckets[[0, -1]]).all()
answers = {"buckets": buckets.numpy().astype(np.float32)}
for name, t in (("y", y), ("x.grad", x.grad), ("bias.grad", layer.relative_attention_bias.weight.grad)):
    answers[name] = digest(name, t.detach().numpy())
save_file(answers, os.path.join(os.path.dirname(os.path.abspath(__file__)), "attention.safetensors"))

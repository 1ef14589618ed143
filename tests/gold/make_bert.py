"""Writes bert.safetensors: hidden states and gradients of small random BERTs of transformers, computed in f64.

Weights, ids and the loss are the formulas of formula.py.
"""
import os

import numpy as np
import torch
from formula import digest, values, words
from safetensors.numpy import save_file
from transformers import BertConfig, BertModel

torch.set_default_dtype(torch.float64)
VOCAB, POSITIONS, TYPES, LENGTHS = 61, 130, 2, (31, 1, 127, 33)
MODELS = {"h32": (2, 64, 2, 96), "h64": (3, 64, 1, 160), "h128": (2, 128, 1, 64)}  # layers, hidden, heads, intermediate


def weight(name, shape):
    x = values(name, int(np.prod(shape))).reshape(shape)
    if name.endswith("LayerNorm.weight"):
        return 1 + x / 4
    return x / 4 if name.endswith("bias") or "embeddings" in name else x / 8


def fill(model):
    """Query, key and value are one parameter to ambit, so their numbers are drawn as one."""
    for name, p in model.named_parameters():
        name = "bert." + name
        for i, part in enumerate(("query", "key", "value")):
            if f".self.{part}." in name:
                all_three = weight(name.replace(part, "qkv"), (3 * p.shape[0], *p.shape[1:]))
                p.data = torch.tensor(all_three[i * p.shape[0]:(i + 1) * p.shape[0]])
                break
        else:
            p.data = torch.tensor(weight(name, tuple(p.shape)))


def gradients(model):
    out = {}
    for name, p in model.named_parameters():
        out["bert." + name] = p.grad.numpy()
    for name in [n for n in out if ".self.query." in n]:
        parts = [out.pop(name.replace("query", part)) for part in ("query", "key", "value")]
        out[name.replace("query", "qkv")] = np.concatenate(parts)
    return out


answers = {}
for tag, (layers, hidden, heads, intermediate) in MODELS.items():
    config = BertConfig(vocab_size=VOCAB, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                        intermediate_size=intermediate, max_position_embeddings=POSITIONS, type_vocab_size=TYPES,
                        hidden_dropout_prob=0, attention_probs_dropout_prob=0, hidden_act="gelu", pad_token_id=None)
    model = BertModel(config, add_pooling_layer=False).double()
    fill(model)
    total = sum(LENGTHS)
    ids = torch.tensor((words("ids", total) % np.uint64(VOCAB)).astype(np.int64))
    states, first = [], 0
    for n in LENGTHS:
        segments = torch.arange(n) >= n // 2  # one sequence at a time: nothing is padded or masked
        y = model(input_ids=ids[None, first:first + n], token_type_ids=segments.long()[None]).last_hidden_state[0]
        states.append(y)
        first += n
    y = torch.cat(states)
    y.backward(torch.tensor(values("loss", y.numel())).reshape(y.shape))
    answers[f"{tag}/hidden"] = y.detach().numpy().astype(np.float32)
    for name, g in gradients(model).items():
        answers[f"{tag}/{name}"] = digest(name, g)
save_file(answers, os.path.join(os.path.dirname(os.path.abspath(__file__)), "bert.safetensors"))

"""Writes moments.json: the two maps of dynamic tree quantisation in 8 bits, by the function that came with "8-bit
Optimizers via Block-wise Quantization" (Dettmers et al. 2021; bitsandbytes, functional.create_dynamic_map, MIT).

usage: make_moments.py > moments.json
"""
import json

import torch


def create_dynamic_map(signed=True, max_exponent_bits=7, total_bits=8):
    data = []
    non_sign_bits = total_bits - 1
    additional_items = 2 ** (non_sign_bits - max_exponent_bits) - 1
    for i in range(max_exponent_bits):
        fraction_items = int(2 ** (i + non_sign_bits - max_exponent_bits) + 1 if signed
                             else 2 ** (i + non_sign_bits - max_exponent_bits + 1) + 1)
        boundaries = torch.linspace(0.1, 1, fraction_items, dtype=torch.float64)
        means = (boundaries[:-1] + boundaries[1:]) / 2.0
        data += ((10 ** (-(max_exponent_bits - 1) + i)) * means).tolist()
        if signed:
            data += (-(10 ** (-(max_exponent_bits - 1) + i)) * means).tolist()
    assert additional_items == 0
    data.append(0)
    data.append(1.0)
    assert len(data) == 2 ** total_bits
    return sorted(data)


def lines(values):
    text = ["%.9g" % v for v in values]
    return ",\n  ".join(", ".join(text[i:i + 8]) for i in range(0, len(text), 8))


print('{"signed": [\n  %s],\n "squares": [\n  %s]}' % (lines(create_dynamic_map(True)), lines(create_dynamic_map(False))))

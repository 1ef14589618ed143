"""Writes gemma.json and gemma.safetensors: small random models of transformers whose attention has windows shorter than
the sequences, with adapters of peft, in f64: Gemma 2, Mistral, and a Qwen 2 whose last layer has a window.

Sizes, sequences and what is written of each model are make_llama.py's.
"""
import json
import os

import make_llama as llama
from safetensors.numpy import save_file
from transformers import Gemma2Config, MistralConfig, Qwen2Config

SIZES = {**llama.SIZES, "num_hidden_layers": 3, "pad_token_id": None}  # whose embedding would have no gradient
MODELS = {
    # caps that bend most scores and logits; layers 0 and 2 have the window
    "gemma2": (Gemma2Config(**SIZES, head_dim=24, query_pre_attn_scalar=12, sliding_window=7,
                            attn_logit_softcapping=1.5, final_logit_softcapping=4.0),
               dict(target_modules=llama.ALL)),
    # none of either, the window in the second layer alone, a head of its own
    "gemma2-open": (Gemma2Config(**SIZES, head_dim=16, query_pre_attn_scalar=16, sliding_window=33,
                                 attn_logit_softcapping=None, final_logit_softcapping=None, tie_word_embeddings=False,
                                 layer_types=["full_attention", "sliding_attention", "full_attention"]),
                    dict(target_modules=llama.ALL + ["lm_head"])),
    "mistral": (MistralConfig(**SIZES, sliding_window=9), dict(target_modules=llama.ALL)),
    "qwen2-window": (Qwen2Config(**SIZES, use_sliding_window=True, sliding_window=5, max_window_layers=2),
                     dict(target_modules=["q_proj", "v_proj"])),
}


def less_one(name, shape):
    """Gemma's norms multiply by 1 + what is stored."""
    return weight(name, shape) - (1 if name.endswith("norm.weight") else 0)


weight = llama.weight


def main():
    answers, cases = {}, []
    for tag, (config, settings) in MODELS.items():
        llama.weight = less_one if config.model_type == "gemma2" else weight
        llama.MODELS = {tag: (config, settings)}
        for case in llama.small_models(answers):
            cases.append({**case, "file": "gemma.safetensors"})
    save_file(answers, os.path.join(llama.HERE, "gemma.safetensors"))
    with open(os.path.join(llama.HERE, "gemma.json"), "w") as f:
        json.dump({"models": cases}, f)
        f.write("\n")


if __name__ == "__main__":
    main()

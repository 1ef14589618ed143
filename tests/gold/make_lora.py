"""Writes lora/: adapters as peft saves them, and merged.safetensors with the weights it merges them into, all in f32.

The base is a small Llama whose weights are the formulas of formula.py.
"""
import json
import os

import torch
from formula import values
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lora")
LISTED = {"target_modules": ["q_proj", "v_proj", "down_proj"], "r": 4, "lora_alpha": 8, "lora_dropout": 0.1,
          "rank_pattern": {"model.layers.1.self_attn.q_proj": 2}, "alpha_pattern": {r"layers.\d.mlp.down_proj": 3}}
REGEX = {"target_modules": r"model\.layers\.\d+\.(self_attn\.(q|o)_proj|mlp\.(gate|up)_proj)", "r": 3, "lora_alpha": 5,
         "use_rslora": True, "exclude_modules": r".*layers\.1\..*gate_proj"}
HEAD = {"target_modules": ["k_proj", "lm_head"], "r": 2, "lora_alpha": 2, "exclude_modules": ["layers.0.self_attn.k_proj"]}
SAVED = {"target_modules": ["up_proj", "o_proj"], "r": 2, "lora_alpha": 1, "layers_to_transform": [1],
         "layers_pattern": "layers", "modules_to_save": ["lm_head"]}
EVERY = {"target_modules": "all-linear", "r": 1, "lora_alpha": 1, "init_lora_weights": "gaussian"}
ADAPTERS = {"listed": (LISTED, torch.float32), "regex": (REGEX, torch.bfloat16), "head": (HEAD, torch.float16),
            "saved": (SAVED, torch.float32), "every": (EVERY, torch.float32)}


def base():
    model = LlamaForCausalLM(LlamaConfig(vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
                                         num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=False))
    for name, p in model.named_parameters():
        p.data = torch.tensor(values(name, p.numel()).reshape(p.shape), dtype=torch.float32)
    return model


def save(tag, config, dtype):
    torch.manual_seed(sum(map(ord, tag)))
    model = get_peft_model(base(), LoraConfig(task_type="CAUSAL_LM", **config))
    for name, p in model.named_parameters():
        if p.requires_grad:  # B would be zero
            p.data = torch.randn(p.shape).to(dtype).float()
    folder = os.path.join(OUT, tag)
    model.save_pretrained(folder)
    os.remove(os.path.join(folder, "README.md"))
    path = os.path.join(folder, "adapter_model.safetensors")
    save_file({k: v.to(dtype) for k, v in load_file(path).items()}, path, metadata={"format": "pt"})


def config_as_made(tag, config):
    """peft writes sets, in any order, and what it made of a shorthand; the file keeps the shorthand."""
    path = os.path.join(OUT, tag, "adapter_config.json")
    with open(path) as f:
        saved = json.load(f)
    saved["target_modules"] = config["target_modules"]
    with open(path, "w") as f:
        f.write(json.dumps(saved, indent=2, sort_keys=True) + "\n")


merged = {}
for tag, (config, dtype) in ADAPTERS.items():
    save(tag, config, dtype)
    config_as_made(tag, config)
    plain, model = base().state_dict(), PeftModel.from_pretrained(base(), os.path.join(OUT, tag)).merge_and_unload()
    merged |= {f"{tag}/{k}": v.clone() for k, v in model.state_dict().items() if not torch.equal(v, plain[k])}
save_file(merged, os.path.join(OUT, "merged.safetensors"))

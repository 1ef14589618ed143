"""torch, transformers and PEFT beside bench_lm: SYSTEM MODEL TEXTS cpu|cuda f32|bf16 BATCH NEW.

SYSTEM is peft (adapters in f32, as PEFT makes them) or peft-lean (adapters in the model's type).  Speaks the protocol of
bench_lm; batches are groups of like length, padded, as the Trainer's group_by_length makes them.
"""
import json
import os
import sys
import time

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

system, folder, path, place, dtype, batch, new = sys.argv[1:8]
batch, new = int(batch), int(new)
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16 if dtype == "bf16" else torch.float32,
                                             attn_implementation="sdpa").to(place)
texts = []
for r in map(json.loads, open(path)):
    prompt, answer = (tokenizer(r[k], add_special_tokens=False)["input_ids"] for k in ("prompt", "completion"))
    texts.append((prompt, answer))
first = texts[:batch]
texts.sort(key=lambda t: -len(t[0] + t[1]))
batches = [texts[i:i + batch] for i in range(0, len(texts), batch)]
state = {"next": 0, "tokens": 0, "said": "", "peft": None, "optimiser": None}


def prepare():
    config = LoraConfig(r=16, lora_alpha=32, target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj",
                                                             "up_proj", "down_proj"], task_type="CAUSAL_LM")
    state["peft"] = get_peft_model(model, config, autocast_adapter_dtype=system == "peft").train()
    state["optimiser"] = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-4, foreach=True)


def pad(rows, value):
    longest = max(map(len, rows))
    return torch.tensor([r + [value] * (longest - len(r)) for r in rows], device=place)


def train():
    if not state["peft"]:
        prepare()
    rows = batches[state["next"]]
    state["next"] = (state["next"] + 1) % len(batches)
    state["tokens"] = sum(len(p) + len(a) for p, a in rows)
    ids = pad([p + a for p, a in rows], 0)
    mask = pad([[1] * (len(p) + len(a)) for p, a in rows], 0)
    labels = pad([[-100] * len(p) + a for p, a in rows], -100)
    embedded = model.get_input_embeddings()(ids)
    embedded = embedded + torch.empty_like(embedded).uniform_(-1, 1) * 5 / (ids.shape[1] * embedded.shape[2]) ** 0.5
    loss = state["peft"](inputs_embeds=embedded, attention_mask=mask, labels=labels).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0, foreach=True)
    state["optimiser"].step()
    state["optimiser"].zero_grad()


@torch.inference_mode()
def decode():
    model.eval()
    longest = max(len(p) for p, _ in first)
    ids = torch.tensor([[0] * (longest - len(p)) + p for p, _ in first], device=place)
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p, _ in first], device=place)
    out = model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=new, min_new_tokens=new, do_sample=False,
                         eos_token_id=None, pad_token_id=0)
    state["said"] = " ".join(str(x) for row in out[:, longest:longest + 8].tolist() for x in row)


for line in sys.stdin:
    line, start = line.strip(), time.perf_counter()
    if line in ("train", "decode"):
        (train if line == "train" else decode)()
        if place == "cuda":
            torch.cuda.synchronize()
        print("%.7f" % (time.perf_counter() - start), flush=True)
    else:
        print(state["tokens"] if line == "tokens" else state["said"], flush=True)

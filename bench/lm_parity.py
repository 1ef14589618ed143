"""Compares small random language models on a device with transformers on the CPU, both in f32.  Checks the loss of
completions and the greedy tokens of ambit-infer, with and without a PEFT adapter, and the logits of bench_lm.

usage: lm_parity.py BIN_DIR DEVICE [--quick]
"""
import json
import os
import subprocess
import sys

import torch
from lm_model import END, write_tokenizer
from peft import LoraConfig, get_peft_model
from runner import Runner, work
from transformers import (AutoModelForCausalLM, Gemma2Config, LlamaConfig, MistralConfig, Qwen2Config,
                          Qwen3Config)

bin_dir, device = sys.argv[1:3]
NEW, TOLERANCE = 10 if "--quick" in sys.argv[3:] else 50, 1e-4
SIZES = dict(vocab_size=END + 1, hidden_size=96, intermediate_size=208, num_hidden_layers=3, num_attention_heads=6,
             num_key_value_heads=2, max_position_embeddings=2048, bos_token_id=END, eos_token_id=END,
             initializer_range=0.2)
ROPE = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64, "rope_theta": 500000.0}
CONFIGS = {"llama": LlamaConfig(**SIZES, rope_parameters=ROPE), "qwen2": Qwen2Config(**SIZES, tie_word_embeddings=True),
           "qwen3": Qwen3Config(**SIZES, head_dim=32), "mistral": MistralConfig(**SIZES, sliding_window=24),
           # windows shorter than the texts, softcaps small enough to matter
           "gemma2": Gemma2Config(**SIZES, head_dim=24, query_pre_attn_scalar=20, sliding_window=16, pad_token_id=None,
                                  attn_logit_softcapping=5.0, final_logit_softcapping=9.0)}
TEXTS = [("how many singers are there", " select count ( * ) from singer"), ("ab", "c"),
         ("what are the names of all stadiums that had a concert in 2014 and none in 2015", " or both"),
         ("naïve café — 東京\n\n\t", "12345 O'Reilly's")]


def write_records(folder):
    path = os.path.join(folder, "texts.jsonl")
    with open(path, "w") as f:
        f.writelines(json.dumps({"id": str(i), "prompt": p, "completion": c}) + "\n" for i, (p, c) in enumerate(TEXTS))
    return path


def infer(command, folder, texts, extra):
    out = os.path.join(folder, command + ".jsonl")
    subprocess.run([os.path.join(bin_dir, "ambit-infer"), command, "--model", folder, "--device", device, texts, "-o",
                    out] + extra, check=True, stderr=subprocess.DEVNULL)
    return [json.loads(line) for line in open(out)]


@torch.no_grad()
def expected(model, prompt, answer):
    """-log p of the completion, the greedy text, and the logits after the prompt."""
    a, b = list(prompt.encode()), list(answer.encode())
    logits = model(torch.tensor([a + b])).logits[0].double()
    nll = -sum(logits[len(a) - 1 + k].log_softmax(-1)[t].item() for k, t in enumerate(b))
    ids = torch.tensor([a])
    out = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW, do_sample=False,
                         pad_token_id=END)[0, len(a):].tolist()
    said = out[:out.index(END)] if END in out else out
    return nll, bytes(said).decode("utf-8", "replace"), logits[len(a) - 1].tolist()


def logits_of(name, folder, texts, extra):
    r = Runner(name, [os.path.join(bin_dir, "bench_lm"), folder, texts, device, "f32", str(len(TEXTS)), "1"])
    for path in extra[1:]:
        r.ask("adapter " + path)
    found = r.logits()
    r.close()
    return found


def compare(name, model, folder, texts, extra):
    wanted = [expected(model, p, c) for p, c in TEXTS]
    losses = infer("loss", folder, texts, extra)
    answers = infer("generate", folder, texts, extra + ["--max-new", str(NEW)])
    logits, flat = logits_of(name, folder, texts, extra), [x for w in wanted for x in w[2]]
    loss = max(abs(r["nll"] - w[0]) / w[0] for r, w in zip(losses, wanted))
    same = sum(r["text"] == w[1] for r, w in zip(answers, wanted))
    worst = max(abs(x - y) for x, y in zip(logits, flat)) / max(map(abs, flat))
    print("%s on %s: loss differs by %.1e, logits by %.1e of the largest, %d of %d greedy texts are the same" %
          (name, device, loss, worst, same, len(TEXTS)), flush=True)
    return loss <= TOLERANCE and worst <= TOLERANCE and same == len(TEXTS) and len(logits) == len(flat)


torch.manual_seed(3)
torch.set_num_threads(1)
bad = 0
for kind, config in CONFIGS.items():
    folder = os.path.join(work, kind)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    model.save_pretrained(folder)
    write_tokenizer(folder)
    texts = write_records(folder)
    bad += not compare(kind, model, folder, texts, [])
    lora = LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj", "down_proj"], init_lora_weights=False)
    adapted = get_peft_model(model, lora).eval()
    adapted.save_pretrained(folder + "-lora")
    bad += not compare(kind + " with an adapter", adapted, folder, texts, ["--adapter", folder + "-lora"])
sys.exit(bool(bad))

"""Writes llama.json, llama.safetensors and the folders llama/base, llama/adapter: small random language models of
transformers with adapters of peft, computed in f64.

Weights, token ids and answers are the formulas of formula.py.  llama.json has every config.json as transformers 5
writes it and as 4 did, the adapter's config, what is generated greedily, and the losses of ten steps of training; the
safetensors file has digests of logits and gradients.
"""
import json
import os
import shutil

import numpy as np
import torch
from formula import digest, values, words
from peft import LoraConfig, get_peft_model
from safetensors.numpy import save_file
from transformers import (AutoModelForCausalLM, LlamaConfig, PreTrainedTokenizerFast, Qwen2Config, Qwen3Config,
                          get_cosine_schedule_with_warmup)

torch.set_default_dtype(torch.float64)
HERE = os.path.dirname(os.path.abspath(__file__))
VOCAB, LENGTHS, PROMPTS, NEW = 97, (31, 1, 64, 2, 17), 3, 50
SIZES = dict(vocab_size=VOCAB, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=256, bos_token_id=None, eos_token_id=None)
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32, "rope_theta": 500000.0}
LINEAR = {"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0}
ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
MODELS = {
    "llama": (LlamaConfig(**SIZES, rope_parameters=LLAMA3),
              dict(target_modules=ALL + ["lm_head"], rank_pattern={"down_proj": 8}, alpha_pattern={"q_proj": 16})),
    "bias": (LlamaConfig(**SIZES, rope_parameters=LINEAR, attention_bias=True, mlp_bias=True),
             dict(target_modules="all-linear", use_rslora=True)),
    "qwen2": (Qwen2Config(**SIZES, tie_word_embeddings=False, rope_theta=1000000.0),
              dict(target_modules=r".*\.(q|v|gate)_proj")),
    "tied": (Qwen2Config(**SIZES, tie_word_embeddings=True), dict(target_modules=ALL + ["lm_head"])),
    "qwen3": (Qwen3Config(**SIZES, head_dim=32),
              dict(target_modules=ALL, layers_to_transform=[1], modules_to_save=["lm_head"])),
}


def weight(name, shape):
    x = values(name, int(np.prod(shape))).reshape(shape)
    if name.endswith("norm.weight"):
        return 1 + x / 2  # exact in bf16
    return x / 2 if "embed_tokens" in name or "lm_head" in name else x / 4


def own_name(name):
    """As ambit has it: without what peft puts around."""
    for piece in ("base_model.model.", ".base_layer", ".default", ".original_module"):
        name = name.replace(piece, "")
    return name.replace("lm_head.modules_to_save", "lm_head")


def fill(model):
    for name, p in model.named_parameters():
        whole = "modules_to_save" in name  # the trained head is not the base's
        p.data = torch.tensor(weight(own_name(name) + (" trained" if whole else ""), tuple(p.shape)))


def build(config):
    config.architectures = [config.model_type.capitalize() + "ForCausalLM"]
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").double().eval()
    fill(model)
    return model


def with_adapter(model, settings):
    model = get_peft_model(model, LoraConfig(r=4, lora_alpha=6, task_type="CAUSAL_LM", **settings))
    fill(model)
    return model.eval()


def four(config):
    """The form of version 4: theta beside the scaling, which is null where there is none."""
    c = json.loads(config.to_json_string())
    rope = c.pop("rope_parameters")
    c["rope_theta"] = rope.pop("rope_theta")
    c["rope_scaling"] = None if rope["rope_type"] == "default" else rope
    c["torch_dtype"] = "float32"
    return c


def adapter_config(model):
    c = model.peft_config["default"].to_dict()
    return {k: sorted(v) if isinstance(v, set) else getattr(v, "value", v) for k, v in c.items()}


def sequences(tag):
    total = sum(LENGTHS)
    ids = (words(tag + " ids", total) % np.uint64(VOCAB)).astype(np.int64)
    answer = words(tag + " answer", total) >> np.uint64(63)
    cuts = np.cumsum(LENGTHS)[:-1]
    return list(zip(np.split(ids, cuts), np.split(answer, cuts)))


def run(model, tag):
    """Logits of all rows, one sequence at a time, and the mean -log p of the answers."""
    logits, losses = [], []
    for ids, answer in sequences(tag):
        y = model(input_ids=torch.tensor(ids)[None]).logits[0]
        logits.append(y)
        log_p = y.log_softmax(-1)
        losses += [-log_p[k - 1, ids[k]] for k in range(1, len(ids)) if answer[k]]
    return torch.cat(logits), torch.stack(losses).mean()


def greedy(model, tag):
    """Prompts of 5, 16, 27 ... tokens with what follows, each token clearly the likeliest."""
    out = []
    for number in range(200):
        n = 5 + 11 * len(out)
        prompt = (words(f"{tag} prompt {number}", n) % np.uint64(VOCAB)).astype(np.int64).tolist()
        ids = torch.tensor([prompt])
        g = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW, do_sample=False,
                           pad_token_id=0, output_logits=True, return_dict_in_generate=True)
        best = torch.cat(g.logits).topk(2).values
        if ((best[:, 0] - best[:, 1]) / best[:, 0].abs()).min() > 1e-3:
            out.append({"prompt": prompt, "answer": g.sequences[0, n:].tolist()})
        if len(out) == PROMPTS:
            return out
    raise SystemExit(tag + ": no answers without a near tie")


def gradients(model, tag, kind, answers):
    logits, loss = run(model, tag)
    loss.backward()
    answers[f"{tag}/{kind}/logits"] = digest(f"{tag} {kind}", logits.detach().numpy())
    for name, p in model.named_parameters():
        if p.requires_grad:
            own = own_name(name)
            answers[f"{tag}/{kind}/{own}"] = digest(own, p.grad.numpy())
    model.zero_grad()
    return loss.item()


def small_models(answers):
    cases = []
    for tag, (config, settings) in MODELS.items():
        model = build(config)
        case = {"tag": tag, "config": json.loads(config.to_json_string()), "config4": four(config)}
        case["loss"], case["greedy"] = gradients(model, tag, "base", answers), greedy(model, tag)
        model = with_adapter(model, settings)
        case["adapter"] = adapter_config(model)
        case["adapter_loss"] = gradients(model, tag, "lora", answers)
        case["adapter_greedy"] = greedy(model, tag)
        cases.append(case)
    return cases


# --- ten steps of training, and folders as transformers and peft leave them
RECORDS = [
    ("Which singers are there?", " All names of singers\nAll rows of the table singer"),
    ("Show the average", " SELECT avg(age) FROM singer"),
    ("List stadiums, or concerts, by year.\n\n", "By the year of the concert\nBy the year the stadium was built"),
    ("a", "b"),
    ("How many pets does every student have?", " Count pets per student"),
    ("naïve café: 東京 🚀", " 12345 O'Reilly's"),
    ("Count.", " All possible interpretations are covered"),
    ("Give the name and the country of every singer who is older than the average of all singers of that country.",
     " SELECT name, country FROM singer AS s WHERE age > (SELECT avg(age) FROM singer WHERE country = s.country)"),
]
STEPS, WARMUP, LR, CLIP, DECAY = 10, 2, 0.002, 0.5, 0.01
TRAIN = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
             max_position_embeddings=256, bos_token_id=0, eos_token_id=1)


def train(model, tok):
    trained = [p for p in model.parameters() if p.requires_grad]
    flat = [p for p in trained if p.ndim == 1]  # norms are not decayed
    rest = [p for p in trained if p.ndim > 1]
    groups = [{"params": rest, "weight_decay": DECAY}, {"params": flat, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=LR, betas=(0.9, 0.999), eps=1e-8)
    rates, losses = get_cosine_schedule_with_warmup(optimizer, WARMUP, STEPS), []
    for _ in range(STEPS):
        terms = []
        for prompt, completion in RECORDS:
            a, b = (tok(x, add_special_tokens=False)["input_ids"] for x in (prompt, completion))
            log_p = model(input_ids=torch.tensor([a + b])).logits[0].log_softmax(-1)
            terms += [-log_p[len(a) - 1 + k, t] for k, t in enumerate(b)]
        loss = torch.stack(terms).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, CLIP)
        optimizer.step()
        rates.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def folder_answers(model, tok):
    """-log p of every record's completion, and what is said to its prompt."""
    out = []
    for prompt, completion in RECORDS:
        a, b = (tok(x, add_special_tokens=False)["input_ids"] for x in (prompt, completion))
        with torch.no_grad():
            log_p = model(input_ids=torch.tensor([a + b])).logits[0].log_softmax(-1)
        out.append({"nll": -sum(log_p[len(a) - 1 + k, t].item() for k, t in enumerate(b)), "tokens": len(b)})
    return out


def trainings():
    tok = PreTrainedTokenizerFast(tokenizer_file=os.path.join(HERE, "bpe", "llama", "tokenizer.json"))
    config = LlamaConfig(vocab_size=len(tok), **TRAIN, rope_parameters=LLAMA3)
    base, adapter = os.path.join(HERE, "llama", "base"), os.path.join(HERE, "llama", "adapter")
    shutil.rmtree(os.path.join(HERE, "llama"), ignore_errors=True)
    model = build(config)
    model.to(torch.bfloat16).save_pretrained(base, max_shard_size="60KB")  # exact: the formulas give few bits
    result = {"records": [{"id": str(i), "prompt": p, "completion": c} for i, (p, c) in enumerate(RECORDS)],
              "full": train(build(config), tok)}
    model = with_adapter(build(config), dict(target_modules=ALL + ["lm_head"]))
    result["base_answers"] = folder_answers(build(config), tok)
    result["adapter_answers"] = folder_answers(model, tok)
    model.to(torch.float32).save_pretrained(adapter, save_embedding_layers=False)
    os.remove(os.path.join(adapter, "README.md"))
    result["lora"] = train(model.double(), tok)
    return result


def main():
    answers = {}
    cases = small_models(answers)
    save_file(answers, os.path.join(HERE, "llama.safetensors"))
    with open(os.path.join(HERE, "llama.json"), "w") as f:
        json.dump({"models": cases, "training": trainings()}, f)
        f.write("\n")


if __name__ == "__main__":
    main()

"""torch, transformers and PEFT beside bench_lm: SYSTEM MODEL TEXTS cpu|cuda f32|bf16 BATCH NEW.

MODEL is a folder, or random:FOLDER for a model of its shape with random weights made on the device.
SYSTEM is peft (adapters in f32, as PEFT makes them), peft-lean (adapters in the model's type), best (lean, blocks
compiled, the head on the answers' rows alone, in pieces) or unsloth; for decoding also hf-static (a static cache, which
transformers compiles on a GPU) and hf-paged (generate_batch, which shares prefixes).  Speaks the protocol of bench_lm; batches are groups of like length, padded where they
must be, as the Trainer's group_by_length makes them.  "recompute 1" is gradient checkpointing; a step that finds no
memory takes "inf" seconds; memory is the allocator's peak since the last rest; at rest the weights lie on the host.
"""
import gc
import json
import os
import sys
import time

system, folder, path, place, dtype, batch, new = sys.argv[1:8]
drawn = folder.startswith("random:")
folder = folder.removeprefix("random:")
os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")  # less of the GPU lies waste
if system == "unsloth":
    from unsloth import FastLanguageModel  # before transformers, which it changes
import torch
from peft import LoraConfig, get_peft_model
from torch.nn.functional import cross_entropy
from torch.utils.checkpoint import checkpoint
from transformers import (AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, GenerationConfig,
                          PreTrainedTokenizerFast)

batch, new = int(batch), int(new)
RANK, ALPHA, NEFTUNE, PIECE, SHOWN = 16, 32, 5, 2048, 8
cuda = place == "cuda"
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))
modules = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
seq2seq = json.load(open(os.path.join(folder, "config.json"))).get("is_encoder_decoder", False)
state = {"next": 0, "tokens": 0, "said": "", "peft": None, "optimiser": None, "micro": 1 << 30, "away": False,
         "beams": 1, "lists": None, "batch": batch}


def load():
    kind = torch.bfloat16 if dtype == "bf16" else torch.float32
    if system == "unsloth":
        return FastLanguageModel.from_pretrained(folder, dtype=kind, load_in_4bit=False)[0]
    if seq2seq:
        return AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=kind).to(place)
    settings = {"dtype": kind, "attn_implementation": "sdpa"}
    if drawn:
        with torch.device(place):
            return AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder), **settings)
    return AutoModelForCausalLM.from_pretrained(folder, device_map=place, **settings)


def read_texts():
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=os.path.join(folder, "tokenizer.json"))
    end = [json.load(open(os.path.join(folder, "config.json")))["eos_token_id"]] if seq2seq else []
    return [tuple(tokenizer(r[k], add_special_tokens=False)["input_ids"] + end for k in ("prompt", "completion"))
            for r in map(json.loads, open(path))]


began = time.perf_counter()
model, texts = load(), read_texts()
if cuda:
    torch.cuda.synchronize()
opened = time.perf_counter() - began
first = texts[:batch]
texts.sort(key=lambda t: -len(t[0] + t[1]))
batches = [texts[i:i + batch] for i in range(0, len(texts), batch)]


def with_adapters():
    if system == "unsloth":
        return FastLanguageModel.get_peft_model(model, r=RANK, lora_alpha=ALPHA, lora_dropout=0, target_modules=modules,
                                                use_gradient_checkpointing="unsloth")
    config = LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=modules, task_type="CAUSAL_LM")
    return get_peft_model(model, config, autocast_adapter_dtype=system == "peft")


def trainer(_=None):
    if not state["peft"]:
        state["peft"] = with_adapters().train()
        trained = [p for p in model.parameters() if p.requires_grad]
        state["optimiser"] = torch.optim.AdamW(trained, lr=2e-4, foreach=True)
        for layer in model.model.layers if system == "best" and cuda else []:
            layer.compile(dynamic=False)
    return 0


def recompute(on):
    trainer()
    if system == "unsloth":
        return on  # it was told when its adapters were made
    if on == "1":
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    else:
        model.gradient_checkpointing_disable()
    return on


def pad(rows, value):
    longest = max(map(len, rows))
    return torch.tensor([r + [value] * (longest - len(r)) for r in rows])


def lean_loss(embedded, mask, labels, total):
    hidden = model.model(inputs_embeds=embedded, attention_mask=mask, use_cache=False).last_hidden_state
    at = (labels[:, 1:] != -100).flatten().nonzero().squeeze(1)
    rows = hidden[:, :-1].flatten(0, 1)[at.to(place)]
    targets = labels[:, 1:].flatten()[at].to(place)
    def piece(h, t):
        return cross_entropy(model.lm_head(h).float(), t, reduction="sum")
    return sum(checkpoint(piece, rows[i:i + PIECE], targets[i:i + PIECE], use_reentrant=False)
               for i in range(0, len(targets), PIECE)) / total


def loss_of(rows, total):
    """The share of these texts in the mean over all `total` tokens to predict."""
    ids = pad([p + a for p, a in rows], 0).to(place)
    labels = pad([[-100] * len(p) + a for p, a in rows], -100)
    lengths = [len(p) + len(a) for p, a in rows]
    mask = None if min(lengths) == max(lengths) else pad([[1] * n for n in lengths], 0).to(place)
    embedded = model.get_input_embeddings()(ids)
    reach = NEFTUNE / (ids.shape[1] * embedded.shape[2]) ** 0.5
    embedded = embedded + torch.empty_like(embedded).uniform_(-1, 1) * reach
    if system == "best":
        return lean_loss(embedded, mask, labels, total)
    return state["peft"](inputs_embeds=embedded, attention_mask=mask, labels=labels.to(place),
                         num_items_in_batch=total).loss


def step(rows):
    total = sum(len(a) for _, a in rows)
    count = max(1, state["micro"] // max(len(p) + len(a) for p, a in rows))
    for i in range(0, len(rows), count):
        loss_of(rows[i:i + count], total).backward()
    torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0, foreach=True)
    state["optimiser"].step()


def synchronise():
    if cuda:
        torch.cuda.synchronize()


def wake():
    if state["away"]:
        model.to(place)
        state["away"] = False


def train(_):
    trainer()
    wake()
    rows = batches[state["next"]]
    start, enough = time.perf_counter(), True
    try:
        step(rows)
    except torch.OutOfMemoryError:
        enough = False
    synchronise()
    seconds = time.perf_counter() - start
    state["optimiser"].zero_grad()
    if not enough:
        gc.collect()
        torch.cuda.empty_cache()
        return "inf"
    state["next"] = (state["next"] + 1) % len(batches)
    state["tokens"] = sum(len(p) + len(a) for p, a in rows)
    return "%.7f" % seconds


def allowed(_, said):
    """What may follow these tokens: one sequence of each list, then the end, then anything."""
    ways = {(0, ())}  # the list, and the beginning of one of its sequences
    for token in said:
        ways = {w for k, begun in ways for w in steps(k, begun + (token,))}
    after = {state["lists"][k][i][len(begun)] for k, begun in ways if k < len(state["lists"])
             for i in starts(k, begun)}
    return sorted(after) or [model.config.eos_token_id]


def starts(k, begun):
    return [i for i, x in enumerate(state["lists"][k]) if tuple(x[:len(begun)]) == begun and len(x) > len(begun)]


def steps(k, begun):
    if k == len(state["lists"]):
        return
    if begun in map(tuple, state["lists"][k]):
        yield k + 1, ()
    if starts(k, begun):
        yield k, begun


def settings_of(begin):
    s = {"max_new_tokens": new, "do_sample": False, "pad_token_id": 0, "num_beams": state["beams"]}
    if not state["lists"]:
        return dict(s, min_new_tokens=new, eos_token_id=None)
    return dict(s, prefix_allowed_tokens_fn=lambda _, ids: allowed(_, ids[begin:].tolist()))


def decode_padded(rows):
    """What is said to these prompts, the best of each."""
    longest = max(map(len, rows))
    ids = torch.tensor([[0] * (longest - len(p)) + p for p in rows], device=place)
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in rows], device=place)
    begin = 1 if seq2seq else longest  # of what is said
    cache = {"cache_implementation": "static"} if system == "hf-static" else {}
    out = model.generate(input_ids=ids, attention_mask=mask, **settings_of(begin), **cache)
    return out[:, begin:].tolist()


def decode_paged(rows):
    config = GenerationConfig(max_new_tokens=new, do_sample=False, eos_token_id=-1, pad_token_id=0)
    found = model.generate_batch(inputs=rows, generation_config=config, progress_bar=False)
    return [found[k].generated_tokens for k in sorted(found, key=lambda k: int(k.rsplit("_", 1)[-1]))]


@torch.inference_mode()
def decode(_):
    model.eval()
    rows, said = [p for p, _ in first], []
    start = time.perf_counter()
    try:
        for i in range(0, len(rows), len(rows) if system == "hf-paged" else state["batch"]):
            said += decode_paged(rows) if system == "hf-paged" else decode_padded(rows[i:i + state["batch"]])
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
        return "inf"
    synchronise()
    seconds = time.perf_counter() - start
    state["said"] = " ".join(str(x) for row in said for x in row[:SHOWN])
    return "%.7f" % seconds


def bind(to):
    state["lists"] = json.load(open(to))
    return len(state["lists"])


def keep(name):
    def take(value):
        state[name] = int(value)
        return value
    return take


@torch.no_grad()
def hidden_rows(ids, at):
    """Logits at these rows of one text, without noise or dropout."""
    was = model.training
    model.eval()
    hidden = model.model(input_ids=torch.tensor([ids], device=place), use_cache=False).last_hidden_state
    logits = model.lm_head(hidden[0, at]).float()
    model.train(was)
    return logits


def loss(_):
    wake()
    total = 0.0
    for p, a in first:
        logits = hidden_rows(p + a, slice(len(p) - 1, -1))
        total += cross_entropy(logits, torch.tensor(a, device=place), reduction="sum").item()
    return "%.9g" % (total / sum(len(a) for _, a in first))


def write(to):
    logits = [x for p, _ in first for x in hidden_rows(p, slice(len(p) - 1, None))[0].tolist()]
    open(to, "w").writelines("%.6g\n" % x for x in logits)
    return len(logits)


def rest(_):
    if cuda:
        model.to("cpu")
        state["away"] = True
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    return 0


def head(_):
    modules.append("lm_head")
    return "head"


commands = {"head": head, "micro": keep("micro"), "beams": keep("beams"), "batch": keep("batch"), "bind": bind, "trainer": trainer, "recompute": recompute, "train": train, "decode": decode,
            "tokens": lambda _: state["tokens"], "open": lambda _: "%.7f" % opened, "said": lambda _: state["said"], "loss": loss, "write": write,
            "memory": lambda _: torch.cuda.max_memory_allocated() if cuda else 0, "rest": rest}
for line in sys.stdin:
    word, _, about = line.strip().partition(" ")
    print(commands[word](about), flush=True)

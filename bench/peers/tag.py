"""Erasing and the chain in torch beside bench_tag: ITEMS HEADS HF_DIR f32|bf16 BATCH, and its commands erase, chain, write.

Batched as the published code is: records padded to the longest of their batch, erased copies of all of them one behind
another, read 2 BATCH at a time; then word by word the mean of what each concept lost.
"""
import json
import os
import sys
import time
from collections import defaultdict

import torch
from torch.nn import functional as F
from torchcrf import CRF
from transformers import BertModel

items_path, heads_path, folder, dtype, batch = *sys.argv[1:5], int(sys.argv[5])
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))
UNK, PAD, CHAINS, CHAIN, TAGS = 100, 0, 64, 40, 10
items = [json.loads(line) for line in open(items_path)]
heads = {name: torch.tensor([float(x) for x in numbers]) for name, *numbers in (line.split() for line in open(heads_path))}
encoder = BertModel.from_pretrained(folder, add_pooling_layer=False, dtype=torch.float32).eval()
hidden = heads["dte.norm.weight"].numel()
newest = []


def concept_scores(ids, entities):
    """Probabilities [records, keywords + markers]."""
    states = encoder(ids, attention_mask=ids.ne(PAD)).last_hidden_state
    rows = torch.cat([torch.zeros(len(ids), 1, dtype=torch.long), entities], 1)
    x = states.gather(1, rows[:, :, None].expand(-1, -1, states.size(2)))
    x = F.layer_norm(F.linear(x, heads["dte.state.weight"].view(hidden, -1), heads["dte.state.bias"]), (hidden,),
                     heads["dte.norm.weight"], heads["dte.norm.bias"], 1e-5)
    keywords = torch.tanh(F.linear(x[:, 0], heads["dte.keyword.weight"].view(-1, hidden), heads["dte.keyword.bias"]))
    x = torch.cat([keywords.view(len(ids), -1, hidden), x[:, 1:]], 1)
    return torch.sigmoid(F.linear(x, heads["dte.concept.weight"].view(1, -1), heads["dte.concept.bias"]))[:, :, 0].float()


def in_chunks(ids, entities):
    return torch.cat([concept_scores(ids[i:i + 2 * batch], entities[i:i + 2 * batch])
                      for i in range(0, len(ids), 2 * batch)])


def padded(lists, value):
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(x) for x in lists], batch_first=True, padding_value=value)


@torch.no_grad()
def erase(records):
    ids = padded([r["ids"] for r in records], PAD)
    entities = padded([r["entities"] for r in records], 0)
    base = in_chunks(ids, entities)
    copies, owners, spans = [], [], []
    for i, r in enumerate(records):
        for first, end, piece, last in r["runs"]:
            copy = ids[i].clone()
            copy[piece:last] = UNK
            copies.append(copy)
            owners.append(entities[i])
            spans.append((i, first, end))
    erased = in_chunks(torch.stack(copies), torch.stack(owners))
    lost = defaultdict(list)
    for (i, first, end), scores in zip(spans, erased):
        for q in range(first, end):
            lost[i, q].append((base[i] - scores).clamp(0, 1))
    awake = torch.zeros(len(records), base.size(1), max(r["words"] for r in records))
    for (i, q), drops in lost.items():
        awake[i, :, q] = torch.stack(drops).mean(0)
    newest[:] = [(len(r["entities"]), base[i], [e for (k, _, _), e in zip(spans, erased) if k == i])
                 for i, r in enumerate(records)]


crf = CRF(TAGS)
emissions = torch.randn(CHAIN, CHAINS, TAGS, requires_grad=True)
gold, mask = torch.randint(TAGS, (CHAIN, CHAINS)), torch.ones(CHAIN, CHAINS, dtype=torch.bool)


def chain():
    crf.zero_grad()
    emissions.grad = None
    (-crf(emissions, gold, mask=mask, reduction="mean")).backward()


def write(path):
    keywords = heads["dte.keyword.bias"].numel() // hidden
    with open(path, "w") as f:
        for n, base, erased in newest:
            for scores in [base, *erased]:
                f.writelines("%.9g\n" % x for x in scores[:keywords + n].tolist())


for line in sys.stdin:
    command, *rest = line.split()
    start = time.perf_counter()
    if command == "erase":
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bf16"):
            erase(items[int(rest[0]) * batch:(int(rest[0]) + 1) * batch])
    elif command == "chain":
        chain()
    elif command == "write":
        write(rest[0])
    print("%.9f" % (time.perf_counter() - start), flush=True)

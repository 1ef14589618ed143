"""Writes dte/numbers.safetensors: the tagger of DTE on the records of dte/train.jsonl, computed in f64, one at a time.

Written from the published description: packing, network, the list of erased runs, what erasing them tells, its clean-up,
the four losses and the gradients of their sum.  The encoder is transformers', the chain pytorch-crf's, where nothing is
barred.  Weights are the formulas of formula.py.  chain.* is pytorch-crf alone: a padded batch with a mask.
"""
import json
import os

import numpy as np
import torch
from formula import digest, values
from safetensors.numpy import save_file
from tokenizers import BertWordPieceTokenizer
from torch.nn import functional as F
from torchcrf import CRF
from transformers import BertConfig, BertModel

torch.set_default_dtype(torch.float64)
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dte")
KEYWORDS, HIDDEN, HEADS_HIDDEN = 10, 64, 24
LABELS = ("COL", "VAL", "AMB", "UNK")
MARKERS = {"text": "[unused21]", "number": "[unused22]", "time": "[unused23]", "boolean": "[unused24]",
           "others": "[unused21]", "table": "[unused30]", "value": "[unused31]"}
WEIGHTS = {"concept": 1, "grounding": 64, "meaning": 0.75, "tags": 0.125}
NOT_MEANT = 0.05

tokenizer = BertWordPieceTokenizer(os.path.join(HERE, "vocab.txt"), lowercase=True)
UNK = tokenizer.token_to_id("[UNK]")


def pieces_of(text):
    return tokenizer.encode(text, add_special_tokens=False)


class Example:
    """Ids of one record, its words [(first piece, end, first letter, end)] and entities (kind, column, value, place)."""

    def __init__(self, record):
        self.record, self.question = record, record["question"]
        question = pieces_of(self.question)
        self.ids, self.words = [tokenizer.token_to_id("[CLS]")], []
        for piece, text, (start, end) in zip(question.ids, question.tokens, question.offsets):
            if text.startswith("##"):
                first, _, letter, _ = self.words.pop()
                self.words.append((first, len(self.ids) + 1, letter, end))
            else:
                self.words.append((len(self.ids), len(self.ids) + 1, start, end))
            self.ids.append(piece)
        self.null = len(self.ids)
        self.ids.append(tokenizer.token_to_id("[SEP]"))
        self.entities, self.names = [], []
        self.pack_columns()

    def pack_columns(self):
        columns = self.record["columns"]
        tables = {c.get("table", "") for c in columns}
        for at in sorted(range(len(columns)), key=lambda i: (columns[i].get("table", ""), columns[i]["name"])):
            column = columns[at]
            table = column.get("table", "")
            if len(tables) > 1 and table not in [e[2] for e in self.entities if e[0] == "table"]:
                self.push("table", at, table, table)
            self.push("column", at, None, column["name"], MARKERS[column["type"]])
            for value in sorted(column.get("values", []), key=len, reverse=True):  # as matches of one score are ranked
                if value.lower() in self.question.lower():
                    self.push("value", at, value.lower(), value)
            self.ids.append(tokenizer.token_to_id("[SEP]"))

    def push(self, kind, column, name, text, marker=None):
        self.entities.append((kind, column, name, len(self.ids)))
        self.ids.append(tokenizer.token_to_id(marker or MARKERS[kind]))
        ids = pieces_of(text).ids
        self.names.append(ids if kind == "column" else [])
        self.ids += ids

    def covered(self, span):
        return [w[2] < span["end"] and span["start"] < w[3] for w in self.words]

    def says(self, span, entity):
        """Whether it is one of the span's alternatives, letter by letter but for case."""
        kind, column, name, _ = entity
        return any(a["column"] == column and (a["value"].lower() if "value" in a else None) == name
                   for a in span["alternatives"]) and kind != "table"

    def gold(self, entity):
        kind, column, name, _ = entity
        meant = [a["column"] for s in self.record["spans"] for a in s["alternatives"]]
        if kind == "value":
            return any(self.says(s, entity) for s in self.record["spans"])
        if kind == "table":
            return any(self.record["columns"][c]["table"] == name for c in meant)
        return column in meant

    def erased_runs(self):
        """Longest runs of two words or more that a column's name has, the longest first, none within another; words."""
        found = []
        for name in self.names:
            runs = [(i, j) for i in range(len(self.words)) for j in range(i + 2, len(self.words) + 1)
                    if contains(name, self.ids[self.words[i][0]:self.words[j - 1][1]])]
            found += [max(runs, key=lambda r: (r[1] - r[0], -r[0]))] if runs else []
        kept = []
        for run in sorted(found, key=lambda r: (r[0] - r[1], r[0])):
            if not any(k[0] <= run[0] and run[1] <= k[1] for k in kept):
                kept.append(run)
        return kept + [(i, i + 1) for i in range(len(self.words))]

    def without(self, run):
        ids = list(self.ids)
        for i in range(self.words[run[0]][0], self.words[run[1] - 1][1]):
            ids[i] = UNK
        return ids


def contains(name, part):
    return any(name[i:i + len(part)] == part for i in range(len(name) - len(part) + 1))


def weight(name, shape):
    x = values(name, int(np.prod(shape))).reshape(shape)
    if name.endswith("LayerNorm.weight") or name == "dte.norm.weight":
        return torch.tensor(1 + x / 4)
    if name.endswith("bias") or "embeddings" in name:
        return torch.tensor(x / 4)
    if name == "dte.concept.weight":
        return torch.tensor(x)
    return torch.tensor(x / 2 if name.startswith("dte.") else x if name == "crf.weight" else x / 8)


class Tagger:
    def __init__(self, compat):
        self.compat, self.tags = compat, 7 if compat else 10
        config = BertConfig(vocab_size=tokenizer.get_vocab_size(), hidden_size=HIDDEN, num_hidden_layers=2,
                            num_attention_heads=2, intermediate_size=96, max_position_embeddings=256, type_vocab_size=2,
                            hidden_dropout_prob=0, attention_probs_dropout_prob=0, hidden_act="gelu", pad_token_id=None)
        self.bert = BertModel(config, add_pooling_layer=False)
        for name, p in self.bert.named_parameters():
            name = "bert." + name
            for i, part in enumerate(("query", "key", "value")):  # one parameter to ambit
                if f".self.{part}." in name:
                    whole = weight(name.replace(part, "qkv"), (3 * p.shape[0], *p.shape[1:]))
                    p.data = whole[i * p.shape[0]:(i + 1) * p.shape[0]]
                    break
            else:
                p.data = weight(name, tuple(p.shape))
        h = HEADS_HIDDEN
        shapes = {"dte.state.weight": (h, HIDDEN), "dte.state.bias": (h,), "dte.norm.weight": (h,), "dte.norm.bias": (h,),
                  "dte.keyword.weight": (KEYWORDS * h, h), "dte.keyword.bias": (KEYWORDS * h,),
                  "dte.concept.weight": (1, h), "dte.concept.bias": (1,), "dte.query.weight": (h, h),
                  "dte.key.weight": (h, h), "dte.tag.weight": (self.tags, HIDDEN), "dte.tag.bias": (self.tags,),
                  "crf.weight": (self.tags + 2, self.tags)}
        self.heads = {name: weight(name, shape).requires_grad_() for name, shape in shapes.items()}

    def states(self, ids):
        p = self.heads
        raw = self.bert(input_ids=torch.tensor([ids])).last_hidden_state[0]
        x = F.linear(raw, p["dte.state.weight"], p["dte.state.bias"])
        return raw, F.layer_norm(x, (HEADS_HIDDEN,), p["dte.norm.weight"], p["dte.norm.bias"], 1e-5)

    def concepts(self, x, ids, example):
        p = self.heads
        keywords = torch.tanh(F.linear(x[0], p["dte.keyword.weight"], p["dte.keyword.bias"])).reshape(KEYWORDS, -1)
        v = torch.cat([keywords, x[[e[3] for e in example.entities]]])
        return v, torch.sigmoid(F.linear(v, p["dte.concept.weight"], p["dte.concept.bias"]))[:, 0]

    def read(self, example):
        """Probabilities of concepts, grounding with [SEP] [concepts, words + 1], meanings [words, entities], emissions."""
        p = self.heads
        raw, x = self.states(example.ids)
        v, c = self.concepts(x, example.ids, example)
        u = x[[w[0] for w in example.words] + [example.null]]
        score = (v @ p["dte.query.weight"].T) @ (u @ p["dte.key.weight"].T).T / HEADS_HIDDEN**0.5
        emission = F.linear(raw[[w[0] for w in example.words]], p["dte.tag.weight"], p["dte.tag.bias"])
        return c, score.softmax(1), score[KEYWORDS:, :-1].T.softmax(1), emission

    @torch.no_grad()
    def awake(self, example):
        """A [concepts, words]: what is lost of each concept where a word is erased."""
        def probabilities(ids):
            return self.concepts(self.states(ids)[1], ids, example)[1]
        base = probabilities(example.ids)
        a, holding = torch.zeros(len(base), len(example.words)), torch.zeros(len(example.words))
        for run in example.erased_runs():
            drop = (base - probabilities(example.without(run))).clamp(0, 1)
            a[:, run[0]:run[1]] += drop[:, None]
            holding[run[0]:run[1]] += 1
        return a / holding

    def tag_ids(self, example):
        tags = [0] * len(example.words)
        for span in example.record["spans"]:
            label, begins = LABELS.index(span["label"]), True
            for q, inside in enumerate(example.covered(span)):
                if inside:
                    tags[q] = 3 + label if self.compat else 2 + 2 * label + (not begins)
                    begins = False
        return tags

    def chain_loss(self, emission, tags):
        """-log p of the tags, by the forward recursion; an inside only behind its own begin or inside."""
        w, k = self.heads["crf.weight"], self.tags
        bars = torch.zeros(k + 2, k)
        for inside in [] if self.compat else range(3, k, 2):
            bars[[i for i in range(k + 1) if i not in (inside - 1, inside)], inside] = -torch.inf
        score, z = (w + bars)[k, tags[0]] + emission[0, tags[0]], (w + bars)[k] + emission[0]
        for t in range(1, len(tags)):
            score = score + (w + bars)[tags[t - 1], tags[t]] + emission[t, tags[t]]
            z = torch.logsumexp(z[:, None] + (w + bars)[:k], 0) + emission[t]
        loss = torch.logsumexp(z + (w + bars)[k + 1], 0) - score - (w + bars)[k + 1, tags[-1]]
        if self.compat:
            crf = CRF(k, batch_first=True)
            crf.start_transitions.data, crf.end_transitions.data, crf.transitions.data = w.data[k], w.data[k + 1], w.data[:k]
            assert abs(loss + crf(emission[None], torch.tensor([tags]))).item() < 1e-10
        return loss


def cleaned(example, a):
    """Weights of the grounding [entities, words] by rules (a) to (c)."""
    out = torch.full((len(example.entities), len(example.words)), NOT_MEANT)
    for k, entity in enumerate(example.entities):
        if not example.gold(entity):
            continue
        out[k] = a[KEYWORDS + k]
        for span in example.record["spans"]:
            inside = torch.tensor(example.covered(span))
            if entity[0] == "column" and any(x["column"] == entity[1] and "value" in x for x in span["alternatives"]):
                out[k][inside] = 0
        if entity[0] == "value":
            own = [example.covered(s) for s in example.record["spans"] if example.says(s, entity)]
            out[k][~torch.tensor(own).any(0)] = 0
    return out


def bce(p, target, least):
    p = p.clamp(least, 1 - least)
    return -(target * p.log() + (1 - target) * (1 - p).log())


def links(example, meaning):
    """For each span that something shown can mean: mean over its words and meanings of -log of how likely each is."""
    out = []
    for span in example.record["spans"]:
        meant = [k for k, e in enumerate(example.entities) if example.says(span, e)]
        if not meant:
            meant = [k for k, e in enumerate(example.entities)
                     if e[0] == "column" and e[1] in [a["column"] for a in span["alternatives"]]]
        if meant:
            inside = torch.tensor(example.covered(span))
            out.append(-meaning[inside][:, meant].clamp(1e-6, 1 - 1e-6).log().mean())
    return out


def run(tag, examples, answers):
    model = Tagger(tag == "compat")
    losses = {name: [] for name in WEIGHTS}
    numbers = {name: [] for name in ("concept", "grounding", "meaning", "emission", "awake")}
    for example in examples:
        c, g, meaning, emission = model.read(example)
        a = model.awake(example)
        y = torch.tensor([float(example.gold(e)) for e in example.entities])
        losses["concept"].append(bce(c[KEYWORDS:], y, 1e-4).mean())
        losses["grounding"].append((cleaned(example, a) * bce(g[KEYWORDS:, :-1], y[:, None], 1e-6)).mean())
        losses["meaning"] += links(example, meaning)
        losses["tags"].append(model.chain_loss(emission, model.tag_ids(example)))
        for name, x in zip(numbers, (c, g, meaning, emission, a)):
            numbers[name].append(x.detach().reshape(-1))
    means = {name: torch.stack(x).mean() for name, x in losses.items()}
    sum(WEIGHTS[name] * x for name, x in means.items()).backward()
    for name, x in numbers.items():
        answers[f"{tag}/{name}"] = torch.cat(x).numpy()
    answers[f"{tag}/losses"] = torch.stack(list(means.values())).detach().numpy()
    grads = {name: p.grad.numpy() for name, p in model.heads.items()}
    grads |= {"bert." + name: p.grad.numpy() for name, p in model.bert.named_parameters()}
    for name in [n for n in grads if ".self.query." in n]:
        parts = [grads.pop(name.replace("query", part)) for part in ("query", "key", "value")]
        grads[name.replace("query", "qkv")] = np.concatenate(parts)
    for name, g in grads.items():
        if g.any():
            answers[f"{tag}/{name}"] = digest(name, g)


def chain(answers):
    """pytorch-crf on a padded batch: losses of each sequence, their gradients, the likeliest tags without padding."""
    tags, lengths = 10, (40, 1, 23, 7)
    most = max(lengths)
    crf = CRF(tags, batch_first=True)
    w = torch.tensor(values("chain weights", (tags + 2) * tags)).reshape(tags + 2, tags)
    crf.start_transitions.data, crf.end_transitions.data, crf.transitions.data = w[tags], w[tags + 1], w[:tags].clone()
    e = torch.full((len(lengths), most, tags), 7.0)  # what is padded must not count
    gold, mask, at = torch.zeros(len(lengths), most, dtype=torch.long), torch.zeros(len(lengths), most, dtype=torch.bool), 0
    flat, tokens = 3 * values("chain emissions", sum(lengths) * tags).reshape(-1, tags), values("chain tags", sum(lengths))
    for i, n in enumerate(lengths):
        e[i, :n], mask[i, :n] = torch.tensor(flat[at:at + n]), True
        gold[i, :n] = torch.tensor((tokens[at:at + n] * 64 + 64).astype(np.int64) % tags)
        at += n
    e.requires_grad_()
    nll = -crf(e, gold, mask=mask, reduction="none")
    nll.sum().backward()
    answers["chain/nll"] = nll.detach().numpy()
    answers["chain/emissions"] = e.grad[mask].numpy()
    answers["chain/weights"] = torch.cat([crf.transitions.grad, crf.start_transitions.grad[None],
                                          crf.end_transitions.grad[None]]).numpy()
    answers["chain/best"] = np.concatenate([np.array(x) for x in crf.decode(e, mask=mask)])


answers = {}
with open(os.path.join(HERE, "train.jsonl"), encoding="utf-8") as f:
    examples = [Example(json.loads(line)) for line in f]
for i, example in enumerate(examples):
    answers[f"ids/{i}"] = np.array(example.ids)
for tag in ("begins", "compat"):
    run(tag, examples, answers)
chain(answers)
save_file({name: x.astype(np.float32) for name, x in answers.items()}, os.path.join(HERE, "numbers.safetensors"))

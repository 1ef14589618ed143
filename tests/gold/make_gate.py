"""Writes gate/: what transformers reads of 20 pairs of a question and an element, in f64, a small vocabulary beside it.

Each pair is read twice, as the released code of Skadborg and Mortensen does: by a cross-encoder for its relevance, then, by an encoder of
other weights, as a string that has the special tokens in it already.  Weights are the formulas of formula.py.
"""
import os

import numpy as np
import torch
from formula import values
from safetensors.numpy import save_file
from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizer

torch.set_default_dtype(torch.float64)
OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gate")
LAYERS, HIDDEN, HEADS, INTERMEDIATE, POSITIONS = 2, 64, 2, 96, 256
LONG = "which head of a department " + "or its name, " * 45 + "?"  # 4.2: the string is cut at 128 tokens
QUESTIONS = ["What are the names of the heads born in Utah?", "budget", "How many departments' budgets are > 10.5 billion?", LONG]
ELEMENTS = ["department", "head", "born state", "budget in billions", "*"]  # in test_gate_compat.c the schema's nodes
WORDS = "what are the name of head born in state department budget how many which or its relevant".split()


def write_vocabulary():
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *("##" + c for c in letters), *"?,.'*>:;", *WORDS, "ir", "##relevant", "##s"]
    path = os.path.join(OUT, "vocab.txt")
    with open(path, "w") as f:
        f.write("".join(w + "\n" for w in dict.fromkeys(words)))
    return BertTokenizer(vocab=path) if os.path.getsize(path) else None


def weight(name, shape):
    x = values(name, int(np.prod(shape))).reshape(shape)
    if name.endswith("LayerNorm.weight"):
        return 1 + x / 4
    return x / 4 if name.endswith("bias") or "embeddings" in name else x / 8


def fill(model, prefix):
    """Query, key and value are one parameter to ambit, so their numbers are drawn as one."""
    for own, p in model.named_parameters():
        name = prefix + own
        for i, part in enumerate(("query", "key", "value")):
            if f".self.{part}." in name:
                all_three = weight(name.replace(part, "qkv"), (3 * p.shape[0], *p.shape[1:]))
                p.data = torch.tensor(all_three[i * p.shape[0]:(i + 1) * p.shape[0]])
                break
        else:
            p.data = torch.tensor(weight(name, tuple(p.shape)))


os.makedirs(OUT, exist_ok=True)
tokenizer = write_vocabulary()
config = BertConfig(vocab_size=len(tokenizer), hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=INTERMEDIATE,
                    max_position_embeddings=POSITIONS, type_vocab_size=2, hidden_dropout_prob=0, attention_probs_dropout_prob=0, num_labels=1)
scorer, embedder = BertForSequenceClassification(config).double().eval(), BertModel(config, add_pooling_layer=False).double().eval()
fill(scorer, "")
fill(embedder, "embedder.")
with torch.no_grad():
    pairs = [(q, d) for q in QUESTIONS for d in ELEMENTS]
    plain = [tokenizer(q, d, return_tensors="pt") for q, d in pairs]
    assert max(x["input_ids"].shape[1] for x in plain) <= POSITIONS
    scorer.classifier.bias.zero_()
    logits = torch.cat([scorer(**x).logits[0] for x in plain])
    bias = -float(logits.median()) - 1 / 64  # so that some are relevant
    logits += bias
    words = ["relevant" if torch.sigmoid(y) > 0.5 else "irrelevant" for y in logits]
    assert 4 < words.count("relevant") < 16 and float(logits.abs().min()) > 1e-3, (words, logits)
    strings = [f"[CLS] {q} [SEP] {d} [SEP] {w} [SEP]" for (q, d), w in zip(pairs, words)]
    ids = [tokenizer(s, truncation=True, max_length=128)["input_ids"] for s in strings]
    assert all(x[:2] == [tokenizer.cls_token_id] * 2 and x[-1] == tokenizer.sep_token_id for x in ids)
    assert max(map(len, ids)) == 128 and min(map(len, ids)) < 20
    read = lambda m, x, segments: m(input_ids=torch.tensor([x]), token_type_ids=torch.tensor([segments])).last_hidden_state[0, 0]
    states = torch.stack([read(embedder, x, [0] * len(x)) for x in ids])
    first = torch.stack([scorer.bert(**x).last_hidden_state[0, 0] for x in plain])
save_file({"bias": np.array([bias], dtype=np.float32), "relevance": logits.numpy().astype(np.float32), "first": first.numpy().astype(np.float32),
           "states": states.numpy().astype(np.float32), "ids": np.concatenate(ids).astype(np.float32),
           "lengths": np.array([len(x) for x in ids], dtype=np.float32)}, os.path.join(OUT, "pairs.safetensors"))
print(words.count("relevant"), "of", len(words), "relevant; lengths", [len(x) for x in ids])

"""Writes embed.json and the folder embed/: a small random BERT that embeds sentences, saved by sentence-transformers.

Weights are the formulas of formula.py.  embed.json has texts and their vectors, computed in f64 one text at a time; among
the texts are an empty one, one of unknown words and one that is longer than is read."""
import json
import os
import shutil
import tempfile

import numpy as np
import torch
from formula import values
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
from transformers import BertConfig, BertModel, BertTokenizerFast

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER, LONGEST = os.path.join(HERE, "embed"), 24
WORDS = """the a of all which what how many are who is by in and with name names age singer concert student professor faculty list class
room address city order customer ##s ##er ##ing teach play list id year , : ? . first last""".split()
TEXTS = ["Which professors teach a class?", "how many singers are in all concerts, by age?", "faculty: id, first name, last name",
         "student", "", "\u00fcberall 7 zebras", "What is the name of the singer? " * 8, "Name\u0301 Of The CITY", "[SEP] a [CLS] b"]


def weight(name, shape):
    x = values("bert." + name, int(np.prod(shape))).reshape(shape)
    if name.endswith("LayerNorm.weight"):
        return 1 + x / 4
    return x / 4 if name.endswith("bias") else x / 2 if "embeddings" in name else x / 8


def save_base(folder):
    with open(os.path.join(folder, "vocab.txt"), "w", encoding="utf-8") as f:
        f.write("\n".join(dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz", *WORDS])) + "\n")
    tokenizer = BertTokenizerFast(os.path.join(folder, "vocab.txt"), do_lower_case=True)
    config = BertConfig(vocab_size=len(tokenizer), hidden_size=48, num_hidden_layers=2, num_attention_heads=3,
                        intermediate_size=40, max_position_embeddings=40, type_vocab_size=2)
    torch.manual_seed(0)  # for the pooler, which nobody reads
    model = BertModel(config)
    for name, p in model.named_parameters():
        if not name.startswith("pooler"):
            p.data = torch.tensor(weight(name, tuple(p.shape)), dtype=torch.float32)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def plain(text):
    """Special tokens named in a text stay text to ambit."""
    return text.replace("[SEP]", "[ SEP ]").replace("[CLS]", "[ CLS ]")


with tempfile.TemporaryDirectory() as base:
    save_base(base)
    transformer = Transformer(base, max_seq_length=LONGEST)
    model = SentenceTransformer(modules=[transformer, Pooling(transformer.get_embedding_dimension(), "mean"), Normalize()],
                                device="cpu")
shutil.rmtree(FOLDER, ignore_errors=True)
model.save(FOLDER, create_model_card=False)
model = SentenceTransformer(FOLDER, device="cpu").double().eval()
vectors = [model.encode(plain(t), convert_to_numpy=True).tolist() for t in TEXTS]
with open(os.path.join(HERE, "embed.json"), "w", encoding="utf-8") as f:
    json.dump({"texts": TEXTS, "vectors": vectors}, f)

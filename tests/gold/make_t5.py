"""Writes t5.json, t5.safetensors and the folders t5/*: small random T5s of transformers, computed in f64.

Three forms: 1.0 (relu, tied head), 1.1 (gated, own head) and Flan with heads of an odd size.  Weights, token ids and
lengths are formulas or constants that the test has too.  Sequences are padded here and packed there.  t5.json has every
config.json as transformers 5 writes it and as 4 did, losses, and buckets of relative positions; the safetensors file has
digests of logits and gradients; a folder t5/NAME is what save_pretrained leaves, with the -log p of some records.
"""
import json
import os
import shutil

import numpy as np
import torch
from formula import digest, values, words
from safetensors.numpy import save_file
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration
from transformers.models.t5.modeling_t5 import T5Attention

torch.set_default_dtype(torch.float64)
HERE = os.path.dirname(os.path.abspath(__file__))
VOCAB, SOURCES, ANSWERS = 97, (31, 1, 64, 2, 17), (9, 40, 3, 1, 16)
SIZES = dict(vocab_size=VOCAB, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1, dropout_rate=0.25)
MODELS = {
    "t5": (dict(d_model=64, d_kv=24, d_ff=80, num_heads=4, num_layers=3, num_decoder_layers=2, feed_forward_proj="relu",
                relative_attention_num_buckets=16, relative_attention_max_distance=40), True),
    "v1.1": (dict(d_model=64, d_kv=8, d_ff=72, num_heads=4, num_layers=2, feed_forward_proj="gated-gelu",
                  layer_norm_epsilon=1e-4), False),
    "flan": (dict(d_model=40, d_kv=21, d_ff=56, num_heads=3, num_layers=1, num_decoder_layers=3,
                  feed_forward_proj="gated-gelu", relative_attention_num_buckets=8,
                  relative_attention_max_distance=20), False),
}
BUCKETS = ((32, 128), (16, 40), (8, 20), (4, 3), (10, 64), (64, 300), (32, 17))


def weight(name, shape):
    x = values(name, int(np.prod(shape))).reshape(shape)
    if name.endswith("norm.weight"):
        return 1 + x / 2
    if "bias" in name:
        return 2 * x
    if "shared" in name or "lm_head" in name:
        return x / 2
    return x / 8 if name.endswith((".q.weight", ".wo.weight")) else x / 4


def build(settings, tied):
    config = T5Config(**SIZES, **settings, tie_word_embeddings=tied)
    config.architectures = ["T5ForConditionalGeneration"]
    model = T5ForConditionalGeneration(config)
    model.set_attn_implementation("eager")
    if not tied:
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    fill(model)
    return model.double().eval()


def fill(model):
    for name, p in model.named_parameters():
        p.data = torch.tensor(weight(name, tuple(p.shape)))


def four(config):
    """The form of version 4, whose tie flag says whether states are scaled."""
    c = json.loads(config.to_json_string())
    c["tie_word_embeddings"] = c.pop("scale_decoder_outputs")
    c["torch_dtype"] = "float32"
    return c


def sequences(tag, kind, lengths):
    ids = (words(f"{tag} {kind}", sum(lengths)) % np.uint64(VOCAB)).astype(np.int64)
    return [torch.tensor(x) for x in np.split(ids, np.cumsum(lengths)[:-1])]


def padded(list_, value):
    return torch.nn.utils.rnn.pad_sequence(list_, batch_first=True, padding_value=value)


def run(model, tag):
    """Logits of all tokens of the answers, one sequence after another, and the mean -log p."""
    source, answer = sequences(tag, "source", SOURCES), sequences(tag, "answer", ANSWERS)
    mask = padded([torch.ones_like(x) for x in source], 0)
    out = model(input_ids=padded(source, 7), attention_mask=mask, labels=padded(answer, -100))
    return torch.cat([y[:n] for y, n in zip(out.logits, ANSWERS)]), out.loss


def own_gradients(model):
    """As ambit has them: keys and values are one matrix."""
    grads = {name: p.grad.numpy() for name, p in model.named_parameters()}
    own = {}
    for name, g in grads.items():
        if name.endswith("Attention.k.weight"):
            own[name.replace(".k.", ".kv.")] = np.concatenate([g, grads[name.replace(".k.", ".v.")]])
        elif not name.endswith("Attention.v.weight"):
            own[name] = g
    return own


RECORDS = [
    ("Which singers are there?", "SELECT name FROM singer"),
    ("", "b"),
    ("naïve café: 東京 🚀 < 5", "SELECT avg(age) FROM singer WHERE age < 5"),
    ("Give the name and the country of every singer who is older than the average of all singers of that country, and "
     "the year in which the stadium was built where they sang first, ordered by the age of the singer. " * 3, ""),
]


def folder(tag, settings, tied, dtype, **save):
    """transformers' own folder, and what it says of the records, which end with token 1 of bpe/llama."""
    tok = PreTrainedTokenizerFast(tokenizer_file=os.path.join(HERE, "bpe", "llama", "tokenizer.json"))
    sizes = dict(settings, d_model=16, d_kv=7, d_ff=24, num_heads=2)
    model = T5ForConditionalGeneration(T5Config(**dict(SIZES, vocab_size=len(tok)), **sizes, tie_word_embeddings=tied))
    if not tied:
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    fill(model)
    model.to(dtype).save_pretrained(os.path.join(HERE, "t5", tag), **save)
    model.double().eval()
    out = []
    for prompt, completion in RECORDS:
        x, y = (torch.tensor([tok(t, add_special_tokens=False)["input_ids"] + [1]])
                for t in (prompt, completion))
        with torch.no_grad():
            log_p = model(input_ids=x, labels=y).logits[0].log_softmax(-1)
        out.append({"nll": -log_p.gather(1, y[0][:, None]).sum().item(), "tokens": y.shape[1],
                    "source": x[0].tolist(), "greedy": said(model, x),
                    "beams": said(model, x, num_beams=5, num_return_sequences=5)})
    return out


def said(model, x, **beams):
    """Answers of up to 12 tokens, with their scores where there are beams, which then are clearly apart."""
    g = model.generate(x, attention_mask=torch.ones_like(x), max_new_tokens=12, do_sample=False, pad_token_id=0,
                       return_dict_in_generate=True, output_scores=True, early_stopping=False,
                       use_cache=False, **beams)  # its cache knows one depth for both sides
    ids = [[i for i in s[1:].tolist() if i > 1] for s in g.sequences]
    if not beams:
        return ids[0]
    scores = g.sequences_scores.tolist()
    assert min(a - b for a, b in zip(scores, scores[1:])) > 1e-5, scores
    return [{"ids": i, "score": s} for i, s in zip(ids, scores)]


def buckets():
    """Of keys 2 R places before their query to 2 R places behind it."""
    out = []
    for n, most in BUCKETS:
        ahead = torch.arange(-2 * most, 2 * most + 1)
        for causal in (False, True):
            of = T5Attention._relative_position_bucket(ahead, not causal, n, most)
            out.append({"buckets": n, "max_distance": most, "causal": causal, "of": of.tolist()})
    return out


answers, cases = {}, []
for tag, (settings, tied) in MODELS.items():
    model = build(settings, tied)
    logits, loss = run(model, tag)
    loss.backward()
    answers[tag + "/logits"] = digest(tag, logits.detach().numpy())
    for name, g in own_gradients(model).items():
        answers[f"{tag}/{name}"] = digest(name, g)
    cases.append({"tag": tag, "tied": tied, "loss": loss.item(), "config": json.loads(model.config.to_json_string()),
                  "config4": four(model.config)})
save_file(answers, os.path.join(HERE, "t5.safetensors"))
shutil.rmtree(os.path.join(HERE, "t5"), ignore_errors=True)
folders = {"v1.0": folder("v1.0", MODELS["t5"][0], True, torch.float32),
           "flan": folder("flan", MODELS["flan"][0], False, torch.bfloat16, max_shard_size="20KB")}
result = {"models": cases, "records": [{"id": str(i), "prompt": p, "completion": c} for i, (p, c) in enumerate(RECORDS)],
          "folders": folders}
with open(os.path.join(HERE, "t5.json"), "w") as f:
    json.dump(dict(result, buckets=buckets()), f)
    f.write("\n")

#!/usr/bin/env python3
"""A byte-pair vocabulary as SentencePiece trains it for Gemma, in the form of Gemma's tokenizer.json, compared with tokenizers.

    make_sentencepiece_bpe.py compare BENCH_TOKENIZER [N]  N texts (100,000), with and without special tokens: ids, spans, decoded text

Gemma's settings: bytes for what it does not know, digits one by one, blanks kept as they are and pieces of blanks alone,
line breaks, blanks and tags of HTML as tokens that are looked for first.  As a check of the form itself, texts that hold none of
those are also encoded by sentencepiece, and those that differ from tokenizers are counted.  Needs sentencepiece, protobuf and
transformers beside requirements.txt.
"""
import io
import json
import random
import sys

import make_pipelines
import sentencepiece
from make_unigram import BITS
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers.convert_slow_tokenizer import generate_merges

SPECIAL = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "<unused0>", "<start_of_turn>", "<end_of_turn>"]
RUNS = ["\n" * n for n in range(1, 6)] + ["▁" * n for n in range(2, 6)] + ["<table>", "</table>", "<tr>", "<strong>"]


def trained(size):
    out, lines = io.BytesIO(), []
    for line in make_pipelines.corpus(3):
        lines.append(line.decode("utf-8", "ignore") if isinstance(line, bytes) else line)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=out, model_type="bpe", vocab_size=size, byte_fallback=True, split_digits=True,
        allow_whitespace_only_pieces=True, remove_extra_whitespaces=False, add_dummy_prefix=False, normalization_rule_name="identity",
        pad_id=0, eos_id=1, bos_id=2, unk_id=3, pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>", character_coverage=0.995,
        user_defined_symbols=SPECIAL[4:] + RUNS, hard_vocab_limit=False, num_threads=1, minloglevel=2)
    return out.getvalue()


def gemma(size):
    """tokenizer.json as an object, and the model it is made of."""
    data = trained(size)
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(data)
    vocab = {p.piece: i for i, p in enumerate(model.pieces)}
    merges = generate_merges(vocab, {p.piece: p.score for p in model.pieces if p.type == 1})
    t = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Replace(" ", "▁")
    t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    t.post_processor = processors.TemplateProcessing(single="<bos> $A", pair="<bos> $A <bos> $B", special_tokens=[("<bos>", vocab["<bos>"])])
    t.add_special_tokens([AddedToken(s, normalized=False) for s in SPECIAL])
    t.add_tokens([AddedToken(s, normalized=False) for s in RUNS])
    return json.loads(t.to_str()), sentencepiece.SentencePieceProcessor(model_proto=data)


def texts(n, seed):
    r, bits = random.Random(seed), BITS + SPECIAL + RUNS
    for text in make_pipelines.texts(n, seed):
        if r.random() < 0.6:
            cut = r.randint(0, len(text))
            text = text[:cut] + "".join(r.choice(bits + [chr(r.randint(1, 0x3100)), "12 345", "  "]) for _ in range(r.randint(1, 6))) + text[cut:]
        yield text


def plain(text):
    """Whether nothing in it is looked for before the vocabulary."""
    return not any(s in text.replace(" ", "▁") for s in SPECIAL + RUNS)


def compare(bench, n=100000):
    o, processor = gemma(4000)
    made = list(texts(int(n), 2))
    make_pipelines.ADDED = []
    bad = make_pipelines.compare_one(bench, "sentencepiece", o, made)
    print(f"{len(made)} texts, {len(o['model']['vocab'])} tokens, {len(o['model']['merges'])} merges, with and without special tokens: {bad}")
    oracle = Tokenizer.from_str(json.dumps(o))
    some = [t for t in made if plain(t) and "\0" not in t]
    differ = sum(oracle.encode(t, add_special_tokens=False).ids != processor.encode(t) for t in some)
    print(f"tokenizers beside sentencepiece: {differ} of {len(some)} texts differ")


if __name__ == "__main__":
    if sys.argv[1:2] != ["compare"] or len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    compare(*sys.argv[2:])

#!/usr/bin/env python3
"""Unigram tokenizers as SentencePiece trains them: gold files, and comparisons with tokenizers.

    make_unigram.py gold                               writes tests/gold/unigram/ and tests/gold/unigram.jsonl
    make_unigram.py compare BENCH_TOKENIZER FOLDER [N]  N texts (100,000) through the tokenizer.json of a folder

The kinds are T5's (with the tokens that programs for SQL add), and one with bytes for what it does not know.  Their table of characters is
SentencePiece's of a few rules, so that the files stay small.  Needs sentencepiece and protobuf beside requirements.txt.
"""
import io
import json
import os
import random
import sys
import tempfile

import make_bpe
import make_pipelines
import sentencepiece
from make_wordpiece import WORDS
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, __version__, decoders, models, normalizers, pre_tokenizers, processors

HERE = os.path.dirname(os.path.abspath(__file__))
RULES = {"ﬁ": "fi", "①": "1", "½": "1/2", "\u212b": "\u00c5", "e\u0301": "\u00e9", "\u00a0": " ", "\u3000": " ", "\t": " ", "\n": " ", "\r": " ", "\u200b": " ",
         "\u00ad": "", "\x07": "", "Ａ": "A", "ｶ": "カ", "ﷺ": "صلى الله عليه وسلم", "\u0323\u0301": "x"}
BITS = ["e\u0301", "\u0301", "👩‍👩‍👧", "🏽", "ｶﾞ", "ＡＢｃ", "\x00", "\x07", "▁", "▁▁", " ", "  ", "\t", "\n", "\r\n", "<", "<=", " <=", " <", " <=  x",
        "{", "}", "~", "^", "\\", "\u00a0", "\u3000", "ﬁ\u0301", "①", "½", "ﷺ", "한국어", "각", "中文", "\u200b", "\u200d", "\ufeff", "\u00ad",
        "<unk>", "</s>", "<extra_id_0>", "<pad>", "<0x41>", "é", "İ", "ß", "\u0e33", "\ufffd", "🇩🇪", "क्ष", "\u0378", "x\u0323\u0301"]


def trained(**settings):
    """(tokens with scores, charsmap) of a small model."""
    r, out = random.Random(3), io.BytesIO()
    lines = [line.decode("utf-8", "ignore") if isinstance(line, bytes) else line for line in make_pipelines.corpus(3)]
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/rules.tsv", "w") as f:
            for a, b in RULES.items():
                points = lambda text: " ".join("%X" % ord(c) for c in text)
                print(points(a), points(b), sep="\t", file=f)
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=out, model_type="unigram", pad_id=0, eos_id=1, unk_id=2,
                                                 bos_id=-1, hard_vocab_limit=False, num_threads=1, minloglevel=2,
                                                 normalization_rule_tsv=d + "/rules.tsv", **settings)
    m = sentencepiece_model_pb2.ModelProto()
    m.ParseFromString(out.getvalue())
    return [(p.piece, p.score) for p in m.pieces], m.normalizer_spec.precompiled_charsmap


def t5():
    pieces, charsmap = trained(vocab_size=400)
    t = Tokenizer(models.Unigram(pieces, 2, False))
    t.normalizer = normalizers.Precompiled(charsmap)
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    t.decoder = decoders.Metaspace()
    t.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    t.add_special_tokens(["<pad>", "</s>", "<unk>"] + [f"<extra_id_{i}>" for i in range(3)])
    t.add_tokens([AddedToken(" <="), AddedToken(" <"), AddedToken("<col>", normalized=False, lstrip=True, rstrip=True)])
    return t


def fallback():
    pieces, charsmap = trained(vocab_size=600, byte_fallback=True)
    t = Tokenizer(models.Unigram(pieces, 2, True))
    t.normalizer = normalizers.Sequence([normalizers.Precompiled(charsmap), normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), "▁")])
    t.pre_tokenizer = pre_tokenizers.Metaspace("▁", "first", False)
    t.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace("▁", "first", False)])
    t.add_special_tokens(["<pad>", "</s>", "<unk>"])
    return t


class Oracle(make_pipelines.Oracle):
    """Added tokens that are not special are always looked for."""

    def __init__(self, o):
        super().__init__(o)
        self.wordpiece = True


def texts(n, seed):
    r = random.Random(seed)
    base = list(make_pipelines.texts(n, seed))
    yield from ["", " ", "   ", "▁", "é" * 300, "x" * 300 + " " + "<" * 70, "▁" * 50]
    for text in base:
        if r.random() < 0.7:
            cut = r.randint(0, len(text))
            text = text[:cut][-60:] + "".join(r.choice(BITS + [chr(r.randint(0, 0x3100))]) for _ in range(r.randint(1, 9))) + text[cut:][:60]
        yield text


def compare(bench, folder, n=100000):
    make_pipelines.Oracle = Oracle
    with open(folder + "/tokenizer.json") as f:
        print(folder, make_pipelines.compare_one(bench, folder, json.load(f), list(texts(int(n), 2))))


def gold():
    with open(os.path.join(HERE, "unigram.jsonl"), "w") as out:
        print(json.dumps({"made_by": "tests/gold/make_unigram.py", "tokenizers": __version__, "sentencepiece": sentencepiece.__version__}), file=out)
        for name, make in (("t5", t5), ("fallback", fallback)):
            o = json.loads(make().to_str())
            oracle = Oracle(o)
            os.makedirs(os.path.join(HERE, "unigram", name), exist_ok=True)
            with open(os.path.join(HERE, "unigram", name, "tokenizer.json"), "w") as f:
                f.write(json.dumps(o, ensure_ascii=False, separators=(",", ":")) + "\n")
            for i, text in enumerate([t for t in texts(400, 4) if len(t) < 400][:200]):
                specials = i % 2 == 0
                ids = oracle.ids(text, specials)
                print(json.dumps({"model": name, "specials": specials, "hex": text.encode().hex(), "ids": ids,
                                  "decoded": oracle.decode(ids, True).encode().hex()}, separators=(",", ":")), file=out)


if __name__ == "__main__":
    commands = {"gold": gold, "compare": compare}
    if sys.argv[1:2] and sys.argv[1] in commands:
        commands[sys.argv[1]](*sys.argv[2:])
    else:
        sys.exit(__doc__)

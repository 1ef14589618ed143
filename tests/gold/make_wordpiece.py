#!/usr/bin/env python3
"""WordPiece as Hugging Face's tokenizers does it: a small gold file, and a comparison on as many strings as wanted.

    make_wordpiece.py gold                                     writes tests/gold/wordpiece/ and tests/gold/wordpiece.jsonl
    make_wordpiece.py compare MODEL_DIR BENCH_TOKENIZER [N]    N strings (100,000) through both; ids and spans must agree

The strings are seeded and mean: accents, canonical order, Chinese, Korean, emoji with joiners, control characters, text
from right to left, words of 90 to 130 characters, white space of every kind, names of special tokens, bytes that are not UTF-8.
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import unicodedata

from tokenizers import AddedToken, Tokenizer, __version__, decoders, models, normalizers, pre_tokenizers, processors

NFD = normalizers.NFD()
HERE = os.path.dirname(os.path.abspath(__file__))
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = """the of which how many what is show me all names and ids students who have a more than average age singer
concert stadium year 2014 2,500.75 it's don't can't naïve café Zürich Ångström İstanbul Straße ΣΊΣΥΦΟΣ Ærøskøbing façade
piñata Đorđe Łódź ПРИВЕТ мир Йогурт שלום עולם مرحبا بالعالم नमस्ते สวัสดี 你好 世界 東京 ひらがな カタカナ 한국어 서울 안녕 e\u0301te\u0301
ǅ ﬁn ＡＢＣ １２３ x² ½ № ℃ 𝒳 𝓗𝓮𝓵𝓵𝓸 𐐀𐐨 ñ n\u0303 Å Å Ω ≠ ≥10 $5.00 50% a_b_c foo-bar user@mail.org http://x.org/?q=1&r=2
[CLS] [SEP] [MASK] [PAD] [UNK] [sep] [new1] NEW2 soLO unaffable embeddings antidisestablishmentarianism""".split()
EMOJI = ["😀", "👨\u200d👩\u200d👧\u200d👦", "🏳\ufe0f\u200d🌈", "👍🏽", "🇩🇪", "❤\ufe0f", "🤷🏿\u200d♀\ufe0f", "☃", "1\ufe0f\u20e3"]
SPACES = [" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u2003", "\u3000", "\u2028", "\u0085", "\u200b", "\ufeff", "\x1c"]
CONTROLS = ["\0", "\x07", "\x1b", "\x7f", "\u00ad", "\u200d", "\u200e", "\u202e", "\u2066", "\ufffd", "\ue000", "\U000e0041"]
MARKS = ["\u0301", "\u0327", "\u0334", "\u0345", "\u302e", "\u1dfb", "\u034f", "\u05b0", "\u064e", "\u093c", "\u1b44",
         "\U0001d165", "\U0001d16d", "\U0001e8d0", "\u3099", "\u0e31", "\u08d4", "\U0001e944", "\U0001e94a"]
BROKEN = [b"\xff", b"\xc3", b"\xe4\xbd", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\x80", b"\xf8\x88"]
RANGES = [(0x20, 0x7E), (0xA0, 0x24F), (0x250, 0x5FF), (0x600, 0x9FF), (0xA00, 0x1FFF), (0x2000, 0x2BFF), (0x2E80, 0x33FF),
          (0x3400, 0x9FFF), (0xA000, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x1FFFF), (0x20000, 0x323AF), (0xE0000, 0x10FFFF)]


def character(r):
    return chr(r.randint(*r.choice(RANGES)))


def piece(r, words):
    kind = r.randrange(14)
    if kind < 4:
        w = r.choice(words)
        return r.choice([w, w.upper(), w.title(), w[: r.randint(1, len(w))], w + r.choice(words)])
    if kind == 4:
        return "".join(character(r) for _ in range(r.randint(1, 8)))
    if kind == 5:
        low, high = r.choice(RANGES)
        return "".join(chr(r.randint(low, high)) for _ in range(r.randint(1, 12)))
    if kind == 6:
        return r.choice("aeinouCSZ가你") + "".join(r.choice(MARKS) for _ in range(r.randint(1, 6)))
    if kind == 7:
        return "".join(r.choice(EMOJI) for _ in range(r.randint(1, 3)))
    if kind == 8:
        return r.choice(CONTROLS) + r.choice(words)
    if kind == 9:
        return "".join(r.choice("abcdeéж中") for _ in range(r.randint(90, 130))) if r.random() < 0.3 else "-" * r.randint(1, 5)
    if kind == 10:
        return unicodedata.normalize(r.choice(["NFC", "NFD", "NFKC", "NFKD"]), r.choice(words))
    if kind == 11:
        return r.choice(SPACES) * r.randint(1, 3)
    if kind == 12:
        return r.choice(SPECIALS + ["[new1]", "NEW2", "new2", "solo", "SOLO"]) + r.choice(["", " ", "\t ", "x"])
    return str(r.randint(0, 10 ** r.randint(1, 12))) + r.choice([",", ".", "%", "", "€"])


def strings(n, seed, words):
    """n byte strings; those of even number are valid UTF-8."""
    r = random.Random(seed)
    for i in range(n):
        parts = [piece(r, words).encode("utf-8", "ignore") for _ in range(r.randint(0, 12))]
        if i % 2:
            parts.insert(r.randint(0, len(parts)), r.choice(BROKEN))
        yield r.choice([b" ", b" ", b""]).join(parts)


def reference(tokenizer, data, specials):
    """(id, start byte, end byte) of each token.  Spans are None where the text had to be repaired, and where canonical
    order moves marks: tokenizers then counts characters as if none had moved, ours says where each really stood."""
    text = data.decode("utf-8", "replace")
    moved = "".join(map(NFD.normalize_str, text)) != NFD.normalize_str(text)
    tokenizer.encode_special_tokens = not specials
    e = tokenizer.encode(text, add_special_tokens=False)
    if moved or text.encode() != data:
        return [(i, None, None) for i in e.ids]
    at = [0]
    for ch in text:
        at.append(at[-1] + len(ch.encode()))
    return [(i, at[s], at[t]) for i, (s, t) in zip(e.ids, e.offsets)]


def small_tokenizer(lowercase):
    """A vocabulary of our own: characters of the strings above, whole words and pieces of some, tokens of every kind of added token."""
    n = normalizers.BertNormalizer(lowercase=lowercase)
    splits = [w for word in WORDS for w, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(n.normalize_str(word))]
    alphabet = sorted({ch for w in splits for ch in w} | set("abcdefghijklmnopqrstuvwxyz0123456789!?.,'\"-_/%$&@:;()[]#*+=<>"))
    vocab = dict.fromkeys(SPECIALS + alphabet + ["##" + ch for ch in alphabet])
    vocab.update(dict.fromkeys(splits[::2] + ["##" + w[i:] for w in splits for i in (2, 3) if len(w) > i]))
    t = Tokenizer(models.WordPiece({w: i for i, w in enumerate(vocab)}, unk_token="[UNK]"))
    t.normalizer, t.pre_tokenizer, t.decoder = n, pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    t.add_special_tokens(SPECIALS)
    t.add_tokens([AddedToken("[new1]", normalized=False, lstrip=True), AddedToken("NEW2", normalized=True, rstrip=True),
                  AddedToken("soLO", normalized=True, single_word=True)])
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(s, t.token_to_id(s)) for s in ("[CLS]", "[SEP]")])
    return t


def gold():
    with open(os.path.join(HERE, "wordpiece.jsonl"), "w") as out:
        print(json.dumps({"made_by": "tests/gold/make_wordpiece.py", "tokenizers": __version__}), file=out)
        for folder, lowercase in (("uncased", True), ("cased", False)):
            t = small_tokenizer(lowercase)
            os.makedirs(os.path.join(HERE, "wordpiece", folder), exist_ok=True)
            t.save(os.path.join(HERE, "wordpiece", folder, "tokenizer.json"), pretty=False)
            for i, data in enumerate(strings(300, 1, WORDS)):
                for specials in (False, True) if i % 4 == 0 else (False,):
                    tokens = reference(t, data, specials)
                    record = {"model": folder, "specials": specials, "hex": data.hex(), "ids": [k[0] for k in tokens]}
                    if all(k[1] is not None for k in tokens):
                        record["spans"] = [x for k in tokens for x in k[1:]]
                    record["decoded"] = t.decode(record["ids"], skip_special_tokens=True)
                    print(json.dumps(record, separators=(",", ":")), file=out)


def ours(bench, model, texts, specials):
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/in", "wb") as f:
            f.write(b"".join(struct.pack("<I", len(x)) + x for x in texts))
        subprocess.run([bench, model, d + "/in", d + "/out"] + ["match-specials"] * specials, check=True)
        numbers = struct.iter_unpack("<i", open(d + "/out", "rb").read())
        take = lambda: next(numbers)[0]
        return [[(take(), take(), take()) for _ in range(take())] for _ in texts]


def compare(model, bench, n=100000):
    t = Tokenizer.from_file(model + "/tokenizer.json")
    t.no_truncation()
    t.no_padding()
    words = WORDS + sorted(w for w in t.get_vocab() if len(w) > 3 and w.isalpha())
    texts = list(strings(int(n), 2, words))
    for specials in (False, True):
        bad_ids = bad_spans = tokens = with_spans = 0
        for data, mine in zip(texts, ours(bench, model, texts, specials)):
            wanted = reference(t, data, specials)
            tokens += len(wanted)
            same = [k[0] for k in mine] == [k[0] for k in wanted]
            bad_ids += not same
            bad = same and any(w[1] is not None and w != m for m, w in zip(mine, wanted))
            bad_spans += bad
            with_spans += bool(wanted) and wanted[0][1] is not None
            if (not same and bad_ids < 5) or (bad and bad_spans < 5):
                print("differs:", repr(data), "\n ours ", mine, "\n wants", wanted)
        print(f"specials {specials}: {len(texts)} strings, {tokens} tokens: {bad_ids} with other ids; "
              f"{with_spans} with spans to compare: {bad_spans} with other spans")


if __name__ == "__main__":
    if sys.argv[1:2] == ["gold"]:
        gold()
    elif sys.argv[1:2] == ["compare"]:
        compare(*sys.argv[2:])
    else:
        sys.exit(__doc__)

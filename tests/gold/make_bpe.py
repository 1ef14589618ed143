#!/usr/bin/env python3
"""Byte-level BPE as Hugging Face's tokenizers does it: a small gold file, and a comparison on as many strings as wanted.

    make_bpe.py gold                                     writes tests/gold/bpe/ and tests/gold/bpe.jsonl
    make_bpe.py compare MODEL_DIR BENCH_TOKENIZER [N]    N strings (100,000) through both; ids and spans must agree
    make_bpe.py points MODEL_DIR BENCH_TOKENIZER         every code point of the planes in use, among others

The two tokenizers are trained on text made here, one with Llama 3's regular expression, merges as pairs and ignore_merges,
one with Qwen 2's, merges as strings and NFC.  The strings are seeded and mean: contractions in both cases, runs of digits,
blanks and line breaks, marks in every order, letters of the newest Unicode, U+180E, control characters, words of thousands
of characters, names of added tokens, bytes that are not UTF-8.
"""
import json
import os
import random
import sys
import unicodedata

from make_wordpiece import BROKEN, CONTROLS, EMOJI, MARKS, RANGES, SPACES, WORDS, character, ours
from tokenizers import AddedToken, Regex, Tokenizer, __version__, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|DIGITS| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DIGITS = {"llama": r"\p{N}{1,3}", "qwen": r"\p{N}"}
ADDED = {"llama": ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>"],
         "qwen": ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]}
CONTRACTIONS = ["'s", "'S", "'t", "'T", "'re", "'RE", "'Re", "'ve", "'VE", "'m", "'M", "'ll", "'LL", "'lL", "'d", "'D", "'x",
                "'\u017f", "\u2019s", "''s", "'ss", "'sS", "'", "'l", "'r"]
LATE = ["\u1c89", "\ua7da", "\U000105c0", "\U00010d4a", "\U00011f04", "\U0001e030", "\U0002ebf0", "\U00031350", "\U000323af",
        "\U00010d40", "\U0001ccf0", "\U0001e4f0", "\U00011938", "\U00011935\U00011930", "\u0898", "\u1ad0", "\U00010efd"]
JAMO = ["\u1100", "\u1161", "\u11a8", "\uac00", "\uac01", "\u11c2", "\ud7a3", "\u1175", "\u115f", "\u1160"]
SINGLE = ["\u212b", "\u2126", "\u0344", "\u0958", "\u2adc", "\ufb1d", "\u0f73", "\u1e9b\u0323", "\u09c7\u09be", "\u0b47\u0b56", "\u1025\u102e",
          "\u30cf\u309a", "\uf900", "\U0002f800", "\U0001d15e", "\u1b05\u1b35", "\U00011099\U000110ba", "\u0cca", "\u0dda"]
BREAKS = ["\n", "\r\n", "\n\n", " \n", "\n  \n", "\t\n ", "\r", " \r\n\r\n  ", "\u2028", "\u0085"]


def piece(r, words):
    kind = r.randrange(17)
    if kind < 4:
        w = r.choice(words)
        return r.choice(["", " ", " ", "_", "\u00a0"]) + r.choice([w, w.upper(), w.title(), w[: r.randint(1, len(w))], w + r.choice(words)])
    if kind == 4:
        return r.choice(words) + r.choice(CONTRACTIONS) + r.choice(["", " ", r.choice(words)])
    if kind == 5:
        return r.choice(["", " ", "-"]) + "".join(r.choice("0123456789") for _ in range(r.randint(1, 20))) + r.choice(["", ".", "½", "٣", "Ⅷ"])
    if kind == 6:
        return "".join(r.choice(SPACES + [" ", " ", "\n"]) for _ in range(r.randint(1, 9)))
    if kind == 7:
        return r.choice(BREAKS) * r.randint(1, 3) + r.choice(["", " ", "  "])
    if kind == 8:
        return "".join(character(r) for _ in range(r.randint(1, 8)))
    if kind == 9:
        low, high = r.choice(RANGES)
        return "".join(chr(r.randint(low, high)) for _ in range(r.randint(1, 12)))
    if kind == 10:
        return r.choice("aeinouCSZ가你й") + "".join(r.choice(MARKS) for _ in range(r.randint(1, 6)))
    if kind == 11:
        return "".join(r.choice(EMOJI + JAMO + SINGLE) for _ in range(r.randint(1, 5)))
    if kind == 12:
        return "".join(r.choice(CONTROLS + ["\u180e", "\u180e", " "]) for _ in range(r.randint(1, 4))) + r.choice(words)
    if kind == 13:
        alphabet = r.choice(["ab", "the of", "abcdeéж中", "\u180e ", "=-", "\n ", "01"])
        return "".join(r.choice(alphabet) for _ in range(r.randint(50, 3000))) if r.random() < 0.1 else "=" * r.randint(1, 80)
    if kind == 14:
        return unicodedata.normalize(r.choice(["NFC", "NFD", "NFKC", "NFKD"]), r.choice(words))
    if kind == 15:
        return r.choice(ADDED["llama"] + ADDED["qwen"] + ["<tool_call>", "<|im_", "cafe\u0301s", "caf\u00e9s"]) + r.choice(["", " ", "\n", "x"])
    return "".join(r.choice(LATE + MARKS) for _ in range(r.randint(1, 3))) + r.choice("?!.,:;()[]{}<>=+-*/\\|@#$%^&~`\"") * r.randint(1, 4)


def strings(n, seed, words):
    """n byte strings; those of even number are valid UTF-8."""
    r = random.Random(seed)
    for i in range(n):
        parts = [piece(r, words).encode("utf-8", "ignore") for _ in range(r.randint(0, 12))]
        if i % 2:
            parts.insert(r.randint(0, len(parts)), r.choice(BROKEN))
        yield r.choice([b" ", b"", b""]).join(parts)


def training_text(r):
    made = ["".join(r.choice("stngrlmdk") + r.choice("aeiou") for _ in range(r.randint(2, 5))) for _ in range(300)]
    for _ in range(3000):
        words = [r.choice(r.choice([WORDS, made])) + r.choice(["", "", "", ",", "'s", "."]) for _ in range(r.randint(3, 20))]
        yield r.choice([" ", " ", " ", "\n", "  "]).join(words) + r.choice(["", "\n", "\n\n", " " * 8, str(r.randint(0, 99999))])


def small_tokenizer(kind):
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFC() if kind == "qwen" else None
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLIT.replace("DIGITS", DIGITS[kind])), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(training_text(random.Random(1)), trainers.BpeTrainer(
        vocab_size=1000, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.add_special_tokens(ADDED[kind])
    t.add_tokens([AddedToken("<tool_call>", normalized=False), AddedToken("cafe\u0301s", normalized=True)])
    if kind == "llama":
        bos = ADDED[kind][0]
        t.post_processor = processors.TemplateProcessing(single=bos + " $A", pair=f"{bos} $A {bos} $B",
                                                         special_tokens=[(bos, t.token_to_id(bos))])
    o = json.loads(t.to_str())
    if kind == "llama":
        o["model"]["ignore_merges"] = True
        o["model"]["merges"] = [m for i, m in enumerate(o["model"]["merges"]) if i < 300 or i % 5]  # words that no merge makes
    else:
        o["model"]["merges"] = [" ".join(m) for m in o["model"]["merges"]]
    return json.dumps(o, ensure_ascii=False, separators=(",", ":"))


class Reference:
    """A tokenizer that looks for added tokens, and one that has none."""

    def __init__(self, text):
        self.with_added = Tokenizer.from_str(text)
        self.without = Tokenizer.from_str(json.dumps({**json.loads(text), "added_tokens": [], "post_processor": None}))
        for t in (self.with_added, self.without):
            t.no_truncation()
            t.no_padding()

    def tokens(self, data, specials):
        """(id, start byte, end byte) of each token, the bytes of whole characters.  Spans are None where the text had to
        be repaired or normalised."""
        text = data.decode("utf-8", "replace")
        t = self.with_added if specials else self.without
        e = t.encode(text, add_special_tokens=False)
        if text.encode() != data or (t.normalizer and t.normalizer.normalize_str(text) != text):
            return [(i, None, None) for i in e.ids]
        at = [0]
        for ch in text:
            at.append(at[-1] + len(ch.encode()))
        return [(i, at[s], at[t]) for i, (s, t) in zip(e.ids, e.offsets)]


def whole_characters(data, tokens):
    """Spans of ours are true to the byte; Hugging Face's take in the whole character."""
    def edge(at, step):
        while 0 < at < len(data) and data[at] & 0xC0 == 0x80:
            at += step
        return at
    return [(i, edge(s, -1), edge(e, 1)) for i, s, e in tokens]


def gold():
    with open(os.path.join(HERE, "bpe.jsonl"), "w") as out:
        print(json.dumps({"made_by": "tests/gold/make_bpe.py", "tokenizers": __version__}), file=out)
        for kind in DIGITS:
            text = small_tokenizer(kind)
            os.makedirs(os.path.join(HERE, "bpe", kind), exist_ok=True)
            with open(os.path.join(HERE, "bpe", kind, "tokenizer.json"), "w") as f:
                f.write(text + "\n")
            t = Reference(text)
            for i, data in enumerate(x for x in strings(330, 1, WORDS) if len(x) < 600):
                for specials in (False, True) if i % 4 == 0 else (False,):
                    ids = [k[0] for k in t.tokens(data, specials)]
                    decoded = t.with_added.decode(ids, skip_special_tokens=True)
                    print(json.dumps({"model": kind, "specials": specials, "hex": data.hex(), "ids": ids, "decoded": decoded.encode().hex()},
                                     separators=(",", ":")), file=out)


def report(t, bench, model, texts, specials):
    bad_ids = bad_spans = tokens = with_spans = 0
    for data, mine in zip(texts, ours(bench, model, texts, specials)):
        wanted = t.tokens(data, specials)
        tokens += len(wanted)
        same = [k[0] for k in mine] == [k[0] for k in wanted]
        bad_ids += not same
        spans = bool(wanted) and wanted[0][1] is not None
        bad = same and spans and whole_characters(data, mine) != wanted
        bad_spans += bad
        with_spans += spans
        if (not same and bad_ids < 5) or (bad and bad_spans < 5):
            print("differs:", repr(data), "\n ours ", mine, "\n wants", wanted)
    print(f"added tokens {specials}: {len(texts)} strings, {sum(map(len, texts))} bytes, {tokens} tokens: {bad_ids} with other ids; "
          f"{with_spans} with spans to compare: {bad_spans} with other spans")


def reference_of(model):
    with open(model + "/tokenizer.json") as f:
        return Reference(f.read())


def compare(model, bench, n=100000):
    t = reference_of(model)
    texts = list(strings(int(n), 2, WORDS))
    for specials in (False, True):
        report(t, bench, model, texts, specials)


def points(model, bench):
    t = reference_of(model)
    form = "* a*b 1*2  *  e*\u0301 \u00e9*\u0323 가*!*\n'*"
    for plane in (0, 1, 2, 3, 14):  # the others hold nothing
        points = range(plane << 16, plane + 1 << 16)
        report(t, bench, model, [form.replace("*", chr(c)).encode() for c in points if not 0xD800 <= c < 0xE000], False)


if __name__ == "__main__":
    commands = {"gold": gold, "compare": compare, "points": points}
    if sys.argv[1:2] and sys.argv[1] in commands:
        commands[sys.argv[1]](*sys.argv[2:])
    else:
        sys.exit(__doc__)

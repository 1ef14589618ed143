#!/usr/bin/env python3
"""Tokenizers of every kind that tokenizer.json can describe and is read: gold files, and comparisons with tokenizers.

    make_pipelines.py gold                                 writes tests/gold/pipelines/ and tests/gold/pipelines.jsonl
    make_pipelines.py compare BENCH_TOKENIZER [N]          each kind, N texts (13,000): ids, spans' order and decoded text
    make_pipelines.py fuzz BENCH_TOKENIZER [K] [SEED] [N]  K random tokenizers (200), N texts each (300)

The kinds are those of published models, trained on text made here: GPT-2, BART, SmolLM, DeepSeek, Llama 2, Mistral, Gemma,
GPT-4o, BLOOM, CLIP, ALBERT and BERT as they were published.  The texts are code, SQL, Chinese, emoji, marks, control
characters with NUL, words of thousands of characters.
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

import make_bpe
from make_wordpiece import WORDS
from tokenizers import (AddedToken, Regex, Tokenizer, __version__, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

HERE = os.path.dirname(os.path.abspath(__file__))
N, P, D = normalizers, pre_tokenizers, decoders
CODE = ["SELECT T1.name, COUNT(*) FROM singer AS T1 JOIN concert T2 ON T1.id = T2.sid WHERE T1.age >= 20 GROUP BY 1 -- x\n",
        "def f(x, *a, **kw):\n\treturn {k: v for k, v in zip(x, a)}  # ok\n\n", "    for (int i = 0; i < n; i++) { a[i] += b[i]; }\n",
        "SELECT * FROM \"with space\" WHERE `q` <> 'it''s' AND x IS NOT NULL;", "<div class=\"a\">&nbsp;</div>", "a_b.c->d::e",
        "x=1e-9+0xFF%3", "日本語のテキスト、中文文本。한국어!", "\x00", "a\x00b", "▁", "▁▁ a", " ▁", "<0x41>", "</w>", "Ġthe", "``quoted''"]
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK3 = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"
             r"\s*[\r\n]+|\s+(?!\S)|\s+")
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
CLIP = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


def texts(n, seed, extra=()):
    r = random.Random(seed)
    made = make_bpe.strings(2 * n, seed, WORDS)
    for _ in range(n):
        text = next(made).decode("utf-8", "ignore")
        next(made)
        if r.random() < 0.4:
            parts = [r.choice(CODE) for _ in range(r.randint(1, 3))] + [text] * (r.random() < 0.5)
            if extra and r.random() < 0.5:
                parts.insert(r.randint(0, len(parts)), r.choice(extra))
            r.shuffle(parts)
            text = r.choice(["", " ", "\n"]).join(parts)
        yield text


def corpus(seed):
    r = random.Random(seed)
    lines = make_bpe.training_text(r)
    for _ in range(600):
        yield next(lines)
        yield r.choice(CODE[:8])


def split(pattern, behavior="isolated", invert=False):
    return P.Split(Regex(pattern), behavior, invert)


def replace(pattern, content):
    return N.Replace(pattern, content)


BYTES = P.ByteLevel.alphabet()
SPACE = "▁"
LLAMA_DECODER = [D.Replace(SPACE, " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)]


def kinds():
    """name: normalizer, pre-tokenizers, decoder, post-processor, what the model has beside its defaults"""
    byte_level = lambda **kw: P.ByteLevel(**{"add_prefix_space": False, "use_regex": True, **kw})
    fallback = {"byte_fallback": True, "fuse_unk": True, "unk_token": "<unk>"}
    bert = lambda low: N.BertNormalizer(lowercase=low)
    return {
        "gpt2": ([], [byte_level()], D.ByteLevel(), processors.ByteLevel(trim_offsets=False), {}),
        "bart": ([], [byte_level(add_prefix_space=True)], D.ByteLevel(), "roberta", {}),
        "smollm": ([], [P.Digits(True), byte_level()], D.ByteLevel(), None, {"unk_token": "<unk>", "missing": 20}),
        "deepseek": ([N.Sequence([])], [split(r"[\r\n]"), split(r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-Ֆ]+"),
                     split(r"\s?[!-/:-~！-／：-～‘-‟　-。]+"), split(r"\s+$"), split("[一-龥ࠀ-一가-퟿]+"), P.Digits(True),
                     byte_level(use_regex=False)], D.ByteLevel(), None, {}),
        "deepseek3": ([N.Sequence([])], [split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(DEEPSEEK3), byte_level(use_regex=False)],
                      D.ByteLevel(), processors.Sequence([processors.ByteLevel(trim_offsets=False)]), {}),
        "gpt4o": ([], [split(O200K), byte_level(use_regex=False)], D.ByteLevel(), None, {"ignore_merges": True}),
        "bloom": ([], [split(BLOOM), byte_level(use_regex=False)], D.ByteLevel(), None, {}),
        "clip": ([N.NFC(), replace(Regex(r"\s+"), " "), N.Lowercase()], [split(CLIP, "removed", True), byte_level()], D.ByteLevel(),
                 None, {"end_of_word_suffix": "</w>", "continuing_subword_prefix": "", "unk_token": "<unk>"}),
        "llama2": ([N.Prepend(SPACE), replace(" ", SPACE)], [], D.Sequence(LLAMA_DECODER), "template", fallback),
        "mistral": ([], [P.Metaspace(SPACE, "first", False)], D.Sequence(LLAMA_DECODER), "template", fallback),
        "gemma": ([replace(" ", SPACE)], [P.Split(" ", "merged_with_previous")], D.Sequence(LLAMA_DECODER[:3]), None, fallback),
        "nfkc": ([N.NFKC(), N.Strip(), N.Lowercase()], [P.Metaspace()], D.Metaspace(), None, {"unk_token": "<unk>"}),
        "albert": ([replace("``", '"'), replace("''", '"'), N.NFKD(), N.StripAccents(), N.Lowercase(), replace(Regex(" {2,}"), " ")],
                   [P.WhitespaceSplit(), P.Metaspace(SPACE, "always")], D.Metaspace(), None, {"unk_token": "<unk>", "fuse_unk": True}),
        "words": ([], [P.Whitespace(), P.Punctuation("contiguous"), P.Digits(False)], None, None, {"unk_token": "<unk>", "bpe": True}),
        "suffix": ([N.NFD(), N.StripAccents()], [P.BertPreTokenizer()], D.BPEDecoder(), None,
                   {"unk_token": "<unk>", "end_of_word_suffix": "</w>", "continuing_subword_prefix": "##"}),
        "bert": ([bert(True)], [P.BertPreTokenizer()], D.WordPiece(), "bert", {"wordpiece": True}),
        "chinese": ([bert(False)], [P.BertPreTokenizer()], D.WordPiece(), "bert", {"wordpiece": True}),
        "pieces": ([N.NFKC()], [P.WhitespaceSplit(), P.Punctuation("merged_with_previous"), P.BertPreTokenizer()], D.WordPiece(cleanup=False),
                   None, {"wordpiece": True}),
    }


def train(normalizer, pre, decoder, settings, vocab_size, seed):
    """tokenizer.json as an object, its post_processor empty."""
    settings = dict(settings)
    wordpiece, missing = settings.pop("wordpiece", False), settings.pop("missing", 0)
    settings.pop("bpe", None)
    suffix, prefix = settings.get("end_of_word_suffix"), settings.get("continuing_subword_prefix")
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] if wordpiece else ["<unk>", "<s>", "</s>"]
    if settings.get("byte_fallback"):
        special = special + ["<0x%02X>" % i for i in range(256)]
    if wordpiece:
        model = models.WordPiece(unk_token="[UNK]")
        trainer = trainers.WordPieceTrainer(vocab_size=vocab_size, special_tokens=special, show_progress=False, limit_alphabet=120)
    else:
        model = models.BPE(**settings)
        alphabet = sorted(BYTES)[missing * 3:] if any(isinstance(p, P.ByteLevel) for p in pre) else []
        options = {"end_of_word_suffix": suffix, "continuing_subword_prefix": prefix, "limit_alphabet": None if alphabet else 150}
        trainer = trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=special, show_progress=False, initial_alphabet=alphabet,
                                      **{k: v for k, v in options.items() if v})
    t = Tokenizer(model)
    if normalizer:
        t.normalizer = normalizer[0] if len(normalizer) == 1 else N.Sequence(normalizer)
    if pre:
        t.pre_tokenizer = pre[0] if len(pre) == 1 else P.Sequence(pre)
    if decoder:
        t.decoder = decoder
    t.train_from_iterator(corpus(seed), trainer)
    o = json.loads(t.to_str())
    o["added_tokens"] = [a for a in o["added_tokens"] if not a["content"].startswith("<0x")]
    return o


def with_post_processor(o, post):
    vocab = o["model"]["vocab"]
    t = Tokenizer.from_str(json.dumps(o))
    if post == "template":
        post = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", vocab["<s>"])])
    elif post == "roberta":
        post = processors.RobertaProcessing(("</s>", vocab["</s>"]), ("<s>", vocab["<s>"]))
    elif post == "bert":
        post = processors.BertProcessing(("[SEP]", vocab["[SEP]"]), ("[CLS]", vocab["[CLS]"]))
    if post:
        t.post_processor = post
    return json.loads(t.to_str())


ADDED = [AddedToken("<tool_call>", normalized=False, special=False), AddedToken("Straße", normalized=True, special=False, lstrip=True),
         AddedToken("soLO", normalized=True, special=False, single_word=True), AddedToken("[new1]", normalized=False, rstrip=True)]


def make(name, vocab_size=500):
    normalizer, pre, decoder, post, settings = kinds()[name]
    o = with_post_processor(train(normalizer, pre, decoder, settings, vocab_size, 7), post)
    t = Tokenizer.from_str(json.dumps(o))
    t.add_tokens(ADDED[:2] if name in ("llama2", "gemma", "albert") else ADDED)
    o = json.loads(t.to_str())
    if name in ("bert", "chinese"):
        del o["model"]["type"]  # as published
    if name == "gpt2":
        o["model"]["merges"] = [" ".join(m) for m in o["model"]["merges"]]
    return o


class Oracle:
    """tokenizers with the added tokens that ours looks for: with specials all; without, those that are not special, of WordPiece
    alone."""

    def __init__(self, o):
        self.all = Tokenizer.from_str(json.dumps(o))
        self.wordpiece = "merges" not in o["model"]
        self.none = Tokenizer.from_str(json.dumps({**o, "added_tokens": [], "post_processor": None}))
        for t in (self.all, self.none):
            t.no_truncation()
            t.no_padding()

    def ids(self, text, specials):
        t = self.all if specials or self.wordpiece else self.none
        t.encode_special_tokens = not specials
        return t.encode(text, add_special_tokens=False).ids

    def decode(self, ids, skip):
        try:
            return self.all.decode(ids, skip_special_tokens=skip)
        except BaseException:  # a panic of Rust's is none of Exception's
            return None


def ours(bench, folder, data, specials):
    """(ids, spans, decoded, decoded without special tokens) of each text"""
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/in", "wb") as f:
            f.write(b"".join(struct.pack("<I", len(x)) + x for x in data))
        run = subprocess.run([bench, folder, d + "/in", d + "/out", d + "/texts"] + ["match-specials"] * specials, capture_output=True)
        if run.returncode:
            return run.stderr.decode().strip()
        numbers = struct.iter_unpack("<i", open(d + "/out", "rb").read())
        made, take = open(d + "/texts", "rb"), lambda: next(numbers)[0]
        text = lambda: made.read(struct.unpack("<I", made.read(4))[0])
        result = []
        for _ in data:
            tokens = [(take(), take(), take()) for _ in range(take())]
            result.append(([t[0] for t in tokens], [t[1:] for t in tokens], text(), text()))
        return result


def compare_one(bench, name, o, made, shown=3):
    """How many texts have other ids, bad spans and another decoded text."""
    bad = {"ids": 0, "spans": 0, "decoded": 0}
    oracle = Oracle(o)
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/tokenizer.json", "w") as f:
            json.dump(o, f)
        for specials in (False, True):
            found = ours(bench, d, [t.encode() for t in made], specials)
            if isinstance(found, str):
                return found
            for text, (ids, spans, whole, skipped) in zip(made, found):
                wanted = oracle.ids(text, specials)
                size = len(text.encode())
                texts = [oracle.decode(wanted, False), oracle.decode(wanted, True)]
                differs = {"ids": ids != wanted, "spans": any(not 0 <= s < e <= size for s, e in spans),
                           "decoded": ids == wanted and any(w is not None and w.encode() != m for w, m in zip(texts, [whole, skipped]))}
                for key, value in differs.items():
                    bad[key] += value
                    if value and bad[key] <= shown:
                        print(f"{name}: {key} of {text!r}, specials {specials}\n ours  {ids} {spans if key == 'spans' else ''} {whole} {skipped}\n"
                              f" wants {wanted} {texts}")
    return bad


def compare(bench, n=13000):
    made = list(texts(int(n), 2, [a.content for a in ADDED] + ["<s>", "[SEP]", "<unk>"]))
    total = 0
    for name in kinds():
        bad = compare_one(bench, name, make(name, 2000), made)
        total += sum(bad.values()) if isinstance(bad, dict) else 1
        print(f"{name}: {len(made)} texts, with and without special tokens: {bad}", flush=True)
    print(f"differences: {total}")


def pattern(r):
    return r.choice(["a", " ", "e", "the", "▁", "''", Regex(r"\s+"), Regex(r" {2,}"), Regex(r"\d"), Regex(r"\w+"), Regex(r"\b"), Regex("^"),
                     Regex("$"), Regex(r"[^\w\s]"), Regex(r"\p{Lu}"), Regex(r"[\p{P}\p{S}]"), Regex("x*"), Regex(r"(?i:S|T)"), Regex(r"[^\S\n]"),
                     Regex(r"[a-c[x-z]]"), Regex(r"(?<=a)b?"), Regex(r"\p{Han}"), Regex(r"[^\W\d_]+"), Regex(r"\h+"), Regex(".")])


BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]


def random_parts(r):
    normalizer = lambda: r.choice([
        N.NFC, N.NFD, N.NFKC, N.NFKD, N.Lowercase, N.StripAccents, N.Nmt, lambda: N.Strip(r.random() < 0.7, r.random() < 0.7),
        lambda: N.Prepend(r.choice([SPACE, "x", "é ", " "])), lambda: N.Replace(pattern(r), r.choice(["", " ", SPACE, "xy", "é"])),
        lambda: N.BertNormalizer(r.random() < 0.5, r.random() < 0.5, r.choice([None, True, False]), r.random() < 0.5), N.ByteLevel])()
    pre = lambda: r.choice([
        P.BertPreTokenizer, P.Whitespace, P.WhitespaceSplit, lambda: P.Digits(r.random() < 0.5), lambda: P.Punctuation(r.choice(BEHAVIORS)),
        lambda: P.Split(pattern(r), r.choice(BEHAVIORS), r.random() < 0.3), lambda: P.CharDelimiterSplit(r.choice("a -é")),
        lambda: P.Metaspace(r.choice([SPACE, "_"]), r.choice(["always", "first", "never"]), r.random() < 0.6),
        lambda: P.ByteLevel(r.random() < 0.4, True, r.random() < 0.5), lambda: P.ByteLevel(r.random() < 0.4, True, r.random() < 0.5)])()
    decoder = lambda: r.choice([
        D.ByteLevel, D.ByteFallback, D.Fuse, lambda: D.Metaspace(SPACE, r.choice(["always", "first", "never"])), lambda: D.WordPiece("##", r.random() < 0.5),
        lambda: D.Replace(pattern(r), r.choice(["", " ", "xy"])), lambda: D.Strip(r.choice(" ▁a"), r.randint(0, 2), r.randint(0, 1)), D.BPEDecoder])()
    some = lambda one, most: [one() for _ in range(r.choice([0, 1, 1, 2, 3, most]))]
    decode = some(decoder, 4)
    settings = {"unk_token": r.choice([None, "<unk>", "<unk>"]), "fuse_unk": r.random() < 0.5, "byte_fallback": r.random() < 0.3,
                "ignore_merges": r.random() < 0.2, "missing": r.choice([0, 0, 25])}
    if r.random() < 0.15:
        settings["end_of_word_suffix"] = "</w>"
    if r.random() < 0.15:
        settings["continuing_subword_prefix"] = "##"
    if r.random() < 0.25:
        settings = {"wordpiece": True}
    return some(normalizer, 4), some(pre, 4), (D.Sequence(decode) if len(decode) > 1 else decode[0] if decode else None), settings


def fuzz(bench, rounds=200, seed=1, n=300):
    count, refused, differing, total = 0, {}, 0, 0
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # panics of tokenizers write what nobody reads
    for i in range(int(rounds)):
        r = random.Random(f"{seed} {i}")
        normalizer, pre, decoder, settings = random_parts(r)
        name = f"round {i}"
        try:
            o = train(normalizer, pre, decoder, settings, r.choice([300, 600]), i)
            t = Tokenizer.from_str(json.dumps(o))
            flag = lambda: r.random() < 0.3
            t.add_tokens([AddedToken(c, single_word=flag(), lstrip=flag(), rstrip=flag(), normalized=r.random() < 0.5, special=flag())
                          for c in r.sample(["<x>", "Straße", "the", "é", " a", "ab", "<y> "], r.randint(0, 4))])
            o = json.loads(t.to_str())
            seen = [t.normalizer.normalize_str(a["content"]) for a in o["added_tokens"] if a["normalized"]] if t.normalizer else []
            if len(set(seen)) < len(seen):
                raise Exception("two added tokens that the normalizer makes one")  # tokenizers takes any
            made = list(texts(int(n), i, ["<x>", "Straße", "<y> "]))
            if not settings.get("wordpiece"):
                Oracle(o).ids("a", False)
            bad = compare_one(bench, name, o, made, 1)
        except KeyboardInterrupt:
            raise
        except BaseException as e:
            bad = f"tokenizers: {e}" if isinstance(e, Exception) else "a panic of tokenizers"
        if isinstance(bad, str):
            refused[bad[-60:]] = refused.get(bad[-60:], 0) + 1
            continue
        count += 1
        total += 2 * len(made)
        if sum(bad.values()):
            differing += 1
            print(name, bad, json.dumps({k: v for k, v in o.items() if k != "model"}, ensure_ascii=False), settings, flush=True)
    print(f"{count} random tokenizers, {total} texts: {differing} tokenizers differ; not compared: {refused}")


def gold():
    hurting = ["", " ", "  a", "Hello world", "  The  cafés, it's 2,500.75!\n", "\u00a0x\u3000y", "ﬁne ① ½ Å", "e\u0301te\u0301 가 각",
               "日本語 mixed 中文。", "😀👍🏽 ok", "a\x00b\x01", "▁x ▁", "naïve Straße soLO [new1]  x", "SELECT * FROM t WHERE a<>'b' -- 9",
               "\tif (x)\n\n  y;", "<tool_call>{}", "<0x41>", "don't WON'T", "x" * 120, "१२३ ٣ Ⅷ"]
    with open(os.path.join(HERE, "pipelines.jsonl"), "w") as out:
        print(json.dumps({"made_by": "tests/gold/make_pipelines.py", "tokenizers": __version__}), file=out)
        for name in kinds():
            o = make(name, 450)
            oracle = Oracle(o)
            os.makedirs(os.path.join(HERE, "pipelines", name), exist_ok=True)
            with open(os.path.join(HERE, "pipelines", name, "tokenizer.json"), "w") as f:
                f.write(json.dumps(o, ensure_ascii=False, separators=(",", ":")) + "\n")
            for i, text in enumerate(hurting):
                specials = i % 2 == 0
                ids = oracle.ids(text, specials)
                print(json.dumps({"model": name, "specials": specials, "hex": text.encode().hex(), "ids": ids,
                                  "decoded": oracle.decode(ids, True).encode().hex()}, separators=(",", ":")), file=out)


if __name__ == "__main__":
    commands = {"gold": gold, "compare": compare, "fuzz": fuzz}
    if sys.argv[1:2] and sys.argv[1] in commands:
        commands[sys.argv[1]](*sys.argv[2:])
    else:
        sys.exit(__doc__)

#!/usr/bin/env python3
"""Byte-level BPE learnt as tokenizers' BpeTrainer learns it: a small gold file, and a comparison on as many corpora as wanted.

    make_bpe_train.py gold                         writes tests/gold/bpe_train.jsonl
    make_bpe_train.py compare AMBIT_TRAIN [N]      N corpora (400) through both; the two tokenizer.json must be one object

Corpora are seeded: words of a few letters, in which pairs tie and overlap, words of hundreds of letters, the prose and the
strings of make_bpe.py, vocabularies that are full and that run out of pairs.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

from make_bpe import DIGITS, SPLIT, WORDS, strings, training_text
from tokenizers import Regex, Tokenizer, __version__, decoders, models, normalizers, pre_tokenizers, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
SPECIALS = {"llama": ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"],
            "qwen": ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
            "words": ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]}
PATTERNS = {**{kind: SPLIT.replace("DIGITS", DIGITS[kind]) for kind in DIGITS},
            "words": r"\p{L}+(?=s(?!\p{L}))|\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"}
SPLITS = {"llama": "llama3", "qwen": "qwen2", "words": "words"}
MORE = ["<|pad|>", "<tool call>"]
PROBE = "The mirror of Zürich didn't stream 12345 records;\n\n  SELECT  name<|im_end|> abcabcaab bababa caf\u00e9 cafe\u0301 東京 🚀"


def learnt(case):
    kind = case["kind"]
    t = Tokenizer(models.BPE(ignore_merges=kind == "llama"))
    t.normalizer = normalizers.NFC() if kind != "llama" else None
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PATTERNS[kind]), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(case["texts"], trainers.BpeTrainer(
        vocab_size=case["vocab_size"], show_progress=False, special_tokens=SPECIALS[kind] + MORE,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return t


def corpus(seed):
    r = random.Random(seed)
    kind, size = r.choice(["llama", "qwen"]), r.choice([264, 270, 300, 400, 1000])
    kind = "words" if seed % 20 in range(10, 17) else kind
    if seed % 20 == 0:
        texts = list(training_text(r))[: r.randint(50, 3000)]
    elif seed % 20 == 1:
        texts = [s.decode("utf-8", "replace").replace("\0", "") for s in strings(r.randint(50, 1000), seed, WORDS)]
    else:
        letters = r.choice(["ab", "abc", "abcd", "a", "abcdefgh", "ab c"])
        longest = r.choice([5, 30, 200])
        texts = ["".join(r.choice(letters) for _ in range(r.randint(1, longest))) for _ in range(r.randint(1, 40))]
    return {"kind": kind, "vocab_size": size, "specials": MORE, "texts": texts}


def gold():
    with open(os.path.join(HERE, "bpe_train.jsonl"), "w") as out:
        print(json.dumps({"made_by": "tests/gold/make_bpe_train.py", "tokenizers": __version__}), file=out)
        for seed in [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]:
            case = corpus(seed)
            case["texts"] = case["texts"][:20]
            write(case, out)
        for kind in SPECIALS:
            write({"kind": kind, "vocab_size": 420, "specials": MORE, "texts": list(training_text(random.Random(3)))[:25]}, out)


def write(case, out):
    t = learnt(case)
    o = {**case, "merges": json.loads(t.to_str())["model"]["merges"], "probe": PROBE}
    plain = Tokenizer.from_str(json.dumps({**json.loads(t.to_str()), "added_tokens": []}))  # names of special tokens are text
    print(json.dumps({**o, "ids": plain.encode(PROBE).ids}, ensure_ascii=False), file=out)


def compare(program, n=400):
    with tempfile.TemporaryDirectory() as work:
        for seed in range(int(n)):
            case = corpus(seed)
            with open(work + "/in.jsonl", "w") as f:
                f.writelines(json.dumps({"text": t}) + "\n" for t in case["texts"])
            subprocess.run([program, "tokenizer", work + "/in.jsonl", "--vocab", str(case["vocab_size"]), "--special", ",".join(MORE),
                            "--split", SPLITS[case["kind"]], "-o", work + "/out", "--force"],
                           check=True, env={**os.environ, "AMBIT_LOG": "error"})
            if json.load(open(work + "/out/tokenizer.json")) != json.loads(learnt(case).to_str()):
                sys.exit(f"corpus {seed}: the tokenizers differ")
    print(f"{n} corpora, the same tokenizer.json of each")


if __name__ == "__main__":
    commands = {"gold": gold, "compare": compare}
    if sys.argv[1:2] and sys.argv[1] in commands:
        commands[sys.argv[1]](*sys.argv[2:])
    else:
        sys.exit(__doc__)

#!/usr/bin/env python3
"""Our tokenizer beside Hugging Face's on one core, the same questions in one run, ids compared.

    bench/peers/tokenizer.py MODEL_DIR build/release/bin/bench_tokenizer [QUESTIONS.json ...]

QUESTIONS.json is an array of records with "question", by default Spider's train and dev of $AMBIT_SHARED (../shared).
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

from tokenizers import Tokenizer, __version__


def best(run, times=5):
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def ours(bench, model, texts):
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/in", "wb") as f:
            f.write(b"".join(struct.pack("<I", len(x)) + x for x in texts))
        done = subprocess.run([bench, model, d + "/in", d + "/out"], check=True, capture_output=True, text=True)
        numbers = struct.iter_unpack("<i", open(d + "/out", "rb").read())
    take = lambda: next(numbers)[0]
    return done.stdout.strip(), [[(take(), take(), take())[0] for _ in range(take())] for _ in texts]


def main(model, bench, *files):
    spider = os.path.join(os.environ.get("AMBIT_SHARED", "../shared"), "data/spider/")
    questions = [r["question"] for f in files or (spider + "train_spider.json", spider + "dev.json")
                 for r in json.load(open(f))]
    megabytes = sum(len(q.encode()) for q in questions) / 1e6
    t = Tokenizer.from_file(model + "/tokenizer.json")
    t.no_truncation()
    t.no_padding()
    t.encode_special_tokens = True
    line, ids = ours(bench, model, [q.encode() for q in questions])
    batch, wanted = best(lambda: t.encode_batch_fast(questions, add_special_tokens=False))
    single, _ = best(lambda: [t.encode(q, add_special_tokens=False) for q in questions])
    print("ambit                              ", line)
    print(f"tokenizers {__version__} encode_batch_fast  {megabytes / batch:.1f} MB/s")
    print(f"tokenizers {__version__} encode, one by one {megabytes / single:.1f} MB/s")
    differing = sum(a != b.ids for a, b in zip(ids, wanted))
    print(f"{differing} of {len(questions)} questions with other ids")
    return differing > 0


if len(sys.argv) < 3:
    sys.exit(__doc__)
sys.exit(main(*sys.argv[1:]))

"""LogicalBeam's filling as released: transformers' beams for one record after another, with a processor of logits that
decodes and parses every beam at every step: MODEL RECORDS f32|bf16 [cpu|cuda].  Speaks bench_published's `published` and `said`.

The rules are those of tests/gold/make_infilling.py.
"""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/gold"))
import make_infilling as rules
import make_published as published
import torch
from transformers import PreTrainedTokenizerFast, T5ForConditionalGeneration

folder, path, dtype = sys.argv[1:4]
place = sys.argv[4] if len(sys.argv) > 4 else "cpu"
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))
tok = PreTrainedTokenizerFast.from_pretrained(folder)
model = T5ForConditionalGeneration.from_pretrained(folder, dtype=torch.bfloat16 if dtype == "bf16" else torch.float32).eval().to(place)
published.with_encoder(tok)
records = [r for r in json.load(open(path)) if "template" in r]
found = []


def fill(record):
    case = {"template": record["template"], "schema": record["schema"], "branch_columns": True, "branch_tables": True}
    case["whitelist"] = rules.whitelist(case["schema"], True, True)
    with torch.inference_mode():
        return rules.kept([text for text, _ in published.answers(tok, model, record["source"], case, [])], case)


for line in sys.stdin:
    if line.strip() == "published":
        start = time.time()
        found = [fill(r) for r in records]
        print("%.6f" % (time.time() - start), flush=True)
    else:
        print(sum(map(len, found)), sum(map(bool, found)), flush=True)

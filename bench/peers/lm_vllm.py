"""vLLM beside bench_lm's decoding: MODEL TEXTS BATCH NEW.  Answers decode and said, on the GPU in bf16."""
import json
import os
import sys
import time

from transformers import PreTrainedTokenizerFast
from vllm import LLM, SamplingParams

folder, path, batch, new = sys.argv[1:5]
batch, new, SHOWN = int(batch), int(new), 8
SHARE = 0.4  # of the GPU's memory, so that others fit beside it
tokenizer = PreTrainedTokenizerFast(tokenizer_file=os.path.join(folder, "tokenizer.json"))
prompts = [tokenizer(json.loads(line)["prompt"], add_special_tokens=False)["input_ids"] for line in open(path)][:batch]
model = LLM(model=folder, dtype="bfloat16", max_model_len=max(map(len, prompts)) + new, max_num_seqs=batch,
            gpu_memory_utilization=SHARE, enable_prefix_caching=False)
settings = SamplingParams(temperature=0, max_tokens=new, ignore_eos=True)
said = ""
for line in sys.stdin:
    start = time.perf_counter()
    if line.strip() == "decode":
        out = model.generate([{"prompt_token_ids": p} for p in prompts], settings, use_tqdm=False)
        print("%.7f" % (time.perf_counter() - start), flush=True)
        said = " ".join(str(x) for o in out for x in o.outputs[0].token_ids[:SHOWN])
    else:
        print(said, flush=True)

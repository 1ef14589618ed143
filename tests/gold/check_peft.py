"""Adapters that ambit trained, loaded by peft: prints how far apart log p of every next token, of whole answers, and
merged weights are.

usage: check_peft.py BIN, the folder of ambit's programs.  Writes nothing beside a temporary folder; fails when a number
is beyond its bound.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import torch
from peft import PeftModel
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast
from transformers.utils import logging

logging.disable_progress_bar()

HERE = os.path.dirname(os.path.abspath(__file__))
BOUND = 1e-4  # of log p computed in f32, as a share
QUESTIONS = ["Which singers are there?", "Show the average", "List stadiums by year.", "How many pets has a student?"]
ANSWERS = [" All names of singers", " SELECT avg(age) FROM singer", " By the year of the concert", " Count pets"]
PROMPTS = ["Show", "How many singers are there in every"]
SCRATCH = "--method full --hidden 64 --heads 4 --groups 2 --layers 2 --intermediate 96"
TRAINED = {  # base, and how its adapter is trained
    "pairs": ("f32", "--rank 4 --alpha 6"),
    "rslora": ("f32", "--rank 3 --alpha 2 --rslora --target-modules q,v,down --lora-dropout 0.1 --neftune 5"),
    "head": ("f32", "--rank 4 --target-modules q,k,v,o,gate,up,down --head lora"),
    "whole": ("f32", "--rank 2 --target-modules q --head full"),
    "halves": ("bf16", "--rank 4 --head lora"),
    "on-tied": ("tied", "--rank 8"),
    "tied-head": ("tied", "--rank 2 --target-modules v --head lora"),
}


def write_lines(path, records):
    with open(path, "w") as f:
        f.writelines(json.dumps(r) + "\n" for r in records)


def make_bases(train):
    """The gold base as it is stored and in f32, and a tied one from scratch."""
    tokenizer = os.path.join(HERE, "bpe", "llama", "tokenizer.json")
    shutil.copytree(os.path.join(HERE, "llama", "base"), "bf16")
    AutoModelForCausalLM.from_pretrained("bf16", dtype=torch.float32).save_pretrained("f32")
    for name in ("bf16", "f32"):
        shutil.copy(tokenizer, name)
    train("tied", f"--tokenizer f32 {SCRATCH}")


def log_p(model, prompt, completion):
    ids = torch.tensor([prompt + completion])
    with torch.no_grad():
        y = model(input_ids=ids).logits[0].log_softmax(-1)
    return -sum(y[len(prompt) - 1 + k, t].item() for k, t in enumerate(completion))


def one_token_texts(tok):
    """Texts of the tokens that are what their own text is cut into; special tokens are none, nor is the zero byte."""
    texts = [(t, tok.decode([t])) for t in sorted(set(range(len(tok))) - set(tok.get_added_vocab().values()))]
    return [text for t, text in texts if not {"\ufffd", "\0"} & set(text) and tok.encode(text, add_special_tokens=False) == [t]]


def records_of(tok):
    """Prompts with every next token, and whole answers."""
    pairs = [(p, text) for p in PROMPTS for text in one_token_texts(tok)] + list(zip(QUESTIONS, ANSWERS))
    return [{"id": i, "prompt": p, "completion": c} for i, (p, c) in enumerate(pairs)]


def peft_answers(model, tok, records):
    rows = {p: model(input_ids=torch.tensor([tok.encode(p, add_special_tokens=False)])).logits[0, -1].log_softmax(-1)
            for p in PROMPTS}
    out = []
    for r in records:
        prompt, completion = (tok.encode(r[k], add_special_tokens=False) for k in ("prompt", "completion"))
        own = r["prompt"] in rows
        out.append(-rows[r["prompt"]][completion[0]].item() if own else log_p(model, prompt, completion))
    return out


def farthest(a, b):
    return max(abs(x - y) / abs(y) for x, y in zip(a, b, strict=True))


def load(base, own_head=False):
    """In f32; own_head: a tied model whose head becomes a matrix of its own, as peft wants it for an adapter on it."""
    untied = {"tie_word_embeddings": False} if own_head else {}
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32, **untied).eval()
    if own_head:
        model.lm_head.weight.data = model.model.embed_tokens.weight.data.clone()
    return model


def merged_difference(name, base):
    """Largest difference as a share of a tensor's largest value, and how many values are not the same bits."""
    ours = load_file(os.path.join(name + "-merged", "model.safetensors"))
    model = load(base, base == "tied" and "lm_head.weight" in ours)
    theirs = PeftModel.from_pretrained(model, name).merge_and_unload().state_dict()
    most = other = 0
    for k, v in ours.items():
        want = theirs[k].to(v.dtype)
        most = max(most, ((v.float() - want.float()).abs().max() / want.float().abs().max()).item())
        other += (v != want).sum().item()
    return most, other, sum(v.numel() for v in ours.values()), v.dtype


def check(name, base, tok, records, run):
    run("ambit-infer", f"loss --model {base} --adapter {name} --device cpu --dtype f32 records.jsonl -o {name}.jsonl")
    with open(name + ".jsonl") as f:
        ours = [json.loads(line)["nll"] for line in f]
    before = peft_answers(load(base), tok, records)
    worst = 0
    for folder in (name, name + "-peft"):
        theirs = peft_answers(PeftModel.from_pretrained(load(base), folder).eval(), tok, records)
        worst = max(worst, farthest(ours, theirs))
    most, other, n, dtype = merged_difference(name, base)
    print(f"{name:10} log p: {worst:.1e} apart (the adapter moves it by {farthest(theirs, before):.1e}); "
          f"merged in {dtype}: {most:.1e} apart, {other} of {n} values not the same bits")
    return worst <= BOUND and most <= (1e-6 if dtype == torch.float32 else 2**-8)


def main(programs):
    def run(program, arguments):
        done = subprocess.run([os.path.join(programs, program), *arguments.split()], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{program} {arguments}: exit code {done.returncode}\n{done.stderr}")

    def train(name, how):
        run("ambit-train", f"infill --data train.jsonl --out {name} --device cpu --compute f32 --lr 2e-2 --epochs 4 {how}")

    write_lines("train.jsonl", [{"id": i, "prompt": p, "completion": c}
                                for i, (p, c) in enumerate(zip(QUESTIONS, ANSWERS))])
    make_bases(train)
    tok = PreTrainedTokenizerFast(tokenizer_file=os.path.join("f32", "tokenizer.json"))
    records = records_of(tok)
    write_lines("records.jsonl", records)
    print(f"{len(PROMPTS)} prompts with each of {len(one_token_texts(tok))} next tokens, {len(QUESTIONS)} answers")
    good = True
    for name, (base, how) in TRAINED.items():
        train(name, f"--base {base} {how}")
        run("ambit-train", f"export {name} --format peft -o {name}-peft --verify")
        run("ambit-train", f"export {name} --format merged -o {name}-merged --verify")
        good = check(name, base, tok, records, run) and good
    return 0 if good else 1


if __name__ == "__main__":
    folder = os.path.realpath(sys.argv[1])
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        code = main(folder)
        os.chdir(HERE)
    sys.exit(code)

"""Writes engine.json: what beam search of transformers finds with the models of make_llama.py, free and bound.

What binds it is a list of lists of token sequences, one of each list after another and a stop token behind the last, as
prefix_allowed_tokens_fn allows it.  Computed in f64; answers with their scores, best first.
"""
import itertools
import json
import os

import numpy as np
import torch
from formula import words
from make_llama import MODELS, VOCAB, build

HERE = os.path.dirname(os.path.abspath(__file__))
STOP = 3
# beams, answers, length penalty, early stopping, new tokens, lists: lengths of the sequences in each
CASES = [
    (4, 4, 1.0, False, 12, []),
    (3, 2, 0.0, True, 9, []),
    (4, 4, 1.0, False, 30, [[1, 2, 3, 2, 5, 4]]),
    (5, 3, -0.5, False, 30, [[7], [1, 2, 3, 2, 4], [5], [2, 1, 3], [6]]),
    (6, 6, 1.0, False, 30, [[2, 2, 3], [20], [1]]),
    (3, 3, 2.0, "never", 30, [[18], [1, 2, 2, 1]]),
]


def tokens(name, n, kinds):
    """Tokens above the stop token; of few kinds, so that sequences begin alike."""
    return (4 + words(name, n) % np.uint64(kinds)).astype(np.int64).tolist()


def lists_of(case, lengths):
    lists = []
    for i, row in enumerate(lengths):
        seen = []
        for k, n in enumerate(row):
            one = tokens(f"engine {case} {i} {k}", n, VOCAB - 4 if len(row) == 1 else 5)
            if one not in seen:
                seen.append(one)
        lists.append(seen)
    return lists


def allowed_by(lists, n_prompt):
    whole = [sum(pick, []) + [STOP] for pick in itertools.product(*lists)]

    def allowed(_, ids):
        said = ids[n_prompt:].tolist()
        after = sorted({w[len(said)] for w in whole if len(w) > len(said) and w[:len(said)] == said})
        return after or [STOP]  # of an answer that has ended
    return allowed


def search(model, number, case):
    beams, n, penalty, early, new, lengths = case
    prompt = tokens(f"engine prompt {number}", 3 + 9 * number, VOCAB - 4)
    lists = lists_of(number, lengths)
    ids = torch.tensor([prompt])
    found = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), do_sample=False, num_beams=beams,
                           num_return_sequences=n, length_penalty=penalty, early_stopping=early, max_new_tokens=new,
                           eos_token_id=STOP, pad_token_id=0, return_dict_in_generate=True, output_scores=True,
                           prefix_allowed_tokens_fn=allowed_by(lists, len(prompt)) if lists else None)
    answers = []
    for sequence, score in zip(found.sequences[:, len(prompt):].tolist(), found.sequences_scores.tolist()):
        if score < -1e6:  # rows that hold nothing: fewer answers exist
            continue
        end = sequence.index(STOP) if STOP in sequence else len(sequence)
        answers.append({"tokens": sequence[:end], "stopped": STOP in sequence, "score": score})
    return {"prompt": prompt, "lists": lists, "beams": beams, "n": n, "penalty": penalty, "new": new,
            "early": {False: 0, True: 1, "never": 2}[early], "answers": answers}


def main():
    out = {"stop": STOP, "models": []}
    for tag in ("llama", "qwen2"):
        model = build(MODELS[tag][0])
        out["models"].append({"tag": tag, "cases": [search(model, i, c) for i, c in enumerate(CASES)]})
    with open(os.path.join(HERE, "engine.json"), "w") as f:
        json.dump(out, f)
        f.write("\n")


if __name__ == "__main__":
    main()

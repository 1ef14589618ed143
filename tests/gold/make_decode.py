"""Writes decode.json: what transformers makes of tables of logits by beam search, and what its warpers keep.

The logits of a step are those of (step, last token), numbers of formula.py as sums of a coarse and a fine part so that
hardly two are equal; the answers, their scores and the tokens kept are what is written.
"""
import json
import os

import numpy as np
import torch
from formula import values
from transformers import GenerationConfig, GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.generation.configuration_utils import GenerationMode
from transformers.generation.logits_process import (LogitsProcessor, LogitsProcessorList, MinPLogitsWarper,
                                                    TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper,
                                                    TypicalLogitsWarper)
from transformers.modeling_outputs import CausalLMOutput

HERE = os.path.dirname(os.path.abspath(__file__))
BOS = 1


def logits(name, rows, cols):
    """Multiples of 1/1024 in about [-8, 8)."""
    x = 8 * values(name + " coarse", rows * cols) + values(name + " fine", rows * cols) / 16
    return torch.tensor(x.reshape(rows, cols), dtype=torch.float32)


class Table(PreTrainedModel, GenerationMixin):
    """A model without weights."""
    config_class = PretrainedConfig
    main_input_name = "input_ids"

    def __init__(self, config, vocab, steps, stops, bonus):
        super().__init__(config)
        self.anchor = torch.nn.Parameter(torch.zeros(1))
        self.table, self.vocab = logits(f"beams {vocab}", steps * vocab, vocab), vocab
        self.table[:, stops] += bonus

    def forward(self, input_ids, **_):
        step = input_ids.shape[1] - 1
        rows = self.table[step * self.vocab + input_ids[:, -1]]
        return CausalLMOutput(logits=rows[:, None, :])

    def prepare_inputs_for_generation(self, input_ids, **_):
        return {"input_ids": input_ids}


class Beams(GenerationConfig):
    """One beam is searched for as many are."""

    def get_generation_mode(self, assistant_model=None):
        return GenerationMode.BEAM_SEARCH


class Allowed(LogitsProcessor):
    """A token t may follow token f where (f + t) % 3 is not 0."""

    def __call__(self, input_ids, scores):
        tokens = torch.arange(scores.shape[-1])
        return scores.masked_fill((input_ids[:, -1:] + tokens) % 3 == 0, -float("inf"))


def beams(vocab, width, steps, penalty, early, stops, bonus, allowed):
    """With the logits of stop tokens raised by the bonus, answers end early."""
    config = PretrainedConfig(vocab_size=vocab, num_hidden_layers=1, is_encoder_decoder=False)
    model = Table(config, vocab, steps, stops, bonus).eval()
    settings = Beams(num_beams=width, num_return_sequences=width, max_new_tokens=steps, do_sample=False,
                     length_penalty=penalty, early_stopping=early, eos_token_id=stops, pad_token_id=vocab,
                     bos_token_id=BOS, use_cache=False, return_dict_in_generate=True, output_scores=True)
    out = model.generate(torch.tensor([[BOS]]), settings,
                         logits_processor=LogitsProcessorList([Allowed()] if allowed else []))
    answers = []
    for tokens, score in zip(out.sequences[:, 1:].tolist(), out.sequences_scores.tolist()):
        ends = [i for i, t in enumerate(tokens) if t in stops]
        tokens = tokens[:ends[0] + 1] if ends else tokens[:steps]
        assert vocab not in tokens
        if score > -1e8 / steps**abs(penalty):
            answers.append({"tokens": tokens, "score": float(score)})
    return {"vocab": vocab, "width": width, "steps": steps, "penalty": penalty,
            "early": {False: 0, True: 1, "never": 2}[early], "stops": stops, "bonus": bonus,
            "allowed": allowed, "answers": answers}


def kept(vocab, rows, temperature, top_k, top_p, min_p, typical_p):
    scores = logits(f"draw {vocab}", rows, vocab)
    warpers = LogitsProcessorList([TemperatureLogitsWarper(temperature)] if temperature != 1 else [])
    warpers += [TopKLogitsWarper(top_k)] if top_k else []
    warpers += [TopPLogitsWarper(top_p)] if top_p < 1 else []
    warpers += [MinPLogitsWarper(min_p)] if min_p else []
    warpers += [TypicalLogitsWarper(typical_p)] if typical_p < 1 else []
    left = warpers(None, scores)
    return {"vocab": vocab, "temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p,
            "typical_p": typical_p, "kept": [torch.nonzero(row > -float("inf")).flatten().tolist() for row in left]}


cases = [beams(257, 64, 4, 1.0, False, [2], 4, False)]
for width in (1, 2, 5, 10):
    for penalty in (0.0, 1.0, 2.0, -1.0):
        for early in (False, True, "never"):
            for stops, bonus in ([2], 0), ([2], 4), ([2, 5, 7], 3):
                cases.append(beams(31, width, 9, penalty, early, stops, bonus, False))
        cases.append(beams(31, width, 9, penalty, False, [2, 5], 0, True))
for width, early in ((5, False), (10, False), (10, "never")):
    cases.append(beams(4, width, 7, 1.0, early, [2], 0, False))
draws = [kept(101, 6, *settings) for settings in (
    (1.0, 0, 1.0, 0.0, 1.0), (0.7, 0, 1.0, 0.0, 1.0), (1.0, 7, 1.0, 0.0, 1.0), (1.5, 0, 0.9, 0.0, 1.0),
    (1.3, 0, 0.01, 0.0, 1.0), (2.0, 0, 1.0, 0.05, 1.0), (2.0, 0, 1.0, 0.0, 0.9), (2.0, 0, 1.0, 0.0, 0.3),
    (3.0, 40, 0.95, 0.02, 0.8), (4.0, 500, 0.99, 0.001, 0.95))]
draws += [kept(1501, 1, 1.5, 700, 0.97, 0.0005, 0.9), kept(4801, 1, 1.5, 1700, 0.96, 0.0005, 0.85)]
with open(os.path.join(HERE, "decode.json"), "w") as f:
    json.dump({"beams": cases, "draws": draws}, f, separators=(",", ":"))
    f.write("\n")

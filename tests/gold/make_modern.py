"""Writes modern.safetensors: hidden states and gradients of small random ModernBERTs of transformers, computed in f64.

Weights, ids and the loss are the formulas of formula.py, as in make_bert.py.  And the folder modern: another one with a
byte-level BPE, as people hand them on, for tests/cli/cli_modern.sh to train.
"""
import os

import numpy as np
import torch
from formula import digest, values, words
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import ModernBertConfig, ModernBertModel, PreTrainedTokenizerFast

torch.set_default_dtype(torch.float64)
VOCAB, LENGTHS = 61, (31, 1, 127, 33)
# layers, hidden, heads, intermediate, tokens that a window spans, every how many layers there is none
MODELS = {"m32": (3, 64, 2, 96, 24, 2), "m64": (2, 64, 1, 160, 10, 3), "whole": (2, 64, 2, 64, 8, 1)}


def weight(name, shape):
    x = values(name, int(np.prod(shape))).reshape(shape)
    if name.endswith("norm.weight"):
        return 1 + x / 4
    return x / 4 if "embeddings" in name else x / 8


answers = {}
for tag, (layers, hidden, heads, intermediate, window, every) in MODELS.items():
    config = ModernBertConfig(
        vocab_size=VOCAB, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
        intermediate_size=intermediate, local_attention=window, max_position_embeddings=130, pad_token_id=None,
        bos_token_id=None, eos_token_id=None, cls_token_id=None, sep_token_id=None, global_attn_every_n_layers=every,
        attn_implementation="eager")
    assert [t == "full_attention" for t in config.layer_types] == [i % every == 0 for i in range(layers)]
    model = ModernBertModel(config).double()
    for name, p in model.named_parameters():
        p.data = torch.tensor(weight("model." + name, tuple(p.shape)))
    total = sum(LENGTHS)
    ids = torch.tensor((words("ids", total) % np.uint64(VOCAB)).astype(np.int64))
    states, first = [], 0
    for n in LENGTHS:  # one sequence at a time: nothing is padded or masked
        states.append(model(input_ids=ids[None, first:first + n]).last_hidden_state[0])
        first += n
    y = torch.cat(states)
    y.backward(torch.tensor(values("loss", y.numel())).reshape(y.shape))
    answers[f"{tag}/hidden"] = y.detach().numpy().astype(np.float32)
    for name, p in model.named_parameters():
        answers[f"{tag}/model.{name}"] = digest("model." + name, p.grad.numpy())
save_file(answers, os.path.join(os.path.dirname(os.path.abspath(__file__)), "modern.safetensors"))

SPECIALS = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "modern")
bpe = Tokenizer(models.BPE())
bpe.normalizer = normalizers.NFC()
bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
bpe.decoder = decoders.ByteLevel()
bpe.train_from_iterator(
    ["What is the name of each trainer?", "Show the fee of all doctors.", "How many patients are there?"] * 9,
    trainers.BpeTrainer(vocab_size=320, special_tokens=SPECIALS, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
bpe.post_processor = processors.TemplateProcessing(
    single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
PreTrainedTokenizerFast(
    tokenizer_object=bpe, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]",
    mask_token="[MASK]").save_pretrained(folder)
torch.set_default_dtype(torch.float32)
torch.manual_seed(1)
ModernBertModel(ModernBertConfig(
    vocab_size=328, hidden_size=32, num_hidden_layers=4, num_attention_heads=2, intermediate_size=48,
    local_attention=16, max_position_embeddings=512, pad_token_id=3, bos_token_id=1, cls_token_id=1, eos_token_id=2,
    sep_token_id=2)).to(torch.bfloat16).save_pretrained(folder)

"""Llamas and T5s of random weights, adapters and texts for the benchmarks of language models, made without any package.

Weights are bf16 with random signs, mantissas and exponents, of root mean square .017. Within a tensor they repeat every
PIECE numbers: drawing 16 GB of different ones takes most of a minute. Shards are written by one process a core, so that
16 GB never lie in memory.  A token is a byte, so texts have the lengths wanted.
"""
import json
import math
import multiprocessing
import os
import random
import shutil
import struct

LLAMA_8B = {"vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
            "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 131072}
LLAMA_TINY = {"vocab_size": 16384, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
              "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256}
T5_XL = {"vocab_size": 32128, "d_model": 2048, "d_kv": 64, "d_ff": 5120, "num_layers": 24, "num_heads": 32}
T5_TINY = {"vocab_size": 512, "d_model": 64, "d_kv": 16, "d_ff": 96, "num_layers": 2, "num_heads": 4}
END = 256  # the id after those of the bytes
RANK = 16
PIECE = (1 << 20) + 77  # numbers drawn for a tensor; odd, so that rows do not repeat
ONE = b"\x80\x3f"
# The upper byte of a bf16: a random sign, and of four exponents' upper bits one is smaller than the rest.
UPPER = bytes((b & 0x80) | (0x3b if b & 0x60 == 0 else 0x3c) for b in range(256))
SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
         r"\s+(?!\S)|\s+")
PARTS = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj",
         "mlp.down_proj")


def maps(shape):
    """[out, in] of the seven maps of a block."""
    c, i = shape["hidden_size"], shape["intermediate_size"]
    kv = c // shape["num_attention_heads"] * shape["num_key_value_heads"]
    return dict(zip(PARTS, [(c, c), (kv, c), (kv, c), (c, c), (i, c), (i, c), (c, i)]))


def t5_maps(shape, side):
    """[out, in] of the maps of a block: of attentions, of the feed-forward."""
    c, inner, i = shape["d_model"], shape["num_heads"] * shape["d_kv"], shape["d_ff"]
    attention = {"q": (inner, c), "k": (inner, c), "v": (inner, c), "o": (c, inner)}
    maps = {"layer.0.SelfAttention." + part: s for part, s in attention.items()}
    if side == "decoder":
        maps.update({"layer.1.EncDecAttention." + part: s for part, s in attention.items()})
    last = "layer.%d.DenseReluDense." % (1 if side == "encoder" else 2)
    maps.update({last + "wi_0": (i, c), last + "wi_1": (i, c), last + "wo": (c, i)})
    return maps


def t5_shards(shape):
    c, v = shape["d_model"], shape["vocab_size"]
    yield {"shared.weight": (v, c), "lm_head.weight": (v, c)}
    for side in ("encoder", "decoder"):
        for k in range(shape["num_layers"]):
            block = "%s.block.%d." % (side, k)
            tensors = {block + name + ".weight": s for name, s in t5_maps(shape, side).items()}
            tensors.update({block + "layer.%d.layer_norm.weight" % n: (c,) for n in range(2 if side == "encoder" else 3)})
            if k == 0:
                tensors[block + "layer.0.SelfAttention.relative_attention_bias.weight"] = (32, shape["num_heads"])
            yield tensors
        yield {side + ".final_layer_norm.weight": (c,)}


def shards(shape):
    """For each file its tensors: name and size."""
    if "d_model" in shape:
        yield from t5_shards(shape)
        return
    c, v = shape["hidden_size"], shape["vocab_size"]
    yield {"model.embed_tokens.weight": (v, c)}
    for k in range(shape["num_hidden_layers"]):
        layer = "model.layers.%d." % k
        tensors = {layer + part + ".weight": s for part, s in maps(shape).items()}
        tensors.update({layer + norm + ".weight": (c,) for norm in ("input_layernorm", "post_attention_layernorm")})
        yield tensors
    yield {"model.norm.weight": (c,), "lm_head.weight": (v, c)}


def write_values(f, name, n):
    if name.endswith("norm.weight"):
        f.write(ONE * n)
        return
    values = bytearray(random.Random(name).randbytes(2 * min(PIECE, n)))
    values[1::2] = values[1::2].translate(UPPER)
    for at in range(0, n, PIECE):
        f.write(memoryview(values)[:2 * (n - at)])


def write_shard(job):
    """One safetensors file of {name: size}; returns its bytes."""
    path, tensors = job
    header, at = {}, 0
    for name, s in tensors.items():
        header[name] = {"dtype": "BF16", "shape": s, "data_offsets": [at, at + 2 * math.prod(s)]}
        at += 2 * math.prod(s)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for name, s in tensors.items():
            write_values(f, name, math.prod(s))
    return at


def byte_letters():
    """The letter that stands for each byte in a byte-level vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return [chr(b) if b in plain else chr(256 + rest.index(b)) for b in range(256)]


def write_tokenizer(folder):
    vocabulary = {letter: b for b, letter in enumerate(byte_letters())}
    whole = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": SPLIT}, "behavior": "Isolated", "invert": False}
    end = {"id": END, "content": "<|end|>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
           "special": True}
    json.dump({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [end], "normalizer": None,
               "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, whole]}, "post_processor": None,
               "decoder": whole, "model": {"type": "BPE", "dropout": None, "unk_token": None, "fuse_unk": False,
                                           "continuing_subword_prefix": None, "end_of_word_suffix": None,
                                           "byte_fallback": False, "ignore_merges": False, "vocab": vocabulary,
                                           "merges": []}}, open(os.path.join(folder, "tokenizer.json"), "w"))


def write_t5_config(folder, shape):
    json.dump(dict(shape, model_type="t5", architectures=["T5ForConditionalGeneration"], is_encoder_decoder=True,
                   feed_forward_proj="gated-gelu", relative_attention_num_buckets=32,
                   relative_attention_max_distance=128, layer_norm_epsilon=1e-6, dropout_rate=0.1,
                   tie_word_embeddings=False, decoder_start_token_id=0, pad_token_id=0, eos_token_id=END,
                   dtype="bfloat16"), open(os.path.join(folder, "config.json"), "w"))


def write_config(folder, shape):
    if "d_model" in shape:
        write_t5_config(folder, shape)
        return
    rope = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192, "rope_theta": 500000.0}
    json.dump(dict(shape, model_type="llama", architectures=["LlamaForCausalLM"], hidden_act="silu", rms_norm_eps=1e-5,
                   rope_parameters=rope, tie_word_embeddings=False, attention_bias=False, mlp_bias=False,
                   attention_dropout=0.0, initializer_range=0.02, bos_token_id=END, eos_token_id=END, dtype="bfloat16"),
              open(os.path.join(folder, "config.json"), "w"))


def model_bytes(shape):
    return 2 * sum(math.prod(s) for tensors in shards(shape) for s in tensors.values())


def write_model(folder, shape):
    """A folder as transformers writes it; OSError where the disk has no room for it."""
    os.mkdir(folder)
    need, free = model_bytes(shape), shutil.disk_usage(folder).free
    if need > free:
        raise OSError("%s has %.3g GB free, the weights are %.3g (TMPDIR names another folder)" %
                      (folder, free / 1e9, need / 1e9))
    names = ["model-%05d.safetensors" % i for i, _ in enumerate(shards(shape))]
    with multiprocessing.Pool() as pool:
        pool.map(write_shard, [(os.path.join(folder, n), t) for n, t in zip(names, shards(shape))], chunksize=1)
    weight_map = {tensor: n for n, tensors in zip(names, shards(shape)) for tensor in tensors}
    json.dump({"metadata": {"total_size": need}, "weight_map": weight_map},
              open(os.path.join(folder, "model.safetensors.index.json"), "w"))
    write_tokenizer(folder)
    write_config(folder, shape)


def write_adapter(folder, shape):
    """An adapter as PEFT writes it, on all seven maps of every block and on the head, both its parts random."""
    os.mkdir(folder)
    sizes = {"model.layers.%d.%s" % (k, part): s for k in range(shape["num_hidden_layers"])
             for part, s in maps(shape).items()}
    sizes["lm_head"] = (shape["vocab_size"], shape["hidden_size"])
    tensors = {}
    for name, (rows, cols) in sizes.items():
        tensors["base_model.model.%s.lora_A.weight" % name] = (RANK, cols)
        tensors["base_model.model.%s.lora_B.weight" % name] = (rows, RANK)
    write_shard((os.path.join(folder, "adapter_model.safetensors"), tensors))
    json.dump({"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": RANK, "lora_alpha": 2 * RANK, "lora_dropout": 0.0,
               "bias": "none", "target_modules": sorted({n.rsplit(".", 1)[-1] for n in sizes})},
              open(os.path.join(folder, "adapter_config.json"), "w"))


def write_texts(path, count, length, answer):
    """Texts of `length` tokens, the last `answer` of them to be predicted."""
    rng, letters = random.Random(length), "abcdefghijklmnopqrstuvwxyz      "
    with open(path, "w") as f:
        for i in range(count):
            text = "".join(rng.choice(letters) for _ in range(length))
            f.write(json.dumps({"id": str(i), "prompt": text[:length - answer],
                                "completion": text[length - answer:]}) + "\n")

"""Other systems that decode on the CPU: SYSTEM MODEL TEXTS f32|bf16 BATCH NEW BEAMS.  Speaks bench_lm's `decode` and
`said`; every answer has NEW tokens.

SYSTEM is transformers, ctranslate2 (MODEL is then a folder of its converter) or llama.cpp (a GGUF file; no beams, greedy
by numpy over its logits).  HF names the Hugging Face folder where that is not MODEL, for its tokenizer.
"""
import json
import os
import sys
import time

system, model_path, path, dtype, batch, new, beams = sys.argv[1:8]
batch, new, beams = int(batch), int(new), int(beams)
folder = os.environ.get("HF", model_path)
threads = int(os.environ.get("OMP_NUM_THREADS", os.cpu_count()))
SHOWN = 8

from tokenizers import Tokenizer

seq2seq = json.load(open(os.path.join(folder, "config.json"))).get("is_encoder_decoder", False)
tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
prompts = [tokenizer.encode(json.loads(line)["prompt"], add_special_tokens=False).ids
           for _, line in zip(range(batch), open(path))]
if seq2seq:
    prompts = [p + [tokenizer.token_to_id("</s>")] for p in prompts]


def transformers():
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM
    torch.set_num_threads(threads)
    kind = torch.bfloat16 if dtype == "bf16" else torch.float32
    generate = (AutoModelForSeq2SeqLM if seq2seq else AutoModelForCausalLM).from_pretrained(folder, dtype=kind).eval().generate
    longest = max(map(len, prompts))
    ids = torch.tensor([[0] * (longest - len(p)) + p for p in prompts])
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts])

    def run():
        with torch.inference_mode():
            out = generate(input_ids=ids, attention_mask=mask, max_new_tokens=new, min_new_tokens=new, do_sample=False,
                           num_beams=beams, num_return_sequences=beams, pad_token_id=0, eos_token_id=None)
        return out[::beams, 1 if seq2seq else longest:].tolist()
    return run


def ctranslate2():
    import ctranslate2 as ct
    names = ("shared_vocabulary.json", "vocabulary.json")
    words = json.load(open(next(p for p in (os.path.join(model_path, n) for n in names) if os.path.exists(p))))
    kind = "bfloat16" if dtype == "bf16" else "float32"
    made = ct.Translator if seq2seq else ct.Generator
    generator = made(model_path, compute_type=kind, intra_threads=threads, inter_threads=1)
    texts = [[words[i] for i in p] for p in prompts]

    def translate():
        out = generator.translate_batch(texts, beam_size=beams, num_hypotheses=beams, max_decoding_length=new,
                                        min_decoding_length=new)
        return [[words.index(t) for t in r.hypotheses[0]] for r in out]

    def run():
        out = generator.generate_batch(texts, beam_size=beams, num_hypotheses=beams, max_length=new, min_length=new,
                                       sampling_topk=1, include_prompt_in_result=False)
        return [r.sequences_ids[0] for r in out]
    return translate if seq2seq else run


def llama_cpp():
    import llama_cpp as l
    import numpy as np
    assert beams == 1, "llama.cpp has no beams"
    l.llama_backend_init()
    l.llama_log_set(quiet, None)
    model = l.llama_model_load_from_file(model_path.encode(), l.llama_model_default_params())
    set = l.llama_context_default_params()
    set.n_ctx = batch * ((max(map(len, prompts)) + new + 255) // 256 * 256)  # each sequence has its own
    set.n_batch = set.n_ubatch = 1024
    set.n_seq_max, set.kv_unified, set.n_threads, set.n_threads_batch = batch, False, threads, threads
    context = l.llama_init_from_model(model, set)
    vocabulary = l.llama_vocab_n_tokens(l.llama_model_get_vocab(model))
    room = l.llama_batch_init(1024, 0, batch)

    def step(rows):
        """Rows (token, place, sequence, is it read); the likeliest next token of those that are."""
        found = {}
        for at in range(0, len(rows), 1024):
            piece = rows[at:at + 1024]
            room.n_tokens = len(piece)
            for i, (token, place, sequence, read) in enumerate(piece):
                room.token[i], room.pos[i], room.n_seq_id[i], room.logits[i] = token, place, 1, read
                room.seq_id[i][0] = sequence
            assert l.llama_decode(context, room) == 0
            for i, row in enumerate(piece):
                if row[3]:
                    found[row[2]] = int(np.ctypeslib.as_array(l.llama_get_logits_ith(context, i),
                                                              (vocabulary,)).argmax())
        return [found[s] for s in range(batch)]

    def run():
        l.llama_memory_clear(l.llama_get_memory(context), True)
        said = [step([(t, i, s, i == len(p) - 1) for s, p in enumerate(prompts) for i, t in enumerate(p)])]
        for k in range(new - 1):
            said.append(step([(t, len(prompts[s]) + k, s, 1) for s, t in enumerate(said[-1])]))
        return list(zip(*said))
    return run


def make_quiet():
    import llama_cpp
    return llama_cpp.llama_log_callback(lambda level, text, data: None)


quiet = make_quiet() if system == "llama.cpp" else None
run = {"transformers": transformers, "ctranslate2": ctranslate2, "llama.cpp": llama_cpp}[system]()
said = []
for line in sys.stdin:
    if line.strip() == "decode":
        start = time.perf_counter()
        said = run()
        print("%.7f" % (time.perf_counter() - start), flush=True)
    else:
        print(" ".join(str(x) for row in said for x in row[:SHOWN]), flush=True)

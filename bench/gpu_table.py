"""Shared code of the rows of bench/gpu.sh's table: the device's peak rates, memory use, peers, and the table itself."""
import importlib.util
import json
import os
import re
import subprocess
import sys

from runner import here, largest_difference, start_all

FIRST_ANSWER = 150  # seconds for a peer to load, compile and run once
LARGEST_DIFFERENCE = 0.1  # between 16-bit logits, relative to their spread
HEAD = ("", "what", "ours", "peer", "ratio", "% floor", "which peer, batch or workers")


class Table:
    """bin_dir: folder of the programs; form: --quick, --short or neither; kept: a file of finished rows, or None;
    reason: why no peer can run on a GPU here, or None."""
    def __init__(self, bin_dir, device, form, kept=None):
        self.bin_dir, self.device, self.quick, self.short = bin_dir, device, form == "--quick", form == "--short"
        self.notes, self.reason, self.kept = [], self.no_peers(), kept
        self.rows = [json.loads(line) for line in open(kept)] if kept and os.path.exists(kept) else []

    def sized(self, full, short, quick):
        return quick if self.quick else short if self.short else full

    def program(self, name):
        return os.path.join(self.bin_dir, name)

    def no_peers(self):
        if self.device != "cuda":
            return "peers left out: they run on a GPU, this is %s" % self.device
        if not importlib.util.find_spec("torch"):
            return "peers left out: %s has no torch (PYTHON names another)" % sys.executable
        import torch
        return None if torch.cuda.is_available() else "peers left out: torch %s sees no GPU" % torch.__version__

    def measure_ceilings(self, side):
        """FLOP/s of f32 and bf16 products, bytes a second of a copy."""
        command = [self.program("bench_kernels")] + (["--quick"] if self.quick else []) + ["--peaks", str(side),
                                                                                           self.device]
        text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        print(text, end="", flush=True)
        found = re.search(r"product peak: (\S+) GFLOP/s f32, (\S+) bf16; copy of \S+ MB: (\S+) GB/s", text)
        self.f32_peak, self.bf16_peak, self.copy_rate = (float(x) * 1e9 for x in found.groups())

    def used(self):
        """Bytes of GPU memory in use by all processes."""
        text = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "-i", "0"],
                              check=True, stdout=subprocess.PIPE, text=True).stdout
        return int(text) << 20

    def peers_of(self, script, systems, arguments, line):
        """The peers that start; the notes get a reason for each of the others."""
        if self.reason:
            self.notes.append(self.reason)
            return []
        makers = [(s, [sys.executable, os.path.join(here, "peers", script), s] + arguments) for s in systems]
        ready, failed = start_all(makers, line, FIRST_ANSWER)
        self.notes.extend(failed)
        return ready

    def agreeing(self, ours, peers):
        """The peers whose logits equal ours up to rounding."""
        expected, good = ours.logits(), []
        for r in peers:
            difference = largest_difference(r, expected)
            print("outputs: %s and %s differ by at most %.2e of the logits' spread" % (ours.name, r.name, difference))
            if difference <= LARGEST_DIFFERENCE:
                good.append(r)
            else:
                self.notes.append("%s: left out, its logits differ by %.2g of their spread" % (r.name, difference))
        return good

    def add(self, *row):
        """Adds a row with the columns of HEAD; prints and saves it at once, in case the run is interrupted."""
        self.rows.append(row)
        print("  ".join(x for x in row if x), flush=True)
        if self.kept:
            with open(self.kept, "a") as f:
                f.write(json.dumps(row) + "\n")

    def add_rates(self, name, what, ours, peers, unit, count, floor):
        """count: items per run; floor: the least possible seconds of a run on this device."""
        best = min(peers, key=lambda r: r.median()) if peers else None
        mine = ours.median()
        self.add(name, what, "%.4g %s" % (count / mine, unit),
                 "%.4g %s" % (count / best.median(), unit) if best else "-",
                 "%.2f" % (best.median() / mine) if best else "-", "%.2g" % (100 * floor / mine),
                 "" if not best else best.name + (", %s" % best.size if best.size else ""))
        for r in [ours] + peers:
            r.close()

    def print(self):
        widths = [max(len(r[i]) for r in self.rows + [HEAD]) for i in range(len(HEAD))]
        for r in [HEAD] + self.rows:
            print("  ".join(x.ljust(w) for x, w in zip(r, widths)).rstrip())
        print("%% floor: time at the product peak (X, L), at product peak or copy rate, whichever is longer (G, D), of "
              "ours%s" % self.sized("", "; few turns", "; tiny shapes: no figure of speed"))
        for note in dict.fromkeys(self.notes):
            print("* " + note)

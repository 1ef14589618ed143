"""The rows of the engine in bench/gpu.sh's table.

With Llama-3.1-8B's shape: the cost of a constraint per step (T3), jump-forward decoding (T4), many prompts with shared
prefixes (D1, D2), and beams under a constraint (D3).  With Flan-T5-XL's shape: the same beams (T1), and template filling
compared with LogicalBeam's released code (T2).
"""
import json
import math
import os
import random
import shutil
import sys

from gpu_lm import LmRows, maps
from lm_model import T5_TINY, T5_XL, t5_maps, write_model, write_texts
from runner import Runner, Stopped, here, sweep, take_turns, work

FULL = {"groups": 85, "each": 5, "shared": 600, "own": 86, "new": 100, "static": [32, 64, 128], "questions": 64,
        "beams": 10, "beam_batches": [1, 2, 4, 8], "names": 1000, "bound": 8, "rounds": 3,
        "source": 256, "templates": 4}
SHORT = dict(FULL, static=[256], beam_batches=[4], rounds=1)
QUICK = {"groups": 2, "each": 2, "shared": 70, "own": 6, "new": 4, "static": [2, 4], "questions": 2, "beams": 3,
         "beam_batches": [1, 2], "names": 20, "bound": 2, "rounds": 1,
         "source": 40, "templates": 1}
LETTERS = "abcdefghijklmnopqrstuvwxyz      "
# Token counts of the fixed parts of a template.  Names of one to six tokens fill the slots between them.
FIXED, LONGEST_NAME = (12, 15, 9), 6


def write_shared(path, groups, each, shared, own):
    """Prompts of `shared` and `own` tokens; groups of `each` prompts share their prefix."""
    rng = random.Random(groups)
    def letters(n):
        return "".join(rng.choice(LETTERS) for _ in range(n))
    with open(path, "w") as f:
        for g in range(groups):
            beginning = letters(shared)
            for i in range(each):
                f.write(json.dumps({"id": "%d-%d" % (g, i), "prompt": beginning + letters(own), "completion": "a"}) + "\n")


def write_lists(path, names):
    """Writes a template with two slots of that many names; returns the maximum length of a completion, end included."""
    rng, lists = random.Random(names), []
    for k, n in enumerate(FIXED):
        lists.append([[rng.randrange(33, 127) for _ in range(n)]])
        if k < len(FIXED) - 1:
            lists.append([[rng.randrange(97, 123) for _ in range(rng.randint(1, LONGEST_NAME))] for _ in range(names)])
    json.dump(lists, open(path, "w"))
    return sum(FIXED) + (len(FIXED) - 1) * LONGEST_NAME + 1


class EngineRows(LmRows):
    def __init__(self, table, wanted):
        super().__init__(table, wanted)
        self.own = table.sized(FULL, SHORT, QUICK)

    def run(self):
        if self.peer_reason:
            self.table.notes.append(self.peer_reason)
        try:
            if not os.path.isdir(self.folder):
                write_model(self.folder, self.shape)
        except OSError as e:
            raise Stopped("no model of random weights: %s" % e)
        self.lists = os.path.join(work, "lists.json")
        self.most = write_lists(self.lists, self.own["names"])
        for names, row in self.parts():
            if self.wanted & names:
                try:
                    row()
                finally:
                    self.close()

    def parts(self):
        return (({"D1", "D2"}, self.shared_rows), ({"D3"}, self.beam_row), ({"T3"}, self.constraint_row),
                ({"T4"}, self.forced_row))

    def prompts(self, count):
        o = self.own
        groups = math.ceil(count / o["each"])
        path = os.path.join(work, "shared-%d.jsonl" % count)
        write_shared(path, groups, o["each"], o["shared"], o["own"])
        return path

    def floor_of(self, prompts, read, rows, steps):
        """Least seconds: prefill at the product peak, and one read of the weights per step."""
        s = self.shape
        body = s["num_hidden_layers"] * sum(a * b for a, b in maps(s).values())
        head = s["hidden_size"] * s["vocab_size"]
        step = max(2 * (body + head) / self.table.copy_rate, 2 * rows * (body + head) / self.table.bf16_peak)
        return 2 * body * read / self.table.bf16_peak + steps * step + 2 * prompts * head / self.table.bf16_peak

    def best_peer(self, system, texts, count, new, lines, sizes):
        r = self.peer(system, texts, count, new, lines)
        if not r:
            return []
        try:
            if sizes:
                times = {}
                for n in sizes:
                    r.ask("batch %d" % n)
                    times[n] = float(r.ask("decode", 600))
                best = min(times, key=times.get)
                if not math.isfinite(times[best]):
                    raise Stopped("%s: no memory for %d prompts at once" % (r.name, min(sizes)))
                r.size = "batch %d" % best
                r.ask("batch %d" % best)
            else:
                r.ask("decode", 600)
        except Stopped as e:
            self.table.notes.append(str(e))
            return []
        return [r]

    def shared_rows(self):
        o, new = self.own, self.own["new"]
        count = o["groups"] * o["each"]
        texts = self.prompts(count)
        ours = self.ours("ambit", texts, count, new, ["decode"])
        peers = {}
        if "D1" in self.wanted:
            peers["D1"] = self.best_peer("hf", texts, count, new, [], o["static"])
        if "D2" in self.wanted:
            peers["D2"] = self.best_peer("hf-paged", texts, count, new, [], [])
        take_turns([ours] + sum(peers.values(), []), o["rounds"], "decode")
        floor = self.floor_of(count, o["groups"] * (o["shared"] + o["each"] * o["own"]), count, new)
        for row, found in peers.items():
            self.table.add_rates(row, "%d prompts of %d tokens, %d to a beginning of %d, %d new" %
                                 (count, o["shared"] + o["own"], o["each"], o["shared"], new), ours, found, "tokens/s",
                                 count * new, floor)

    def beam_row(self):
        o, count = self.own, self.own["questions"]
        read = math.ceil(count / o["each"]) * o["shared"] + count * o["own"]
        self.bound_beams("D3", count, self.prompts(count), read)

    def bound_beams(self, row, count, texts, read):
        o = self.own
        lines = ["beams %d" % o["beams"], "bind " + self.lists]
        ours = self.ours("ambit", texts, count, self.most, lines + ["decode"])
        peers = [] if self.table.short else self.best_peer("hf", texts, count, self.most, lines, o["beam_batches"])
        take_turns([ours] + peers, o["rounds"], "decode")
        same = peers and sum(a == b for a, b in zip(ours.ask("said").split(), peers[0].ask("said").split()))
        if peers:
            self.table.notes.append("%s: %d of %d first tokens are those of %s" %
                                    (row, same, len(ours.ask("said").split()), peers[0].name))
        self.table.add_rates(row, "%d beams for %d questions, bound to a template" % (o["beams"], count), ours, peers,
                             "questions/s", count, self.floor_of(count, read, count * o["beams"], sum(FIXED) / 16 + 8))

    def constraint_row(self):
        """Compares steps of the same number of rows with and without a constraint."""
        o, count = self.own, self.own["questions"]
        texts, beams = self.prompts(count), "beams %d" % o["beams"]
        bound = self.ours("bound", texts, count, sum(FIXED), [beams, "bind " + self.lists])
        built = float(bound.said)
        bound.ask("single")
        free = self.ours("free", texts, count, sum(FIXED), [beams])
        for r in (bound, free):
            r.ask("decode", 600)
        take_turns([bound, free], o["rounds"], "decode")
        more = (bound.median() - free.median()) / sum(FIXED)
        self.table.add("T3", "a constraint of %d names, %d rows: more a step than free" %
                       (o["names"], count * o["beams"]), "%.1f us" % (1e6 * more), "%.4g ms a step" %
                       (1e3 * free.median() / sum(FIXED)), "%.3f" % (bound.median() / free.median()), "-",
                       "ambit free; tables built in %.3f ms" % (1e3 * built))

    def forced_row(self):
        o, count = self.own, self.own["bound"]
        texts = self.prompts(count)
        ours = self.ours("several at once", texts, count, self.most, ["bind " + self.lists, "decode"])
        single = self.ours("one by one", texts, count, self.most, ["bind " + self.lists, "single", "decode"])
        take_turns([ours, single], o["rounds"], "decode")
        if ours.ask("said") != single.ask("said"):
            raise Stopped("T4: tokens read at once are not those read one by one")
        tokens = int(ours.ask("length"))
        self.table.add_rates("T4", "%d answers by a template, %d tokens, %d of them fixed" %
                             (count, tokens, count * sum(FIXED)), ours, [single], "tokens/s", tokens,
                             self.floor_of(count, count * (o["shared"] + o["own"]), count, tokens / count / 4))


class T5Rows(EngineRows):
    def __init__(self, table, wanted):
        super().__init__(table, wanted)
        self.shape, self.folder = T5_TINY if table.quick else T5_XL, os.path.join(work, "t5")

    def parts(self):
        return ({"T1"}, self.fill_row), ({"T2"}, self.released_row)

    def floor_of(self, prompts, read, rows, steps):
        """Least seconds: encoding the sources at the product peak, and one read of the decoder's weights per step."""
        s, peak = self.shape, self.table.bf16_peak
        encoder, decoder = (s["num_layers"] * sum(a * b for a, b in t5_maps(s, side).values())
                            for side in ("encoder", "decoder"))
        decoder += s["d_model"] * s["vocab_size"]
        return 2 * encoder * read / peak + steps * max(2 * decoder / self.table.copy_rate, 2 * rows * decoder / peak)

    def fill_row(self):
        count, length = self.own["questions"], self.own["source"]
        texts = os.path.join(work, "sources.jsonl")
        write_texts(texts, count, length + 1, 1)
        self.bound_beams("T1", count, texts, count * length)

    def released_row(self):
        """The first templates of tests/gold/published.json, in the words of its vocabulary."""
        gold, records = os.path.join(here, "..", "tests", "gold"), os.path.join(work, "templates.json")
        found = [r for r in json.load(open(os.path.join(gold, "published.json"))) if "template" in r]
        json.dump(found[:self.own["templates"]], open(records, "w"))
        shutil.copy(os.path.join(gold, "published", "tokenizer.json"), self.folder)
        shutil.copy(os.path.join(gold, "published", "tokenizer_config.json"), self.folder)
        place = "cuda" if self.device == "cuda" else "cpu"
        ours = self.start("ambit", [self.table.program("bench_published"), self.folder, records, self.device, "bf16"],
                          ["bound"])
        peers = []
        if not self.peer_reason:
            peer = [sys.executable, os.path.join(here, "peers", "logicalbeam.py"), self.folder, records, "bf16", place]
            try:
                peers = [self.start("released", peer, ["published"])]
            except Stopped as e:
                self.table.notes.append(str(e))
        ours.times.append(ours.seconds("bound"))
        for r in peers:
            r.times.append(float(r.said))
        self.table.add_rates("T2", "%d templates filled, one record at a time beside bound" % self.own["templates"], ours,
                             peers, "templates/s", self.own["templates"], 0)

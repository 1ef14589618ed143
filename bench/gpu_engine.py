"""The rows of the engine in bench/gpu.sh's table, at Llama-3.1-8B's shape: what a constraint costs a step (T3), tokens
without a choice read at once (T4), many prompts that share their beginnings (D1, D2), and beams under a constraint (D3).
"""
import json
import math
import os
import random

from gpu_lm import LmRows, maps
from lm_model import write_model
from runner import Stopped, sweep, take_turns, work

FULL = {"groups": 85, "each": 5, "shared": 600, "own": 86, "new": 100, "static": [32, 64, 128], "questions": 64,
        "beams": 10, "beam_batches": [1, 2, 4, 8], "names": 1000, "bound": 8, "rounds": 3}
QUICK = {"groups": 2, "each": 2, "shared": 70, "own": 6, "new": 4, "static": [2, 4], "questions": 2, "beams": 3,
         "beam_batches": [1, 2], "names": 20, "bound": 2, "rounds": 1}
LETTERS = "abcdefghijklmnopqrstuvwxyz      "
# Tokens of the fixed parts of a template; names of one to six stand between them.
FIXED, LONGEST_NAME = (12, 15, 9), 6


def write_shared(path, groups, each, shared, own):
    """Prompts of `shared` and `own` tokens, `each` of them to a beginning."""
    rng = random.Random(groups)
    def letters(n):
        return "".join(rng.choice(LETTERS) for _ in range(n))
    with open(path, "w") as f:
        for g in range(groups):
            beginning = letters(shared)
            for i in range(each):
                f.write(json.dumps({"id": "%d-%d" % (g, i), "prompt": beginning + letters(own), "completion": "a"}) + "\n")


def write_lists(path, names):
    """A template with two slots of that many names; returns the most tokens that an answer has, its end too."""
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
        self.own = QUICK if table.quick else FULL

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
        for names, row in (({"D1", "D2"}, self.shared_rows), ({"D3"}, self.beam_row), ({"T3"}, self.constraint_row),
                           ({"T4"}, self.forced_row)):
            if self.wanted & names:
                try:
                    row()
                finally:
                    self.close()

    def prompts(self, count):
        o = self.own
        groups = math.ceil(count / o["each"])
        path = os.path.join(work, "shared-%d.jsonl" % count)
        write_shared(path, groups, o["each"], o["shared"], o["own"])
        return path

    def floor_of(self, prompts, read, rows, steps):
        """Seconds to read so many tokens of prompts at the product peak, and the weights once for every step of rows."""
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
        texts, lines = self.prompts(count), ["beams %d" % o["beams"], "bind " + self.lists]
        ours = self.ours("ambit", texts, count, self.most, lines + ["decode"])
        peers = self.best_peer("hf", texts, count, self.most, lines, o["beam_batches"])
        take_turns([ours] + peers, o["rounds"], "decode")
        same = peers and sum(a == b for a, b in zip(ours.ask("said").split(), peers[0].ask("said").split()))
        if peers:
            self.table.notes.append("D3: %d of %d first tokens are those of %s" %
                                    (same, len(ours.ask("said").split()), peers[0].name))
        read = math.ceil(count / o["each"]) * o["shared"] + count * o["own"]
        self.table.add_rates("D3", "%d beams for %d questions, bound to a template" % (o["beams"], count), ours, peers,
                             "questions/s", count, self.floor_of(count, read, count * o["beams"], sum(FIXED) / 16 + 8))

    def constraint_row(self):
        """Steps of as many rows, bound and free."""
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

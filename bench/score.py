"""Compares scoring AmbiQT's published predictions, 288 + 101 rows of 5; ambit and the published algorithm take turns.

The time of ambit includes starting the program twice; the time of the peer excludes starting Python.  Both report their
fastest round, in wall time and in processor time, which other processes affect less.  The counts must be equal.

usage: score.py AMBIT_DATA AMBIQT_DIR SPIDER_DIR [--rounds N]
"""
import argparse
import json
import resource
import subprocess
import sys
import time

from runner import Runner, here, take_turns

PARTS = (("J", "tbl-split", "join-ambiguity"), ("P", "tbl-agg", "precomputed-aggregates"))
METHODS = ("logical-beam", "t5-3b-bw10", "chatgpt")
K = "5"


def processor_seconds():
    """Processor seconds of all finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Ours:
    """Runs the command once for each ambiguity type, with the interface of a Runner."""
    def __init__(self, program, spider, files):
        self.times, self.processor, self.counts = [], [], {}
        self.commands = [[program, "score", "--rule", "ambiqt", "--published", "--json", "-k", K, "--gold", gold,
                          "--pred", pred, "--tables", spider + "/tables.json", "--db", spider + "/db"]
                         for _, gold, pred in files]

    def seconds(self, _):
        start, before = time.perf_counter(), processor_seconds()
        said = [subprocess.run(c, check=True, capture_output=True, text=True).stdout for c in self.commands]
        seconds = time.perf_counter() - start
        self.processor.append(processor_seconds() - before)
        for o in map(json.loads, said):
            self.counts.update(o["type"])
        return seconds


p = argparse.ArgumentParser()
p.add_argument("ambit_data")
p.add_argument("ambiqt")
p.add_argument("spider")
p.add_argument("--rounds", type=int, default=5)
a = p.parse_args()

differing, ratios = 0, []
for method in METHODS:
    files = [(kind, "%s/%s.validation.jsonl" % (a.ambiqt, gold), "%s/outputs/%s/%s.json" % (a.ambiqt, folder, method))
             for kind, gold, folder in PARTS]
    ours = Ours(a.ambit_data, a.spider, files)
    peer = Runner(method, [sys.executable, here + "/peers/score.py", a.spider + "/tables.json", a.spider + "/db", K] +
                  [":".join(f) for f in files])
    take_turns([ours, peer], a.rounds, rest=0.5)
    same, rows = json.loads(peer.ask("counts")) == ours.counts, sum(c["rows"] for c in ours.counts.values())
    differing += not same
    mine, theirs = min(ours.times), min(peer.times)
    worked = min(ours.processor), peer.seconds("processor")
    ratios.append(theirs / mine)
    print("%-12s %d rows: ambit %.3f s (%.0f rows/s), published algorithm %.2f s (%.0f rows/s), %.1fx; "
          "processor %.2f s and %.2f s, %.1fx; %s" %
          (method, rows, mine, rows / mine, theirs, rows / theirs, ratios[-1], *worked, worked[1] / worked[0],
           "the same counts" if same else "OTHER COUNTS: %s %s" % (ours.counts, peer.ask("counts"))), flush=True)
    peer.close()
print("scoring: at least %.1fx" % min(ratios))
sys.exit(differing > 0)

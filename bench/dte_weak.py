"""Prints the table of bench/dte_weak.sh from ARM-SEED.each.jsonl: the mean over the seeds, each seed, and intervals.

An interval of 95 % comes from 2,000 bootstrap samples of tables and seeds. The last rows of each measure are the differences
of the first arm to the others on the same samples.

usage: dte_weak.py "SEED..." ARM...
"""
import collections
import json
import random
import sys

ROUNDS = 2000
LABELS = ("COL", "VAL", "AMB", "UNK")
TYPES = ("doubled", "doubled-and-replaced", "value-copied", "deleted", "value-deleted", "calculation", "out-of-scope")


def counts_of(line):
    """Sums of one record: numerators and denominators by name."""
    out = collections.Counter()
    for label, n in line["labels"].items():
        groups = [label] + (["AMB or UNK"] if label in ("AMB", "UNK") else [])
        for group in groups:
            for key in ("gold", "tagged", "exact"):
                out[group, key] += n[key]
        out[label, "words"] += n["words"]
        out[label, "found"] += n["words_found"]
        out[label, "grounded"] += n["words_grounded"]
        if label in ("AMB", "UNK"):
            out[line["type"], "gold"] += n["gold"]
            out[line["type"], "exact"] += n["exact"]
    if not any(line["labels"][x]["gold"] for x in ("AMB", "UNK")):
        out["answerable"] += 1
        out["flagged"] += line["flagged"]
    return out


def read(path):
    """The sums of each table."""
    tables = collections.defaultdict(collections.Counter)
    with open(path, encoding="utf-8") as f:
        for line in map(json.loads, f):
            tables[line["db_id"]] += counts_of(line)
    return tables


def f1(group):
    return lambda n: 2 * n[group, "exact"] / max(1, n[group, "gold"] + n[group, "tagged"])


def share(part, whole):
    return lambda n: n[part] / max(1, n[whole])


MEASURES = [(f"{g} spans, F1", f1(g)) for g in ("AMB or UNK", *LABELS)]
MEASURES += [(f"words of {x} found", share((x, "found"), (x, "words"))) for x in LABELS]
MEASURES += [(f"words of {x} grounded", share((x, "grounded"), (x, "words"))) for x in LABELS[:3]]
MEASURES += [(f"AMB and UNK spans of type {x} found", share((x, "exact"), (x, "gold"))) for x in TYPES]
MEASURES += [("false alarms", share("flagged", "answerable"))]


def total(tables, names):
    n = collections.Counter()
    for name in names:
        n.update(tables.get(name, {}))
    return n


def interval(samples):
    samples = sorted(samples)
    return f"[{100 * samples[int(.025 * len(samples))]:.1f}, {100 * samples[int(.975 * len(samples)) - 1]:.1f}]"


def main(seeds, *arms):
    seeds = seeds.split()
    runs = {(a, s): read(f"{a}-{s}.each.jsonl") for a in arms for s in seeds}
    names = sorted(set.union(*(set(r) for r in runs.values())))
    rng = random.Random(1)
    drawn = [(rng.choices(names, k=len(names)), rng.choices(seeds, k=len(seeds))) for _ in range(ROUNDS)]
    sampled = {a: [[total(runs[a, s], tables) for s in some] for tables, some in drawn] for a in arms}
    whole = {(a, s): total(runs[a, s], names) for a in arms for s in seeds}
    width = max(14, *(len(a) for a in arms), *(len(f"{arms[0]} - {a}") for a in arms[1:]))
    print(f"{len(names)} tables, seeds {' '.join(seeds)}; percent, mean over the seeds, [95 % over tables and seeds], each seed")
    for title, measure in MEASURES:
        values = {a: [sum(map(measure, x)) / len(x) for x in sampled[a]] for a in arms}
        means = {a: sum(measure(whole[a, s]) for s in seeds) / len(seeds) for a in arms}
        print(title)
        for a in arms:
            each = ", ".join(f"{100 * measure(whole[a, s]):.1f}" for s in seeds)
            print(f"    {a:<{width}} {100 * means[a]:6.1f}  {interval(values[a])}  {each}")
        for a in arms[1:]:
            gaps = [x - y for x, y in zip(values[arms[0]], values[a])]
            print(f"    {arms[0] + ' - ' + a:<{width}} {100 * (means[arms[0]] - means[a]):6.1f}  {interval(gaps)}")


main(*sys.argv[1:])

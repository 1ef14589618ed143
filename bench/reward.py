#!/usr/bin/env python3
"""Prints the table of bench/reward.sh.

usage: reward.py TEST.jsonl SEED...

Reads SEED/rewarded/start.jsonl (the supervised start), SEED/measured/start.jsonl (as many further supervised steps) and
SEED/rewarded/test.jsonl (reward training). A record's figure is its mean over the seeds. Intervals of 95 % are by a
bootstrap over databases; a database and its altered copies are one unit.
"""
import json
import random
import sys

SYSTEMS = {
    "supervised start": "rewarded/start.jsonl",
    "further supervised steps": "measured/start.jsonl",
    "reward training": "rewarded/test.jsonl",
}
FIGURES = {
    "recall, ambiguous questions": ("recall", True),
    "precision, ambiguous questions": ("precision", True),
    "precision, other questions": ("precision", False),
}
RESAMPLES = 2000


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def interval(values, units):
    """The mean and the ends of its interval. values and units have an element for each record."""
    sums = {}
    for value, unit in zip(values, units):
        total, n = sums.get(unit, (0, 0))
        sums[unit] = (total + value, n + 1)
    parts = list(sums.values())
    draw = random.Random(1)
    means = []
    for _ in range(RESAMPLES):
        sample = draw.choices(parts, k=len(parts))
        means.append(sum(p[0] for p in sample) / sum(p[1] for p in sample))
    means.sort()
    return sum(values) / len(values), means[RESAMPLES // 40], means[-1 - RESAMPLES // 40]


def cell(values, units, form="{:.3f}"):
    mean, low, high = interval(values, units)
    return (form + " [" + form + ", " + form + "]").format(mean, low, high)


def row(title, values, units, form="{:.3f}"):
    """A row of the table. values: for each figure a list over its records."""
    print(f"| {title} | " + " | ".join(cell(values[f], units[f], form) for f in FIGURES) + " |")


def main():
    test, seeds = read(sys.argv[1]), sys.argv[2:]
    sources = [record.get("source_db", record["db_id"]) for record in test]
    chosen = {figure: [i for i, record in enumerate(test) if (len(record["golds"]) > 1) == ambiguous]
              for figure, (_, ambiguous) in FIGURES.items()}
    units = {figure: [sources[i] for i in records] for figure, records in chosen.items()}
    values = {}
    for name, path in SYSTEMS.items():
        runs = [read(f"{seed}/{path}") for seed in seeds]
        values[name] = {figure: [sum(run[i][field] for run in runs) / len(runs) for i in chosen[figure]]
                        for figure, (field, _) in FIGURES.items()}

    print(f"Means over the seeds {', '.join(seeds)}; {len(test)} held-out records of {len(set(sources))} databases.\n")
    print("| | " + " | ".join(FIGURES) + " |")
    print("|---" * (len(FIGURES) + 1) + "|")
    for name in SYSTEMS:
        row(name, values[name], units)
    rewarded = values["reward training"]
    for name in list(SYSTEMS)[:2]:
        gains = {f: [a - b for a, b in zip(rewarded[f], values[name][f])] for f in FIGURES}
        row(f"reward training less {name}, in pairs", gains, units, "{:+.3f}")


if __name__ == "__main__":
    main()

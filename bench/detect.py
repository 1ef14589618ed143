#!/usr/bin/env python3
"""Compares the speed of `ambit-infer detect` and of a sentence-transformers cross-encoder, in pairs of question and
element per second, on Spider dev and on a schema of a thousand columns.  The two take turns; the peer gets a sample of
the questions.  A turn of ambit is a whole process, from strings to predictions.
usage: detect.py SPIDER DETECTOR HF_ENCODER OUT [--questions N] [--wide N] [--rounds N]
AMBIT_BIN is the folder of the programs.  HF_ENCODER is the initial encoder of the detector, so both have the same shape."""
import argparse
import json
import os
import random
import statistics
import subprocess
import time

from sentence_transformers import CrossEncoder

COLUMNS = 1000


def elements(schema):
    """The elements as a relevance model reads them: tables, and columns with table and type."""
    tables = schema["table_names"]
    columns = zip(schema["column_names"], schema["column_types"])
    return tables + [f"{tables[t]} : {name} : {kind}" for (t, name), kind in columns if t >= 0]


def concatenate(schemas):
    """Concatenates whole schemas with unique table names until there are enough columns."""
    whole = {"db_id": "wide", "table_names": [], "table_names_original": [], "column_names": [[-1, "*"]],
             "column_names_original": [[-1, "*"]], "column_types": ["text"], "primary_keys": [], "foreign_keys": []}
    for number, s in enumerate(random.Random(0).sample(schemas, len(schemas))):
        tables, columns = len(whole["table_names"]), len(whole["column_names"]) - 1
        if columns + len(s["column_names"]) - 1 > COLUMNS:
            continue
        whole["table_names"] += s["table_names"]
        whole["table_names_original"] += [f"{n}_{number}" for n in s["table_names_original"]]
        for field in "column_names", "column_names_original":
            whole[field] += [[t + tables, n] for t, n in s[field][1:]]
        whole["column_types"] += s["column_types"][1:]
        whole["foreign_keys"] += [[a + columns, b + columns] for a, b in s["foreign_keys"]]
    return whole


class Race:
    def __init__(self, args):
        self.args = args
        self.peer = CrossEncoder(args.encoder, num_labels=1, max_length=128, device="cpu")
        os.makedirs(args.out, exist_ok=True)

    def write(self, name, rows, lines):
        path = os.path.join(self.args.out, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write("".join(json.dumps(r) + "\n" for r in rows) if lines else json.dumps(rows))
        return path

    def ours(self, questions, schemas, *options):
        command = [os.path.join(os.environ.get("AMBIT_BIN", "build/release/bin"), "ambit-infer"), "detect", "--model", self.args.detector,
                   "--schema", self.write("tables.json", schemas, False), self.write("q.jsonl", questions, True), "--quiet",
                   "-o", os.path.join(self.args.out, "findings.jsonl"), *options]
        begin = time.monotonic()
        subprocess.run(command, check=True)
        return self.count(questions, schemas) / (time.monotonic() - begin)

    @staticmethod
    def count(questions, schemas):
        sizes = {s["db_id"]: len(elements(s)) for s in schemas}
        return sum(sizes[q["db_id"]] for q in questions)

    def theirs(self, questions, schemas):
        texts = {s["db_id"]: elements(s) for s in schemas}
        pairs = [(q["question"], e) for q in questions for e in texts[q["db_id"]]]
        begin = time.monotonic()
        self.peer.predict(pairs, batch_size=64, show_progress_bar=False)
        return len(pairs) / (time.monotonic() - begin)

    def row(self, name, questions, schemas, share, *options):
        """The peer answers one in `share` of the questions."""
        some = questions[::share]
        ours, theirs = [], []
        for _ in range(self.args.rounds):
            ours.append(self.ours(questions, schemas, *options))
            theirs.append(self.theirs(some, schemas))
        a, b, pairs = statistics.median(ours), statistics.median(theirs), self.count(questions, schemas)
        print(f"| {name} | {len(questions)}, {pairs:,} | {a:,.0f} | {a * len(questions) / pairs:.2f} | "
              f"{len(some)}, {self.count(some, schemas):,} | {b:,.0f} | {a / b:.1f}x |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in "spider", "detector", "encoder", "out":
        parser.add_argument(name)
    parser.add_argument("--questions", type=int, default=400, help="number of questions of Spider dev")
    parser.add_argument("--wide", type=int, default=8, help="number of questions about the wide schema")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with open(os.path.join(args.spider, "tables.json"), encoding="utf-8") as f:
        schemas = json.load(f)
    with open(os.path.join(args.spider, "dev.json"), encoding="utf-8") as f:
        dev = random.Random(1).sample(json.load(f), args.questions)
    race = Race(args)
    whole = concatenate([s for s in schemas if s["db_id"] != "formula_1"])  # its two lists of names are in different orders
    about = [{"id": i, "db_id": r["db_id"], "question": r["question"]} for i, r in enumerate(dev)]
    wide = [{**q, "db_id": "wide"} for q in about[:args.wide]]
    print("| schema | questions, pairs | ambit, pairs a second | questions | the peer's | pairs a second | ratio |\n|---|---|---|---|---|---|---|")
    race.row("Spider dev", about, schemas, 8)
    race.row(f"{len(whole['column_names']) - 1:,} columns, all read", wide, [whole], 4, "--elements", "0")
    race.row("256 elements of them", wide, [whole], 4)


main()

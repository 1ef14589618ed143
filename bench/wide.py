#!/usr/bin/env python3
"""Measures `detect` on wide schemas: the recall of gold elements on concatenations of Spider's schemas, the change of
scores when distractor tables are appended, and the time of a question.
usage: wide.py SPIDER DETECTOR DATA OUT [--questions N] [--only PART] [--retriever HF_DIR]
DATA is the training data folder of the detector.  AMBIT_BIN is the folder of the programs."""
import argparse
import copy
import json
import os
import random
import subprocess
import time

COLUMNS, APPENDED, SEEDS = 2000, 50, 3


def names(schema):
    return {name.lower() for name in schema["table_names_original"]}


def append(whole, schema, suffix):
    """Appends the schema's tables to `whole`; names already in use get a suffix, because SQL needs unique names."""
    tables, columns, taken = len(whole["table_names"]), len(whole["column_names"]) - 1, names(whole)
    whole["table_names"] += schema["table_names"]
    whole["table_names_original"] += [n + suffix if n.lower() in taken else n for n in schema["table_names_original"]]
    for field in "column_names", "column_names_original":
        whole[field] += [[t + tables, name] for t, name in schema[field][1:]]
    whole["column_types"] += schema["column_types"][1:]
    whole["primary_keys"] += [[c + columns for c in k] if isinstance(k, list) else k + columns for k in schema["primary_keys"]]
    whole["foreign_keys"] += [[a + columns, b + columns] for a, b in schema["foreign_keys"]]


def concatenate(schemas, seed, distinct):
    """Concatenates schemas up to COLUMNS columns; for distinct table names, large schemas first: they exclude others."""
    rng, order = random.Random(seed), sorted(schemas)
    rng.shuffle(order)
    if distinct:
        order.sort(key=lambda d: -(len(schemas[d]["column_names"]) // 30))
    whole = {"db_id": f"wide{seed}", "table_names": [], "table_names_original": [], "column_names": [[-1, "*"]],
             "column_names_original": [[-1, "*"]], "column_types": ["text"], "primary_keys": [], "foreign_keys": []}
    parts = {}
    for d in order:
        if len(whole["column_names"]) + len(schemas[d]["column_names"]) - 2 > COLUMNS or distinct and names(whole) & names(schemas[d]):
            continue
        first = len(whole["table_names"])
        append(whole, schemas[d], f"_{len(parts)}")
        parts[d] = dict(zip((n.lower() for n in schemas[d]["table_names_original"]), whole["table_names_original"][first:]))
    return whole, parts


def write(path, rows):
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(json.dumps(r) + "\n" for r in rows)
    return path


def read(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


class Bench:
    def __init__(self, args):
        self.args = args
        self.programs = os.environ.get("AMBIT_BIN", "build/release/bin")
        with open(os.path.join(args.spider, "tables.json"), encoding="utf-8") as f:
            self.schemas = {s["db_id"]: s for s in json.load(f)}
        del self.schemas["formula_1"]  # its two lists of names are in different orders
        os.makedirs(args.out, exist_ok=True)

    def path(self, name):
        return os.path.join(self.args.out, name)

    def run(self, program, *command):
        begin = time.monotonic()
        child = subprocess.Popen([os.path.join(self.programs, program), *command], stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        if os.waitstatus_to_exitcode(status) not in (0, 7):
            raise SystemExit(f"{program} {' '.join(command)}: status {status}")
        return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024

    def detect(self, questions, schema, out, *options):
        with open(self.path("tables.json"), "w", encoding="utf-8") as f:
            json.dump(schema, f)
        cost = self.run("ambit-infer", "detect", "--model", self.args.detector, "--schema", self.path("tables.json"), questions,
                        "-o", self.path(out), *options, *(["--retriever", self.args.retriever] if self.args.retriever else []))
        return read(self.path(out)), cost

    def gold(self):
        """(db_id, question, elements) of each of Spider's questions, dev and train."""
        for name in "train_spider", "dev":
            source, uses = os.path.join(self.args.spider, name + ".json"), self.path(name + ".uses.jsonl")
            self.run("ambit-data", "sql", source, "--schema", os.path.join(self.args.spider, "tables.json"), "-o", uses)
            with open(source, encoding="utf-8") as f:
                for record, line in zip(json.load(f), read(uses)):
                    if "uses" in line:
                        yield (record["db_id"], record["question"],
                               {(u["table"].lower(), (u["column"] or "").lower()) for u in line["uses"]})

    def recall(self, gold, distinct, elements):
        kept = total = whole_kept = asked = columns = 0
        for seed in range(SEEDS):
            whole, parts = concatenate(self.schemas, seed, distinct)
            columns += len(whole["column_names"]) - 1
            some = [g for g in gold if g[0] in parts]
            some = random.Random(seed).sample(some, min(len(some), self.args.questions))
            questions = write(self.path("q.jsonl"), [{"id": i, "db_id": whole["db_id"], "question": g[1]} for i, g in enumerate(some)])
            lines, _ = self.detect(questions, [whole], "recall.jsonl", "--elements", str(elements), "--relevance", "all")
            for (db, _, wanted), line in zip(some, lines):
                have = {(e["table"].lower(), (e["column"] or "").lower()) for e in line["relevance"]}
                hits = sum((parts[db][t].lower(), c) in have for t, c in wanted)
                kept, total, whole_kept, asked = kept + hits, total + len(wanted), whole_kept + (hits == len(wanted)), asked + 1
        kind = "distinct" if distinct else "any"
        print(f"| {kind} | {columns // SEEDS:,} | {elements} | {asked:,} | {kept / total:.4f} | {whole_kept / asked:.4f} |", flush=True)

    def drift(self, elements):
        with open(os.path.join(self.args.data, "tables.json"), encoding="utf-8") as f:
            schemas = {s["db_id"]: s for s in json.load(f)}
        rows = [r for r in read(os.path.join(self.args.data, "test.jsonl")) if r["slice"] == "contrast"]
        rows = random.Random(1).sample(rows, min(len(rows), self.args.questions))
        questions, wide = write(self.path("q.jsonl"), rows), {}
        for d in sorted({r["db_id"] for r in rows}):
            wide[d], others = copy.deepcopy(schemas[d]), sorted(self.schemas)
            random.Random(d).shuffle(others)
            for o in others:
                free = len(schemas[d]["table_names"]) + APPENDED - len(wide[d]["table_names"])
                if len(self.schemas[o]["table_names"]) <= free and not names(wide[d]) & names(self.schemas[o]):
                    append(wide[d], self.schemas[o], "")
        before, _ = self.detect(questions, [schemas[d] for d in wide], "before.jsonl", "--relevance", "none")
        after, _ = self.detect(questions, list(wide.values()), "after.jsonl", "--relevance", "none", "--elements", str(elements))
        moved = sorted(abs(a["score"] - b["score"]) for a, b in zip(before, after))
        other = sum(a["ambiguous"] != b["ambiguous"] for a, b in zip(before, after))
        named = [(a, b) for a, b in zip(before, after) if a["ambiguous"]]
        same = sum(a["alternatives"] == b["alternatives"] for a, b in named)
        n = len(moved)
        print(f"| {elements or 'all'} | {n} | {sum(m < .05 for m in moved) / n:.3f} | {moved[n // 2]:.4f} | {moved[int(n * .9)]:.4f} | "
              f"{other} | {same} of {len(named)} |", flush=True)

    def latency(self, elements):
        whole, _ = concatenate(self.schemas, 0, False)
        row = {"db_id": whole["db_id"], "question": "What are the names of all singers, by age?"}
        one, many = write(self.path("one.jsonl"), [row]), write(self.path("many.jsonl"), [row] * 9)
        seconds, core, peak = self.detect(one, [whole], "one.out", "--elements", str(elements))[1]
        more, more_core, _ = self.detect(many, [whole], "many.out", "--elements", str(elements))[1]
        print(f"| {len(whole['column_names']) - 1:,} | {elements or 'all'} | {(more - seconds) / 8:.2f} | {seconds:.2f} | "
              f"{(more_core - core) / 8:.3f} | {core:.2f} | {peak:.0f} |", flush=True)

    def print_recall(self):
        gold = list(self.gold())
        print("| table names | columns | elements read | questions | gold elements kept | questions with all of theirs |\n|---|---|---|---|---|---|")
        for distinct in True, False:
            self.recall(gold, distinct, 256)

    def print_drift(self):
        print(f"\n| elements read, of {APPENDED} tables more | questions | moved by < .05 | median | 90 % | decisions changed | same alternatives |\n"
              "|---|---|---|---|---|---|---|")
        for elements in (256,) if self.args.retriever else (256, 0):
            self.drift(elements)

    def print_latency(self):
        print("\n| columns | elements read | a question, s | one question from start to end, s | core seconds a question | from start to end | "
              "peak, MiB |\n|---|---|---|---|---|---|---|")
        for elements in (256,) if self.args.retriever else (256, 0):
            self.latency(elements)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in "spider", "detector", "data", "out":
        parser.add_argument(name)
    parser.add_argument("--questions", type=int, default=300, help="number of questions for each concatenation and for the drift")
    parser.add_argument("--only", choices=["recall", "drift", "latency"])
    parser.add_argument("--retriever", help="also measure table retrieval with this BERT folder of sentence embeddings")
    bench = Bench(parser.parse_args())
    for part in "recall", "drift", "latency":
        if bench.args.only in (None, part):
            getattr(bench, "print_" + part)()


main()

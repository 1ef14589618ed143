#!/usr/bin/env python3
"""Evaluates detectors on the realistic databases of tests/detection, compared with a word-overlap baseline.
usage: detection.py RUN... [--half choose|final|all] [--folder DIR] [--out DIR]
RUN is an output folder of ambit-train gatekeeper.  A folder of questions has DB.sql, which creates the database, and
DB.jsonl, its questions in the format of tests/detection/README.md.  Intervals are 95 % percentiles of a bootstrap over
databases.  AMBIT_BIN is the folder of the programs.  Measure the half `final` only once, at the end."""
import argparse
import glob
import json
import os
import random
import re
import sqlite3
import subprocess
import tempfile

MAX_NAMES = 8  # a prediction of more elements than this counts as naming no pair
ROUNDS = 1000
FUNCTION_WORDS = set("""the a an of for in on at to and or is are was were be do does did we our us me all each every with by from how many much
what which who whose when where show list give find tell get have has had that this these those it its their there per as than more most least any
i you your my no not between last first""".split())


def read_folder(folder, half):
    questions = []
    for path in sorted(glob.glob(os.path.join(folder, "*.jsonl"))):
        with open(path, encoding="utf-8") as lines:
            questions += [q for q in map(json.loads, filter(str.strip, lines)) if half in ("all", q.get("half", "all"))]
    if not questions:
        raise SystemExit(f"{folder}: no questions of the half {half}")
    return questions


def make_databases(folder, questions, out):
    for db in {q["db_id"] for q in questions}:
        with open(os.path.join(folder, db + ".sql"), encoding="utf-8") as script, \
                sqlite3.connect(os.path.join(out, db + ".sqlite")) as connection:
            connection.executescript(script.read())


def detect(run, databases, path, *more):
    program = os.path.join(os.environ.get("AMBIT_BIN", "build/release/bin"), "ambit-infer")
    done = subprocess.run([program, "detect", "--model", run, "--db", databases, "--quiet", *more, path], check=True, stdout=subprocess.PIPE)
    return {r["id"]: r for r in map(json.loads, done.stdout.decode().splitlines())}


def detector(run, databases, questions, path):
    """The decision at the detector's own threshold, and the most probable pair regardless of the decision."""
    decided, named = detect(run, databases, path), detect(run, databases, path, "--threshold", "0")
    for q in questions:
        if "error" in decided[q["id"]]:
            raise SystemExit(f"{q['id']}: {decided[q['id']]['error']}")
    return {i: {"score": r["score"], "ambiguous": r["ambiguous"], "alternatives": named[i]["alternatives"]} for i, r in decided.items()}


def words(text):
    out = []
    for w in re.findall(r"[a-z0-9]+", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text).lower()):
        out.append(w[:-3] + "y" if len(w) > 3 and w.endswith("ies") else w[:-1] if len(w) > 3 and w.endswith("s") and not w.endswith("ss") else w)
    return out


def columns_of(path):
    with sqlite3.connect(path) as c:
        tables = [t for t, in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return [(t, r[1]) for t in tables for r in c.execute(f'PRAGMA table_info("{t}")')]


def ties(said, columns):
    """For each word of the question, its two best-matching columns and how close their scores are."""
    for word in sorted(said - FUNCTION_WORDS):
        fits = []
        for table, column in columns:
            t, c = set(words(table)), set(words(column))
            if word in c and not (word in t and c <= t):
                fits.append((len((c | t) & said) + bool((t & said) - FUNCTION_WORDS) - 0.3 * len(c - said), table, column))
        fits.sort(reverse=True)
        if len(fits) > 1:
            top = [f for f in fits if f[0] >= fits[0][0] - 0.01]
            yield (1 / (1 + fits[0][0] - fits[1][0]) / (1 + 0.15 * max(0, len(top) - 2)),
                   [f"{t}.{c}" for _, t, c in (top if len(top) > 1 else fits[:2])][:6])


def lexical(databases, questions):
    """Calls a question ambiguous if the two columns that best match one of its words tie."""
    schemas = {db: columns_of(os.path.join(databases, db + ".sqlite")) for db in {q["db_id"] for q in questions}}
    out = {}
    for q in questions:
        score, alternatives = max(ties(set(words(q["question"])), schemas[q["db_id"]]), key=lambda t: t[0], default=(0, []))
        out[q["id"]] = {"score": score, "ambiguous": score >= 0.8, "alternatives": alternatives}
    return out


def judge(questions, predictions):
    rows = []
    for q in questions:
        p = predictions[q["id"]]
        named = {str(a).lower() for a in p["alternatives"]}
        sets = [{a.lower() for a in s} for s in q["alternatives"]]
        kind = "schema" if q["type"].startswith("schema") else q["type"]
        hard = kind == "clear" and q["note"].startswith("hard negative")
        rows.append({"db": q["db_id"], "kind": kind, "type": q["type"], "hard": hard, "score": p["score"], "flag": p["ambiguous"],
                     "named": len(named) <= MAX_NAMES and any(s <= named for s in sets)})
    return rows


def auc(yes, no):
    return sum((a > b) + 0.5 * (a == b) for a in yes for b in no) / (len(yes) * len(no)) if yes and no else None


def average_precision(yes, no):
    total = hit = seen = 0
    scores = sorted([(s, 1) for s in yes] + [(s, 0) for s in no], reverse=True)
    while scores:
        tied = [y for s, y in scores if s == scores[0][0]]
        scores = scores[len(tied):]
        hit, seen = hit + sum(tied), seen + len(tied)
        total += sum(tied) * hit / seen
    return total / len(yes) if yes else None


def share(values):
    values = list(values)
    return sum(values) / len(values) if values else None


def measure(rows):
    scores = {k: [r["score"] for r in rows if r["kind"] == k] for k in ("schema", "wording", "clear")}
    hard = [r["score"] for r in rows if r["hard"]]
    of = {k: [r for r in rows if r["kind"] == k] for k in ("schema", "wording", "clear")}
    return {
        "AUC, schema against clear": auc(scores["schema"], scores["clear"]),
        "AUC, schema against hard negatives": auc(scores["schema"], hard),
        "AP, schema against clear": average_precision(scores["schema"], scores["clear"]),
        "AUC, wording against clear": auc(scores["wording"], scores["clear"]),
        "right pair named": share(r["named"] for r in of["schema"]),
        "right pair named and flagged": share(r["named"] and r["flag"] for r in of["schema"]),
        "flagged of schema": share(r["flag"] for r in of["schema"]),
        "flagged of wording": share(r["flag"] for r in of["wording"]),
        "false alarms, clear": share(r["flag"] for r in of["clear"]),
        "false alarms, hard negatives": share(r["flag"] for r in of["clear"] if r["hard"]),
        **{f"named, {t[7:]}": share(r["named"] for r in of["schema"] if r["type"] == t) for t in sorted({r["type"] for r in of["schema"]})},
    }


def intervals(rows):
    """Bootstrap intervals of all scores, from the same resamples."""
    rng, databases = random.Random(1), sorted({r["db"] for r in rows})
    by_db = {d: [r for r in rows if r["db"] == d] for d in databases}
    drawn = [measure([r for d in rng.choices(databases, k=len(databases)) for r in by_db[d]]) for _ in range(ROUNDS)]
    out = {}
    for name in measure(rows):
        values = sorted(m[name] for m in drawn if m.get(name) is not None)
        out[name] = (values[int(0.025 * len(values))], values[int(0.975 * len(values))]) if values and len(databases) > 1 else None
    return out


def cell(value, bounds):
    return "-" if value is None else f"{value:.3f}" + (f" [{bounds[0]:.3f}, {bounds[1]:.3f}]" if bounds else "")


def report(questions, systems):
    kinds = [q["type"] for q in questions]
    print(f"{len(questions)} questions on {len({q['db_id'] for q in questions})} databases: {sum(k.startswith('schema') for k in kinds)} ambiguous by the schema, "
          f"{kinds.count('wording')} by wording, {kinds.count('clear')} clear, {sum(q['note'].startswith('hard') for q in questions)} of these hard negatives")
    judged = {name: judge(questions, p) for name, p in systems.items()}
    figures = {name: measure(rows) for name, rows in judged.items()}
    bounds = {name: intervals(rows) for name, rows in judged.items()}
    print("\n| | " + " | ".join(systems) + " |\n|---" + "|---" * len(systems) + "|")
    for row in next(iter(figures.values())):
        print(f"| {row} | " + " | ".join(cell(figures[n][row], bounds[n][row]) for n in systems) + " |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("runs", nargs="*")
    p.add_argument("--half", choices=("choose", "final", "all"), default="choose")
    p.add_argument("--folder", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "detection"))
    p.add_argument("--out", help="folder for the predictions of each system")
    a = p.parse_args()
    questions = read_folder(a.folder, a.half)
    with tempfile.TemporaryDirectory() as folder:
        make_databases(a.folder, questions, folder)
        path = os.path.join(folder, "questions.jsonl")
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(json.dumps({k: q[k] for k in ("id", "db_id", "question")}) + "\n" for q in questions)
        systems = {os.path.basename(run.rstrip("/")): detector(run, folder, questions, path) for run in a.runs}
        systems["words alone"] = lexical(folder, questions)
    report(questions, systems)
    for name, predictions in systems.items() if a.out else ():
        os.makedirs(a.out, exist_ok=True)
        with open(os.path.join(a.out, name + ".jsonl"), "w", encoding="utf-8") as f:
            f.writelines(json.dumps({"id": i, **r}) + "\n" for i, r in predictions.items())


if __name__ == "__main__":
    main()

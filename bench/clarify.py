"""Measures the clarifier's latency, its rate of simulated dialogues, and its strategies on published predictions.

Latency: 32 candidates, from two choices at each of five places, over every Spider schema with a suitable table.
Strategies: AmbiQT's published predictions of types J and P, with users who mean each gold statement in turn; DFPL's
predictions and AMBROSIA's gold interpretations by execution.  Users are truthful and answer at most three questions.

usage: clarify.py BIN_DIR SHARED_DATA [--out DIR]
"""
import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import time

from runner import work

p = argparse.ArgumentParser()
p.add_argument("bin")
p.add_argument("data")
p.add_argument("--out", default=work, help="folder for candidates, calibrations, dialogues and reports")
a = p.parse_args()
os.makedirs(a.out, exist_ok=True)
tables = a.data + "/spider/tables.json"


def run(*command):
    """Prints and runs a program; accepts exit code 7: some records failed."""
    print("$ " + " ".join(command), flush=True)
    r = subprocess.run([os.path.join(a.bin, command[0]), *command[1:]], stderr=subprocess.PIPE, text=True)
    print("  " + r.stderr.strip().split("\n")[-1])
    if r.returncode not in (0, 7):
        sys.exit(r.stderr)


def path(name):
    return os.path.join(a.out, name)


def combinations(schema):
    """32 variants of a statement about the first table with four columns, joined along a foreign key if any, or None."""
    columns = schema["column_names_original"]
    for t, table in enumerate(schema["table_names_original"]):
        own = ['t1."%s"' % name for table_of, name in columns if table_of == t]
        if len(own) >= 4:
            break
    else:
        return None
    source = 'FROM "%s" AS t1' % table
    for here, there in schema["foreign_keys"]:
        if columns[here][0] == t and columns[there][0] != t:
            source += ' JOIN "%s" AS t2 ON t1."%s" = t2."%s"' % (schema["table_names_original"][columns[there][0]],
                                                                 columns[here][1], columns[there][1])
            break
    return ["SELECT %s %s WHERE %s %s 10 AND %s = '%s' ORDER BY %s %s LIMIT %d" %
            (out, source, own[2], op, own[3], value, own[2], way, limit)
            for out, op, value, way, limit in itertools.product(own[:2], (">", ">="), ("x", "y"), ("ASC", "DESC"), (1, 3))]


def write_combinations():
    count = 0
    with open(path("32.jsonl"), "w") as f:
        for s in json.load(open(tables)):
            sql = combinations(s)
            for order in (sql, sql[::-1]) if sql else ():
                weights = [1 / (i + 1) for i in range(len(order))]
                f.write(json.dumps({"id": s["db_id"], "db_id": s["db_id"], "question": "Which?", "candidates": [
                    {"sql": q, "p": w / sum(weights)} for q, w in zip(order, weights)], "gold": order}) + "\n")
                count += len(order)
    return count


def processor_seconds():
    """Processor seconds of all finished programs."""
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def latency():
    dialogues = write_combinations()
    subprocess.run([a.bin + "/bench_clarify", path("32.jsonl"), tables], check=True)
    for _ in range(3):
        start, before = time.time(), processor_seconds()
        run("ambit-infer", "clarify", "--candidates", path("32.jsonl"), "--schema", tables, "--simulate", "--noise", "0",
            "--max-turns", "5", "-o", path("32.out.jsonl"))
        print("%d dialogues of up to 5 questions, %.0f a second, %.0f a second of processor time" % (
            dialogues, dialogues / (time.time() - start), dialogues / (processor_seconds() - before)))


def interval(x, digits=3):
    if x["mean"] is None:
        return "-"
    return "%.*f [%.*f, %.*f]" % (digits, x["mean"], digits, x["low"], digits, x["high"])


def simulate(name, schema):
    """Reads the summary lines at the end, one for each strategy, the default first."""
    run("ambit-infer", "clarify", "--candidates", path(name + ".jsonl"), *schema, "--simulate", "--noise", "0", "--report",
        path(name + ".html"), "-o", path(name + ".out.jsonl"))
    lines = [json.loads(line) for line in open(path(name + ".out.jsonl"))]
    metrics = [x for x in lines if "metrics" in x]
    m = metrics[0]["metrics"]
    print("  %s: %d dialogues, %d golds unreadable or failing, %d records without a readable candidate, ECE %.3f" % (
        name, m["dialogues"], m["gold_errors"], sum("error" in x for x in lines), m["calibration"]["ece"]))
    return metrics


def measure(line, name):
    """Prints the table of a result, by execution if there were databases."""
    return line["metrics"].get("execution_" + name, line["metrics"].get(name))


def print_table(names, title, first, rows):
    print("\n%s\n\n| %s | %s |\n|%s" % (title, first, " | ".join(names), "---|" * (len(names) + 1)))
    for name, cells in rows:
        print("| %s | %s |" % (name, " | ".join(cells)))


def mean(x):
    return ("%.3f" % x["mean"]).replace("0.", ".", 1)


def tables_of(results):
    names, runs = list(results), list(results.values())
    strategies = [[next(x for x in r if x["strategy"] == line["strategy"]) for r in runs] for line in runs[0]]

    def each(cell, lines=strategies):
        return [(row[0]["strategy"], [cell(x) for x in row]) for row in lines]
    print_table(names, "Accuracy after 1, 2, 3 questions; coverage bounds it.", "strategy",
                [("dialogues", [str(r[0]["metrics"]["dialogues"]) for r in runs]),
                 ("coverage", [interval(measure(r[0], "coverage")) for r in runs]),
                 ("0 questions", [interval(measure(r[0], "accuracy")[0]) for r in runs])] +
                each(lambda x: " ".join(mean(k) for k in measure(x, "accuracy")[1:])))
    print_table(names, "Questions asked.", "strategy", each(lambda x: interval(x["metrics"]["questions"], 2)))
    print_table(names, "Area under accuracy of eig, less that of the strategy.", "strategy",
                each(lambda x: interval(x["difference"]["by"].get("execution_area", x["difference"]["by"]["area"]), 4), strategies[1:]))
    print_table(names, "Questions of eig, less those of the strategy.", "strategy",
                each(lambda x: interval(x["difference"]["by"]["questions"], 2), strategies[1:]))


def calibrated(name):
    """Tests each half of the records with alpha, temperature and coverage fitted on the other half."""
    lines = list(open(path(name + ".jsonl")))
    for half in 0, 1:
        with open(path("half%d.jsonl" % half), "w") as f:
            f.writelines(line for line in lines[half::2] if "candidates" in json.loads(line))
        run("ambit-data", "calibrate", path("half%d.jsonl" % half), "-o", path("half%d.json" % half))
    with open(path(name + "-calibrated.jsonl"), "w") as f:
        for half in 0, 1:
            run("ambit-data", "candidates", path("half%d.jsonl" % half), "--calibration", path("half%d.json" % (1 - half)),
                "-o", path("applied.jsonl"))
            f.writelines(open(path("applied.jsonl")))
    m = simulate(name + "-calibrated", ("--schema", tables))[0]["metrics"]
    print("  eig: accuracy %s, questions %s, escalated %s" % (
        " ".join(mean(x) for x in m["accuracy"]), interval(m["questions"], 2), interval(m["escalated"])))


def ambiqt():
    kinds = {"J": ("join-ambiguity", "tbl-split"), "P": ("precomputed-aggregates", "tbl-agg")}
    systems = "chatgpt", "logical-beam", "t5-3b-bw10"
    results = {}

    def convert(kind, system, name, *more):
        folder, gold = kinds[kind]
        run("ambit-data", "candidates", "--from", "ambiqt-output", "%s/ambiqt/outputs/%s/%s.json" % (a.data, folder, system),
            "--gold", "%s/ambiqt/%s.validation.jsonl" % (a.data, gold), "--schema", tables, *more, "-o",
            path(name + ".jsonl"))
    for kind, system in itertools.product(kinds, systems):
        name = kind + "-" + system
        convert(kind, system, name)
        run("ambit-data", "calibrate", path(name + ".jsonl"), "-o", path(name + ".calibration.json"))
        c = json.load(open(path(name + ".calibration.json")))
        print("  %s: alpha %g, temperature %.2f, coverage at n: %s" % (
            name, c["alpha"], c["temperature"], " ".join(mean(x) for x in c["coverage_at"])))
        results[name] = simulate(name, ("--schema", tables))
        calibrated(name)
    return results


def ambrosia():
    results = {}
    for name, source in (("dfpl", "dfpl/gemma2_ambrosia_resplit_validation.json"),
                         ("ambrosia", "ambrosia/questions_validation.jsonl")):
        run("ambit-data", "candidates", "--from", name, a.data + "/" + source, "-o", path(name + ".jsonl"))
        m = simulate(name, ("--db", a.data + "/ambrosia/db"))[0]["metrics"]
        print("  unambiguous questions: %s questions asked" % interval(m["overhead"], 2))
        with open(path(name + "-ambiguous.jsonl"), "w") as f:
            f.writelines(line for line in open(path(name + ".jsonl")) if json.loads(line)["ambiguous"])
        results[name] = simulate(name + "-ambiguous", ("--db", a.data + "/ambrosia/db"))
    return results


latency()
results = ambiqt()
results.update(ambrosia())
tables_of(results)

"""Compares `ambit-data score --rule spider` with Spider's published evaluator on mutated statements of Spider.  Prints the number
of pairs and of differing flags: exact match, ten components with their numbers of elements, and hardness.

usage: spider.py AMBIT_DATA EVALUATOR SPIDER [--pairs N] [--seed S]
EVALUATOR is a copy of github.com/taoyds/spider, with evaluation.py and process_sql.py.  Needs nltk (PyPI).
"""
import argparse
import copy
import json
import os
import random
import re
import subprocess
import sys
import tempfile

p = argparse.ArgumentParser()
p.add_argument("ambit_data")
p.add_argument("evaluator")
p.add_argument("spider")
p.add_argument("--pairs", type=int, default=12000)
p.add_argument("--seed", type=int, default=1)
a = p.parse_args()

import nltk
from nltk.tokenize.destructive import NLTKWordTokenizer

nltk.word_tokenize = NLTKWordTokenizer().tokenize  # without Punkt's ends of sentences, whose model is a download
sys.path.insert(0, a.evaluator)
import evaluation
from process_sql import Schema, get_sql

# Python 3 cannot sort two nested queries of FROM, Python 2 could.
evaluation.sorted = lambda x: sorted(x, key=repr) if x and isinstance(x[0], tuple) else sorted(x)
tables = {t["db_id"]: t for t in json.load(open(a.spider + "/tables.json"))}
questions = json.load(open(a.spider + "/dev.json"))
golds = {}
for q in questions:
    golds.setdefault(q["db_id"], []).append(" ".join(q["query"].split()))
draw = random.Random(a.seed)
words = """select from where group by order limit 1 intersect union except join on as not between = > < >= != in like is
none - + * / max min count sum avg distinct ( ) , ; . " ' 2.5 1_000 nan and or desc asc having ` .. ! ? -- : \u00a0 \u201c""".split()


def mutate(db, sql):
    names = [c for t, c in tables[db]["column_names_original"] if t >= 0] + tables[db]["table_names_original"]
    parts = re.findall(r"\"[^\"]*\"|'[^']*'|[\w.]+|[<>!]=|\s+|.", sql)
    i, j, other = draw.randrange(len(parts)), draw.randrange(len(parts)), draw.choice(golds[db])
    kind = draw.randrange(10)
    if kind == 0:
        del parts[i]
    elif kind == 1:
        parts[i], parts[j] = parts[j], parts[i]
    elif kind in (2, 3):
        parts[i] = draw.choice(names)
    elif kind in (4, 5):
        parts.insert(i, " %s " % draw.choice(words))
    elif kind == 6:
        parts[i] = draw.choice([parts[i].upper(), parts[i].strip(), " " + parts[i] + " ", "(" + parts[i] + ")"])
    elif kind == 7:
        parts.append(draw.choice([" union ", " except (", " intersect "]) + other)
    elif kind == 8:
        parts.append(draw.choice([" and ", " where ", " having "]) + "%s %s %s" % (
            draw.choice(names), draw.choice(["=", "not in", "like", "between 1 and"]), draw.choice(["1", "'x'", "(%s)" % other])))
    else:
        parts = [re.sub(r"\bfrom\b", draw.choice(["from (%s) " % other, "from %s join" % draw.choice(names)]), sql, count=1, flags=re.I)]
    return re.sub(r"\s", lambda m: m.group() if m.group() == "\u00a0" else " ", "".join(parts)).strip() or "x"


def flags(schema, keys, gold, predicted):
    """None if the evaluator cannot read the gold statement."""
    try:
        tree = get_sql(schema, gold)
        hardness = evaluation.Evaluator().eval_hardness(tree)
    except Exception:
        return None

    def compare(sql):
        evaluator, rebuilt = evaluation.Evaluator(), []
        for query in (sql, copy.deepcopy(tree)):
            valid = evaluation.build_valid_col_units(query["from"]["table_units"], schema)
            rebuilt.append(evaluation.rebuild_sql_col(valid, evaluation.rebuild_sql_val(query), keys))
        exact = evaluator.eval_exact_match(*rebuilt)
        return [bool(exact), hardness] + [[v["f1"] == 1, v["pred_total"], v["label_total"]] for v in evaluator.partial_scores.values()]

    empty = {"from": {"conds": [], "table_units": []}, "select": [False, []], "where": [], "having": [], "groupBy": [],
             "orderBy": [], "limit": None, "union": None, "except": None, "intersect": None}
    try:
        return compare(get_sql(schema, predicted))
    except Exception:
        return compare(empty)


pairs = []
while len(pairs) < a.pairs:
    q = draw.choice(questions)
    gold = predicted = " ".join(q["query"].split())
    for _ in range(draw.choice([0, 0, 0, 1])):
        gold = predicted = mutate(q["db_id"], gold)
    for _ in range(draw.choice([0, 1, 1, 2, 3])):
        predicted = mutate(q["db_id"], predicted)
    pairs.append((gold, q["db_id"], predicted))
schemas, keys, wanted = {}, {}, []
for db, t in tables.items():
    schemas[db] = Schema({name.lower(): [c.lower() for k, c in t["column_names_original"] if k == i]
                          for i, name in enumerate(t["table_names_original"])})
    keys[db] = evaluation.build_foreign_key_map(t)
for gold, db, predicted in pairs:
    wanted.append(flags(schemas[db], keys[db], gold, predicted))
with tempfile.TemporaryDirectory() as folder:
    for name, rows in (("gold", ["%s\t%s" % row[:2] for row in pairs]), ("pred", [row[2] for row in pairs])):
        open(os.path.join(folder, name), "w", newline="\n").write("\n".join(rows) + "\n")
    each = os.path.join(folder, "each")
    subprocess.run([a.ambit_data, "score", "--rule", "spider", "--gold", folder + "/gold", "--pred", folder + "/pred", "--tables",
                    a.spider + "/tables.json", "--per-example", each, "--json"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ours = {r["id"]: r for r in map(json.loads, open(each))}
differ = 0
for i, (pair, flag) in enumerate(zip(pairs, wanted), 1):
    r = ours.get(i)
    got = r and [r["exact"], r["hardness"]] + [[c["same"], c["predicted"], c["gold"]] for c in r["components"].values()]
    if got != flag:
        differ += 1
        print("differs: %s" % (pair,), flag, got, sep="\n  ")
scored = sum(flag is not None for flag in wanted)
print("%d pairs, %d with a gold statement that the evaluator reads, %d exact matches, %d differ" % (
    len(pairs), scored, sum(bool(flag and flag[0]) for flag in wanted), differ))
sys.exit(differ > 0)

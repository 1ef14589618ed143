"""Reads a folder of ambit-data counterfactual and holds each record to the guards of the generator, by rules of its own.

usage: check_counterfactual.py DIR       prints how often each guard was looked at and what broke it; fails if one was broken

Every span marks whole words, with as many alternatives as its label has.  The columns that AMB could be are new, of one
type, called otherwise than any other, and nothing that tells them apart is in the question.  What is UNK shares no word with
a column that is left and is like none of their names and values.  A question with a problem stands without one too, on a
table that was edited in the same way; a value that is AMB stands in those columns alone.  The quantity of a calculation has
a column of its name, or the question's table lacks it.  A request out of scope follows a question that stands without it.
No table, question, edited header, quantity or request is in two folds.
"""
import collections
import functools
import json
import os
import re
import sys

FOLDS = ("train", "valid", "test")
FILLERS = set("a an the of in on at by for to from with and or is are was were be what which who whom how many much when "
              "where that this each every all any there do does did has have had s as it its their".split())
COLUMNS = ("doubled", "doubled-and-replaced", "deleted")


def words(text):
    return re.findall(r"[^\W_]+", text.lower())


@functools.lru_cache(1 << 18)
def stem(word):
    for ending, rest in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh")):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            return word[:-len(ending)] + rest
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def stems(text):
    return {stem(w) for w in words(text)} - FILLERS


@functools.lru_cache(1 << 20)
def ratio(a, b):
    """Share of letters that stand in both in one order, case and blanks apart."""
    a, b = a.lower().replace(" ", ""), b.lower().replace(" ", "")
    if not a or not b or 2 * min(len(a), len(b)) < 0.8 * (len(a) + len(b)):
        return 0.0  # shorter than could be alike
    row = [0] * (len(b) + 1)
    for x in a:
        before = 0
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], before + 1 if x == y else max(row[j], row[j - 1])
    return 2 * row[-1] / (len(a) + len(b))


looked, broken = collections.Counter(), collections.defaultdict(list)


def guard(name, holds, record):
    looked[name] += 1
    if not holds:
        broken[name].append(record["id"])


def check_spans(r):
    at = 0
    for s in r["spans"]:
        text, n = r["question"][s["start"]:s["end"]], len(s["alternatives"])
        whole = not re.match(r"\w\w", r["question"][s["start"] - 1:s["start"] + 1] if s["start"] else "") and \
            not re.match(r"\w\w", r["question"][s["end"] - 1:s["end"] + 1])
        guard("spans mark whole words, in order", at <= s["start"] < s["end"] <= len(r["question"]) and whole and
              text == text.strip(), r)
        guard("alternatives fit the label", {"AMB": n >= 2, "UNK": n == 0}.get(s["label"], n == 1) and
              all(0 <= a["column"] < len(r["columns"]) for a in s["alternatives"]), r)
        at = s["end"]
        for a in s["alternatives"]:
            if "value" in a:
                column = r["columns"][a["column"]]
                guard("values are in their columns", a["value"].lower() in [v.lower() for v in column["values"]], r)


def check_doubled(r, span):
    names = [r["columns"][a["column"]]["name"] for a in span["alternatives"]]
    types = {r["columns"][a["column"]]["type"] for a in span["alternatives"]}
    said, asked = stems(r["question"][span["start"]:span["end"]]), stems(r["question"])
    others = [c["name"].lower() for i, c in enumerate(r["columns"]) if i not in [a["column"] for a in span["alternatives"]]]
    deleted = [d.lower() for d in r["edit"]["deleted"] if isinstance(d, str)]
    guard("AMB: columns are new", set(names) <= set(x for x in r["edit"]["added"] if isinstance(x, str)), r)
    guard("AMB: columns are of one type", len(types) == 1, r)
    guard("AMB: names are other than all", len({n.lower() for n in names}) == len(names) and
          not {n.lower() for n in names} & set(others + deleted), r)
    guard("AMB: what tells them apart is not in the question",
          not any((stems(n) - said) & asked for n in names), r)


def check_unknown(r, span):
    said = r["question"][span["start"]:span["end"]]
    for column in r["columns"]:
        guard("UNK: no column shares a word", not stems(said) & stems(column["name"]), r)
        guard("UNK: no name is like it", ratio(said, column["name"]) < 0.8, r)
        for value in column["values"]:
            guard("UNK: no value is like it", ratio(said, value) < 0.8, r)


def check_value(r, span):
    said = r["question"][span["start"]:span["end"]]
    having = {i for i, c in enumerate(r["columns"]) if said.lower() in [v.lower() for v in c["values"]]}
    if span["label"] == "AMB":
        guard("AMB: a value stands in its columns alone", having <= {a["column"] for a in span["alternatives"]}, r)
    else:
        guard("UNK: a value is gone", not having, r)
        for column in r["columns"]:
            guard("UNK: no name is like the value", ratio(said, column["name"]) < 0.8, r)


def request_of(r):
    return next(r["question"][s["start"]:s["end"]] for s in r["spans"] if s["label"] == "UNK")


def quantity_of(r):
    """The last word of the added column, as in "attendance growth"."""
    return words(r["edit"]["added"][0])[-1]


def check_quantity(r):
    """The words are a numeric column's and a quantity; the table has one added column."""
    names = [" ".join(words(c["name"])) for c in r["columns"]]
    guard("calculation: one column is new", len(r["edit"]["added"]) == 1 and not r["edit"]["deleted"], r)
    asked = [s for s in r["spans"] if s["label"] == "UNK" or
             (s["label"] == "COL" and r["columns"][s["alternatives"][0]["column"]]["name"] == r["edit"]["added"][0])]
    guard("calculation: one span asks for a quantity", len(asked) == 1, r)
    for span in asked:
        said = " ".join(words(r["question"][span["start"]:span["end"]]))
        guard("calculation: the column decides", (said in names) == (span["label"] == "COL"), r)
        base = stems(said.rsplit(" ", 1)[0])
        guard("calculation: a numeric column is named", any(base <= stems(c["name"]) and c["type"] == "number" for c in r["columns"]), r)


def check_request(r, plain):
    """The question without " and REQUEST" is asked too, and no name or value has a word of the request."""
    request, unknown = request_of(r), [s for s in r["spans"] if s["label"] == "UNK"]
    guard("out of scope: one span", len(unknown) == 1, r)
    guard("out of scope: the question stands without it", r["question"].replace(" and " + request, "", 1) in plain, r)
    guard("out of scope: the table has none of its words",
          not any(stems(request) & stems(x) for c in r["columns"] for x in (c["name"], *c["values"])), r)


def check_controls(records):
    """By database, question and kind: with and without a problem."""
    seen = collections.defaultdict(set)
    for r in records:
        seen[r["db_id"], r["question"], r["type"]].add(any(s["label"] in ("AMB", "UNK") for s in r["spans"]))
    for r in records:
        labels = {s["label"] for s in r["spans"]} & {"AMB", "UNK"}
        if not labels or r["type"] in ("plain", "out-of-scope"):
            continue
        key = r["db_id"], r["question"]
        guard("a control on a table edited in the same way", False in seen[*key, r["type"]], r)
        if r["type"] == "doubled":
            guard("AMB: a control with one new column", False in seen[*key, "doubled-and-replaced"], r)


def check_folds(folds):
    for what, of in (("table", lambda r: r["db_id"]), ("question", lambda r: " ".join(words(r["question"]))),
                     ("quantity", lambda r: quantity_of(r) if r["type"] == "calculation" else None),
                     ("request", lambda r: request_of(r) if r["type"] == "out-of-scope" else None),
                     ("edited header", lambda r: "\x1f".join(c["name"].lower() for c in r["columns"]))):
        first = {}
        for fold, records in folds.items():
            for r in records:
                if of(r) is not None:
                    guard("no %s in two folds" % what, first.setdefault(of(r), fold) == fold, r)


folds = {f: [json.loads(line) for line in open(os.path.join(sys.argv[1], f + ".jsonl"), encoding="utf-8")] for f in FOLDS}
for records in folds.values():
    plain = {r["question"] for r in records if r["type"] == "plain"}
    for r in records:
        check_spans(r)
        if r["type"] == "calculation":
            check_quantity(r)
        elif r["type"] == "out-of-scope":
            check_request(r, plain)
        for s in r["spans"]:
            if r["type"] in ("calculation", "out-of-scope"):
                continue
            if s["label"] == "AMB" and r["type"] in COLUMNS:
                check_doubled(r, s)
            elif s["label"] == "UNK" and r["type"] in COLUMNS:
                check_unknown(r, s)
            elif s["label"] in ("AMB", "UNK"):
                check_value(r, s)
    check_controls(records)
check_folds(folds)
for name, n in looked.items():
    print("%8d  %s%s" % (n, name, ": broken %d times, %s" % (len(broken[name]), " ".join(broken[name][:5]))
                         if broken[name] else ""))
sys.exit(1 if any(broken.values()) else 0)

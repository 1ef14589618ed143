"""Fits and measures the choice without a user, ambit-infer clarify --auto.

Candidates: AmbiQT's published predictions of types J and P, on the databases of ambit-data ambiguate --materialise;
DFPL's published predictions; AMBROSIA's gold interpretations; and Spider's questions, whose gold statements are mutated
by a simulated parser.  Every second database of AmbiQT, DFPL and AMBROSIA is for fitting, and Spider's training
questions are; the other databases, and Spider's dev questions on the other databases of AmbiQT, are held out.

fit prints the table of weights for data/clarify/auto_choice.c.  --drop leaves features out, to see what each brings.
measure prints the execution accuracy of the first candidate, of the vote by execution signature, and of --auto P with
questions per dialogue.  "vote P" asks where no statement has the share P of the votes: clarify --confidence P.  It prints
the share of dialogues that are left to a person at equal accuracy too.  Intervals are 95 % of a bootstrap over databases.

usage: auto.py make|fit|measure BIN_DIR SHARED_DATA [--out DIR] [--drop FEATURE,...]
"""
import argparse
import json
import math
import os
import random
import re
import subprocess
import sys

import numpy

from runner import work

p = argparse.ArgumentParser()
p.add_argument("step", choices=["make", "fit", "measure"])
p.add_argument("bin")
p.add_argument("data")
p.add_argument("--out", default=work + "/auto", help="folder for candidates, databases and dialogues")
p.add_argument("--drop", default="", help="fit: features to leave out")
a = p.parse_args()
os.makedirs(a.out, exist_ok=True)
SYSTEMS = "chatgpt", "logical-beam", "t5-3b-bw10"
KINDS = {"J": "join-ambiguity", "P": "precomputed-aggregates"}
SPIDER = {"fit": ("train_spider.json", 2000), "test": ("dev.json", 1034)}
SAMPLES = 10
LEAST = 0.0001  # nats
# Features too rare for a weight of their own, and those whose weight they share.
POOLED = {"time_unmet": "number_ignored", "unit_unmet": "number_ignored"}


def path(name):
    return os.path.join(a.out, name)


def run(*command):
    """Runs a program; accepts exit code 7: some records failed."""
    print("$ " + " ".join(command), file=sys.stderr, flush=True)
    r = subprocess.run([os.path.join(a.bin, command[0]), *command[1:]], stderr=subprocess.PIPE, text=True)
    if r.returncode not in (0, 7):
        sys.exit(r.stderr)


def read(name):
    return [json.loads(line) for line in open(name)]


def write(name, records):
    with open(path(name), "w") as f:
        f.writelines(json.dumps(x) + "\n" for x in records)


# --- Candidates ---

def halves(names):
    """Every second database, by name, is for fitting."""
    return {name: ("fit", "test")[i % 2] for i, name in enumerate(sorted(set(names)))}


def divide(name, records, half):
    for part in "fit", "test":
        write("%s.%s.jsonl" % (name, part), [x for x in records if half[x["base"]] == part])


def item(x):
    """Identifies a question and its database.  A question has a database for each split column, and the published files
    list them in different orders."""
    return json.dumps([x["db_id"], x["question"]] + [x.get(k) for k in ("split_map", "new_table_name", "all_cols")])


def make_ambiqt():
    run("ambit-data", "ambiguate", "--spider", a.data + "/spider", "--db", a.data + "/spider/db", "--generator", "ambiqt",
        "--synonyms", a.data + "/ambiqt/two_col_synonyms.json", "--table-synonyms", a.data + "/ambiqt/two_tbl_synonyms.json",
        "--kinds", "J,P", "--materialise", path("ambiqt-db"), "--force", "-o", path("ambiqt.jsonl"))
    made = read(path("ambiqt.jsonl"))
    half = halves(x["db_id"] for x in made)
    for kind, folder in KINDS.items():
        own = {item(x): x for x in made if x["type"] == kind}
        for system in SYSTEMS:
            file = "%s/ambiqt/outputs/%s/%s.json" % (a.data, folder, system)
            published = json.load(open(file))
            run("ambit-data", "candidates", "--from", "ambiqt-output", file, "--schema", a.data + "/spider/tables.json",
                "-o", path("raw.jsonl"))
            records = [x for x in read(path("raw.jsonl")) if "candidates" in x]
            for x in records:
                source = own[item(published[int(x["id"].split("-")[1])])]
                assert source["question"] == x["question"], x["id"]
                x.update(base=x["db_id"], db_id=source["db_file"][:-len(".sqlite")], gold=[source["query1"], source["query2"]],
                         candidates=[{"sql": c["sql"], "p": c["p"]} for c in x["candidates"]])
                del x["schema"]
            divide("ambiqt-%s-%s" % (kind, system), records, half)
    return half


def make_ambrosia():
    half = None
    for name, source in (("ambrosia", "ambrosia/questions_validation.jsonl"),
                         ("dfpl", "dfpl/gemma2_ambrosia_resplit_validation.json")):
        run("ambit-data", "candidates", "--from", name, a.data + "/" + source, "-o", path("raw.jsonl"))
        records = [dict(x, base=x["db_id"]) for x in read(path("raw.jsonl"))]
        half = half or halves(x["db_id"] for x in records)
        divide(name, records, half)


# --- A simulated parser, which mutates Spider's gold statements ---

TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|[A-Za-z_][\w.]*|\d+(?:\.\d+)?|<=|>=|!=|<>|\S")
AGGREGATES = "count", "sum", "avg", "min", "max"


def swap_column(rng, tokens, columns):
    places = [i for i, t in enumerate(tokens) if t.split(".")[-1].lower() in columns and (i == 0 or tokens[i - 1] != "=")]
    if not places:
        return None
    i = rng.choice(places)
    qualifier, name = tokens[i].rpartition(".")[::2]
    others = [c for c in columns[name.lower()] if c.lower() != name.lower()]
    return others and tokens[:i] + [qualifier + "." * bool(qualifier) + rng.choice(others)] + tokens[i + 1:]


def swap_aggregate(rng, tokens, columns):
    places = [i for i, t in enumerate(tokens[:-1]) if t.lower() in AGGREGATES and tokens[i + 1] == "("]
    if not places:
        return None
    i = rng.choice(places)
    close = tokens.index(")", i)
    if rng.random() < 0.3 and tokens[i + 2] != "*":
        return tokens[:i] + tokens[i + 2:close] + tokens[close + 1:]
    return tokens[:i] + [rng.choice([x for x in AGGREGATES if x != tokens[i].lower()])] + tokens[i + 1:]


def drop_clause(rng, tokens, columns):
    """Drops WHERE, ORDER BY, LIMIT, GROUP BY or HAVING, up to the next clause."""
    heads = "where", "order", "limit", "group", "having", "union", "intersect", "except", ")"
    places = [i for i, t in enumerate(tokens) if t.lower() in heads[:5]]
    if not places:
        return None
    i = rng.choice(places)
    end = next((k for k in range(i + 1, len(tokens)) if tokens[k].lower() in heads), len(tokens))
    return tokens[:i] + tokens[end:]


def swap_word(rng, tokens, columns):
    pairs = {"asc": "DESC", "desc": "ASC", ">": ">=", "<": "<=", ">=": ">", "<=": "<", "distinct": "", "and": "OR", "or": "AND",
             "!=": "=", "intersect": "UNION", "union": "INTERSECT", "except": "UNION"}
    places = [i for i, t in enumerate(tokens) if t.lower() in pairs]
    if not places:
        return None
    i = rng.choice(places)
    return [t for t in tokens[:i] + [pairs[tokens[i].lower()]] + tokens[i + 1:] if t]


def spoil_value(rng, tokens, columns):
    places = [i for i, t in enumerate(tokens) if len(t) > 4 and t[0] in "'\""]
    if not places:
        return None
    i = rng.choice(places)
    text, k = tokens[i][1:-1], rng.randrange(1, len(tokens[i]) - 2)
    changed = rng.choice([text.lower(), text.upper(), text[:k] + text[k + 1:], text + "s"])
    return changed != text and tokens[:i] + [tokens[i][0] + changed + tokens[i][-1]] + tokens[i + 1:]


def spoil_name(rng, tokens, columns):
    places = [i for i, t in enumerate(tokens) if t.split(".")[-1].lower() in columns and len(t.split(".")[-1]) > 3]
    if not places:
        return None
    i = rng.choice(places)
    k = rng.randrange(len(tokens[i]) - 2, len(tokens[i]))
    return tokens[:i] + [rng.choice([tokens[i][:k] + tokens[i][k + 1:], tokens[i] + "_name"])] + tokens[i + 1:]


MUTATIONS = [swap_column, swap_column, swap_aggregate, drop_clause, swap_word, spoil_value, spoil_name]


def mutants(rng, sql, columns, count):
    found = []
    tokens = TOKEN.findall(sql.rstrip("; "))
    for _ in range(count * 6):
        changed = rng.choice(MUTATIONS)(rng, tokens, columns)
        if changed and " ".join(changed) not in found + [" ".join(tokens)]:
            found.append(" ".join(changed))
        if len(found) == count:
            break
    return " ".join(tokens), found


def make_spider(half):
    """Samples of a parser that is right with a probability drawn for each question, and prefers some mistakes."""
    tables = {}
    for s in json.load(open(a.data + "/spider/tables.json")):
        tables[s["db_id"]] = own = {}
        for t, name in s["column_names_original"][1:]:
            own[name.lower()] = [x for k, x in s["column_names_original"] if k == t]
    for part, (name, count) in SPIDER.items():
        rng = random.Random(1)
        rows = json.load(open(a.data + "/spider/" + name))
        rng.shuffle(rows)
        records = []
        for i, x in enumerate(rows[:count]):
            known = os.path.exists("%s/spider/db/%s.sqlite" % (a.data, x["db_id"]))
            if not known or (part == "test" and half.get(x["db_id"]) == "fit"):
                continue
            gold, wrong = mutants(rng, x["query"], tables[x["db_id"]], 6)
            weights = [rng.expovariate(1) for _ in wrong]
            skill = rng.betavariate(1.2, 0.8)
            drawn = [gold if not wrong or rng.random() < skill else rng.choices(wrong, weights)[0] for _ in range(SAMPLES)]
            order = sorted(set(drawn), key=lambda q: (-drawn.count(q), q))
            records.append({"id": "%s-%d" % (part, i), "db_id": x["db_id"], "base": x["db_id"], "question": x["question"],
                            "candidates": [{"sql": q, "p": drawn.count(q) / SAMPLES} for q in order], "gold": [x["query"]]})
        write("spider.%s.jsonl" % part, records)


def make():
    half = make_ambiqt()
    make_ambrosia()
    make_spider(half)


# --- Dialogues ---

def databases(name):
    folder = {"ambi": path("ambiqt-db"), "spid": a.data + "/spider/db"}
    return folder.get(name[:4], a.data + "/ambrosia/db") if name != "ambrosia" else a.data + "/ambrosia/db"


SOURCES = ["ambiqt-%s-%s" % (k, s) for k in KINDS for s in SYSTEMS] + ["dfpl", "ambrosia", "spider"]


def dialogues(name, part, *options):
    """One entry for each dialogue: groups and right ones, whether the output gives the gold's rows, questions."""
    source = "%s.%s.jsonl" % (name, part)
    run("ambit-infer", "clarify", "--candidates", path(source), "--db", databases(name), "--simulate", "--noise", "0",
        *options, "-o", path("dialogues.jsonl"))
    records = {x["id"]: x for x in read(path(source))}
    found = []
    for x in read(path("dialogues.jsonl")):
        for d in x.get("dialogues", []):
            if "execution_match" in d:
                record = records[x["id"]]
                found.append({"base": record["base"], "weights": [c["p"] for c in record["candidates"]],
                              "groups": x.get("auto", {}).get("groups"), "right": d.get("right_groups"),
                              "repaired": [r["candidate"] for r in x.get("auto", {}).get("repaired", [])],
                              "match": d["execution_match"], "questions": len(d["turns"])})
    return found


# --- The model ---

def names_of(found):
    return sorted({f for x in found for g in x["groups"] for f in g["evidence"]} - set(a.drop.split(",")))


class Examples:
    """Features of all groups as rows [rows, columns].  The last row of each example is none of the above, whose columns
    are the last three: constant, logarithm of the number of groups, largest vote."""
    def __init__(self, found, names, weights):
        rows, starts, right = [], [], []
        for x in found:
            starts.append(len(rows))
            for i, g in enumerate(x["groups"]):
                rows.append([g["evidence"].get(f, 0) for f in names] + [0, 0, 0])
                right.append(i in x["right"])
            rows.append([0] * len(names) + [1, math.log(len(x["groups"])), max(g["vote"] for g in x["groups"])])
            right.append(not x["right"])
        self.rows, self.starts, self.right = numpy.array(rows), numpy.array(starts), numpy.array(right)
        self.owner = numpy.repeat(numpy.arange(len(found)), numpy.diff([*starts, len(rows)]))
        self.weights = numpy.array(weights)

    def part(self, inside, columns):
        """The examples with inside [n] true, and some of the columns."""
        part = object.__new__(Examples)
        kept = inside[self.owner]
        part.rows, part.right = self.rows[kept][:, columns], self.right[kept]
        part.owner = (numpy.cumsum(inside) - 1)[self.owner[kept]]
        part.starts = numpy.searchsorted(part.owner, numpy.arange(inside.sum()))
        part.weights = self.weights[inside]
        return part

    def probabilities(self, w):
        z = self.rows @ w
        e = numpy.exp(z - numpy.maximum.reduceat(z, self.starts)[self.owner])
        return e / numpy.add.reduceat(e, self.starts)[self.owner]

    def right_mass(self, q):
        return numpy.maximum(numpy.add.reduceat(q * self.right, self.starts), 1e-12)

    def loss(self, w):
        return -(self.weights * numpy.log(self.right_mass(self.probabilities(w)))).sum()


def fit(x, start, penalty=3.0):
    """Newton's method on the penalised likelihood of the right groups."""
    w = start.copy()
    for _ in range(40):
        q = x.probabilities(w)
        each = x.weights[x.owner]
        target = q * x.right / x.right_mass(q)[x.owner]
        mean = numpy.add.reduceat(x.rows * q[:, None], x.starts)
        gradient = ((target - q) * each) @ x.rows - penalty * w
        curvature = (x.rows * (q * each)[:, None]).T @ x.rows - (mean * x.weights[:, None]).T @ mean
        step = numpy.linalg.solve(curvature + penalty * numpy.eye(len(w)), gradient)
        w += step
        if abs(step).max() < 1e-3:
            break
    return w


def load_fit():
    if not os.path.exists(path("fit.json")):
        with open(path("fit.json"), "w") as f:
            json.dump({name: dialogues(name, "fit", "--auto", "0") for name in SOURCES}, f)
    found = [(name, x) for name, found in json.load(open(path("fit.json"))).items() for x in found]
    for evidence in (g["evidence"] for _, x in found for g in x["groups"]):
        for rare, shared in POOLED.items():
            if rare in evidence:
                evidence[shared] = evidence.get(shared, 0) + evidence.pop(rare)
    return found


def eliminate(loss, names):
    """Removes features until each of the others lowers the cross-validated loss by LEAST.  Those that raise it go two at
    a time, the worst first."""
    tail = [len(names) + k for k in range(3)]
    kept = list(range(len(names)))
    now = loss(kept + tail)
    while True:
        trials = sorted((loss([k for k in kept if k != i] + tail), i) for i in kept if names[i] != "vote")
        useless = [i for x, i in trials if x < now + LEAST]
        if not useless:
            return kept, {names[k]: x - now for x, k in trials}, now
        gone = useless[:1 if len(useless) < 4 else 2]
        kept = [k for k in kept if k not in gone]
        now = loss(kept + tail)
        print("without %-40s loss %.4f" % (" and ".join(names[i] for i in gone), now), flush=True)


def fit_weights():
    """The four families of sources have the same total weight.  Five folds by database choose the features."""
    found = load_fit()
    names = names_of(x for _, x in found)
    family = [name[:6] for name, _ in found]
    everything = Examples([x for _, x in found], names, [len(found) / 4 / family.count(f) for f in family])
    fold = {b: i % 5 for i, b in enumerate(sorted({x["base"] for _, x in found}))}
    folds = numpy.array([fold[x["base"]] for _, x in found])

    def loss(columns):
        total = 0
        for k in range(5):
            w = fit(everything.part(folds != k, columns), numpy.zeros(len(columns)))
            total += everything.part(folds == k, columns).loss(w)
        return total / everything.weights.sum()

    tail = [len(names) + k for k in range(3)]
    print("%d dialogues; cross-validated log loss by votes alone %.4f, of all features %.4f" % (
        len(found), loss([names.index("vote")] + tail), loss(list(range(len(names))) + tail)))
    kept, gains, now = eliminate(loss, names)
    w = fit(everything.part(numpy.ones(len(found), bool), kept + tail), numpy.zeros(len(kept) + 3))
    print("chosen features: %.4f" % now)
    for k, weight in zip(kept, w):
        print("%-22s %8.3f   loss without it %+.4f" % (names[k], weight, gains.get(names[k], float("nan"))))
    print("none_weights { %.3f, %.3f, %.3f }" % tuple(w[-3:]))


# --- Results ---

def interval(rows, value):
    """Mean, and 95 % of a bootstrap over databases."""
    bases = sorted({x["base"] for x in rows})
    sums = {b: (sum(value(x) for x in rows if x["base"] == b), sum(x["base"] == b for x in rows)) for b in bases}
    rng = random.Random(1)
    means = []
    for _ in range(1000):
        drawn = [sums[b] for b in rng.choices(bases, k=len(bases))]
        means.append(sum(s for s, _ in drawn) / sum(n for _, n in drawn))
    means.sort()
    return "%.3f [%.3f, %.3f]" % (sum(value(x) for x in rows) / len(rows), means[25], means[974])


def best_group(x, key):
    return max(range(len(x["groups"])), key=lambda i: key(x["groups"][i]))


def chosen_is_right(x):
    return best_group(x, lambda g: g["p"]) in x["right"]


def votes(x):
    """The probability of the record's candidates in each group, without repaired ones, which have higher numbers."""
    return [sum(x["weights"][k] for k in g["candidates"] if k < len(x["weights"])) for g in x["groups"]]


def first_of(x):
    return max(range(len(x["weights"])), key=lambda i: (x["weights"][i], -i))


def vote_is_right(x):
    """The group with the most votes, of equal ones that of the most probable candidate."""
    own = votes(x)
    return max(range(len(own)), key=lambda i: (own[i], first_of(x) in x["groups"][i]["candidates"])) in x["right"]


def first_is_right(x):
    """False if the most probable candidate is in no group, because it cannot be read."""
    group = [i for i, g in enumerate(x["groups"]) if first_of(x) in g["candidates"]]
    return bool(group) and group[0] in x["right"]


def is_right(x, candidate):
    return any(candidate in x["groups"][g]["candidates"] for g in x["right"])


def report_repairs(chosen):
    """The candidates that were repaired: do they give the gold's rows before and after?  Repaired statements are numbered
    after the candidates of their record."""
    pairs = [{"base": x["base"], "before": is_right(x, k), "after": is_right(x, len(x["weights"]) + i)}
             for x in chosen for i, k in enumerate(x["repaired"])]
    candidates = sum(len(x["weights"]) for x in chosen)
    if pairs:
        print("  repaired: %d of %d candidates; right before %s, after %s" % (
            len(pairs), candidates, interval(pairs, lambda y: y["before"]), interval(pairs, lambda y: y["after"])))


def calibration(rows, probabilities):
    """Expected calibration error of the largest probability, in ten bins."""
    bins = [[] for _ in range(10)]
    for x in rows:
        p = probabilities(x)
        g = p.index(max(p))
        bins[min(9, int(10 * p[g]))].append(p[g] - (g in x["right"]))
    return sum(abs(sum(b)) for b in bins) / len(rows)


# --- The share left to a person at equal accuracy ---

def first_probability(x):
    return x["weights"][first_of(x)]


METHODS = {"auto": (lambda x: max(g["p"] for g in x["groups"]), chosen_is_right),
           "vote": (lambda x: max(votes(x)), vote_is_right),
           "first candidate": (first_probability, first_is_right)}
SHARES = 0, .1, .2, .3, .4, .5, .6
WAYS = .25, .5, .75


class Deferral:
    """Dialogues of --auto 1, in which the user is asked wherever a question is worth it.  A method chooses alone where it
    is sure, and leaves the dialogues with the smallest confidence to the user.  Dialogues of one confidence are left in
    random order: each has the mean of their gains.  Dialogues without a question are nobody's to answer."""
    def __init__(self, rows, method):
        confidence, right = METHODS[method]
        self.bases = sorted({x["base"] for x in rows})
        number = {b: i for i, b in enumerate(self.bases)}
        self.base = numpy.array([number[x["base"]] for x in rows])
        self.asks = numpy.array([x["questions"] > 0 for x in rows])
        self.confidence = numpy.array([round(confidence(x), 6) for x in rows])
        self.alone = numpy.array([float(right(x)) for x in rows])
        self.asked = numpy.where(self.asks, [float(x["match"]) for x in rows], self.alone)

    def curve(self, weights):
        """Shares left, in ascending order, and accuracies.  weights: number of times that each dialogue counts."""
        n = weights.sum()
        order = numpy.argsort(self.confidence, kind="stable")
        order = order[self.asks[order] & (weights[order] > 0)]
        own = weights[order]
        _, tie = numpy.unique(self.confidence[order], return_inverse=True)
        gains = numpy.bincount(tie, own * (self.asked - self.alone)[order])
        sizes = numpy.bincount(tie, own)
        shares = numpy.concatenate([[0], numpy.cumsum(sizes)]) / n
        return shares, (numpy.concatenate([[0], numpy.cumsum(gains)]) + weights @ self.alone) / n


def share_at(shares, accuracies, target):
    """The smallest share with that accuracy, between two points by a line.  Some users' answers are worse than the choice:
    the accuracy may fall again."""
    k = int(numpy.argmax(accuracies >= target - 1e-9))
    if k == 0:
        return 0.0 if accuracies[0] >= target - 1e-9 else float("nan")
    a, b = accuracies[k - 1], accuracies[k]
    return float(shares[k - 1] + (target - a) / (b - a) * (shares[k] - shares[k - 1]))


def shares_left(methods, weights):
    """The shares [method][way] that reach the accuracy on a part of the way from the vote alone to all questions."""
    curves = {name: d.curve(weights) for name, d in methods.items()}
    alone, asked = (curves["vote"][1][i] for i in (0, -1))
    targets = [alone + way * (asked - alone) for way in WAYS]
    return {name: [share_at(*c, t) for t in targets] for name, c in curves.items()}, targets


def between(values):
    values = sorted(v for v in values if not math.isnan(v))
    return "[%.3f, %.3f]" % (values[len(values) // 40], values[-1 - len(values) // 40]) if values else "[]"


def report_deferral(name, rows):
    methods = {m: Deferral(rows, m) for m in METHODS}
    whole = numpy.ones(len(rows))
    print("\n%s: accuracy by the share left to a person" % name)
    print("  %-16s %s   all: %.3f" % ("", "  ".join("%5.2f" % s for s in SHARES), methods["vote"].asks.mean()))
    for m, d in methods.items():
        shares, accuracies = d.curve(whole)
        print("  %-16s %s   %10.3f" % (m, "  ".join("%.3f" % numpy.interp(s, shares, accuracies) for s in SHARES),
                                       accuracies[-1]))
    left, targets = shares_left(methods, whole)
    rng = numpy.random.default_rng(1)
    base, n = methods["vote"].base, len(methods["vote"].bases)
    drawn = [shares_left(methods, numpy.bincount(rng.integers(0, n, n), minlength=n)[base].astype(float))[0]
             for _ in range(1000)]
    for i, way in enumerate(WAYS):
        print("  accuracy %.3f, %.2f of the way from the vote to all questions: share left (nan: never) %s" % (
            targets[i], way, ", ".join("%s %.3f" % (m, left[m][i]) for m in METHODS)))
        for m in ("vote", "first candidate"):
            print("    auto less %-16s %+.3f %s" % (m, left["auto"][i] - left[m][i],
                                                   between([x["auto"][i] - x[m][i] for x in drawn])))


def report(name, by):
    chosen = by["auto 0"]
    print("\n%s: %d dialogues, %d databases; coverage %s; ECE of --auto %.3f, of the votes %.3f" % (
        name, len(chosen), len({x["base"] for x in chosen}), interval(chosen, lambda x: len(x["right"]) > 0),
        calibration(chosen, lambda x: [g["p"] for g in x["groups"]]), calibration(chosen, votes)))
    print("  first candidate    %s" % interval(chosen, first_is_right))
    print("  vote               %s" % interval(chosen, vote_is_right))
    print("  auto less vote     %s" % interval(chosen, lambda x: chosen_is_right(x) - vote_is_right(x)))
    report_repairs(chosen)
    for how, rows in by.items():
        print("  %-18s %s   questions %s" % (how, interval(rows, lambda x: x["match"]), interval(rows, lambda x: x["questions"])))


def measure():
    results = {family: {} for family in ("ambiqt", "dfpl", "ambrosia", "spider")}
    for how, option, level in (("auto", "--auto", "0"), ("auto", "--auto", "0.7"), ("vote", "--confidence", "0.7"),
                               ("auto", "--auto", "0.9"), ("vote", "--confidence", "0.9"), ("auto", "--auto", "1")):
        for family, by in results.items():
            by[how + " " + level] = [x for name in SOURCES if name.startswith(family)
                                     for x in dialogues(name, "test", option, level)]
    for family, by in results.items():
        report(family, by)
        report_deferral(family, by["auto 1"])


{"make": make, "fit": fit_weights, "measure": measure}[a.step]()

"""Makes a data folder of ambiguous and unambiguous questions from the hand-written domains of data/synth/domains.

usage: domains.py OUT [DOMAIN.txt ...]
OUT gets tables.json, train.jsonl, valid.jsonl and test.jsonl in the format of ambit-data contrast.  The README in the
folder of the domains explains their format.  Some domains are kept for validation and test.  The output is deterministic.
"""
import glob
import json
import os
import random
import re
import sys

VARIANTS, QUESTIONS = 70, 14  # variants of a domain, questions of a variant
VALID, TEST = {"lawfirm", "recycling", "microfinance"}, {"energy"}
TYPES = {"i": "number", "r": "number", "d": "time", "": "text"}
BEFORE = ["please ", "pls ", "hey, ", "quick question: ", "i need ", "can you tell me: ", "could you look up ",
          "for the board: ", "once again: ", "hi - ", "give me: ", ""]
BEHIND = [" please", " pls", " thanks", ", asap", "?", "??", ".", " (for the report)", " - anyone?", ""]
WEIGHTS = {"?": (3.0, 1.2), "said": (1.7, 0.5), "-": (0.8, 0.8)}  # where two elements are kept, and where one is
rng = random.Random(5)


def read_columns(text):
    for column in text.split(","):
        left, _, target = column.partition(">")
        name, *kind = left.split()
        yield name, kind[0] if kind else "i" if target else "", target.strip() or None


def read_domain(path):
    tables, groups, clear = {}, [], []
    for number, line in enumerate(map(str.strip, open(path, encoding="utf-8")), 1):
        mark, _, rest = line.partition(" ")
        table = re.fullmatch(r"T (\w+) \((.*)\)", line)
        if table:
            tables[table[1]] = list(read_columns(table[2]))
        elif mark == "P":
            groups.append((rest.split(), {}))
        elif mark == "-":
            question, _, elements = rest.partition("@")
            clear.append((question.strip(), [e.strip() for e in elements.split(",")]))
        elif mark == "?" or mark.isdigit():
            groups[-1][1][mark] = [q.strip() for q in rest.split(";")]
        elif line:
            sys.exit("%s:%d: expected T, P, ?, a number or -, got '%s'" % (path, number, line))
    domain = {"name": os.path.basename(path)[:-4], "tables": tables, "groups": groups, "clear": clear}
    check_names(path, domain)
    return domain


def check_names(path, domain):
    known = set(domain["tables"]) | {"%s.%s" % (t, c[0]) for t, cs in domain["tables"].items() for c in cs}
    used = [e for elements, _ in domain["groups"] for e in elements] + [e for _, es in domain["clear"] for e in es]
    used += [c[2] for cs in domain["tables"].values() for c in cs if c[2]]
    for name in used:
        if name not in known:
            sys.exit("%s: no table or column is named '%s'" % (path, name))


def spoil(question):
    """Puts a typo into a longer word."""
    words = question.split()
    places = [i for i, w in enumerate(words) if len(w) > 4 and w.isalpha()]
    if not places:
        return question
    i = rng.choice(places)
    w, at = words[i], rng.randrange(1, len(words[i]) - 1)
    words[i] = rng.choice([w[:at] + w[at + 1:], w[:at] + w[at + 1] + w[at] + w[at + 2:], w[:at + 1] + w[at:]])
    return " ".join(words)


def restyle(question):
    if rng.random() < 0.25:
        question = rng.choice(BEFORE) + question
    if rng.random() < 0.3:
        question += rng.choice(BEHIND)
    if rng.random() < 0.08:
        question = spoil(question)
    return question[0].upper() + question[1:] if rng.random() < 0.3 else question


def words_of(name):
    return " ".join(re.split(r"[_\s]+", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name))).lower()


def spelling():
    """Chooses the naming style of a variant."""
    draw = rng.random()
    if draw < 0.2:
        return lambda name: "".join(p[:1].upper() + p[1:] for p in name.split("_"))
    return str.upper if draw < 0.27 else lambda name: name


def dropped_of(domain):
    """Chooses the elements that a variant lacks: all but one or two of each group, and a few others."""
    dropped = set()
    for elements, _ in domain["groups"]:
        alive = [e for e in elements if e not in dropped and e.split(".")[0] not in dropped]
        rng.shuffle(alive)
        dropped.update(alive[2 if rng.random() < 0.62 else 1:])
    for table, columns in domain["tables"].items():
        dropped.update("%s.%s" % (table, c[0]) for c in columns[1:] if not c[2] and rng.random() < 0.05)
    return dropped


def make_schema(domain, name, dropped, write):
    """The schema in Spider's format, and the number of each of its columns by "table.column"."""
    tables = [t for t in domain["tables"] if t not in dropped]
    rng.shuffle(tables)
    s = {"db_id": name, "table_names": [words_of(write(t)) for t in tables],
         "table_names_original": [write(t) for t in tables], "column_names": [[-1, "*"]],
         "column_names_original": [[-1, "*"]], "column_types": ["text"], "primary_keys": [], "foreign_keys": []}
    at = {}
    for number, table in enumerate(tables):
        for column, kind, _ in domain["tables"][table]:
            if "%s.%s" % (table, column) not in dropped:
                at["%s.%s" % (table, column)] = len(s["column_names"])
                s["column_names"].append([number, words_of(write(column))])
                s["column_names_original"].append([number, write(column)])
                s["column_types"].append(TYPES[kind])
    for table in tables:
        first, _, target = domain["tables"][table][0]
        if "%s.%s" % (table, first) in at and not target:
            s["primary_keys"].append(at["%s.%s" % (table, first)])
        for column, _, target in domain["tables"][table]:
            key = "%s.%s" % (table, column)
            if target in at and key in at and rng.random() < 0.93:  # real schemas leave some keys undeclared
                s["foreign_keys"].append([at[key], at[target]])
    return s, at


def questions_of(domain, here):
    """(weight, question, possible elements, slice) of all questions whose elements exist in a variant."""
    for elements, questions in domain["groups"]:
        kept = [e for e in elements if here(e)]
        if not 1 <= len(kept) <= 2:
            continue
        one, place = len(kept) == 1, "presence" if len(kept) == 1 else "crossed"
        for mark, texts in questions.items():
            meant = kept if mark == "?" else [elements[int(mark) - 1]]
            if all(map(here, meant)):
                for text in texts:
                    yield WEIGHTS["?" if mark == "?" else "said"][one], text, meant, place
    for text, elements in domain["clear"]:
        if all(map(here, elements)):
            yield WEIGHTS["-"][0], text, elements[:1], "presence"


def draw_questions(pool):
    for _ in range(min(QUESTIONS, len(pool))):
        yield pool.pop(rng.choices(range(len(pool)), [q[0] for q in pool])[0])


def make_variant(domain, number):
    write, name = spelling(), "%s__d%d" % (domain["name"], number)
    dropped = dropped_of(domain)
    schema, at = make_schema(domain, name, dropped, write)

    def here(element):
        return element in at if "." in element else element in domain["tables"] and element not in dropped

    def written(element):
        return ".".join(map(write, element.split(".")))

    def sql(element):
        table, _, column = written(element).partition(".")
        return "SELECT %s FROM %s" % (column or "count(*)", table)

    records = []
    for _, question, meant, place in draw_questions(list(questions_of(domain, here))):
        open_ = len(meant) == 2
        records.append({"id": "%s-%d" % (name, len(records)), "db_id": name, "source_db": domain["name"],
                        "question": restyle(question), "sql": [sql(e) for e in meant], "slice": place,
                        "kind": "C" if "." in meant[0] else "T", "ambiguous": open_,
                        "alternatives": [written(e) for e in meant] if open_ else [], "renamed": [],
                        "source": "domains"})
    return schema, records


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    out, paths = sys.argv[1], sys.argv[2:]
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "natural", "domains", "*.txt")
    schemas, folds, seen = [], {"valid": [], "test": [], "train": []}, set()
    domains = [read_domain(p) for p in paths or sorted(glob.glob(own))]
    for fold, records in folds.items():  # a question occurs in only one split
        for domain in domains:
            if fold != ("valid" if domain["name"] in VALID else "test" if domain["name"] in TEST else "train"):
                continue
            for number in range(VARIANTS):
                schema, made = make_variant(domain, number)
                schemas.append(schema)
                records += [r for r in made if r["question"] not in seen]
        seen.update(r["question"] for r in records)
    os.makedirs(out, exist_ok=True)
    json.dump(schemas, open(os.path.join(out, "tables.json"), "w"))
    for fold, records in folds.items():
        with open(os.path.join(out, fold + ".jsonl"), "w") as f:
            f.writelines(json.dumps(r) + "\n" for r in records)
        print("%s: %d questions, %d ambiguous" % (fold, len(records), sum(r["ambiguous"] for r in records)))


if __name__ == "__main__":
    main()

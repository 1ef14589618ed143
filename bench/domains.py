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

VARIANTS, QUESTIONS = 30, 14  # variants of a domain, questions of a variant
VALID, TEST = {"lawfirm", "recycling", "microfinance", "liftservice"}, {"energy"}
TYPES = {"i": "number", "r": "number", "d": "time", "": "text"}
BEFORE = ["please ", "pls ", "hey, ", "quick question: ", "for the board: ", "once again: ", "hi - ", "ok so ", "and "]
BEFORE_NOUN = ["show ", "show me ", "list ", "give me ", "i need ", "get me ", "can you pull ", "we want to see ",
               "could you look up ", "give me: ", "i'm looking for "]
BEFORE_ONE = ["what is the ", "what's the ", "tell me the ", "could you give me the ", "i need to know the ", "the ",
              "please send me the ", "do you have the ", "we are looking for the ", "can you work out the "]
BEFORE_MANY = ["show me all ", "list all ", "give me a list of all ", "can i have all ", "please list the ", "find all ",
               "i need a list of all ", "could you show me the ", "which are the ", "pull up all "]
BEFORE_ALL = ["for the annual report: ", "my boss wants to know this: ", "we have a meeting tomorrow, so ", "so ",
              "i have to fill in a form, ", "just quickly, ", "a colleague asked me: ", "for my notes - "]
BEHIND_ALL = [", sorted by name", " as a table", ", newest first", " in one list", ", please, i need it today",
              " (the auditor asks)", ", short answer will do", ", for the meeting on Monday", " if we have that"]
BEFORE_CLAUSE = ["can you tell me ", "tell me ", "do you know ", "i'd like to know ", "please find out ", "say "]
BEHIND = [" please", " pls", " thanks", ", asap", "??", ".", " (for the report)", " - anyone?"]
ASKING = set("""who whose whom what which when where how why is are was were do does did has have had can could will
any since until in at by from for whom list show give tell count find get call add write send ring reach mail email number""".split())
MONTHS = """January February March April May June July August September October November December""".split()
PEOPLE = """Adler Bakker Castro Dietz Evans Farkas Gruber Hughes Ivanova Jansen Kowalski Larsen Mbeki Novak Oduya Petrov
Quinn Rossi Sato Tanaka Ueda Varga Weiss Yilmaz Zeller Brown Meier Dubois Silva Okoro""".split()
FIRST_NAMES = """Anna Ben Carla David Emma Felix Grace Hassan Irene Jonas Kim Lena Marco Nadia Omar Paula Rosa Simon
Tara Victor""".split()
TOWNS = """Ashford Brno Calais Dover Essen Fulda Ghent Hull Ipswich Jena Kassel Leeds Metz Namur Oslo Porto Reims Siena
Turku Ulm""".split()
FIRMS = """Acorn Birchfield Corvus Delmar Eastgate Fenwick Globex Harlan Inova Kestrel Lumen Northwind Orbis Pinnacle
Quarto Ridgeway Solano Tessel Vertex Westbrook""".split()
ABBREVIATIONS = dict(w.split("=") for w in """amount=amt number=no date=dt quantity=qty customer=cust address=addr
price=pr total=tot name=nm account=acct department=dept employee=emp order=ord invoice=inv product=prod planned=pl
actual=act phone=tel count=cnt description=descr station=stn payment=pmt document=doc reference=ref manager=mgr
vehicle=veh received=recd delivered=dlvd contract=contr minutes=min hours=hrs year=yr month=mth estimated=est
measured=meas percent=pct category=cat supplier=suppl""".split())
# How often a question is drawn by the number of kept elements of its group: one, two or three.
WEIGHTS = {"?": (2.4, 3.0, 1.0), "two": (0.6, 3.0, 3.0), "said": (0.5, 2.2, 2.2), "-": 1.1, "both": 4.0}
ACROSS = 2.0  # how much more often a variant asks about elements of different tables
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


def value(slot):
    """Draws a value for a slot such as {month}."""
    person = rng.choice(PEOPLE)
    if slot in ("who", "buyer"):
        return rng.choice([person, "%s %s" % (rng.choice(FIRST_NAMES), person), "Ms " + person, "Mr " + person])
    simple = {"last": PEOPLE, "firm": FIRMS, "town": TOWNS, "month": MONTHS, "party": ["Greens", "Union", "Reform List"]}
    if slot in simple:
        return rng.choice(simple[slot])
    return str({"year": rng.randint(2008, 2025), "n": rng.choice([2, 3, 5, 10, 12, 20, 50, 100, 250, 500, 1000]),
                "id": rng.choice([rng.randint(2, 99), rng.randint(100, 9999)])}[slot])


def fill(template):
    """Chooses one of each [a|b], fills the slots, and draws new months and years."""
    text = re.sub(r"\[([^\]]*)\]", lambda m: rng.choice(m[1].split("|")), template)
    text = re.sub(r"\b(%s)\b" % "|".join(m for m in MONTHS if m != "May"), lambda m: rng.choice(MONTHS), text)
    text = re.sub(r"\b20[0-2]\d\b", lambda m: value("year"), text)
    return re.sub(r"\s+", " ", re.sub(r"\{(\w+)\}", lambda m: value(m[1]), text)).strip()


def introduce(question):
    """Puts words before a question that keep its meaning and its grammar."""
    first = question.split()[0].strip(",'").lower()
    if first in ("how", "who", "when", "where") and rng.random() < 0.3:
        verb = re.search(r"\b(is|are|was|were|do|does|did|can|could|has|have|will)\b", question)
        return question if verb else rng.choice(BEFORE_CLAUSE) + question
    if first in ASKING:
        return rng.choice(BEFORE) + question
    if re.match(r"\w*[^s\W] of |\w+ (\w*[^s\W]) of |(address|status) of ", question):
        return rng.choice(BEFORE_ONE) + question
    if re.match(r"\w+[^s\W]s\b", question):
        return rng.choice(BEFORE_MANY) + question
    return rng.choice(BEFORE_NOUN if rng.random() < 0.7 else BEFORE) + question


def restyle(question):
    asks = question.split()[0].lower() in ("who", "whose", "what", "which", "when", "where", "how", "is", "are", "did")
    if rng.random() < 0.42:
        question = introduce(question)
    if rng.random() < 0.1:
        question = rng.choice(BEFORE_ALL) + question
    if rng.random() < 0.1 and question[-1] not in "?.":
        question += rng.choice(BEHIND_ALL)
    if asks and rng.random() < 0.5 and question[-1] not in "?.":
        question += "?"
    elif rng.random() < 0.2:
        question += rng.choice(BEHIND)
    if rng.random() < 0.07:
        question = spoil(question)
    return question[0].upper() + question[1:] if rng.random() < 0.4 else question.lower() if rng.random() < 0.2 else question


def words_of(name):
    return " ".join(re.split(r"[_\s]+", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name))).lower()


def pascal(name):
    return "".join(w[:1].upper() + w[1:] for w in words_of(name).split())


def shortened(name):
    return "_".join(ABBREVIATIONS.get(w, w) for w in words_of(name).split())


def spelled_out(name):
    long = {short: word for word, short in ABBREVIATIONS.items() if short not in ("no", "act", "min", "pl", "pr", "est")}
    return "_".join(long.get(w, w) for w in words_of(name).split())


def spelling():
    """Chooses the naming style of a variant: a function of a table and a column, or of a table alone."""
    draw, same = rng.random(), lambda name: name
    style = [same, pascal, str.upper, shortened, spelled_out, lambda n: pascal(n)[:1].lower() + pascal(n)[1:], same]
    one = style[sum(draw >= limit for limit in (0.42, 0.55, 0.6, 0.73, 0.83, 0.93))]
    prefixed = draw >= 0.93

    def write(table, column=None):
        if column is None:
            return one(table)
        return "%s_%s" % (words_of(table).replace(" ", "")[:3], one(column)) if prefixed else one(column)

    return write


def dropped_of(domain):
    """Chooses the elements that a variant lacks: all but one to three of each group, and a few others."""
    dropped = set()
    for elements, _ in domain["groups"]:
        alive = [e for e in elements if e not in dropped and e.split(".")[0] not in dropped]
        rng.shuffle(alive)
        draw = rng.random()
        dropped.update(alive[2 if draw < 0.52 else 3 if draw < 0.67 else 1:])
    for table, columns in domain["tables"].items():
        dropped.update("%s.%s" % (table, c[0]) for c in columns[1:] if not c[2] and rng.random() < 0.05)
    return dropped


def make_schema(domain, name, dropped, write):
    """Returns the schema in Spider's format, and the number of each of its columns by "table.column"."""
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
                s["column_names"].append([number, words_of(write(table, column))])
                s["column_names_original"].append([number, write(table, column)])
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


def tables_of(elements):
    return {e.split(".")[0] for e in elements}


def phenomenon(domain, elements):
    """Names the reason why the elements may be confused."""
    kinds = {e: {c[0]: c[1:] for c in domain["tables"][e.split(".")[0]]}[e.split(".")[1]] for e in elements if "." in e}
    if not kinds:
        return "two tables"
    if len(kinds) < len(elements):
        return "stored aggregate"
    targets = {t: {c[2].split(".")[0] for c in cs if c[2]} for t, cs in domain["tables"].items()}
    if len(tables_of(elements)) > 1:
        linked = any(a in targets[b] for a in tables_of(elements) for b in tables_of(elements))
        numbers = all(kind in ("i", "r") and not target for kind, target in kinds.values())
        return "stored aggregate" if linked and numbers else "column of two tables"
    if all(target for _, target in kinds.values()):
        return "two roles"
    return {"d": "two dates", "": "two texts"}.get(next(iter(kinds.values()))[0], "two numbers")


def doubled_tables(domain, here):
    """Returns the tables that a question may confuse with another table of a variant."""
    kept = [[e for e in elements if "." not in e and here(e)] for elements, _ in domain["groups"]]
    return {table for tables in kept if len(tables) > 1 for table in tables}


def questions_of(domain, here):
    """Yields (weight, question, possible elements, slice, reason) of all questions whose elements a variant has."""
    doubled = doubled_tables(domain, here)
    for elements, questions in domain["groups"]:
        kept = [e for e in elements if here(e)]
        if not 1 <= len(kept) <= 3:
            continue
        place, reason = "hard-negative" if len(kept) == 1 else "contrast", phenomenon(domain, elements)
        more = ACROSS if len(tables_of(kept)) > 1 else 1
        for mark, texts in questions.items():
            meant = rng.sample(kept, min(2, len(kept))) if mark == "?" else [elements[int(digit) - 1] for digit in mark]
            meant = meant if len(mark) == 1 else [e for e in meant if here(e)]
            unsure = mark == "?" and len(kept) == 1 and tables_of(kept) & doubled  # perhaps the other table is meant
            if meant and all(map(here, meant)) and not unsure:
                weight = more * WEIGHTS["?" if mark == "?" else "two" if len(mark) == 2 else "said"][len(kept) - 1]
                for text in texts:
                    yield weight, text, meant, place, reason
    for text, elements in domain["clear"]:
        if all(map(here, elements)):
            both = len(elements) > 1
            yield WEIGHTS["both" if both else "-"], text, elements[:1], "hard-negative", "both named" if both else "plain"


def draw_questions(pool):
    for _ in range(min(QUESTIONS, len(pool))):
        yield pool.pop(rng.choices(range(len(pool)), [q[0] for q in pool])[0])


def alternatives(meant):
    """Returns the elements to choose from. If one is a table, then both become tables."""
    return meant if all("." in e for e in meant) else [e.split(".")[0] for e in meant]


def distinct_names(schema):
    names = [(t, name.lower()) for t, name in schema["column_names_original"]]
    return len(set(names)) == len(names)


def make_variant(domain, number):
    name, dropped, distinct = "%s__d%d" % (domain["name"], number), dropped_of(domain), False
    while not distinct:
        write = spelling()
        schema, at = make_schema(domain, name, dropped, write)
        distinct = distinct_names(schema)

    def here(element):
        return element in at if "." in element else element in domain["tables"] and element not in dropped

    def written(element):
        table, _, column = element.partition(".")
        return write(table) + ("." + write(table, column) if column else "")

    def sql(element):
        table, _, column = written(element).partition(".")
        return "SELECT %s FROM %s" % (column or "count(*)", table)

    records = []
    for _, question, meant, place, reason in draw_questions(list(questions_of(domain, here))):
        open_, pair = len(meant) == 2, alternatives(meant)
        records.append({"id": "%s-%d" % (name, len(records)), "db_id": name, "source_db": domain["name"],
                        "question": restyle(fill(question)), "sql": [sql(e) for e in meant], "slice": place,
                        "type": "C" if "." in pair[0] else "T", "ambiguous": open_,
                        "alternatives": [written(e) for e in pair] if open_ else [], "renamed": [],
                        "source": "domains", "reason": reason})
    return schema, records


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    out, paths = sys.argv[1], sys.argv[2:]
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "synth", "domains", "*.txt")
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

"""Converts corpora to Spider's format (tables.json, train_spider.json) for `ambit-data natural`.

wikisql FILE... OUT SEED    WikiSQL's questions with headers; a database holds several tables, like those of one site
wtq FILE OUT SEED           WikiTableQuestions' tables, with their first rows in SQLite files, without questions
bird DIR OUT                BIRD's train.json; without train_tables.json, schemas are derived from the statements
science DIR... OUT          ScienceBenchmark's folders: tables.json, seed.json, dev.json

usage: natural_corpora.py COMMAND FILES    bird needs sqlglot if train_tables.json is missing
"""
import collections
import json
import os
import random
import re
import sqlite3
import sys

from wiki_twins import dump, gather, identifier, natural, read, statement

KINDS = ("results", "records", "list", "entries", "overview")
NUMBER_WORDS = set("""year no number points score goals wins losses draws rank total population attendance round area
capacity age height weight pick games laps position season apps""".split())
TABLES_EACH = (5, 12)
MOST_TABLES = 1500  # of WikiSQL: more would outnumber the databases with several tables


def words_of(name):
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return re.sub(r"[^A-Za-z0-9]+", " ", name).strip().lower()


def empty_schema(db):
    return {"db_id": db, "table_names": [], "table_names_original": [], "column_names": [[-1, "*"]],
            "column_names_original": [[-1, "*"]], "column_types": ["text"], "primary_keys": [], "foreign_keys": []}


def add_table(schema, name, columns):
    """columns: (name, natural words, type)."""
    table = len(schema["table_names"])
    schema["table_names"].append(words_of(name))
    schema["table_names_original"].append(name)
    for column, text, kind in columns:
        schema["column_names"].append([table, text])
        schema["column_names_original"].append([table, column])
        schema["column_types"].append(kind)


def kind_of(head, known):
    return "number" if known or natural(head).split(" ")[-1] in NUMBER_WORDS else "text"


def wikisql(*args):
    *sources, out, seed = args
    rng = random.Random(int(seed))
    questions = [dict(q, adveta_rpl={}, adveta_add={}) for source in sources for q in read(source)
                 if q["sel"] is not None and all(c["col"] is not None for c in q["conds"])]
    tables = [t for t in gather(questions).values() if len({identifier(h) for h in t["header"]}) == len(t["header"])]
    rng.shuffle(tables)
    del tables[MOST_TABLES:]
    schemas, made, at = [], [], 0
    while at < len(tables):
        size = rng.randint(*TABLES_EACH)
        schema, used = empty_schema(f"wikisql_{len(schemas)}"), set()
        for table in tables[at:at + size]:
            subject = identifier(natural(rng.choice(table["header"][:2]))).split("_")[-1]
            name = f"{subject}_{rng.choice(KINDS)}"
            while name in used:
                name = f"{subject}_{rng.choice(KINDS)}_{rng.randint(2, 99)}"
            used.add(name)
            names = [identifier(h) for h in table["header"]]
            add_table(schema, name, [(n, natural(h), kind_of(h, k in table["number"]))
                                     for k, (h, n) in enumerate(zip(table["header"], names))])
            made += [{"db_id": schema["db_id"], "question": q["question"], "query": statement(q, names, name)}
                     for q in table["questions"]]
        schemas.append(schema)
        at += size
    dump(schemas, out, "tables.json")
    dump(made, out, "train_spider.json")
    print(f"{len(schemas)} databases, {len(made)} questions")


def plain(cell):
    cell = re.sub(r"[\s\xa0]+", " ", cell).strip()
    return None if cell in ("", "-", "\u2013", "\u2014") else cell


def is_number(cells):
    cells = [c for c in cells if c is not None]
    return bool(cells) and all(re.fullmatch(r"[-+]?[\d,]*\.?\d+%?", c) for c in cells)


def wtq(source, out, seed):
    rng = random.Random(int(seed))
    tables = [t for t in read(source) if all(natural(h) for h in t["header"])
              and len({identifier(h) for h in t["header"]}) == len(t["header"]) and t["rows"]]
    rng.shuffle(tables)
    schemas, at = [], 0
    os.makedirs(os.path.join(out, "db"), exist_ok=True)
    while at < len(tables):
        size = rng.randint(*TABLES_EACH)
        schema, used = empty_schema(f"wtq_{len(schemas)}"), set()
        path = os.path.join(out, "db", schema["db_id"] + ".sqlite")
        if os.path.exists(path):
            os.remove(path)
        db = sqlite3.connect(path)
        for table in tables[at:at + size]:
            names = [identifier(h) for h in table["header"]]
            name = f"{names[rng.randrange(min(2, len(names)))].split('_')[-1]}_{rng.choice(KINDS)}"
            while name in used:
                name = f"{name}_{rng.randint(2, 99)}"
            used.add(name)
            rows = [[plain(c) for c in row] for row in table["rows"] if len(row) == len(names)]
            kinds = ["number" if is_number([r[k] for r in rows]) else "text" for k in range(len(names))]
            add_table(schema, name, [(n, natural(h), kind) for h, n, kind in zip(table["header"], names, kinds)])
            db.execute(f'create table "{name}" (' + ", ".join(f'"{n}" {k}' for n, k in zip(names, kinds)) + ")")
            db.executemany(f'insert into "{name}" values (' + ", ".join("?" * len(names)) + ")", rows)
        db.commit()
        db.close()
        schemas.append(schema)
        at += size
    dump(schemas, out, "tables.json")
    dump([], out, "train_spider.json")
    print(f"{len(schemas)} databases of {len(tables)} tables")


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


class Statements:
    """Tables, columns, types and joins of one database that its statements use."""

    def __init__(self):
        self.tables = collections.OrderedDict()
        self.joins = collections.Counter()

    def column(self, table, name):
        columns = self.tables.setdefault(table.lower(), {"name": table, "columns": collections.OrderedDict()})["columns"]
        return columns.setdefault(name.lower(), {"name": name, "type": "text"})

    def read(self, sql):
        import sqlglot
        from sqlglot import exp
        from sqlglot.optimizer.scope import traverse_scope
        for scope in traverse_scope(sqlglot.parse_one(sql, read="sqlite")):
            sources = {k.lower(): v for k, v in scope.sources.items() if isinstance(v, exp.Table)}
            for source in sources.values():
                self.tables.setdefault(source.name.lower(), {"name": source.name, "columns": collections.OrderedDict()})
            where = {}
            for column in scope.columns:
                source = sources.get(column.table.lower())
                if source is None and not column.table and len(scope.sources) == 1 and sources:
                    source = next(iter(sources.values()))
                if source is not None:
                    where[id(column)] = (source.name, column.name)
                    self.see(column, self.column(source.name, column.name))
            for equal in scope.find_all(exp.EQ):
                sides = [where.get(id(side)) for side in (equal.left, equal.right)]
                if all(sides) and sides[0][0].lower() != sides[1][0].lower():
                    self.joins[tuple(sorted((t.lower(), c.lower()) for t, c in sides))] += 1

    def see(self, column, entry):
        from sqlglot import exp
        parent = column.parent
        other = next((x for x in (parent.args.get("this"), parent.args.get("expression")) if x is not column), None)
        if isinstance(parent, (exp.Sum, exp.Avg, exp.Mul, exp.Sub)) or (isinstance(other, exp.Literal) and not other.is_string):
            entry["type"] = "number"
        elif "strftime" in str(parent).lower() or isinstance(parent, (exp.TimeToStr, exp.TsOrDsToTimestamp, exp.Date)):
            entry["type"] = "time"

    def schema(self, db):
        schema, number = empty_schema(db), {}
        for key, table in self.tables.items():
            if not table["columns"]:
                continue
            start = len(schema["column_names"])
            add_table(schema, table["name"], [(c["name"], words_of(c["name"]), c["type"]) for c in table["columns"].values()])
            number.update({(key, c): start + k for k, c in enumerate(table["columns"])})
        ends = collections.Counter()
        for pair, count in self.joins.items():
            for end in pair:
                ends[end] += count
        for a, b in self.joins:
            if a in number and b in number:
                key = max(a, b, key=lambda end: (end[0].rstrip("s") in end[1], ends[end]))
                schema["foreign_keys"].append([number[b if key is a else a], number[key]])
        schema["primary_keys"] = sorted({to for _, to in schema["foreign_keys"]})
        return schema


def schemas_of_statements(questions):
    databases = collections.OrderedDict()
    for q in questions:
        try:
            databases.setdefault(q["db_id"], Statements()).read(q["query"])
        except Exception:  # sqlglot raises errors of several classes on unsupported statements
            continue
    return [s.schema(db) for db, s in databases.items()]


def bird(source, out):
    questions = [{"db_id": q["db_id"], "question": q["question"], "query": q["SQL"]} for q in load(os.path.join(source, "train.json"))]
    tables = os.path.join(source, "train_tables.json")
    schemas = load(tables) if os.path.exists(tables) else schemas_of_statements(questions)
    known = {s["db_id"] for s in schemas if s["table_names"]}
    questions = [q for q in questions if q["db_id"] in known]
    dump([s for s in schemas if s["db_id"] in known], out, "tables.json")
    dump(questions, out, "train_spider.json")
    print(f"{len(known)} databases, {len(questions)} questions")


def science(*args):
    *folders, out = args
    schemas, questions = [], []
    for folder in folders:
        (schema,) = load(os.path.join(folder, "tables.json"))
        schema["db_id"] = os.path.basename(folder.rstrip("/"))
        schemas.append(schema)
        for name in "seed.json", "dev.json":
            questions += [{"db_id": schema["db_id"], "question": q["question"], "query": q["query"]}
                          for q in load(os.path.join(folder, name))]
    dump(schemas, out, "tables.json")
    dump(questions, out, "train_spider.json")
    print(f"{len(schemas)} databases, {len(questions)} questions")


if __name__ == "__main__":
    {"wikisql": wikisql, "wtq": wtq, "bird": bird, "science": science}[sys.argv[1]](*sys.argv[2:])

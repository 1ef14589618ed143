"""Adds the single tables of WikiSQL to Spider's databases, in the input format of `ambit-data ambiguate` and `contrast`.

make WIKISQL.jsonl OUT SEED   makes a database of each table, in OUT/spider and OUT/ambiqt.  Duplicated elements use
                              alternative column names by people (ADVETA's renamings).  Up to five random confusable but
                              wrong columns (ADVETA's additions) are added as distractors.
join DATA OUT FOLDS...        copies the contrast folder DATA, and appends the training questions of each FOLDS

usage: wiki_twins.py COMMAND FILES
"""
import json
import os
import random
import re
import shutil
import sys

TABLE_NAMES = ("results", "data", "records", "entries", "listing", "overview", "items", "facts")
MOST_STRANGERS, OWN_NAME = 5, 0.3
RESERVED = set("""all and as asc between by case check default desc distinct else end except exists foreign from group having in index intersect
is join key like limit not null on or order primary select set table then union values when where""".split())


def read(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def dump(value, *path):
    path = os.path.join(*path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f)


def natural(name):
    return re.sub(r"\s+", " ", re.sub(r"[_/]", " ", name)).strip().lower()


def identifier(name):
    name = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    name = f"c_{name}" if not name or name[0].isdigit() else name
    return f"the_{name}" if name in RESERVED else name


def gather(questions):
    """Tables by id: header, renamings and additions by natural name, columns that hold numbers, questions."""
    tables = {}
    for q in questions:
        t = tables.setdefault(q["table_id"], {"header": q["header"], "rename": {}, "add": {}, "number": set(), "questions": []})
        for name, given in q["adveta_rpl"].items():
            t["rename"].setdefault(natural(name), given)
        for name, given in q["adveta_add"].items():
            t["add"].setdefault(natural(name), given)
        if q["agg"] in ("MAX", "MIN", "AVG", "SUM"):
            t["number"].add(q["sel"])
        t["number"].update(c["col"] for c in q["conds"] if c["op"] in "<>")
        t["questions"].append(q)
    return tables


def twins(table, names, rng):
    """Two replacement names for each column that people renamed: theirs, sometimes one of them and the original."""
    found = {}
    for head, name in zip(table["header"], names):
        given = {identifier(x) for x in table["rename"].get(natural(head), [])} - set(names)
        if not given:
            continue
        given = rng.sample(sorted(given), min(2, len(given)))
        if len(given) == 1 or rng.random() < OWN_NAME:
            given = [given[0], name]
        found[name] = rng.sample(given, 2)
    return found


def identifiers(given):
    return {identifier(name) for names in given.values() for name in names}


def strangers(table, names, rng):
    added = sorted(identifiers(table["add"]) - identifiers(table["rename"]) - set(names))
    return rng.sample(added, min(rng.randint(0, MOST_STRANGERS), len(added)))


def schema_of(db, table, names, added, table_name, rng):
    columns = [(name, natural(head), "number" if k in table["number"] else "text")
               for k, (head, name) in enumerate(zip(table["header"], names))]
    columns += [(name, natural(name), "text") for name in added]
    rng.shuffle(columns)
    return {"db_id": db, "table_names": [table_name], "table_names_original": [table_name],
            "column_names": [[-1, "*"]] + [[0, text] for _, text, _ in columns],
            "column_names_original": [[-1, "*"]] + [[0, name] for name, _, _ in columns],
            "column_types": ["text"] + [kind for _, _, kind in columns], "primary_keys": [], "foreign_keys": []}


def statement(question, names, table_name):
    chosen = names[question["sel"]]
    chosen = f"{question['agg']}({chosen})" if question["agg"] else chosen
    conditions = [f"{names[c['col']]} {c['op']} '" + str(c["value"]).replace("'", "''") + "'" for c in question["conds"]]
    return f"select {chosen} from {table_name}" + (" where " + " and ".join(conditions) if conditions else "")


def make(source, out, seed):
    schemas, questions, columns, rng = [], [], {}, random.Random(int(seed))
    for number, table in enumerate(gather(read(source)).values()):
        names = [identifier(head) for head in table["header"]]
        found = twins(table, names, rng)
        if not found or len(set(names)) < len(names):
            continue
        db, table_name = f"wiki_{seed}_{number}", rng.choice(TABLE_NAMES)
        columns[db] = {table_name: found}
        schemas.append(schema_of(db, table, names, strangers(table, names, rng), table_name, rng))
        questions += [{"db_id": db, "question": q["question"], "query": statement(q, names, table_name)} for q in table["questions"]]
    dump(schemas, out, "spider", "tables.json")
    for name in "dev.json", "train_spider.json":
        dump(questions, out, "spider", name)
    dump(columns, out, "ambiqt", "two_col_synonyms.json")
    dump({db: {} for db in columns}, out, "ambiqt", "two_tbl_synonyms.json")
    print(f"{len(schemas)} databases of a table, {len(questions)} questions")


def tables_of(folder):
    with open(os.path.join(folder, "tables.json"), encoding="utf-8") as f:
        return json.load(f)


def join(data, out, *folds):
    os.makedirs(out, exist_ok=True)
    for name in "valid.jsonl", "test.jsonl", "train.jsonl":
        shutil.copy(os.path.join(data, name), os.path.join(out, name))
    with open(os.path.join(out, "train.jsonl"), "a", encoding="utf-8") as f:
        for folder in folds:
            for r in read(os.path.join(folder, "train.jsonl")):
                f.write(json.dumps(dict(r, id=f"{r['source_db']}-{r['id']}")) + "\n")
    dump([schema for folder in (data, *folds) for schema in tables_of(folder)], out, "tables.json")


if __name__ == "__main__":
    {"make": make, "join": join}[sys.argv[1]](*sys.argv[2:])

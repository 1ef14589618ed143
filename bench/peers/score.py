"""AmbiQT's published evaluator in Python beside `ambit-data score --rule ambiqt --published`: its algorithm, kinds J and P.

usage: score.py TABLES DB K KIND:GOLD:PRED ...

Every prediction is mapped back and compared with the gold query as it is and mapped, by exact set match, by execution
of columns and by execution of rows; each comparison parses both queries, each execution opens its own connection, as
there.  Schemas are read once for each database, which is more than the published program is known to do.

On "run" it scores all files and prints the seconds; on "processor" the least seconds of processor time of a run; on
"counts" what the last run found, as ambit-data's --json does.
"""
import json
import os
import sqlite3
import sys
import time

from spider import Schema, empty, match, parse, rebuild, same_columns

tables_path, db, k = sys.argv[1], sys.argv[2], int(sys.argv[3])
files = [argument.split(":") for argument in sys.argv[4:]]
AGGREGATES = ("count", "avg", "sum", "min", "max")
schemas = {}


def lower_outside_quotes(s):
    out, quote = [], None
    for c in s.replace("``", "`"):
        if quote:
            quote = None if c == quote else quote
            out.append(c)
        else:
            quote = c if c in "\"'`" else None
            out.append(c.lower())
    return "".join(out)


def squeeze(s):
    for old, new in [(" ,", ","), ("( ", "("), (" )", ")")] + [(a + " (", a + "(") for a in AGGREGATES] + [(") ,", "),")]:
        s = s.replace(old, new)
    return s


def normalize(s):
    s = s[:-1] if s.endswith(";") else s
    return squeeze(" ".join(lower_outside_quotes(s).split()))


def words_of(s):
    for c in ",()":
        s = s.replace(c, " " + c + " ")
    return s.split()


def map_join(row, s):
    table, column = next((t.lower(), c.lower()) for t, c in row["split_map"].items())
    key, s = next(iter(row["primary_key"].values())), normalize(s)
    for join in ("%s as t1 join %s_%s as t2" % (table, table, column), "%s_%s as t1 join %s as t2" % (table, column, column)):
        for on in (" on t1.%s = t2.%s", " on t2.%s = t1.%s"):
            s = s.replace(join + on % (key, key), table)
    return squeeze(" ".join(w[3:] if len(w) > 3 and w[2] == "." else w for w in words_of(s)))


def meanings(gold, new_table):
    """What words of a query on the new table stand for in the gold query."""
    s, found = gold.replace(",", " , "), {}
    end = next((s.find(e) for e in (" where ", " group by ", " having ") if e in s), len(s))
    if "count(*)" in s:
        found["number"] = "count(*)"
    found[new_table] = s[s.find(" from ") + len(" from "):end]
    if " having " in s:
        found["where"] = "having"
    for w in s.split():
        if "(" in w:
            column = w[w.find("(") + 1:w.rfind(")")]
            column = column[3:] if len(column) > 2 and column[0] == "t" and column[2] == "." else column
            found[w[:w.find("(")] + "_" + column] = w
        elif len(w) > 2 and w[0] == "t" and w[2] == ".":
            found[w[3:]] = w
    return found


def group_column(gold, s):
    if "group by countrycode" in gold and ("countrycode" not in gold[:gold.find(" from")] or
                                           gold.startswith("select language,")):
        return "countrycode"
    items = [i.strip() for i in s[s.find("select") + len("select"):s.find("from")].split(",")]
    return next((i for i in items if "(" not in i), None)


def map_aggregate(row, s):
    gold = normalize(row["orig_query"])
    found = meanings(gold, row["new_table_name"])
    s = normalize(" ".join(found.get(w, w) for w in normalize(s).replace(",", " , ").split()))
    column = group_column(gold, s)
    if column is None:
        return s
    at = s.find(" having ") if " having " in s else len(s)
    return normalize(s[:at] + " group by " + column + s[at:])


def execute(path, sql):
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def both_results(path, a, b):
    """The rows of both, or whether the prediction counts where one of them fails."""
    try:
        rows = execute(path, a)
    except Exception:
        return None, None, False
    try:
        return rows, execute(path, b), True
    except Exception:
        return None, None, True


def by_key(rows, sql):
    return {unit[1:] if unit[0] else unit[1]: [r[i] for r in rows] for i, (_, unit) in enumerate(sql["select"][1])}


def same_execution(path, a, b, query_a, query_b):
    rows_a, rows_b, counts = both_results(path, a, b)
    if rows_b is None:
        return counts
    try:
        return by_key(rows_a, query_a) == by_key(rows_b, query_b)
    except IndexError:
        return False


def same_rows(path, a, b):
    rows_a, rows_b, counts = both_results(path, a, b)
    if rows_b is None:
        return counts
    return rows_a == rows_b if " order by " in b else set(rows_a) == set(rows_b)


def compare(path, schema, same, sql, gold):
    """Exact set match, execution match of columns, direct match of rows."""
    try:
        gold_query = rebuild(parse(gold, schema), schema, same)
    except Exception:
        return 1, 1, same_rows(path, sql, gold)
    try:
        query = rebuild(parse(sql, schema), schema, same)
    except Exception:
        query = empty()
    return match(query, gold_query), same_execution(path, sql, gold, query, gold_query), same_rows(path, sql, gold)


def score_row(kind, row, entries):
    name = row["db_id"]
    path = next(p for p in (os.path.join(db, name + ".sqlite"), os.path.join(db, name, name + ".sqlite"))
                if os.path.exists(p))
    if name not in schemas:
        schemas[name] = Schema(path), same_columns(entries[name])
    found, gold = [[False] * 3, [False] * 3], normalize(row["orig_query"])
    outs = next(row[f] for f in ("t2s_outs", "template_filled", "chatgpt_out") if f in row)
    for sql in outs[:k]:
        sql = sql.split("@")[-1].strip() if "@" in sql else sql
        mapped = (map_join if kind == "J" else map_aggregate)(row, sql)
        first, second = compare(path, *schemas[name], sql, gold), compare(path, *schemas[name], mapped, gold)
        for m in range(3):
            found[0][m] |= bool(first[m])
            found[1][m] |= bool(second[m] and not first[m])
    return found


def read(path):
    with open(path) as f:
        return json.load(f) if path.endswith(".json") else [json.loads(line) for line in f]


def score_all():
    entries, counts = {e["db_id"]: e for e in read(tables_path)}, {}
    for kind, gold, pred in files:
        rows = [dict(g, **p) for g, p in zip(read(gold), read(pred))]
        found = [score_row(kind, row, entries) for row in rows]
        counts[kind] = dict(
            {"rows": len(rows)},
            **{name: {"either": sum(f[0][m] or f[1][m] for f in found), "both": sum(f[0][m] and f[1][m] for f in found)}
               for m, name in enumerate(("em", "exm", "direct"))})
    return counts


processor = []
for line in sys.stdin:
    command = line.strip()
    if command == "run":
        start, worked = time.perf_counter(), time.process_time()
        schemas.clear()
        counts = score_all()
        processor.append(time.process_time() - worked)
        print("%.7f" % (time.perf_counter() - start), flush=True)
    else:
        print(json.dumps(counts) if command == "counts" else "%.7f" % min(processor), flush=True)

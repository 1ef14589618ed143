"""Writes the data here in the form in which the corpora are published, for bench/dte.sh and bench/dte_weak.sh.

wikisql FILE... OUT   questions with headers (wikisql_with_headers_*.jsonl) as WikiSQL's train.jsonl and train.tables.jsonl;
                      the cells of a table are the values that its questions compare
wtq FILE OUT          tables with their first rows (wtq_tables_head.jsonl) as Squall's tables/json/*.json, without questions

usage: dte_corpora.py COMMAND FILES
"""
import collections
import json
import os
import sys

AGGREGATES = [None, "MAX", "MIN", "COUNT", "SUM", "AVG"]
COMPARISONS = ["=", ">", "<", "OP"]


def read(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def is_number(text):
    try:
        float(text.replace(",", ""))
        return True
    except ValueError:
        return False


def write_lines(path, records):
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(json.dumps(r, ensure_ascii=False) + "\n" for r in records)


def known(record):
    """Whether the columns are known; some published conditions and selections are missing."""
    conditions = record["conds"]
    return record["sel"] is not None and conditions and all(c["col"] is not None and c["op"] in COMPARISONS for c in conditions)


def wikisql(*args):
    *files, out = args
    tables, questions, left_out = {}, [], 0
    for record in (r for path in files for r in read(path)):
        header = tables.setdefault(record["table_id"], (record["header"], collections.OrderedDict()))[0]
        if not known(record) or record["header"] != header:
            left_out += 1
            continue
        cells = tables[record["table_id"]][1]
        for c in record["conds"]:
            cells[c["col"], str(c["value"])] = None
        questions.append({"phase": 1, "table_id": record["table_id"], "question": record["question"],
                          "sql": {"sel": record["sel"], "agg": AGGREGATES.index(record["agg"]),
                                  "conds": [[c["col"], COMPARISONS.index(c["op"]), str(c["value"])] for c in record["conds"]]}})
    os.makedirs(out, exist_ok=True)
    write_lines(os.path.join(out, "train.jsonl"), questions)
    write_lines(os.path.join(out, "train.tables.jsonl"), [table(*t) for t in tables.items()])
    print(f"{len(questions)} questions, {len(tables)} tables; {left_out} questions without known columns")


def table(name, content):
    header, cells = content
    columns = [[value for column, value in cells if column == i] for i in range(len(header))]
    rows = [[column[k] if k < len(column) else "" for column in columns] for k in range(max(map(len, columns), default=0))]
    return {"id": name, "header": header, "rows": rows,
            "types": ["real" if column and all(map(is_number, column)) else "text" for column in columns]}


def wtq(source, out):
    folder = os.path.join(out, "tables", "json")
    os.makedirs(folder, exist_ok=True)
    for record in read(source):
        columns = [[row[i] for row in record["rows"] if i < len(row)] for i in range(len(record["header"]))]
        forms = [[{"col": f"c{i + 1}", "type": "TEXT", "data": cells}] for i, cells in enumerate(columns)]
        kinds = ["number" if cells and all(is_number(c) for c in cells) else "text" for cells in columns]
        rows = list(range(len(record["rows"])))
        with open(os.path.join(folder, record["id"] + ".json"), "w", encoding="utf-8") as f:
            json.dump({"headers": ["id", "agg"] + record["header"], "types": ["id", "agg"] + kinds,
                       "contents": [[{"col": "id", "type": "INTEGER", "data": rows}],
                                    [{"col": "agg", "type": "INTEGER", "data": [0] * len(rows)}]] + forms}, f)


{"wikisql": wikisql, "wtq": wtq}[sys.argv[1]](*sys.argv[2:])

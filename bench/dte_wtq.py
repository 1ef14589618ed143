"""Makes and scores records for bench/dte_wtq.sh.

questions SQUALL SPLIT    prints the questions of a split of Squall: with SQL, and with the names and cells of their tables
statements PRED           prints {"id", "sql"} with the first statement of each line of a parser's output
exact GOLD PRED EACH      prints the lines of EACH, the output of score --per-example, with the field "exact": the first
                          prediction has the gold statement's text.  Letter case, blanks and a final ";" do not count.

usage: dte_wtq.py COMMAND FILES
"""
import json
import re
import sys

SHOWN = 64  # distinct cells of a column in a record


def lines(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.strip()]


def columns_of(table):
    """The columns with their headers.  The first two, id and agg, are Squall's own."""
    for header, kind, contents in list(zip(table["headers"], table["types"], table["contents"]))[2:]:
        cells = list(dict.fromkeys(str(x) for x in contents[0]["data"] if x not in (None, "")))
        yield {"name": header.replace("\n", " "), "type": "number" if kind == "number" else "text", "values": cells[:SHOWN]}


def token_text(token):
    """The text of a token of Squall's SQL.  SQL doubles a quotation mark that Squall escapes."""
    kind, text = token[:2]
    return text[0] + text[1:-1].replace("\\'", "''") + text[-1] if kind == "Literal.String" and len(text) > 1 else text


def questions(squall, split):
    with open(f"{squall}/data/{split}.ids", encoding="utf-8") as f:
        wanted = set(json.load(f))
    with open(f"{squall}/data/squall.json", encoding="utf-8") as f:
        asked = [r for r in json.load(f) if r["tbl"] in wanted]
    for r in asked:
        with open(f"{squall}/tables/json/{r['tbl']}.json", encoding="utf-8") as f:
            columns = list(columns_of(json.load(f)))
        print(json.dumps({"id": r["nt"], "db_id": r["tbl"], "question": " ".join(r["nl"]), "columns": columns,
                          "sql": [" ".join(map(token_text, r["sql"]))]}, ensure_ascii=False))


def plain(sql):
    return re.sub(r"\s*([(),=<>!]+)\s*", r"\1", " ".join(sql.lower().split())).rstrip("; ")


def first(record):
    """The first statement: "sql", or "t2s_outs" of ambit-infer parse.  A failed record has none."""
    found = record.get("sql", record.get("t2s_outs", [] if "error" in record else None))
    if found is None:
        sys.exit(f"record {record.get('id')}: expected the field sql or t2s_outs, got neither")
    return [found] if isinstance(found, str) else found[:1]


def statements(pred):
    for r in lines(pred):
        print(json.dumps({"id": r["id"], "sql": first(r)}))


def exact(gold, pred, each):
    golds = {r["id"]: r["sql"][0] for r in lines(gold)}
    preds = {r["id"]: r["sql"] for r in lines(pred)}
    for r in lines(each):
        print(json.dumps({**r, "exact": [plain(x) for x in preds.get(r["id"], [])] == [plain(golds[r["id"]])]}))


{"questions": questions, "statements": statements, "exact": exact}[sys.argv[1]](*sys.argv[2:])

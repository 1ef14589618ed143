"""Makes and scores records for bench/dte.sh.

eta IN OUT            adds a column "unknown" to records with marked words, as the target of UNK words: ETA's training data
ambiqt IN SPIDER SEEN... OUT
                      converts AmbiQT's records of type C to marked words, each paired with its original schema; skips
                      databases of the files SEEN, and questions that do not contain the column's name
vague IN OUT          converts AMBROSIA's vague questions to the input format of tag
judge IN TAGGED       scores tagged AMBROSIA questions: detection rate, false alarms, AUROC of "problem"

usage: dte_records.py COMMAND FILES
"""
import json
import re
import sqlite3
import sys


def read(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


def write(path, records):
    with open(path, "w") as f:
        for r in records:
            f.write(json.dumps(r, ensure_ascii=False) + "\n")


def eta(source, out):
    records = read(source)
    for r in records:
        unknown = len(r["columns"])
        r["columns"].append({"name": "unknown", "type": "text", "values": [],
                             **({"table": r["columns"][0]["table"]} if "table" in r["columns"][0] else {})})
        for s in r["spans"]:
            if s["label"] == "UNK":
                s.update(label="COL", alternatives=[{"column": unknown}])
                if "concepts" in r and {"column": unknown} not in r["concepts"]:
                    r["concepts"].append({"column": unknown})
    write(out, records)


def plain(word):
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def said(question, name):
    """Code point range of the first words that match the name, ignoring case and plurals."""
    words = [(m.start(), m.end(), plain(m.group().lower())) for m in re.finditer(r"\w+", question)]
    want = [plain(w) for w in re.findall(r"[^\W_]+", name.lower())]
    for i in range(len(words) - len(want) + 1):
        if [w[2] for w in words[i:i + len(want)]] == want:
            return words[i][0], words[i + len(want) - 1][1]


def cells(db, table, column, question):
    """Three values of a column, and the values that the question mentions."""
    try:
        texts = [str(r[0]) for r in db.execute(f'SELECT DISTINCT "{column}" FROM "{table}" WHERE "{column}" <> \'\' LIMIT 5000')]
    except sqlite3.Error:
        return []
    low = question.lower()
    return list(dict.fromkeys([t for t in texts if len(t) > 2 and t.lower() in low][:3] + texts[:3]))


def columns_of(schema, db, question):
    tables = schema["table_names"]
    for (t, name), (_, own), kind in zip(schema["column_names"], schema["column_names_original"], schema["column_types"]):
        if t >= 0:
            yield schema["table_names_original"][t], own, {
                "name": name, "type": kind, "table": tables[t], "values": cells(db, schema["table_names_original"][t], own, question)}


def ambiqt(source, spider, *files):
    *seen, out = files
    seen = {r["db_id"] for path in seen for r in read(path)}
    schemas = {s["db_id"]: s for s in json.load(open(spider + "/tables.json"))}
    made, unsaid = [], 0
    for r in read(source):
        if r["db_id"] in seen:
            continue
        (table, change), = r["extra_map"].items()
        (column, names), = change.items()
        db = sqlite3.connect(f"file:{spider}/db/{r['db_id']}.sqlite?mode=ro", uri=True)
        all_columns = list(columns_of(schemas[r["db_id"]], db, r["question"]))
        at, = [i for i, (t, c, _) in enumerate(all_columns) if (t.lower(), c.lower()) == (table.lower(), column.lower())]
        span = said(r["question"], all_columns[at][2]["name"])
        if not span:
            unsaid += 1
            continue
        before = [c for _, _, c in all_columns]
        two = [{**before[at], "name": n.replace("_", " ")} for n in names]
        for form, columns, label, alternatives in (
                ("", before[:at] + two + before[at + 1:], "AMB", [at, at + 1]), ("-as-it-was", before, "COL", [at])):
            made.append({"id": r["id"] + form, "source": "ambiqt", "db_id": r["db_id"], "question": r["question"],
                         "type": "plain", "columns": columns, "edit": {"deleted": [], "added": []},
                         "spans": [{"start": span[0], "end": span[1], "label": label,
                                    "alternatives": [{"column": c} for c in alternatives]}]})
    write(out, made)
    print(f"{len(made)} records; {unsaid} questions do not say the column's name")


def vague_of(source):
    return [{"id": f"vague-{i}", **r} for i, r in enumerate(read(source)) if r["ambig_type"] == "vague"]


def vague(source, out):
    write(out, [{"id": r["id"], "db_id": r["db"], "question": r["question"]} for r in vague_of(source)])


def judge(source, tagged):
    answers = {r["id"]: r for r in read(tagged)}
    said_so, scores = {True: [], False: []}, {True: [], False: []}
    for r in vague_of(source):
        answer = answers.get(r["id"], {})
        if "status" in answer:
            said_so[r["is_ambiguous"]].append("ambiguous" in answer["status"])
            scores[r["is_ambiguous"]].append(answer["problem"])
    wins = sum((a > b) + .5 * (a == b) for a in scores[True] for b in scores[False])
    for ambiguous, name in ((True, "ambiguous"), (False, "not ambiguous")):
        print(f"{name}: {sum(said_so[ambiguous])} of {len(said_so[ambiguous])} called ambiguous")
    print(f"AUROC {wins / max(1, len(scores[True]) * len(scores[False])):.3f}")


{"eta": eta, "ambiqt": ambiqt, "vague": vague, "judge": judge}[sys.argv[1]](*sys.argv[2:])

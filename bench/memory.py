"""Measures the memory of choices: questions asked and accuracy of simulated users with stable preferences.

AmbiQT: training questions with an ambiguous column (type C).  Each question has two statements, one for each new name
of a column.  A user prefers one of the two names for each column of a database; the preference is drawn by hash.
`marked` gives the words of the column's former name in the question as evidence, as a tagger does.  `names` has no
evidence: the words are those of the question that fit the new names.  Questions without such words are left out of
`marked`.

Practice: the ambiguous questions of `ambit-data practice`, whose statements are those of their golds.  A user prefers
one of them for each set of alternatives of a database.  AMBROSIA: its ambiguous validation questions with their gold
interpretations, by execution.  A user prefers the interpretation of one place for all questions of a database and a
type.  A database has one or two ambiguous questions; in several rounds the user asks them again.

The questions of a database form a stream in file order.  Statements are equally probable without the memory.  Where
preferences change, each does so in the middle of its questions.

With --adapt: does `ambit-train adapt` learn from a memory?  CONTRAST is the output of `ambit-data contrast --seed 1`;
the detector has not seen the databases of its test split.  A schema gets both new names of half of AmbiQT's columns.
The first half of a database's questions teaches a memory; `memory --labels` and `adapt` make an adapter of it.  The
second half is scored: questions about a column with two names are ambiguous, the others are clear.

usage: memory.py BIN_DIR SHARED_DATA [--out DIR] [--records N] [--adapt CONTRAST]
"""
import argparse
import hashlib
import json
import lzma
import os
import random
import re
import shutil
import subprocess
import sys

from runner import work

p = argparse.ArgumentParser()
p.add_argument("bin")
p.add_argument("data")
p.add_argument("--out", default=work, help="folder for records, memories and dialogues")
p.add_argument("--records", type=int, default=3000, help="number of questions with marked words")
p.add_argument("--adapt", help="folder of contrast sets: measure an adapter that a memory has taught instead")
a = p.parse_args()
os.makedirs(a.out, exist_ok=True)


def find_words(question, name):
    """Code points of the longest part of a column's name in the question, or None."""
    parts = [w for w in re.split(r"[_\s]+", name.lower()) if w]
    for n in range(len(parts), 0, -1):
        for first in range(len(parts) - n + 1):
            pattern = r"\b" + r"[\s_]+".join(map(re.escape, parts[first:first + n])) + r"s?\b"
            found = re.search(pattern, question.lower())
            if found and len(found.group()) > 2:
                return found.start(), found.end()
    return None


def read_questions(limit, databases=None):
    """The questions with one ambiguous column: (id, record, table, old name, new names, place of the words)."""
    questions = []
    with lzma.open(os.path.join(a.data, "ambiqt", "col-synonyms.train.jsonl.xz"), "rt") as f:
        for i, line in enumerate(f):
            r = json.loads(line)
            maps = [(t, c, new) for t, columns in r["extra_map"].items() for c, new in columns.items()]
            place = find_words(r["question"], maps[0][1]) if len(maps) == 1 else None
            if place and len(questions) < limit and (not databases or r["db_id"] in databases):
                questions.append((i, r, *maps[0], place))
    return questions


def prefers(db, table, column, late):
    """0 or 1: the preferred one of the two new names."""
    key = "%s.%s.%s" % (db, table, column)
    return (hashlib.sha256(key.encode()).digest()[0] + late) % 2


def schema_of(db, text):
    """An entry of a tables.json from "table : column , column | table : ..."; the types of columns do not matter here."""
    tables, columns = [], [[-1, "*"]]
    for part in text.split("|"):
        table, names = part.split(" : ", 1)
        columns += [[len(tables), name.strip()] for name in names.split(" , ")]
        tables.append(table.strip())
    words = [[t, name.replace("_", " ").lower()] for t, name in columns]
    return {"db_id": db, "table_names_original": tables, "table_names": [t.replace("_", " ").lower() for t in tables],
            "column_names_original": columns, "column_names": words, "column_types": ["text"] * len(columns),
            "primary_keys": [], "foreign_keys": []}


def write_records(path, questions, marked, change):
    total, seen = {}, {}
    for _, r, table, column, _, _ in questions:
        key = (r["db_id"], table, column)
        total[key] = total.get(key, 0) + 1
    with open(path, "w") as f:
        for i, r, table, column, new, (start, end) in questions:
            key = (r["db_id"], table, column)
            late = change and seen.get(key, 0) >= total[key] / 2
            seen[key] = seen.get(key, 0) + 1
            queries = [r["query1"], r["query2"]]
            record = {"id": i, "db_id": r["db_id"], "question": r["question"], "schema": schema_of(r["db_id"], r["schema_clean"]),
                      "candidates": [{"sql": q, "p": .5} for q in queries],
                      "gold": [queries[prefers(*key, late)]]}
            if marked:
                names = [{"concept": "%s.%s" % (table, n), "type": "column"} for n in new]
                record["spans"] = [{"start": start, "end": end, "label": "AMB", "alternatives": names}]
            f.write(json.dumps(record) + "\n")


def prefer(key, n, late):
    """The place of the preferred one of n statements."""
    return (hashlib.sha256(key.encode()).digest()[0] + late) % n


def write_stream(path, records, change=False):
    """Writes records {"id", "db_id", "question", "candidates", "gold"} with one gold, the user's."""
    total, seen = {}, {}
    for r in records:
        key = "%s %s" % (r["db_id"], r["key"])
        total[key] = total.get(key, 0) + 1
    with open(path, "w") as f:
        for i, r in enumerate(records):
            key = "%s %s" % (r["db_id"], r["key"])
            late = change and seen.get(key, 0) >= total[key] / 2
            seen[key] = seen.get(key, 0) + 1
            candidates = [{"sql": q, "p": 1 / len(r["gold"])} for q in r["gold"]]
            f.write(json.dumps({**r, "id": i, "candidates": candidates,
                                "gold": [r["gold"][prefer(key, len(r["gold"]), late)]]}) + "\n")


def read_practice():
    folder = os.path.join(a.out, "practice")
    subprocess.run([os.path.join(a.bin, "ambit-data"), "practice", "-o", folder, "--force", "--quiet"], check=True,
                   stdout=subprocess.DEVNULL)
    lines = [json.loads(line) for name in ("train", "valid", "test") for line in open("%s/%s.jsonl" % (folder, name))]
    return folder, [{"db_id": r["db_id"], "question": r["question"], "gold": r["sql"], "key": " ".join(sorted(r["alternatives"]))}
                    for r in lines if r["ambiguous"] and len(r["sql"]) == 2]


def read_ambrosia():
    path = os.path.join(a.out, "ambrosia.jsonl")
    subprocess.run([os.path.join(a.bin, "ambit-data"), "candidates", "--from", "ambrosia",
                    os.path.join(a.data, "ambrosia/questions_validation.jsonl"), "-o", path, "--quiet"], check=True)
    return [{"db_id": r["db_id"], "question": r["question"], "gold": r["gold"], "key": r["type"]}
            for r in map(json.loads, open(path)) if r["ambiguous"]]


def simulate(records, memory, noise, *source):
    """Dialogues by database: (questions, right, recalled, taken back)."""
    out = os.path.join(a.out, "memory.dialogues.jsonl")
    command = [os.path.join(a.bin, "ambit-infer"), "clarify", "--simulate", "--candidates", records, *source,
               "--user-noise", str(noise), "-o", out]
    if memory:
        file = os.path.join(a.out, "choices.memory")
        if os.path.exists(file):
            os.remove(file)
        command += ["--memory", file]
    r = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if r.returncode not in (0, 7):
        sys.exit(r.stderr)
    by, failed = {}, 0
    for line in open(out):
        o = json.loads(line)
        for d in o.get("dialogues", []):
            if "error" in d:
                failed += 1
                continue
            right = d.get("execution_match", d["correct"])
            by.setdefault(o["db_id"], []).append((len(d["turns"]), right, d.get("recalled", 0), d.get("taken_back", 0)))
        failed += "error" in o
    return by, failed


def mean(by, dbs, part):
    values = [d[part] for db in dbs for d in by[db]]
    return sum(values) / len(values)


def interval(by, part):
    """95 %, by resampling databases."""
    rng, dbs = random.Random(1), sorted(by)
    means = sorted(mean(by, rng.choices(dbs, k=len(dbs)), part) for _ in range(1000))
    return "%.3f [%.3f, %.3f]" % (mean(by, dbs, part), means[24], means[974])


def print_rows(name, preference, noise, records, *source):
    """A row without the memory, and one with it."""
    for memory in (False, True):
        by, failed = simulate(records, memory, noise, *source)
        print("| %s | %d of %d | %s | %g | %s | %s |" % (
            name, sum(map(len, by.values())), len(by), preference, noise, "yes" if memory else "no",
            " | ".join(interval(by, part) for part in range(4))), flush=True)
        if failed:
            print("(%d records or golds failed)" % failed)


def path(name):
    return os.path.join(a.out, name)


def run(*command):
    """Runs a program and returns its output."""
    r = subprocess.run([os.path.join(a.bin, command[0]), *command[1:]], capture_output=True, text=True)
    if r.returncode not in (0, 7):
        sys.exit(" ".join(command) + "\n" + r.stderr)
    return r.stdout


def with_new_names(schema, names):
    """The schema with both new names of the columns of names {(table, column): names}, in lower case."""
    tables = [t.lower() for t in schema["table_names_original"]]
    columns, types, place = [], [], {}
    for i, (table, name) in enumerate(schema["column_names_original"]):
        place[i] = len(columns)
        for new in names.get((tables[table] if table >= 0 else "", name.lower()), [name]):
            columns.append([table, new])
            types.append(schema["column_types"][i])
    keys = [[place[k] for k in key] if isinstance(key, list) else place[key] for key in schema["primary_keys"]]
    return {**schema, "column_names_original": columns, "column_types": types, "primary_keys": keys,
            "column_names": [[t, name.replace("_", " ").lower()] for t, name in columns],
            "foreign_keys": [[place[k] for k in key] for key in schema["foreign_keys"]]}


def has_two_names(q):
    key = "%s.%s.%s" % (q[1]["db_id"], q[2], q[3])
    return hashlib.sha256(key.encode()).digest()[1] % 2


def teach(questions):
    """Writes a memory of the answers about these questions; the labels made of it; their number."""
    with open(path("teach.jsonl"), "w") as f:
        for i, r, table, column, new, (start, end) in questions:
            queries = [r["query1"], r["query2"]]
            names = [{"concept": "%s.%s" % (table, n), "type": "column"} for n in new]
            f.write(json.dumps({"id": i, "db_id": r["db_id"], "question": r["question"],
                                "candidates": [{"sql": q, "p": .5} for q in queries],
                                "gold": [queries[prefers(r["db_id"], table, column, 0)]],
                                "spans": [{"start": start, "end": end, "label": "AMB", "alternatives": names}]}) + "\n")
    if os.path.exists(path("taught.memory")):
        os.remove(path("taught.memory"))
    run("ambit-infer", "clarify", "--simulate", "--candidates", path("teach.jsonl"), "--schema", path("schema.json"),
        "--memory", path("taught.memory"), "-o", path("teach.dialogues.jsonl"))
    if not os.path.exists(path("taught.memory")):
        return 0
    run("ambit-data", "memory", path("taught.memory"), "--schema", path("schema.json"), "--labels", path("labels.jsonl"))
    labels = [json.loads(line)["ambiguous"] for line in open(path("labels.jsonl"))]
    return len(labels) if len(labels) >= 4 and len(set(labels)) == 2 else 0


def adapt(db, questions, schema):
    """(AP, Brier) of the detector and of the adapted one, on the second half of a database's questions; or None."""
    half = len(questions) // 2
    names = {(q[2].lower(), q[3].lower()): q[4] for q in reversed(questions) if has_two_names(q)}
    later = {q[1]["question"]: bool(has_two_names(q)) for q in questions[half:]}
    if min(sum(later.values()), len(later) - sum(later.values())) < 5:
        return None
    json.dump([with_new_names(schema, names)], open(path("schema.json"), "w"))
    labels = teach([q for q in questions[:half] if has_two_names(q)])
    if not labels:
        return None
    with open(path("queries.jsonl"), "w") as f:
        f.writelines(json.dumps({"id": "q%d" % i, "db_id": db, "question": text, "ambiguous": ambiguous}) + "\n"
                     for i, (text, ambiguous) in enumerate(later.items()))
    shutil.rmtree(path("adapter"), ignore_errors=True)
    told = run("ambit-train", "adapt", "--support", path("labels.jsonl"), "--queries", path("queries.jsonl"), "--schema",
               path("schema.json"), "--device", "cpu", "-o", path("adapter"))
    found = [[float(x) for x in re.search(r"^%s .* AP ([\d.]+) .*Brier ([\d.]+)" % name, told, re.M).groups()]
             for name in ("base", "adapted")]
    print("| %s | %d | %d | %s |" % (db, labels, len(later), " | ".join("%.3f, %.3f" % tuple(x) for x in found)), flush=True)
    return found


def adapt_all():
    unseen = {json.loads(line)["source_db"] for line in open(os.path.join(a.adapt, "test.jsonl"))}
    schemas = {s["db_id"]: s for s in json.load(open(os.path.join(a.data, "spider", "tables.json")))}
    questions = read_questions(sys.maxsize, unseen)
    print("| database | labels | questions | AP, Brier | adapted |\n|---|---|---|---|---|")
    found = [adapt(db, [q for q in questions if q[1]["db_id"] == db], schemas[db]) for db in sorted(unseen)]
    for part, name in enumerate(("AP", "Brier")):
        by = {i: [(x[0][part], x[1][part], x[1][part] - x[0][part])] for i, x in enumerate(found) if x}
        print("%s, %d databases: %.3f, adapted %.3f, difference %s" % (
            name, len(by), mean(by, by, 0), mean(by, by, 1), interval(by, 2)))


if a.adapt:
    adapt_all()
    sys.exit()
questions = read_questions(a.records)
records = os.path.join(a.out, "memory.records.jsonl")
print("%d questions of %d databases of AmbiQT" % (len(questions), len({q[1]["db_id"] for q in questions})))
print("| data | dialogues of databases | preference | user errors | memory | questions a record | accuracy | "
      "answered from memory | taken back |")
print("|---|---|---|---|---|---|---|---|---|")
schemas = "--schema", os.path.join(a.data, "spider", "tables.json")
for marked, change, noise in [(True, False, 0), (True, False, .05), (True, True, 0), (False, False, 0)]:
    write_records(records, questions, marked, change)
    print_rows("AmbiQT, %s" % ("marked" if marked else "names"), "changes" if change else "stable", noise, records, *schemas)
folder, practice = read_practice()
for change in (False, True):
    write_stream(records, practice, change)
    print_rows("practice, names", "changes" if change else "stable", 0, records, "--schema", folder + "/tables.json")
ambrosia = read_ambrosia()
for rounds in (1, 3):
    write_stream(records, ambrosia * rounds)
    print_rows("AMBROSIA, names, %d round%s" % (rounds, "s" if rounds > 1 else ""), "stable", 0, records, "--db",
               os.path.join(a.data, "ambrosia", "db"))

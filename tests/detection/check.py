#!/usr/bin/env python3
"""Checks the hand-written questions about ambiguity in this folder.

usage: check.py [DB_ID...]   (default: every database of the folder)

Each DB_ID.sql is built in memory with SQLite, and each line of DB_ID.jsonl is checked against it.  README.md describes
the form.  Every violation is printed with its file and line; the exit status is 1 if there is one.
"""
import collections
import json
import pathlib
import sqlite3
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
FIELDS = {"id": str, "db_id": str, "question": str, "ambiguous": bool, "type": str, "alternatives": list, "sql": list,
          "note": str, "half": str}
SCHEMA_TYPES = ("schema-column", "schema-table", "schema-join", "schema-aggregate")
TYPES = SCHEMA_TYPES + ("wording", "clear")
HALVES = ("choose", "final")
QUESTIONS = {"schema": 14, "wording": 6, "clear": 20}
MIN_HARD_NEGATIVES = 14
TABLES = range(10, 16)
ROWS = range(5, 31)


class Report:
    """Prints violations and counts them."""

    def __init__(self):
        self.violations = 0

    def fail(self, place, text):
        print(f"{place}: {text}")
        self.violations += 1


def build(path):
    """Returns the database of an SQL file, read-only from then on, with foreign keys checked."""
    database = sqlite3.connect(":memory:")
    database.executescript(path.read_text(encoding="utf-8"))
    broken = database.execute("PRAGMA foreign_key_check").fetchall()
    if broken:
        raise sqlite3.IntegrityError(f"rows refer to keys that do not exist: {broken}")
    database.execute("PRAGMA query_only = ON")
    return database


def names_of(database):
    """Returns each table with its columns, all in lower case."""
    tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {table.lower(): [row[1].lower() for row in database.execute(f'PRAGMA table_info("{table}")')]
            for table in tables}


def check_database(report, place, database):
    """Checks the number of tables, their rows and that foreign keys are declared somewhere."""
    names = names_of(database)
    if len(names) not in TABLES:
        report.fail(place, f"expected 10 to 15 tables, got {len(names)}")
    for table in names:
        rows = database.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]
        if rows not in ROWS:
            report.fail(place, f"table {table}: expected 5 to 30 rows, got {rows}")
    if not any(database.execute(f'PRAGMA foreign_key_list("{table}")').fetchall() for table in names):
        report.fail(place, "expected at least one declared foreign key")


def check_fields(report, place, record):
    """Returns whether the record has exactly the expected fields, each of its type."""
    if not isinstance(record, dict) or set(record) != set(FIELDS):
        report.fail(place, f"expected the fields {', '.join(FIELDS)}")
        return False
    wrong = [name for name, kind in FIELDS.items() if not isinstance(record[name], kind)]
    for name in wrong:
        report.fail(place, f"field {name}: expected {FIELDS[name].__name__}, got {record[name]!r}")
    return not wrong


def check_values(report, place, record, db_id):
    """Checks the fields that have few values, and how they depend on each other."""
    kind = record["type"]
    if record["db_id"] != db_id or not record["id"].startswith(db_id + "-"):
        report.fail(place, f"expected db_id {db_id} and an id {db_id}-NN, got {record['db_id']} and {record['id']}")
    if kind not in TYPES:
        report.fail(place, f"type: expected one of {', '.join(TYPES)}, got {kind}")
    if record["half"] not in HALVES:
        report.fail(place, f"half: expected choose or final, got {record['half']}")
    if record["ambiguous"] != (kind != "clear"):
        report.fail(place, f"ambiguous: expected {kind != 'clear'} with type {kind}")
    if bool(record["alternatives"]) != (kind in SCHEMA_TYPES):
        report.fail(place, "alternatives: expected sets with schema types and an empty list with others")
    if not record["question"].strip() or not record["note"].strip():
        report.fail(place, "expected a question and a note, got an empty one")
    if record["note"].startswith("hard negative") and kind != "clear":
        report.fail(place, f"note: only clear questions are hard negatives, got type {kind}")


def check_alternatives(report, place, alternatives, names):
    """Checks that each set names two or more different elements of the schema."""
    for one in alternatives:
        if not isinstance(one, list) or len(one) < 2 or len({str(name).lower() for name in one}) != len(one):
            report.fail(place, f"alternatives: expected lists of two or more different names, got {one!r}")
            continue
        for name in one:
            table, _, column = str(name).lower().partition(".")
            if table not in names or (column and column not in names[table]):
                report.fail(place, f"alternatives: {name} is no table and no table.column of the database")


def check_sql(report, place, record, database):
    """Checks the number of queries, that each returns rows, and that no two return the same rows."""
    queries = record["sql"]
    if record["ambiguous"] and len(queries) < 2 or not record["ambiguous"] and len(queries) != 1:
        report.fail(place, f"sql: expected one query if clear, two or more if ambiguous, got {len(queries)}")
    results = []
    for query in queries:
        try:
            rows = collections.Counter(database.execute(query).fetchall())
        except (sqlite3.Error, TypeError, ValueError) as error:
            report.fail(place, f"sql: {error}: {query}")
            continue
        if not rows:
            report.fail(place, f"sql: expected rows, got none: {query}")
        if rows in results:
            report.fail(place, f"sql: the rows are those of another interpretation: {query}")
        results.append(rows)


def check_counts(report, place, records):
    """Checks how many questions of each type there are, and that a database lies in one half."""
    counts = collections.Counter(record["type"].partition("-")[0] for record in records)
    if counts != QUESTIONS:
        report.fail(place, f"expected {QUESTIONS}, got {dict(counts)}")
    hard = sum(record["note"].startswith("hard negative") for record in records)
    if hard < MIN_HARD_NEGATIVES:
        report.fail(place, f"expected {MIN_HARD_NEGATIVES} or more hard negatives, got {hard}")
    if len({record["half"] for record in records}) > 1:
        report.fail(place, "half: expected one value for the whole database")


def read_records(report, path):
    """Returns the records that have the right fields, each with its place."""
    records = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        place = f"{path.name}:{number}"
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            report.fail(place, f"expected a JSON object, got {error}")
            continue
        if check_fields(report, place, record):
            records.append((place, record))
    return records


def check_pair(report, db_id, seen):
    """Checks a database and its questions; seen holds the ids and questions of all files."""
    sql, jsonl = FOLDER / f"{db_id}.sql", FOLDER / f"{db_id}.jsonl"
    for path in (sql, jsonl):
        if not path.is_file():
            report.fail(path.name, "file not found")
            return []
    try:
        database = build(sql)
    except sqlite3.Error as error:
        report.fail(sql.name, str(error))
        return []
    check_database(report, sql.name, database)
    records, names = read_records(report, jsonl), names_of(database)
    for place, record in records:
        check_values(report, place, record, db_id)
        check_alternatives(report, place, record["alternatives"], names)
        check_sql(report, place, record, database)
        for key in (record["id"], record["question"].lower()):
            if key in seen:
                report.fail(place, f"{key!r} occurs twice")
            seen.add(key)
    check_counts(report, jsonl.name, [record for _, record in records])
    return records


def main():
    report, seen, total = Report(), set(), 0
    db_ids = sys.argv[1:] or sorted({path.stem for path in FOLDER.iterdir() if path.suffix in (".sql", ".jsonl")})
    if not db_ids:
        report.fail(FOLDER.name, "no database found")
    for db_id in db_ids:
        total += len(check_pair(report, db_id, seen))
    print(f"{len(db_ids)} databases, {total} questions, {report.violations} violations")
    sys.exit(report.violations > 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes the pages of bench/results from their measurements.

usage: results.py [--check] [DIR]      DIR is bench/results by default

NAME.jsonl holds the measurements of one question. Its first line is {"title", "text"}; every further line is one
measurement with the keys of FIELDS. NAME.md is the page made of it, README.md the index of all pages. --check writes
nothing. It fails if a measurement lacks a field or a page differs from its measurements.
"""
import argparse
import decimal
import json
import pathlib
import sys
import textwrap

FIELDS = ["date", "commit", "hardware", "load", "data", "command", "metric", "value", "unit", "baseline",
          "baseline_value", "baseline_version", "note"]
REQUIRED = ["date", "hardware", "data", "command", "metric", "value", "unit"]
LOADS = ["idle", "other work"]
# The ratio of these units is baseline / value, so that a ratio above 1 is always in favour of ambit.
LOWER_IS_BETTER = {"s", "ms", "us", "MiB", "ECE", "flagged", "questions", "false alarms per 100", "risk",
                   "share left"}
# The metric itself says what these units mean, so the table leaves them out.
SILENT = {"AP", "AUC", "ECE", "F1", "risk", "recall", "share", "share left", "accuracy", "flagged"}
COLUMNS, LINES = 120, 80

INDEX = """# Results

Each page answers one question with the best present figures of ambit. The notebooks up to
[2026-11-26](../log/2026-11-26.md) and of [2026-11-27](../log/2026-11-27.md) have all measurements, failed attempts
included. `bench/results.py` writes these pages from the `.jsonl` files beside them.

| question | measurements |
|---|---|
{rows}

* A ratio above 1 is in favour of ambit. It is computed from the two figures of its row. A baseline that is a ceiling of
  the hardware gives the share of it that ambit reaches.
* Every time on a CPU was measured on idle cores, or the row says that both systems ran beside the same other work.
* Figures of quality and memory do not depend on the load, so their rows have none.
* A measurement whose commit was not noted has no commit. The version of a baseline stands in brackets behind its name.
* Figures of the quality of earlier detectors are in the notebook alone.
"""


def faults(path, rows):
    """The faults of a file, as messages."""
    if not rows or sorted(rows[0]) != ["text", "title"]:
        return [f"{path}:1: expected the keys title and text"]
    found = [] if len(rows) > 1 else [f"{path}: expected a measurement, got none"]
    for line, row in enumerate(rows[1:], 2):
        found += [f"{path}:{line}: the field {key} is missing" for key in REQUIRED if key not in row]
        found += [f"{path}:{line}: unknown field {key}" for key in row if key not in FIELDS]
        if ("baseline" in row) != ("baseline_value" in row):
            found.append(f"{path}:{line}: baseline and baseline_value cannot be given without each other")
        if row.get("load", "idle") not in LOADS:
            found.append(f"{path}:{line}: load: expected one of {', '.join(LOADS)}, got {row['load']}")
        if row.get("load") == "other work" and not {"baseline", "note"} <= row.keys():
            found.append(f"{path}:{line}: a measurement beside other work needs a baseline and a note")
    return found


def number(value, unit):
    """A figure as the pages print it: .907, 16,960 tokens/s, 11.7 %."""
    text = f"{value:,}"
    text = text[1:] if text.startswith("0.") else text
    return text if unit in SILENT else f"{text} {unit}"


def ratio(row):
    """The ratio of a measurement to its baseline, to three digits, or nothing."""
    ours, theirs = row["value"], row.get("baseline_value", 0)
    if not ours or not theirs:
        return ""
    quotient = theirs / ours if row["unit"] in LOWER_IS_BETTER else ours / theirs
    digits = decimal.Decimal(f"{float(quotient):.3g}")
    places = max(0, 2 - digits.adjusted())
    return f"{float(quotient):.{places}f}".removeprefix("0") if quotient < 1 else f"{float(quotient):.{places}f}"


def cells(index, row):
    baseline = ""
    if "baseline" in row:
        version = f" ({row['baseline_version']})" if "baseline_version" in row else ""
        baseline = f"{row['baseline']}{version}: {number(row['baseline_value'], row['unit'])}"
    hardware = row["hardware"] + (f", {row['load']}" if "load" in row else "")
    date = row["date"] + (f", {row['commit']}" if "commit" in row else "")
    return [str(index), f"{row['metric']}; {row['data']}", number(row["value"], row["unit"]), baseline, ratio(row),
            hardware, date]


def spans(numbers):
    """[1, 2, 3, 5] as "rows 1 to 3, 5"."""
    runs = []
    for n in numbers:
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    text = ", ".join(str(a) if a == b else f"{a} to {b}" if b > a + 1 else f"{a}, {b}" for a, b in runs)
    return ("row " if len(numbers) == 1 else "rows ") + text


def grouped(rows, key):
    """The values of a key in order of appearance, each with the rows that have it."""
    groups = {}
    for index, row in enumerate(rows, 1):
        if key in row:
            groups.setdefault(row[key], []).append(index)
    return groups.items()


def wrap(text, **options):
    return textwrap.wrap(text, COLUMNS, break_long_words=False, break_on_hyphens=False, **options)


def page(head, rows):
    lines = [f"# {head['title']}", "", *wrap(head["text"]), ""]
    lines += ["| # | metric; data | ambit | baseline | ratio | hardware | date, commit |", "|---|---|---|---|---|---|---|"]
    lines += ["| " + " | ".join(cells(index, row)) + " |" for index, row in enumerate(rows, 1)]
    lines += ["", "## Commands", "", "```sh"]
    lines += [f"{command}    # {spans(numbers)}" for command, numbers in grouped(rows, "command")]
    lines.append("```")
    notes = grouped(rows, "note")
    if notes:
        lines += ["", "## Notes", ""]
        for note, numbers in notes:
            lines += wrap(f"* {spans(numbers).capitalize()}: {note}", subsequent_indent="  ")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description="Write the pages of bench/results from their measurements.")
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a page differs")
    parser.add_argument("dir", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent / "results")
    args = parser.parse_args()
    pages, found, index = {}, [], []
    for path in sorted(args.dir.glob("*.jsonl")):
        rows = [json.loads(line, parse_float=decimal.Decimal, parse_int=decimal.Decimal) for line in path.open()]
        wrong = faults(path, rows)
        found += wrong
        if not wrong:
            text = pages[path.with_suffix(".md")] = page(rows[0], rows[1:])
            index.append(f"| [{rows[0]['title']}]({path.stem}.md) | {len(rows) - 1} |")
            if text.count("\n") > LINES:
                found.append(f"{path}: expected a page of at most {LINES} lines, got {text.count(chr(10))}")
    pages[args.dir / "README.md"] = INDEX.format(rows="\n".join(index))
    for path, text in pages.items():
        if not args.check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            found.append(f"{path}: differs from its measurements; run bench/results.py")
    extra = sorted(set(args.dir.glob("*.md")) - set(pages))
    found += [f"{path}: no {path.stem}.jsonl beside it" for path in extra]
    print("\n".join(found) if found else f"results: {len(pages)} pages agree with their measurements")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

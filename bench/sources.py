#!/usr/bin/env python3
"""Counts the sources, their English and the options of revisions, as a Markdown table with a column for each revision.

usage: bench/sources.py [REVISION...]     default: HEAD
       bench/sources.py --folders [REVISION]     words, "what" in 1,000 words and longest sentence of each folder

Sources are .c, .h, .cu, .cuh and .cpp files outside of tests/gold and tests/corpus.  A function counts as exported without need if
it has external linkage, and its name occurs in no other source and in no test and is not pasted by a macro.  English is counted by tests/check_english.sh of
this tree, in comments and Markdown of the revision."""
import collections
import os
import re
import statistics
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCE = (".c", ".h", ".cu", ".cuh", ".cpp")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
DEFINITION = re.compile(r"^(?!static|typedef|extern)[a-z][\w \*]*?\b(\w+)\([^;{}]*\)\s*\{", re.M)
ROW = re.compile(r"^\s+(?:FLAG|STRING|INT|REAL|CHOICE|WORD|PRESET)_OPTION\(\s*\"([a-z0-9-]+)\"", re.M)
SHARED_ROW = re.compile(r"^\s+([A-Z_]+)_OPTION\(", re.M)


def files(root):
    """Text of each file, by its path below root."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), root)
            if path.startswith(("tests/gold", "tests/corpus")) or not path.endswith((*SOURCE, ".md")):
                continue
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
                found[path] = f.read()
    return found


def needless(texts):
    """Functions with external linkage that nothing outside of their source calls, tests included."""
    words = {p: set(re.findall(r"\w+", COMMENT.sub(" ", t))) for p, t in texts.items()}
    users = collections.defaultdict(set)
    for path, found in words.items():
        for word in found:
            users[word].add(path)
    pasted = tuple({p for t in texts.values() for p in re.findall(r"\b(\w+_) ?##", t)})
    count = 0
    for path, text in texts.items():
        if not path.endswith(".c") or path.startswith(("tests/", "bench/", "examples/")):
            continue
        for name in DEFINITION.findall(COMMENT.sub(" ", text)):
            others = [u for u in users[name] if u != path and not u.endswith((".h", ".cuh"))]
            headers = sum(len(re.findall(rf"\b{name}\b", COMMENT.sub(" ", texts[u])))
                          for u in users[name] if u.endswith((".h", ".cuh")))
            count += not others and headers < 2 and name != "main" and not name.startswith(pasted)
    return count


def english(root):
    """Words, "what" in 1,000 words, longest sentence and long lines of each folder."""
    out = subprocess.run(["bash", TOP + "/tests/check_english.sh", "--table", root], capture_output=True, text=True, check=True)
    rows = [line.split(" ") for line in out.stdout.splitlines()]
    return {r[0]: (int(r[1]), float(r[2]), int(r[3]), int(r[4])) for r in rows}


def tree(revision, use):
    with tempfile.TemporaryDirectory() as root:
        archive = subprocess.run(["git", "-C", TOP, "archive", revision], capture_output=True, check=True)
        subprocess.run(["tar", "x", "-C", root], input=archive.stdout, check=True)
        return use(root)


def counts(root):
    every = files(root)
    texts = {p: t for p, t in every.items() if p.endswith(SOURCE)}
    sources = [t.count("\n") for p, t in texts.items() if p.endswith(".c")]
    by = english(root)
    total = sum(r[0] for r in by.values())
    product = {p: t for p, t in texts.items() if not p.startswith(("tests/", "bench/"))}
    names = [n for t in product.values() for n in ROW.findall(t)]
    tables = [t for p, t in product.items() if not p.startswith("data/base/option_rows")]
    shared = sum(len([m for m in SHARED_ROW.findall(t) if m not in ("FLAG", "STRING", "INT", "REAL", "CHOICE", "WORD", "PRESET")])
                 for t in tables)
    lines = {len(l) for t in texts.values() for l in t.split("\n")}
    return {
        "sources and headers of the programs": f"{len(product):,}",
        "median lines of these": f"{statistics.median(x.count(chr(10)) for x in product.values()):.0f}",
        "sources of tests and measurements": f"{len(texts) - len(product):,}",
        "median lines of a `.c` file": f"{statistics.median(sources):.0f}",
        "longest `.c` file, lines": f"{max(sources):,}",
        "functions exported without need": f"{needless(texts):,}",
        '"what" in 1,000 words': f"{sum(r[0] * r[1] for r in by.values()) / total:.1f}",
        "longest sentence, words": f"{max(r[2] for r in by.values())}",
        "Markdown lines over 120 columns": f"{sum(r[3] for r in by.values()):,}",
        "longest line of a source, columns": f"{max(lines)}",
        "guides over 120 lines": str(sum(t.count("\n") > 120 for p, t in every.items() if p.startswith("docs/guides/"))),
        "option rows": f"{len(names) + shared:,}",
        "names of options": f"{len(set(names)):,}",
    }


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--folders"]:
        by = tree((arguments[1:] or ["HEAD"])[0], english)
        print('| folder | words | "what" in 1,000 | longest sentence |\n|---|---|---|---|')
        for folder, row in sorted(by.items()):
            print(f"| `{folder}` | {row[0]:,} | {row[1]} | {row[2]} |")
        return
    revisions = arguments or ["HEAD"]
    found = [tree(r, counts) for r in revisions]
    print("| | " + " | ".join(revisions) + " |\n|---|" + "---|" * len(revisions))
    for name in found[0]:
        print(f"| {name} | " + " | ".join(f[name] for f in found) + " |")


main()

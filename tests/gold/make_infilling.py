"""Writes infilling.json: what LogicalBeam's published rules of restricted infilling make of stored score tables.

Written from the description of the rules alone, before any program of ambit that follows them;
docs/reference/restricted-infilling.md has their words.  infilling.json holds the pieces of a small vocabulary, tables of numbers, cases (a schema, a template and
settings) and what came out of each: every decision on every beam, the beams of every step, the answers and their
scores, and what is left of them at the end.

How a row of scores comes about, so that another program can make the same: the logits behind a prefix of ids are

    noise[h(prefix) % len(noise)][token] + boost * n

where a prefix begins with the start token, h starts at 0 and becomes (31 h + id + 7) % 2^32 for each of its ids in
order, and n is the greatest number
up to 5 for which the last n ids of the prefix stand in a guide with the token behind them, 0 without; a guide is ids
with the start token before them.  The row is their log-softmax.  All of it in doubles.
"""
import json
import math
import os
import random
import re

HERE = os.path.dirname(os.path.abspath(__file__))
START, EOS, UNK = 0, 1, 2
SPECIAL = {START, EOS, UNK}
BLANK = "\u2581"
DEAD = -math.inf

PIECES = ["<pad>", "</s>", "<unk>"] + """
▁ ▁select ▁from ▁where ▁group ▁order ▁by ▁desc ▁limit ▁as ▁join ▁on ▁and ▁in ▁not ▁like ▁count ▁avg ▁max ▁having ▁distinct
▁= ▁> ▁! ▁* ▁( ▁) * ( ) , . = ' " % | @ ▁| ▁@ ▁" ▁' t 1. 2. 3. 1 2 3 0 5 ▁1 ▁2 ▁3 ▁20 ▁5 ▁1. 1.1 ▁s s er ing
▁singer ▁concert ▁name ▁age ▁country ▁song ▁year ▁id ▁stadium singer concert name age country song year id stadium _ _name
dis tin ct ▁dis _id ▁France ▁New New ▁York France 8 8_ 18_ abc ▁abc n't ▁n't ▁do ▁sing ▁club club ▁n n ▁c c ▁b ▁, ▁. ▁x x ▁a a select
""".split()
IDS = {piece: i for i, piece in enumerate(PIECES)}
assert len(IDS) == len(PIECES)


# The tokenizer: a text's pieces by the longest match, and back as T5's is decoded with its clean-up.

def encode(text):
    """Ids of a text: a blank mark for every blank and one in front, then the longest piece again and again."""
    text, ids = BLANK + text.strip().replace(" ", BLANK), []
    while text:
        piece = next(p for p in sorted(PIECES, key=len, reverse=True) if text.startswith(p))
        ids.append(IDS[piece])
        text = text[len(piece):]
    return ids


def decode(ids):
    """Special tokens are left out, blank marks are blanks, one blank in front is dropped, then the clean-up."""
    text = "".join(PIECES[i] for i in ids if i not in SPECIAL).replace(BLANK, " ")
    text = text[1:] if text.startswith(" ") else text
    for old, new in [(" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"), (" 'm", "'m"),
                     (" 's", "'s"), (" 've", "'ve"), (" 're", "'re")]:
        text = text.replace(old, new)
    return text


# SQL in normal form and its template.

def lower_outside_quotes(text):
    out, quote = "", None
    for c in text.replace("``", "`"):
        if quote:
            out += c
            quote = None if c == quote else quote
        else:
            out += c.lower()
            quote = c if c in "\"'`" else None
    return out


def spacing(text):
    for old, new in [(" ,", ","), ("( ", "("), (" )", ")")]:
        text = text.replace(old, new)
    for word in ["count", "avg", "sum", "min", "max"]:
        text = text.replace(word + " (", word + "(")
    return text.replace(") ,", "),")


def normalize(sql):
    if sql.endswith(";"):
        sql = sql[:-1]
    return spacing(" ".join(lower_outside_quotes(sql).split()))


def template_of(sql, tables, columns):
    sql = normalize(sql).replace("''", '"')
    for c in ",()":
        sql = sql.replace(c, f" {c} ")
    out, quote = [], None
    for token in sql.split():
        if quote:
            if token[-1] == quote:
                out.append("string")
                quote = None
        elif token[0] in "'\"`":
            if len(token) > 1 and token[-1] == token[0]:
                out.append("string")
            else:
                quote = token[0]
        elif token.isnumeric():
            out.append("number")
        else:
            name = token[3:] if len(token) > 3 and token[0] in "tT" and token[2] == "." else token
            name = name.lower()
            out.append("table" if name in tables else "column" if name in columns else token)
    return normalize(spacing(" ".join(out)).lower())


def names_of(schema):
    tables, columns = set(), {"*"}
    for table in schema.split("|"):
        parts = table.split(":")
        tables.add(parts[0].strip().lower())
        columns.update(c.strip().lower() for c in parts[1].split(","))
    return tables, columns


# The decision on a beam, and what it makes of the beam's row.

def whitelist(schema, branch_columns, branch_tables):
    """First pieces of names; of columns also the piece behind the three of "t1."; the end is none."""
    allowed = set()
    for table in schema.split("|"):
        name, columns = (p.strip() for p in table.split(":")[:2])
        if branch_tables:
            allowed.add(encode(name)[0])
        if branch_columns:
            for column in columns.split(","):
                allowed.add(encode(column.strip())[0])
                aliased = encode("t1." + column.strip())
                if len(aliased) > 3:
                    allowed.add(aliased[3])
    if branch_columns:
        allowed.add(encode("*")[0])
    return sorted(allowed)


def behind(text, mark):
    return text.split(mark, 1)[1] if mark in text else text


def classify(text, case):
    """KILL, BRANCH or FORCE for a beam whose ids decode to this text."""
    template = case["template"]
    out = text.split("|")[-1].split("@")[-1].strip()
    pred = template_of(behind(behind(text, "|"), "@"), *names_of(case["schema"]))
    prev = " ".join(pred.split(" ")[:-1])
    if not template.startswith(prev):
        return "KILL"
    joined = " join " in template
    if joined and case["branch_columns"] and re.fullmatch(r"t.\.", out.split(" ")[-1]):
        return "BRANCH"
    if pred and template.startswith(pred):
        rest = template[len(pred):].strip()
        if not joined and case["branch_columns"] and rest.startswith("column"):
            return "BRANCH"
        if case["branch_tables"] and rest.startswith("table"):
            return "BRANCH"
    return "FORCE"


def best(row):
    """The first of the greatest."""
    return max(range(len(row)), key=lambda i: row[i])


def update(row, ids, case, allowed):
    """The row that the rules leave of a row of log-probabilities, and the decision."""
    if len(ids) >= case["unrestricted_from"]:
        return "LEAVE", row
    decision = classify(decode(ids), case)
    if decision == "KILL":
        return decision, [DEAD] * len(row)
    if decision == "FORCE":
        top = best(row)
        return decision, [1.0 if i == top else DEAD for i in range(len(row))]
    return decision, [x if i in allowed else DEAD for i, x in enumerate(row)]


# Beam search as transformers' scorer does it.

def agreement(ids, token, guides):
    for n in (5, 4, 3, 2, 1):
        wanted = ids[-n:] + [token]
        if len(ids) >= n and any(g[i:i + n + 1] == wanted for g in ([START] + g for g in guides) for i in range(len(g))):
            return n
    return 0


def scores_of(ids, tables, case):
    h = 0
    for i in ids:
        h = (31 * h + i + 7) % 2**32
    logits = list(tables["noise"][h % len(tables["noise"])])
    for token in range(len(logits)):
        logits[token] += tables["boost"] * agreement(ids, token, case["guides"])
    top = max(logits)
    total = top + math.log(sum(math.exp(x - top) for x in logits))
    return [x - total for x in logits]


def add_finished(finished, score, ids, width):
    """Keeps the best; finished is in order of arrival."""
    if len(finished) < width or score > min(f[0] for f in finished):
        finished.append((score, ids))
        if len(finished) > width:
            finished.remove(min(finished, key=lambda f: f[0]))


def search(tables, case):
    """The steps taken, and the finished sequences, best first.  Ids have the start token before them."""
    width, allowed = case["beams"], set(case["whitelist"])
    beams = [(0.0 if i == 0 else -1e9, [START]) for i in range(width)]
    finished, steps, done = [], [], False
    while beams and not done and len(beams[0][1]) < case["max_length"]:
        length = len(beams[0][1])
        decisions, candidates = [], []
        for b, (total, ids) in enumerate(beams):
            decision, row = update(scores_of(ids, tables, case), ids, case, allowed)
            decisions.append(decision)
            candidates += [(total + x, b, i) for i, x in enumerate(row) if x > DEAD]
        candidates.sort(key=lambda c: (-c[0], c[1], c[2]))
        candidates = candidates[:2 * width]
        running = []
        for rank, (total, b, i) in enumerate(candidates):
            if i == EOS:
                if rank < width:
                    add_finished(finished, total / length, beams[b][1], width)
            elif len(running) < width:
                running.append((total, beams[b][1] + [i]))
            if len(running) == width:
                break
        steps.append({"decisions": decisions, "beams": [[ids[-1], round(total, 6)] for total, ids in running]})
        if len(finished) == width and candidates:
            done = min(f[0] for f in finished) >= candidates[0][0] / length
        beams = running
    if not done:
        for total, ids in beams:
            add_finished(finished, total / len(ids), ids, width)
    return steps, sorted(finished, key=lambda f: -f[0])


def kept(texts, case):
    """What is behind the first bar of each text, in normal form, of this template, each once."""
    out = []
    for text in texts:
        sql = normalize(behind(text, "|"))
        if template_of(sql, *names_of(case["schema"])) == case["template"] and sql not in out:
            out.append(sql)
    return out


SINGERS = "singer : id , name , age , country , song_name  | concert : id , name , year , singer_id"
DIGITS = "club : id , 18_abc , 1_name , n_id (s' , ) | singer : id , name , 8_id"
BOTH = {"branch_columns": True, "branch_tables": True}
CASES = [
    ("one table", SINGERS, "select column from table", ["select name from singer", "select year from concert",
     "select age from singer", "select song_name from singer"], BOTH),
    ("with a database's name before it", SINGERS, "select column from table where column > number",
     ["concert_singer | select name from singer where age > 20", "concert_singer | select country from singer where id > 5"],
     BOTH),
    ("a number before it", SINGERS, "select column, count(column) from table group by column",
     ["concert | 3 @ select country, count(*) from singer group by country",
      "concert | 3 @ select age, count(*) from singer group by age"], BOTH),
    ("a plan before it, which is no template's beginning", SINGERS, "select column, count(column) from table group by column",
     ["concert | 0 joins @ 2 selects @ select country, count(*) from singer group by country",
      "concert | 0 joins @ 2 selects @ select age, count(*) from singer group by age"], BOTH),
    ("a join", SINGERS, "select column from table as t1 join table as t2 on column = column",
     ["select t1.name from singer as t1 join concert as t2 on t1.id = t2.singer_id",
      "select t2.year from singer as t1 join concert as t2 on t1.id = t2.singer_id"], BOTH),
    ("an aggregate in a join", SINGERS,
     "select column, avg(column) from table as t1 join table as t2 on column = column where column = string",
     ["select t2.name, avg(t1.age) from singer as t1 join concert as t2 on t1.id = t2.singer_id where t1.country = \"France\""],
     BOTH),
    ("a string of two words", SINGERS, "select column from table where column = string limit number",
     ["select name from singer where country = \"New York\" limit 1",
      "select age from singer where name = \"New York\" limit 3"], BOTH),
    ("a string in single quotes", SINGERS, "select column from table where column like string",
     ["select name from singer where country like 'France%'"], BOTH),
    ("everything counted", SINGERS, "select count(column) from table", ["select count(*) from singer",
     "select count(distinct name) from singer", "select count ( name ) from concert"], BOTH),
    ("a star", SINGERS, "select column from table where column = number", ["select * from singer where age = 20",
     "select name from singer where id = 5"], BOTH),
    ("names that begin with digits", DIGITS, "select column from table as t1 join table as t2 on column = column",
     ["select t1.18_abc from club as t1 join singer as t2 on t1.id = t2.8_id",
      "select t1.1_name from club as t1 join singer as t2 on t1.n_id = t2.id"], BOTH),
    ("digits without a join", DIGITS, "select column from table where column = number",
     ["select 18_abc from club where id = 2", "select 8_id from singer where 1_name = 3"], BOTH),
    ("a select inside", SINGERS, "select column from table where column not in (select column from table)",
     ["select name from singer where id not in (select singer_id from concert)"], BOTH),
    ("columns alone branch", SINGERS, "select column from table", ["select name from singer", "select year from concert"],
     {"branch_columns": True, "branch_tables": False}),
    ("tables alone branch", SINGERS, "select column from table as t1 join table as t2 on column = column",
     ["select t1.name from singer as t1 join concert as t2 on t1.id = t2.singer_id"],
     {"branch_columns": False, "branch_tables": True}),
    ("nothing branches", SINGERS, "select column from table", ["select name from singer"],
     {"branch_columns": False, "branch_tables": False}),
    ("a template that no answer begins", SINGERS, "select max(column) from table", ["select name from singer"], BOTH),
    ("a template not in normal form", SINGERS, "select count (column) from table", ["select count(*) from singer"], BOTH),
    ("rows left alone from a length on", SINGERS, "select column from table where column > number",
     ["select name from singer where age > 20"], BOTH | {"unrestricted_from": 5}),
    ("no room to end", SINGERS, "select column from table where column > number",
     ["select name from singer where age > 20"], BOTH | {"max_length": 6}),
    ("one beam", SINGERS, "select column from table", ["select name from singer", "select age from singer"],
     BOTH | {"beams": 1}),
    ("a few beams", SINGERS, "select column, column from table order by column desc",
     ["select name, age from singer order by age desc", "select name, country from singer order by id desc"],
     BOTH | {"beams": 4}),
]


def main():
    rng = random.Random(20)
    noise = [[round(rng.gauss(0, 1), 2) for _ in PIECES] for _ in range(40)]
    tables = {"boost": 3, "noise": noise}
    cases, seen = [], {}
    for name, schema, template, guides, settings in CASES:
        case = {"name": name, "schema": schema, "template": template, "beams": 10, "max_length": 64,
                "unrestricted_from": 128} | settings
        case["guides"] = [encode(g) + [EOS] for g in guides]
        case["whitelist"] = whitelist(schema, case["branch_columns"], case["branch_tables"])
        steps, finished = search(tables, case)
        case["steps"] = steps
        case["answers"] = [{"ids": ids[1:], "text": decode(ids), "score": round(score, 6)} for score, ids in finished]
        case["kept"] = kept([a["text"] for a in case["answers"]], case)
        for step in steps:
            for decision in step["decisions"]:
                seen[decision] = seen.get(decision, 0) + 1
        cases.append(case)
        print(f"{name}: {len(steps)} steps, {len(finished)} answers, kept {case['kept']}")
    print(seen)
    texts = [{"text": t, "ids": encode(t), "decoded": decode(encode(t))} for t in
             ["select count(*) from singer", "t1.18_abc", "do n't sing", "a , b . c ! = ' x '"] if all_known(t)]
    with open(os.path.join(HERE, "infilling.json"), "w", encoding="utf-8") as f:
        json.dump({"pieces": PIECES, "start": START, "end": EOS, "unknown": UNK, "tables": tables, "texts": texts,
                   "cases": cases}, f, ensure_ascii=False, separators=(",", ":"))
        f.write("\n")


def all_known(text):
    try:
        return bool(encode(text))
    except StopIteration:
        return False


if __name__ == "__main__":
    main()

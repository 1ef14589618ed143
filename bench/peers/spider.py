"""Spider's exact set match in Python, with the tokens of NLTK: the algorithm of the published evaluator.

Values and DISTINCT do not count, and columns that foreign keys connect are one column.
"""
import sqlite3

from nltk.tokenize import TreebankWordTokenizer

CLAUSES = ("select", "from", "where", "group", "order", "limit", "intersect", "union", "except")
JOINS = ("join", "on", "as")
COMPARISONS = ("not", "between", "=", ">", "<", ">=", "<=", "!=", "in", "like", "is", "exists")
AGGREGATES = ("max", "min", "count", "sum", "avg")
OPERATORS = ("-", "+", "*", "/")
SETS = ("intersect", "union", "except")
treebank = TreebankWordTokenizer()


class Schema:
    """Tables and columns of a database in lower case, with the ids by which queries are compared."""
    def __init__(self, path):
        db = sqlite3.connect(path)
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        self.columns = {t.lower(): [str(c[1].lower()) for c in db.execute('PRAGMA table_info("%s")' % t)]
                        for t in names}
        db.close()
        self.ids = {"*": "__all__"}
        for table, columns in self.columns.items():
            self.ids.update({table + "." + c: "__%s.%s__" % (table, c) for c in columns})
            self.ids[table] = "__%s__" % table


def same_columns(entry):
    """Of an entry of tables.json: each column of a foreign key to the first of those that it is connected with."""
    columns = ["__all__"] + ["__%s.%s__" % (entry["table_names_original"][t].lower(), c.lower())
                             for t, c in entry["column_names_original"][1:]]
    groups = []
    for pair in entry["foreign_keys"]:
        group = next((g for g in groups if pair[0] in g or pair[1] in g), None)
        if group is None:
            groups.append(group := set())
        group.update(pair)
    return {columns[i]: columns[min(g)] for g in groups for i in g}


def tokenize(text):
    text = text.replace("'", '"')
    quotes = [i for i, c in enumerate(text) if c == '"']
    assert len(quotes) % 2 == 0
    strings = {}
    for begin, end in reversed(list(zip(quotes[::2], quotes[1::2]))):
        key = "__val_%d_%d__" % (begin, end)
        strings[key] = text[begin:end + 1]
        text = text[:begin] + key + text[end + 1:]
    words = []
    for word in treebank.tokenize(text):
        word = strings.get(word.lower(), word.lower())
        if word == "=" and words and words[-1] in ("!", ">", "<"):
            words[-1] += word
        else:
            words.append(word)
    return words


class Parser:
    """One query as nested tuples and dictionaries; what is not in Spider's grammar raises."""
    def __init__(self, words, schema):
        self.words, self.schema, self.at = words, schema, 0
        self.tables = {words[i + 1]: words[i - 1] for i, w in enumerate(words) if w == "as"}
        for table in schema.columns:
            assert table not in self.tables
            self.tables[table] = table

    def word(self):
        return self.words[self.at] if self.at < len(self.words) else None

    def take(self, *wanted):
        if self.word() in wanted:
            self.at += 1
            return self.words[self.at - 1]
        return None

    def expect(self, *wanted):
        taken = self.take(*wanted)
        assert taken is not None
        return taken

    def ended(self, *more):
        return self.word() is None or self.word() in CLAUSES + (")", ";") + more

    def column(self, default):
        word = self.words[self.at]
        self.at += 1
        if word == "*":
            return self.schema.ids[word]
        if "." in word:
            alias, name = word.split(".")
            return self.schema.ids[self.tables[alias] + "." + name]
        return next(self.schema.ids[t + "." + word] for t in default if word in self.schema.columns[t])

    def column_unit(self, default):
        block, aggregate = self.take("("), self.take(*AGGREGATES)
        if aggregate:
            self.expect("(")
        distinct = self.take("distinct") is not None
        unit = (aggregate, self.column(default), distinct)
        if aggregate:
            self.expect(")")
        if block:
            self.expect(")")
        return unit

    def value_unit(self, default):
        block, first, second = self.take("("), self.column_unit(default), None
        operator = self.take(*OPERATORS)
        if operator:
            second = self.column_unit(default)
        if block:
            self.expect(")")
        return operator, first, second

    def value(self, default):
        block = self.take("(")
        word = self.words[self.at]
        if word == "select":
            value = self.query()
        elif '"' in word:
            value = word
            self.at += 1
        else:
            try:
                value = float(word)
                self.at += 1
            except ValueError:
                value = self.column_value(default)
        if block:
            self.expect(")")
        return value

    def column_value(self, default):
        """A column where a value may stand: it must be all there is up to the next word that ends values."""
        end = self.at
        while end < len(self.words) and self.words[end] not in CLAUSES + JOINS + (",", ")", "and"):
            end += 1
        part = Parser.__new__(Parser)
        part.words, part.schema, part.tables, part.at = self.words[self.at:end], self.schema, self.tables, 0
        unit = part.column_unit(default)
        self.at = end
        return unit

    def conditions(self, default):
        found = []
        while self.word() is not None:
            unit = self.value_unit(default)
            negated = self.take("not") is not None
            operator, second = self.expect(*COMPARISONS), None
            first = self.value(default)
            if operator == "between":
                self.expect("and")
                second = self.value(default)
            found.append((negated, operator, unit, first, second))
            if self.ended(*JOINS):
                break
            joined = self.take("and", "or")
            if joined:
                found.append(joined)
        return found

    def select(self, default):
        self.expect("select")
        distinct, items = self.take("distinct") is not None, []
        while self.word() is not None and self.word() not in CLAUSES:
            items.append((self.take(*AGGREGATES), self.value_unit(default)))
            self.take(",")
        return distinct, items

    def sources(self):
        self.at = self.words.index("from", self.at) + 1
        units, conditions, default = [], [], []
        while self.word() is not None:
            block = self.take("(")
            if self.word() == "select":
                units.append(("sql", self.query()))
            else:
                self.take("join")
                table = self.tables[self.words[self.at]]
                self.at += 3 if self.words[self.at + 1:self.at + 2] == ["as"] else 1
                units.append(("table", self.schema.ids[table]))
                default.append(table)
            if self.take("on"):
                conditions += ["and"] * bool(conditions) + self.conditions(default)
            if block:
                self.expect(")")
            if self.ended():
                break
        return {"units": units, "conditions": conditions}, default

    def listed(self, first, unit):
        """What stands behind GROUP BY or ORDER BY."""
        if not self.take(first):
            return []
        self.expect("by")
        items = []
        while not self.ended():
            items.append(unit())
            if not self.take(","):
                break
        return items

    def order(self, default):
        direction = ["asc"]

        def unit():
            item = self.value_unit(default)
            direction[0] = self.take("asc", "desc") or direction[0]
            return item
        items = self.listed("order", unit)
        return (direction[0], items) if items else ()

    def limit(self):
        if not self.take("limit"):
            return None
        self.at += 1
        return int(self.words[self.at - 1])

    def query(self):
        block, start, sql = self.take("("), self.at, {}
        sql["from"], default = self.sources()
        behind, self.at = self.at, start
        self.at = start
        sql["select"] = self.select(default)
        self.at = behind
        sql["where"] = self.conditions(default) if self.take("where") else []
        sql["group"] = self.listed("group", lambda: self.column_unit(default))
        sql["having"] = self.conditions(default) if self.take("having") else []
        sql["order"] = self.order(default)
        sql["limit"] = self.limit()
        while self.take(";"):
            pass
        if block:
            self.expect(")")
        while self.take(";"):
            pass
        sql.update(dict.fromkeys(SETS))
        joined = self.take(*SETS)
        if joined:
            sql[joined] = self.query()
        return sql


def empty():
    return {"from": {"units": [], "conditions": []}, "select": (False, []), "where": [], "group": [], "having": [],
            "order": (), "limit": None, "intersect": None, "union": None, "except": None}


def parse(text, schema):
    return Parser(tokenize(text), schema).query()


def without_values(sql):
    if sql is None:
        return None

    def value(v):
        return without_values(v) if isinstance(v, dict) else None

    def conditions(found):
        return [c if isinstance(c, str) else c[:3] + (value(c[3]), value(c[4])) for c in found]
    sql = dict(sql)
    sql["from"] = dict(sql["from"], conditions=conditions(sql["from"]["conditions"]))
    for clause in ("where", "having"):
        sql[clause] = conditions(sql[clause])
    for word in SETS:
        sql[word] = without_values(sql[word])
    return sql


def valid_ids(sql, schema):
    tables = [name[:-2] for kind, name in sql["from"]["units"] if kind == "table"]
    return {i for i in schema.ids.values() if "." in i and i[:i.index(".")] in tables}


def with_one_name(sql, valid, same):
    """Columns by the first of those that they are connected with, nothing distinct."""
    if sql is None:
        return None

    def column(unit):
        return unit and (unit[0], same.get(unit[1], unit[1]) if unit[1] in valid else unit[1], None)

    def unit(u):
        return u[0], column(u[1]), column(u[2])

    def conditions(found):
        return [c if isinstance(c, str) else c[:2] + (unit(c[2]),) + c[3:] for c in found]
    sql = dict(sql)
    sql["select"] = (None, [(a, unit(u)) for a, u in sql["select"][1]])
    sql["from"] = dict(sql["from"], conditions=conditions(sql["from"]["conditions"]))
    sql["where"], sql["having"] = conditions(sql["where"]), conditions(sql["having"])
    sql["group"] = [column(u) for u in sql["group"]]
    sql["order"] = sql["order"] and (sql["order"][0], [unit(u) for u in sql["order"][1]])
    for word in SETS:
        sql[word] = with_one_name(sql[word], valid, same)
    return sql


def rebuild(sql, schema, same):
    return with_one_name(without_values(sql), valid_ids(sql, schema), same)


def same_items(a, b):
    """As many, and each of a in b."""
    left = list(b)
    for item in a:
        if item not in left:
            return False
        left.remove(item)
    return not left


def keywords(sql):
    found = {w for w in ("where", "group", "having") if sql[w]} | {w for w in SETS if sql[w] is not None}
    found |= {"limit"} if sql["limit"] is not None else set()
    found |= {"order", sql["order"][0]} if sql["order"] else set()
    lists = [sql["from"]["conditions"], sql["where"], sql["having"]]
    units = [c for found_in in lists for c in found_in[::2]]
    found |= {"or"} if any("or" in found_in[1::2] for found_in in lists) else set()
    found |= {"not"} if any(c[0] for c in units) else set()
    return found | {c[1] for c in units if c[1] in ("in", "like")}


def plain_names(sql):
    return [u[1].split(".")[1] if "." in u[1] else u[1] for u in sql["group"]]


def same_order(a, b):
    return a["order"] == b["order"] and (not a["order"] or (a["limit"] is None) == (b["limit"] is None))


def same_groups(a, b):
    if not a["group"] or not b["group"]:
        return not a["group"] and not b["group"]
    return [u[1] for u in a["group"]] == [u[1] for u in b["group"]] and a["having"] == b["having"]


def same_nested(a, b):
    return (a is None) == (b is None) and (a is None or match(a, b))


def match(a, b):
    """Whether the rebuilt prediction a is the rebuilt gold b, all ten components of it."""
    return (same_items(a["select"][1], b["select"][1]) and
            same_items([u for _, u in a["select"][1]], [u for _, u in b["select"][1]]) and
            same_items(a["where"][::2], b["where"][::2]) and
            same_items([c[2] for c in a["where"][::2]], [c[2] for c in b["where"][::2]]) and
            same_items(plain_names(a), plain_names(b)) and same_groups(a, b) and same_order(a, b) and
            set(a["where"][1::2]) == set(b["where"][1::2]) and
            all(same_nested(a[w], b[w]) for w in SETS) and keywords(a) == keywords(b) and
            same_items(a["from"]["units"], b["from"]["units"]))

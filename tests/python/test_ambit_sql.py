"""Tests of the Python package ambit_sql: results, errors, threads, forks and pandas.

usage: test_ambit_sql.py    in an empty folder, with ambit_sql on PYTHONPATH or installed
"""

import doctest
import importlib
import itertools
import logging
import math
import os
import pathlib
import sqlite3
import sys
import threading
import unittest

import ambit_sql

AMBIGUOUS, CLEAR = "Show the address of each purchase.", "When was each purchase placed?"
ADDRESSES = ["purchase.billing_address", "purchase.shipping_address"]
CANDIDATES = ["SELECT billing_address FROM purchase", "SELECT shipping_address FROM purchase"]
SHOP = """CREATE TABLE purchase (purchase_id INTEGER PRIMARY KEY, placed_on TEXT, billing_address TEXT,
    shipping_address TEXT); INSERT INTO purchase VALUES (1, '2024-03-01', 'Mill Lane 2', 'Harbour 9')"""


class Detect(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.detector = ambit_sql.Detector(threads=1)

    @classmethod
    def tearDownClass(cls):
        cls.detector.close()

    def test_one(self):
        found = self.detector.detect(AMBIGUOUS, db=pathlib.Path("shop.sqlite"))
        self.assertEqual((found.ambiguous, found.alternatives, found.db_id), (True, ADDRESSES, "shop"))
        self.assertIsNone(found.relevance)
        with self.assertRaises(ambit_sql.DataError):
            self.detector.detect("a\0b", db="shop.sqlite")

    def test_many(self):
        questions = [AMBIGUOUS, "half \ud800", "NUL \0", {"id": "x", "question": CLEAR}, {"question": 3}]
        found = self.detector.detect(questions, db="shop.sqlite", relevance=True)
        self.assertEqual([of.id for of in found], [1, 2, 3, "x", 5])
        self.assertEqual([of.ambiguous for of in found], [True, None, None, False, None])
        self.assertEqual([bool(of.error) for of in found], [False, True, True, False, True])
        self.assertEqual(found[3].relevance[-1].column, "shipping_address")
        self.assertEqual(self.detector.detect([], db="shop.sqlite"), [])

    def test_many_batches(self):
        found = self.detector.detect((AMBIGUOUS if i % 2 else CLEAR for i in range(600)), db="shop.sqlite")
        self.assertEqual([of.id for of in found], list(range(1, 601)))
        self.assertEqual([of.ambiguous for of in found], [False, True] * 300)

    def test_stream_is_lazy(self):
        taken = []
        endless = (taken.append(i) or AMBIGUOUS for i in itertools.count())
        next(self.detector.stream(endless, db="shop.sqlite", batch=3))
        self.assertEqual(taken, [0, 1, 2])

    def test_schema(self):
        entry = {"db_id": "shop", "table_names_original": ["purchase"], "table_names": ["purchase"],
                 "column_names_original": [[-1, "*"], [0, "billing_address"], [0, "shipping_address"]],
                 "column_names": [[-1, "*"], [0, "billing address"], [0, "shipping address"]],
                 "column_types": ["text"] * 3, "primary_keys": [], "foreign_keys": []}
        self.assertEqual(self.detector.detect(AMBIGUOUS, schema=entry).alternatives, ADDRESSES)

    def test_errors(self):
        for arguments in ({}, {"db": "shop.sqlite", "schema": {}}):
            with self.assertRaises(ambit_sql.UsageError):
                self.detector.detect(AMBIGUOUS, **arguments)
        with self.assertRaisesRegex(ambit_sql.DataError, "none.sqlite") as caught:
            self.detector.detect([AMBIGUOUS], db="none.sqlite")
        self.assertEqual(caught.exception.code, 3)
        with self.assertRaisesRegex(ambit_sql.ModelError, "/no/such"):
            ambit_sql.Detector("/no/such")
        with self.assertRaisesRegex(ValueError, "threshold"):
            ambit_sql.Detector(threshold=2)
        with self.assertRaisesRegex(ambit_sql.UsageError, "expected a device"):
            ambit_sql.Detector(device="abacus")
        with self.assertRaises(ambit_sql.UsageError):
            next(self.detector.stream([AMBIGUOUS], db="shop.sqlite", batch=0))

    def test_closed(self):
        detector = ambit_sql.Detector(threads=1)
        detector.close()
        detector.close()
        with self.assertRaisesRegex(ambit_sql.UsageError, "closed"):
            detector.detect(AMBIGUOUS, db="shop.sqlite")

    def test_threads(self):
        wrong = []

        def work():
            with ambit_sql.Detector(threads=1) as own:
                for detector in (own, self.detector):
                    found = detector.detect([AMBIGUOUS, CLEAR] * 3, db="shop.sqlite")
                    wrong.extend(i for i, of in enumerate(found) if of.ambiguous != (i % 2 == 0))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_fork(self):
        child = os.fork()
        if not child:
            try:
                self.detector.detect(AMBIGUOUS, db="shop.sqlite")
            except ambit_sql.AmbitError as error:
                os._exit(0 if error.code == 1 and "fork" in str(error) else 1)
            os._exit(2)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertTrue(self.detector.detect(AMBIGUOUS, db="shop.sqlite").ambiguous)

    def test_environment(self):
        self.assertNotIn("GOMP_SPINCOUNT", os.environ)


class Tag(unittest.TestCase):
    def test_tags(self):
        with ambit_sql.Tagger() as tagger:
            first, second = tagger.tag([AMBIGUOUS, {"id": 7}], db="shop.sqlite")
            self.assertEqual(first.status, ["ambiguous"])
            span = first.spans[0]
            self.assertEqual(AMBIGUOUS[span.start:span.end], "address")
            self.assertEqual(span.alternatives[0].values, ["Mill Lane 2"])
            self.assertEqual((second.id, second.spans), (7, []))
            self.assertIn("question", second.error)
            self.assertEqual(next(tagger.stream([CLEAR], db="shop.sqlite")).id, 1)
        with self.assertRaisesRegex(ambit_sql.UsageError, "dte, eta or heuristic"):
            ambit_sql.Tagger("other")


class Talk(unittest.TestCase):
    def test_dialogue(self):
        with ambit_sql.Tagger() as tagger:
            tags = tagger.tag(AMBIGUOUS, db="shop.sqlite")
        with ambit_sql.Detector(threads=1) as detector:
            prediction = detector.detect(AMBIGUOUS, db="shop.sqlite")
        candidates = [(CANDIDATES[0], 0.7), {"sql": CANDIDATES[1], "p": 0.3}, "SELECT nothing FROM purchase"]
        for more in ({}, {"prediction": prediction, "tags": tags, "rules": {"max_turns": 2}}):
            with ambit_sql.Dialogue(AMBIGUOUS, candidates[:2], db="shop.sqlite", **more) as dialogue:
                self.assertEqual(dialogue.best, CANDIDATES[0])
                self.assertEqual(dialogue.answer(2).best, CANDIDATES[1])
        self.assertEqual(dialogue.session["rules"]["max_turns"], 2)
        with self.assertRaises(ambit_sql.UsageError):
            dialogue.undo()

    def test_answers(self):
        dialogue = ambit_sql.Dialogue(AMBIGUOUS, CANDIDATES, db="shop.sqlite")
        for answer, code in ((9, 20), ("gibberish", 20)):
            with self.assertRaises(ambit_sql.AnswerError) as caught:
                dialogue.answer(answer)
            self.assertEqual(caught.exception.code, code)
        with self.assertRaises(ambit_sql.UsageError):
            dialogue.answer("2\0")
        with self.assertRaises(ambit_sql.AnswerError) as caught:
            dialogue.undo()
        self.assertEqual(caught.exception.code, 21)
        dialogue.answer("shipping address")
        with self.assertRaises(ambit_sql.AnswerError) as caught:
            dialogue.answer(1)
        self.assertEqual(caught.exception.code, 22)
        again = ambit_sql.Dialogue.resume(dialogue.session, db="shop.sqlite")
        self.assertEqual(again.state, dialogue.state)

    def test_rejected(self):
        dialogue = ambit_sql.Dialogue(AMBIGUOUS, [*CANDIDATES, "SELECT nothing FROM purchase"], db="shop.sqlite")
        self.assertEqual([of["candidate"] for of in dialogue.state.rejected], [2])
        with self.assertRaisesRegex(ambit_sql.DataError, "candidates"):
            ambit_sql.Dialogue(AMBIGUOUS, [], db="shop.sqlite")


class Frames(unittest.TestCase):
    def setUp(self):
        try:
            self.pandas = importlib.import_module("pandas")
        except ImportError:
            self.skipTest("pandas is not installed")

    def test_frames(self):
        frame = self.pandas.DataFrame({"question": [AMBIGUOUS, math.nan, CLEAR], "other": 1}, index=["a", "b", "c"])
        with ambit_sql.Detector(threads=1) as detector:
            for questions in (frame, frame["question"]):
                found = detector.detect(questions, db="shop.sqlite")
                self.assertEqual(list(found.index), ["a", "b", "c"])
                self.assertEqual(found.loc["a", "alternatives"], ADDRESSES)
                self.assertFalse(found.loc["c", "ambiguous"])
                self.assertIn("question", found.loc["b", "error"])
            self.assertEqual(len(detector.detect(frame[:0], db="shop.sqlite")), 0)
            with self.assertRaisesRegex(ambit_sql.UsageError, "column \"question\""):
                detector.detect(frame[["other"]], db="shop.sqlite")


class Log(unittest.TestCase):
    def test_messages(self):
        writer = sqlite3.connect("busy.sqlite")
        writer.execute("PRAGMA journal_mode = WAL")
        writer.executescript(SHOP)
        with self.assertLogs("ambit_sql", logging.INFO) as logs, ambit_sql.Tagger() as tagger:
            tagger.tag(CLEAR, db="busy.sqlite")
        self.assertIn("-wal", logs.output[0])
        writer.close()


def load_tests(_loader, tests, _pattern):
    for name in ("", "._library", "._results", "._questions", "._dialogue"):
        module = importlib.import_module(f"ambit_sql{name}")
        if name in ("", "._questions", "._dialogue"):
            tests.addTests(doctest.DocTestSuite(module))
    return tests


if __name__ == "__main__":
    connection = sqlite3.connect("shop.sqlite")
    connection.executescript(SHOP)
    connection.close()
    print(f"ambit_sql {ambit_sql.version()} of {os.path.dirname(ambit_sql.__file__)}, Python {sys.version.split()[0]}")
    unittest.main(verbosity=2)

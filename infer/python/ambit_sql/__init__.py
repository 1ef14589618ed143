"""Detects, tags and clarifies ambiguous questions to a database.

>>> import ambit_sql
>>> with ambit_sql.Detector() as detector:
...     found = detector.detect("Show the address of each purchase.", db="shop.sqlite")
>>> found.ambiguous, found.alternatives
(True, ['purchase.billing_address', 'purchase.shipping_address'])

Errors are exceptions below AmbitError.  Handles may be used by several threads; calls on the same handle wait for each
other, and other Python threads run meanwhile.  A process that was forked after the first use of the package cannot use
it: start workers of multiprocessing by the method "spawn".  Messages go to the logger "ambit_sql".
"""

from __future__ import annotations

from ambit_sql._library import AmbitError, AnswerError, DataError, DeviceError, ModelError, UsageError, version
from ambit_sql._dialogue import Dialogue
from ambit_sql._questions import Detector, Tagger
from ambit_sql._results import Alternative, Option, Prediction, Question, Relevance, Span, State, Tags

__all__ = [
    "Alternative",
    "AmbitError",
    "AnswerError",
    "DataError",
    "Detector",
    "DeviceError",
    "Dialogue",
    "ModelError",
    "Option",
    "Prediction",
    "Question",
    "Relevance",
    "Span",
    "State",
    "Tagger",
    "Tags",
    "UsageError",
    "version",
]

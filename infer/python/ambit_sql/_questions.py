"""Detectors and taggers: questions in, predictions or marked words out."""

from __future__ import annotations

import dataclasses
import itertools
import os
import sys
from typing import TYPE_CHECKING, Any, Callable, Generic, Iterable, Iterator, Mapping, TypeVar, Union, overload

from ambit_sql._library import DataError, Handle, UsageError, encoded, is_text
from ambit_sql._results import Prediction, Tags

if TYPE_CHECKING:
    import pandas

Path = Union[str, "os.PathLike[str]"]
Record = Union[str, Mapping[str, Any]]
R = TypeVar("R", Prediction, Tags)

BATCH = 256  # questions of one call of the library; between two calls Ctrl-C is noticed


def source_of(db: Path | None, schema: Path | Mapping[str, Any] | None) -> dict[str, Any]:
    """The fields of a request that name a database or a schema."""
    if (db is None) == (schema is None):
        raise UsageError(2, "expected either db or schema")
    if db is not None:
        return {"db": os.fspath(db)}
    return {"schema": dict(schema) if isinstance(schema, Mapping) else os.fspath(schema)}  # type: ignore[arg-type]


def settings_of(**settings: Any) -> dict[str, Any]:
    """The settings that are given, with paths as texts."""
    paths = {name: os.fspath(of) if isinstance(of, os.PathLike) else of for name, of in settings.items()}
    return {name: of for name, of in paths.items() if of is not None}


def _record(question: Record, place: int) -> dict[str, Any]:
    record = {"question": question} if isinstance(question, str) else dict(question)
    return {"id": place, **record}


def _frame_records(frame: Any) -> list[dict[str, Any]]:
    """The records of a DataFrame with a column "question", and perhaps "db_id".  Missing values are no texts."""
    if "question" not in frame.columns:
        raise UsageError(2, f'expected a column "question", got {list(frame.columns)}')
    columns = [name for name in ("db_id", "question") if name in frame.columns]
    rows = zip(*(frame[name] for name in columns))
    return [{name: of if isinstance(of, str) else None for name, of in zip(columns, row)} for row in rows]


class _Asker(Generic[R]):
    """A handle that answers questions."""

    _function: str
    _read: Callable[[Mapping[str, Any]], R]

    def __init__(self, kind: str, settings: dict[str, Any]) -> None:
        self._handle = Handle(kind, settings)

    def close(self) -> None:
        """Frees the model.  The garbage collector does so too."""
        self._handle.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer(self, records: list[dict[str, Any]], more: dict[str, Any]) -> list[R]:
        """One call of the library, for the records that it can read."""
        bad = {i for i, of in enumerate(records) if isinstance(of.get("question"), str) and not is_text(of["question"])}
        good = [of for i, of in enumerate(records) if i not in bad]
        lines = iter(self._handle.request(self._function, encoded({**more, "questions": good})))
        text = 'field "question": expected a text in UTF-8 without NUL'
        read = type(self)._read
        return [read({"id": of.get("id"), "error": text} if i in bad else next(lines)) for i, of in enumerate(records)]

    def _stream(self, questions: Iterable[Record], batch: int, more: dict[str, Any]) -> Iterator[R]:
        if batch < 1:
            raise UsageError(2, f"batch: expected at least 1, got {batch}")
        numbered = (_record(question, place) for place, question in enumerate(questions, 1))
        while records := list(itertools.islice(numbered, batch)):
            yield from self._answer(records, more)

    def _one(self, question: str, more: dict[str, Any]) -> R:
        (result,) = self._answer([_record(question, 1)], more)
        if result.error is not None:
            raise DataError(3, result.error)
        return result

    def _all(self, questions: Any, more: dict[str, Any]) -> Any:
        pandas = sys.modules.get("pandas")
        if isinstance(questions, str):
            return self._one(questions, more)
        if pandas and isinstance(questions, pandas.Series):
            questions = questions.to_frame("question")
        if pandas and isinstance(questions, pandas.DataFrame):
            results = self._stream(_frame_records(questions), BATCH, more)
            rows = [dataclasses.asdict(of) for of in results]
            names = [field.name for field in dataclasses.fields(type(self)._read.__self__)]  # type: ignore[attr-defined]
            return pandas.DataFrame(rows, columns=names, index=questions.index).drop(columns="id")
        return list(self._stream(questions, BATCH, more))


class Detector(_Asker[Prediction]):
    """Tells whether questions are ambiguous for a schema, and between which elements.

    Without ``model`` it is the detector that comes with ambit.  ``threads`` is the number of CPU threads, by default one
    for each available processor.  The other settings are the options of ``ambit-infer detect``.

    >>> detector = Detector(threads=1)
    >>> detector.detect("When was each purchase placed?", db="shop.sqlite").ambiguous
    False
    >>> [p.ambiguous for p in detector.detect(["Show the address of each purchase.", "How many purchases are there?"],
    ...                                       db="shop.sqlite")]
    [True, False]
    >>> detector.detect("Show the address.", db="other.sqlite")
    Traceback (most recent call last):
    ambit_sql._library.DataError: other.sqlite: No such file or directory
    >>> detector.close()
    """

    _function = "ambit_detect_many"
    _read = Prediction.from_dict

    def __init__(
        self,
        model: Path | None = None,
        *,
        adapter: Path | None = None,
        device: str = "auto",
        threads: int | None = None,
        threshold: float | None = None,
        retriever: Path | None = None,
        elements: int | None = None,
        max_question: int | None = None,
        tokens: int | None = None,
    ) -> None:
        super().__init__(
            "detector",
            settings_of(
                model=model,
                adapter=adapter,
                device=device,
                threads=threads,
                threshold=threshold,
                retriever=retriever,
                elements=elements,
                max_question=max_question,
                tokens=tokens,
            ),
        )

    @overload
    def detect(  # type: ignore[overload-overlap]  # a text is an iterable of texts too
        self,
        questions: str,
        db: Path | None = None,
        schema: Path | Mapping[str, Any] | None = None,
        *,
        relevance: bool = False,
    ) -> Prediction: ...

    @overload
    def detect(  # type: ignore[overload-overlap]
        self,
        questions: pandas.DataFrame | pandas.Series[str],
        db: Path | None = None,
        schema: Path | Mapping[str, Any] | None = None,
        *,
        relevance: bool = False,
    ) -> pandas.DataFrame: ...

    @overload
    def detect(
        self,
        questions: Iterable[Record],
        db: Path | None = None,
        schema: Path | Mapping[str, Any] | None = None,
        *,
        relevance: bool = False,
    ) -> list[Prediction]: ...

    def detect(
        self,
        questions: Any,
        db: Path | None = None,
        schema: Path | Mapping[str, Any] | None = None,
        *,
        relevance: bool = False,
    ) -> Any:
        """Predicts for a question, for many, or for a pandas Series or DataFrame with a column "question".

        ``db`` is a SQLite file, or a folder of databases; then each question is a mapping with "db_id".  In its place
        ``schema`` is the path of a tables.json, or one entry of it.  ``relevance`` adds that of tables and columns.

        Returns a Prediction, a list of them in order, or a DataFrame with the index of the questions.  A single question
        that cannot be scored raises DataError; among many it has ``error`` set.
        """
        return self._all(questions, {**source_of(db, schema), "relevance": relevance})

    def stream(
        self,
        questions: Iterable[Record],
        db: Path | None = None,
        schema: Path | Mapping[str, Any] | None = None,
        *,
        relevance: bool = False,
        batch: int = 64,
    ) -> Iterator[Prediction]:
        """Predicts for questions as they come, a batch at a time, in order.

        >>> with Detector(threads=1) as detector:
        ...     found = detector.stream((f"Show purchase {i}." for i in range(1000000)), db="shop.sqlite", batch=2)
        ...     [next(found).id for _ in range(3)]
        [1, 2, 3]
        """
        return self._stream(questions, batch, {**source_of(db, schema), "relevance": relevance})


class Tagger(_Asker[Tags]):
    """Marks the words of questions that are ambiguous or unanswerable.

    The strategy "heuristic" needs no model. "dte" and "eta" need a folder of ``ambit-train tag``; "dte" also takes a
    detector with a head for words, such as the one that comes with ambit.

    >>> with Tagger() as tagger:
    ...     tags = tagger.tag("Show the address of each purchase.", db="shop.sqlite")
    >>> [(span.text, span.label, [a.concept for a in span.alternatives]) for span in tags.spans]
    [('address', 'AMB', ['purchase.billing_address', 'purchase.shipping_address'])]
    """

    _function = "ambit_tag_many"
    _read = Tags.from_dict

    def __init__(
        self,
        strategy: str = "heuristic",
        model: Path | None = None,
        *,
        device: str = "auto",
        threads: int | None = None,
        threshold: float | None = None,
        index_mib: int | None = None,
    ) -> None:
        super().__init__(
            "tagger",
            settings_of(
                strategy=strategy, model=model, device=device, threads=threads, threshold=threshold, index_mib=index_mib
            ),
        )

    @overload
    def tag(  # type: ignore[overload-overlap]
        self, questions: str, db: Path | None = None, schema: Path | Mapping[str, Any] | None = None
    ) -> Tags: ...

    @overload
    def tag(  # type: ignore[overload-overlap]
        self,
        questions: pandas.DataFrame | pandas.Series[str],
        db: Path | None = None,
        schema: Path | Mapping[str, Any] | None = None,
    ) -> pandas.DataFrame: ...

    @overload
    def tag(
        self, questions: Iterable[Record], db: Path | None = None, schema: Path | Mapping[str, Any] | None = None
    ) -> list[Tags]: ...

    def tag(
        self, questions: Any, db: Path | None = None, schema: Path | Mapping[str, Any] | None = None
    ) -> Any:
        """Tags a question, many, or a pandas Series or DataFrame, as Detector.detect() predicts for them."""
        return self._all(questions, source_of(db, schema))

    def stream(
        self,
        questions: Iterable[Record],
        db: Path | None = None,
        schema: Path | Mapping[str, Any] | None = None,
        *,
        batch: int = 64,
    ) -> Iterator[Tags]:
        """Tags questions as they come, a batch at a time, in order."""
        return self._stream(questions, batch, source_of(db, schema))

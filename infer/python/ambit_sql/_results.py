"""The results as dataclasses.  docs/reference/records.md has the meaning of each field."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, TypeVar

T = TypeVar("T")


def _known(cls: type[T], value: Mapping[str, Any], **parts: Any) -> T:
    """An object of the class.  Fields that the class does not know are left out: later versions may add some."""
    names = {field.name for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    return cls(**{name: of for name, of in {**value, **parts}.items() if name in names})


@dataclasses.dataclass(frozen=True)
class Relevance:
    """The probability that a question is about a table or a column; ``column`` is None for a table."""

    table: str
    column: str | None
    text: str
    relevance: float


@dataclasses.dataclass(frozen=True)
class Prediction:
    """The prediction of a detector; if ``error`` is set, the fields of the prediction are not."""

    id: Any = None
    db_id: str | None = None
    question: str | None = None
    score: float | None = None
    ambiguous: bool | None = None
    type: str | None = None
    alternatives: list[str] = dataclasses.field(default_factory=list)
    sentence: str | None = None
    relevance: list[Relevance] | None = None
    question_cut: dict[str, int] | None = None
    schema_cut: dict[str, int] | None = None
    error: str | None = None

    @classmethod
    def from_dict(cls, line: Mapping[str, Any]) -> Prediction:
        """Reads a line of ``ambit-infer detect``."""
        relevance = line.get("relevance")
        parts = None if relevance is None else [_known(Relevance, of) for of in relevance]
        return _known(cls, line, relevance=parts)


@dataclasses.dataclass(frozen=True)
class Alternative:
    """A meaning of marked words: a table, a column or a value."""

    concept: str
    type: str
    score: float
    values: list[Any] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Span:
    """Marked words, ``question[start:end]``; ``label`` is COL, VAL, AMB or UNK."""

    start: int
    end: int
    text: str
    label: str
    probability: float
    alternatives: list[Alternative] = dataclasses.field(default_factory=list)
    nearest: list[Alternative] = dataclasses.field(default_factory=list)

    @classmethod
    def from_dict(cls, span: Mapping[str, Any]) -> Span:
        lists = {name: [_known(Alternative, of) for of in span.get(name) or []] for name in ("alternatives", "nearest")}
        return _known(cls, span, **lists)


@dataclasses.dataclass(frozen=True)
class Tags:
    """The marked words of a question; if ``error`` is set, the other results are not."""

    id: Any = None
    db_id: str | None = None
    question: str | None = None
    status: list[str] = dataclasses.field(default_factory=list)
    problem: float | None = None
    spans: list[Span] = dataclasses.field(default_factory=list)
    sentence: str | None = None
    error: str | None = None

    @classmethod
    def from_dict(cls, line: Mapping[str, Any]) -> Tags:
        """Reads a line of ``ambit-infer tag``."""
        return _known(cls, line, spans=[Span.from_dict(of) for of in line.get("spans") or []])


@dataclasses.dataclass(frozen=True)
class Option:
    """An option of a clarifying question; ``p`` is its probability, ``sql`` the most probable statement behind it."""

    text: str
    p: float
    sql: str | None = None
    found: str | None = None


@dataclasses.dataclass(frozen=True)
class Question:
    """A clarifying question; ``eig`` is its expected information gain in bits."""

    turn: int
    text: str
    options: list[Option]
    attribute: str
    question_type: str
    eig: float

    @classmethod
    def from_dict(cls, ask: Mapping[str, Any]) -> Question:
        return _known(cls, ask, options=[_known(Option, of) for of in ask["options"]])


@dataclasses.dataclass(frozen=True)
class State:
    """The state of a dialogue: the open question, or the reason to ask none, and the most probable statement."""

    ask: Question | None
    stop: str | None
    best: str
    wording: str
    confidence: float
    entropy: float
    none_of_the_above: float
    plausible: int
    eliminated: int
    free_choice: bool
    rejected: list[dict[str, Any]]

    @classmethod
    def from_dict(cls, reply: Mapping[str, Any]) -> State:
        """Reads a reply of the serve protocol."""
        ask = reply.get("ask")
        return _known(cls, reply, ask=Question.from_dict(ask) if ask else None)

"""Dialogues: which of the candidate statements does the user mean?"""

from __future__ import annotations

from typing import Any, Iterable, Mapping, Union

from ambit_sql._library import Handle, UsageError, encoded, is_text
from ambit_sql._questions import Path, source_of
from ambit_sql._results import Prediction, Question, State, Tags

Candidate = Union[str, "tuple[str, float]", Mapping[str, Any]]


def _candidate(candidate: Candidate) -> Any:
    """A candidate as in a record: a statement, or a statement with its probability."""
    if isinstance(candidate, tuple):
        return {"sql": candidate[0], "p": candidate[1]}
    return candidate if isinstance(candidate, str) else dict(candidate)


def _evidence(prediction: Prediction | None, tags: Tags | None) -> dict[str, Any]:
    """The fields of a record that tell of its ambiguity."""
    fields: dict[str, Any] = {}
    if prediction is not None and prediction.error is None:
        fields = {name: getattr(prediction, name) for name in ("ambiguous", "type", "alternatives", "score")}
    if tags is not None and tags.error is None:
        fields["spans"] = [
            {
                **{name: getattr(span, name) for name in ("start", "end", "text", "label", "probability")},
                "alternatives": [vars(of) for of in span.alternatives],
                "nearest": [vars(of) for of in span.nearest],
            }
            for span in tags.spans
        ]
    return fields


class Dialogue:
    """Asks the most informative question about candidate statements, turn by turn.

    Candidates are SQL statements, pairs of statement and probability, or mappings with "sql" and "p" or "logprob".
    ``prediction`` and ``tags`` of the same question make questions about ambiguous words more probable.  ``rules`` are
    those of docs/reference/serve-protocol.md, such as {"max_turns": 5}.

    >>> dialogue = Dialogue("Show the address of each purchase.",
    ...                     ["SELECT billing_address FROM purchase", "SELECT shipping_address FROM purchase"],
    ...                     db="shop.sqlite")
    >>> [option.text for option in dialogue.ask.options]
    ["billing address of purchase (such as 'Mill Lane 2')", "shipping address of purchase (such as 'Harbour 9')"]
    >>> dialogue.answer("shipping").best
    'SELECT shipping_address FROM purchase'
    >>> dialogue.ask is None, dialogue.state.stop
    (True, 'settled')
    >>> dialogue.undo().ask.turn
    1
    >>> Dialogue.resume(dialogue.session, db="shop.sqlite").answer(1).best
    'SELECT billing_address FROM purchase'
    """

    def __init__(
        self,
        question: str,
        candidates: Iterable[Candidate],
        db: Path | None = None,
        schema: Path | Mapping[str, Any] | None = None,
        *,
        db_id: str | None = None,
        prediction: Prediction | None = None,
        tags: Tags | None = None,
        rules: Mapping[str, Any] | None = None,
    ) -> None:
        record = {"question": question, "candidates": [_candidate(of) for of in candidates]}
        record.update(_evidence(prediction, tags))
        if db_id is not None:
            record["db_id"] = db_id
        self._open({**source_of(db, schema), "record": record, **({"rules": dict(rules)} if rules else {})})

    @classmethod
    def resume(
        cls, session: Mapping[str, Any], db: Path | None = None, schema: Path | Mapping[str, Any] | None = None
    ) -> Dialogue:
        """Continues a dialogue from its session, perhaps of another process or of ``ambit-infer``."""
        dialogue = cls.__new__(cls)
        dialogue._open({**source_of(db, schema), "session": dict(session)})
        return dialogue

    def _open(self, request: dict[str, Any]) -> None:
        self._handle = Handle("session", request)
        self._take(self._handle.request("ambit_session_state"))

    def _take(self, reply: dict[str, Any]) -> State:
        self._session: dict[str, Any] = reply["session"]
        self._state = State.from_dict(reply)
        return self._state

    @property
    def state(self) -> State:
        """The state after the last answer."""
        return self._state

    @property
    def ask(self) -> Question | None:
        """The open question, or None."""
        return self._state.ask

    @property
    def best(self) -> str:
        """The most probable statement."""
        return self._state.best

    @property
    def session(self) -> dict[str, Any]:
        """The whole dialogue as plain values, for resume(), a file or the serve protocol."""
        return self._session

    def answer(self, answer: int | str) -> State:
        """Takes the number of an option from 1, or words.  Raises AnswerError if it means nothing."""
        if not is_text(str(answer)):
            raise UsageError(2, "answer: expected a text in UTF-8 without NUL")
        return self._take(self._handle.request("ambit_session_answer", str(answer).encode()))

    def undo(self) -> State:
        """Takes the last answer back.  Raises AnswerError if there is none."""
        return self._take(self._handle.request("ambit_session_undo"))

    def close(self) -> None:
        """Closes the database.  The garbage collector does so too."""
        self._handle.close()

    def __enter__(self) -> Dialogue:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

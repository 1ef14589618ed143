"""libambit through ctypes: the prototypes of ambit.h, its strings and its errors."""

from __future__ import annotations

import ctypes
import functools
import json
import logging
import os
import threading
import weakref
from typing import Any, Callable

_LOG = logging.getLogger("ambit_sql")
_LEVELS = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)


class AmbitError(Exception):
    """A failure of ambit; ``code`` is one of ``enum ambit_code`` in ambit.h."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class UsageError(AmbitError, ValueError):
    """A wrong argument: an unknown field, a wrong type or value."""


class DataError(AmbitError, ValueError):
    """A question, a record, a schema or a database that cannot be used."""


class DeviceError(AmbitError):
    """A device that cannot be used."""


class ModelError(AmbitError):
    """A folder that holds no usable model."""


class AnswerError(AmbitError, ValueError):
    """An answer of a dialogue that cannot be taken; the dialogue is unchanged."""


_ERRORS: dict[int, type[AmbitError]] = {
    2: UsageError,
    3: DataError,
    4: DeviceError,
    6: ModelError,
    20: AnswerError,
    21: AnswerError,
    22: AnswerError,
    23: AnswerError,
}


class _Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 1024)]


_LogFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)


def _pass_on(_user: int | None, level: int, text: bytes) -> None:
    _LOG.log(_LEVELS[level], "%s", text.decode(errors="replace"))


_log = _LogFunction(_pass_on)

# OpenMP and OpenBLAS read these variables once, when they are loaded.  By default their idle threads spin for
# milliseconds: on a busy machine a question then takes several times as long (docs/guides/c-and-python.md).
_WAITING = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "1000", "OPENBLAS_THREAD_TIMEOUT": "14"}


# Results (None: nothing; c_void_p: a handle, or a string that ambit_free takes) and types of the arguments before error.
_PROTOTYPES: dict[str, tuple[Any, list[Any]]] = {
    "ambit_detector_open": (ctypes.c_void_p, [ctypes.c_char_p]),
    "ambit_detect_many": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]),
    "ambit_tagger_open": (ctypes.c_void_p, [ctypes.c_char_p]),
    "ambit_tag_many": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]),
    "ambit_session_open": (ctypes.c_void_p, [ctypes.c_char_p]),
    "ambit_session_state": (ctypes.c_void_p, [ctypes.c_void_p]),
    "ambit_session_answer": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]),
    "ambit_session_undo": (ctypes.c_void_p, [ctypes.c_void_p]),
}


def _path() -> str:
    """The library that AMBIT_LIBRARY names, that of a wheel, or that of the system."""
    packaged = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "libambit.so.0")
    named = os.environ.get("AMBIT_LIBRARY")
    return named or (packaged if os.path.exists(packaged) else "libambit.so.0")


def _load(path: str) -> ctypes.CDLL:
    """Loads a library with _WAITING in the environment, except variables that the user has set."""
    added = {name: of for name, of in _WAITING.items() if name not in os.environ}
    if "OMP_WAIT_POLICY" not in added:
        added = {}
    os.environ.update(added)
    try:
        return ctypes.CDLL(path)
    finally:
        for name in added:
            del os.environ[name]


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """Loads the library once."""
    path = _path()
    try:
        lib = _load(path)
    except OSError as why:
        raise ImportError(f"{path} cannot be loaded: {why}; install ambit or a wheel, or set AMBIT_LIBRARY") from why
    for name, (result, arguments) in _PROTOTYPES.items():
        function = getattr(lib, name)
        function.restype = result
        function.argtypes = [*arguments, ctypes.POINTER(_Error)]
    for name in ("ambit_detector_close", "ambit_tagger_close", "ambit_session_close", "ambit_free"):
        getattr(lib, name).restype = None
        getattr(lib, name).argtypes = [ctypes.c_void_p]
    lib.ambit_version.restype = ctypes.c_char_p
    lib.ambit_set_log.restype = None
    lib.ambit_set_log.argtypes = [_LogFunction, ctypes.c_void_p]
    lib.ambit_set_log(_log, None)
    return lib


def version() -> str:
    """The version of the library."""
    return str(library().ambit_version().decode())


def call(name: str, *arguments: Any) -> Any:
    """Calls a function of the library and raises its error."""
    error = _Error()
    result = getattr(library(), name)(*arguments, ctypes.byref(error))
    if not result:
        raise _ERRORS.get(error.code, AmbitError)(error.code, error.text.decode(errors="replace"))
    return result


def call_json(name: str, *arguments: Any) -> Any:
    """Calls a function that returns a string, and parses it."""
    text = call(name, *arguments)
    try:
        return json.loads(ctypes.string_at(text))
    finally:
        library().ambit_free(text)


def is_text(text: str) -> bool:
    """Whether C and JSON can hold the text: without NUL and without half of a character."""
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def encoded(value: Any) -> bytes:
    """A request as JSON.  NaN and infinity are refused, as JSON has none."""
    return json.dumps(value, allow_nan=False).encode()


class Handle:
    """A handle of the library, closed once: by close(), by the garbage collector or at the end of the process."""

    def __init__(self, kind: str, request: Any) -> None:
        self._kind = kind
        self._lock = threading.Lock()
        self._pointer = call(f"ambit_{kind}_open", encoded(request))
        close: Callable[[int], None] = getattr(library(), f"ambit_{kind}_close")
        self._finalizer = weakref.finalize(self, close, self._pointer)

    def request(self, name: str, *arguments: Any) -> Any:
        """Calls a function on the handle.  Calls of several threads wait for each other, and so does close()."""
        with self._lock:
            if not self._finalizer.alive:
                raise UsageError(2, f"the {self._kind} is closed")
            return call_json(name, self._pointer, *arguments)

    def close(self) -> None:
        with self._lock:
            self._finalizer()

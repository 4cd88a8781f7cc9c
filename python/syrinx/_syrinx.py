"""Calls syrinx.h with ctypes: handles become objects, error codes become the exceptions of
errors.py.

Calls release the interpreter's lock. Uses the library in this folder, otherwise the system's.
"""
from __future__ import annotations

import ctypes
import os
import threading
from ctypes import (POINTER, byref, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_size_t,
                    c_uint32, c_uint64, c_void_p)
from typing import TYPE_CHECKING, Any, Callable, Optional

import numpy as np

from .errors import InvalidError, fault

if TYPE_CHECKING:
    import numpy.typing as npt

    _Samples = npt.NDArray[np.float32]

_OK, _TIMEOUT = 0, 6
_SIGNALS_S = 0.1  # longest wait inside the library; Python handles signals between waits


class _Error(ctypes.Structure):
    _fields_ = [("code", c_int32), ("reserved", c_int32), ("retry_after_s", c_double),
                ("message", c_char * 496)]


class _LoadOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("weights", c_char_p), ("device", c_char_p),
                ("policy", c_char_p), ("threads", c_int32), ("max_batch", c_int32),
                ("max_open", c_int32), ("max_wait_s", c_double), ("beside", c_void_p)]


class _SpeechOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("voice", c_char_p), ("learned", c_void_p),
                ("language", c_char_p), ("instructions", c_char_p), ("speed", c_float),
                ("temperature", c_float), ("top_p", c_float), ("repetition_penalty", c_float),
                ("guidance", c_float), ("top_k", c_int32), ("text_open", c_int32),
                ("seed", c_uint64), ("max_s", c_double)]


class _Word(ctypes.Structure):
    _fields_ = [("begin", c_size_t), ("end", c_size_t), ("at_s", c_double)]


class _Chunk(ctypes.Structure):
    _fields_ = [("samples", c_void_p), ("count", c_size_t), ("sample_rate", c_int32),
                ("reserved", c_int32), ("begin_s", c_double), ("words", POINTER(_Word)),
                ("word_count", c_size_t)]


class _Outcome(ctypes.Structure):
    _fields_ = [("end", c_int32), ("underruns", c_int32), ("audio_s", c_double),
                ("first_audio_s", c_double), ("total_s", c_double)]


_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "version": (c_char_p, []),
    "load": (c_void_p, [c_char_p, POINTER(_LoadOptions), POINTER(_Error)]),
    "unload": (None, [c_void_p]),
    "model_name": (c_char_p, [c_void_p]),
    "model_family": (c_char_p, [c_void_p]),
    "sample_rate": (c_int, [c_void_p]),
    "traits": (c_uint32, [c_void_p]),
    "voice_name": (c_char_p, [c_void_p, c_size_t]),
    "voice_description": (c_char_p, [c_void_p, c_size_t]),
    "language_name": (c_char_p, [c_void_p, c_size_t]),
    "learn_voice": (c_void_p, [c_void_p, c_void_p, c_size_t, c_int, c_char_p, POINTER(_Error)]),
    "learn_voice_file": (c_void_p, [c_void_p, c_char_p, c_char_p, POINTER(_Error)]),
    "save_voice": (c_int, [c_void_p, c_char_p, c_char_p, POINTER(_Error)]),
    "open_voice": (c_void_p, [c_char_p, POINTER(_Error)]),
    "free_voice": (None, [c_void_p]),
    "open": (c_void_p, [c_void_p, c_char_p, POINTER(_SpeechOptions), POINTER(_Error)]),
    "feed": (c_int, [c_void_p, c_char_p, c_int, POINTER(_Error)]),
    "read": (POINTER(_Chunk), [c_void_p, c_double, POINTER(_Error)]),
    "fd": (c_int, [c_void_p]),
    "cancel": (None, [c_void_p]),
    "close": (None, [c_void_p]),
    "outcome_of": (POINTER(_Outcome), [c_void_p]),
}


def _load_library() -> dict[str, Callable[..., Any]]:
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libsyrinx.so.0")
    library = ctypes.CDLL(beside if os.path.exists(beside) else "libsyrinx.so.0")
    functions: dict[str, Callable[..., Any]] = {}
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, "syrinx_" + name)
        function.restype, function.argtypes = result, arguments
        functions[name] = function
    return functions


_C = _load_library()


def _bytes(text: Optional[str]) -> Optional[bytes]:
    return None if text is None else text.encode()


def _call(name: str, *arguments: Any) -> Any:
    """Calls a function whose last argument is an error; raises the reported error."""
    error = _Error()
    out = _C[name](*arguments, byref(error))
    if error.code != _OK:
        raise _exception(error)
    return out


def _exception(error: _Error) -> Exception:
    return fault(error.code, error.message.decode(errors="replace"), error.retry_after_s)


def version() -> str:
    return str(_C["version"]().decode())


def open_voice(path: str) -> Voice:
    return Voice(_call("open_voice", os.fsencode(path)))


class Voice:
    def __init__(self, handle: int) -> None:
        self.handle = handle

    def __del__(self) -> None:
        _C["free_voice"](self.handle)

    def save(self, path: str, consent: Optional[str]) -> None:
        _call("save_voice", self.handle, os.fsencode(path), _bytes(consent))


class Speech:
    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._reading = threading.Lock()

    def __del__(self) -> None:
        _C["close"](self._handle)

    def feed(self, text: str, last: bool) -> None:
        _call("feed", self._handle, text.encode(), int(last))

    def cancel(self) -> None:
        _C["cancel"](self._handle)

    def fd(self) -> int:
        return int(_C["fd"](self._handle))

    def read(self, timeout_s: float) -> Optional[
            tuple[_Samples, int, float, list[tuple[int, int, float]]]]:
        """Returns (samples, rate, begin_s, [(begin, end, at_s)]). Returns None at the end, or
        after timeout_s without audio. A negative timeout_s waits without limit."""
        if not self._reading.acquire(blocking=False):
            raise ValueError("only one thread at a time may read a speech")
        try:
            return self._read(timeout_s)
        finally:
            self._reading.release()

    def _read(self, timeout_s: float) -> Any:
        left_s = timeout_s
        while True:
            wait_s = _SIGNALS_S if timeout_s < 0 else min(_SIGNALS_S, max(0.0, left_s))
            error = _Error()
            chunk = _C["read"](self._handle, wait_s, byref(error))
            if chunk:
                return _copy(chunk.contents)
            if error.code == _OK:
                return None
            if error.code != _TIMEOUT or self.outcome() is not None:  # the speech itself may time out
                raise _exception(error)
            if 0 <= timeout_s and left_s <= _SIGNALS_S:
                return None
            left_s -= _SIGNALS_S

    def outcome(self) -> Optional[tuple[int, int, float, float, float]]:
        """Returns (end, underruns, audio_s, first_audio_s, total_s); None before the end."""
        known = _C["outcome_of"](self._handle)
        if not known:
            return None
        outcome = known.contents
        return (outcome.end, outcome.underruns, outcome.audio_s, outcome.first_audio_s,
                outcome.total_s)


def _copy(chunk: _Chunk) -> tuple[_Samples, int, float, list[tuple[int, int, float]]]:
    samples = np.empty(chunk.count, np.float32)
    if chunk.count:
        ctypes.memmove(samples.ctypes.data, chunk.samples, samples.nbytes)
    words = [(word.begin, word.end, word.at_s) for word in chunk.words[:chunk.word_count]]
    return samples, chunk.sample_rate, chunk.begin_s, words


class Model:
    def __init__(self, model: str, weights: Optional[str], device: Optional[str],
                 policy: Optional[str], threads: int, max_batch: int, max_open: int,
                 max_wait_s: float, beside: Optional[Model]) -> None:
        self._handle: Optional[int] = None
        options = _LoadOptions(ctypes.sizeof(_LoadOptions), _bytes(weights), _bytes(device),
                               _bytes(policy), threads, max_batch, max_open, max_wait_s,
                               beside._handle if beside else None)
        self._handle = _call("load", os.fsencode(model), byref(options))

    def __del__(self) -> None:
        _C["unload"](self._handle)

    @property
    def name(self) -> str:
        return str(_C["model_name"](self._handle).decode())

    @property
    def family(self) -> str:
        return str(_C["model_family"](self._handle).decode())

    @property
    def sample_rate(self) -> int:
        return int(_C["sample_rate"](self._handle))

    @property
    def traits(self) -> int:
        return int(_C["traits"](self._handle))

    @property
    def voices(self) -> dict[str, str]:
        names = self._list("voice_name")
        return dict(zip(names, self._list("voice_description")))

    @property
    def languages(self) -> list[str]:
        return self._list("language_name")

    def _list(self, function: str) -> list[str]:
        out: list[str] = []
        while (name := _C[function](self._handle, len(out))) is not None:
            out.append(name.decode())
        return out

    def learn(self, samples: _Samples, sample_rate: int, text: Optional[str]) -> Voice:
        return Voice(_call("learn_voice", self._handle, samples.ctypes.data, samples.size,
                           sample_rate, _bytes(text)))

    def learn_file(self, path: str, text: Optional[str]) -> Voice:
        return Voice(_call("learn_voice_file", self._handle, os.fsencode(path), _bytes(text)))

    def open(self, text: str, text_open: bool, voice: Optional[str], learned: Optional[Voice],
             language: Optional[str], instructions: Optional[str], speed: float,
             temperature: Optional[float], top_p: Optional[float], top_k: Optional[int],
             repetition_penalty: Optional[float], guidance: Optional[float], seed: int,
             max_s: float) -> Speech:
        def given(value: Any) -> Any:
            return -1 if value is None else value  # the C API takes -1 for the model's default

        if not 0 <= seed < 2**64:  # ctypes would take its lowest 64 bits
            raise InvalidError(f"seed {seed} is not between 0 and 2**64 - 1")
        options = _SpeechOptions(
            ctypes.sizeof(_SpeechOptions), _bytes(voice), learned.handle if learned else None,
            _bytes(language), _bytes(instructions), speed, given(temperature), given(top_p),
            given(repetition_penalty), given(guidance), given(top_k), int(text_open), seed, max_s)
        return Speech(_call("open", self._handle, text.encode(), byref(options)))

"""Speaks texts with speech language models. Audio arrives piece by piece while it is made.

    import syrinx

    for chunk in syrinx.load("finch").speak("Good morning."):
        play(chunk.samples, chunk.sample_rate)
"""
from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterator, Optional, Union

import numpy as np

from . import _syrinx
from .errors import (CancelledError, Error, InternalError, InvalidError, LoadError, NotFoundError,
                     OverloadedError, SpeechTimeoutError, UnsupportedError)

if TYPE_CHECKING:  # since numpy 1.20
    import numpy.typing as npt

__all__ = ["load", "load_voice", "Model", "Speech", "Voice", "Chunk", "Word", "Outcome", "Error",
           "InvalidError", "NotFoundError", "UnsupportedError", "OverloadedError", "CancelledError",
           "SpeechTimeoutError", "InternalError", "LoadError"]
__version__ = _syrinx.version()

_Path = Union[str, "os.PathLike[str]"]
_ENDS = {0: "text", 1: "length", 2: "repetition"}


@dataclass(frozen=True)
class Word:
    """A word of the text, which starts to sound `at_s` seconds after the speech's beginning."""

    text: str
    at_s: float


@dataclass(frozen=True, eq=False)
class Chunk:
    """New audio. numpy treats it as its samples, so np.concatenate(list_of_chunks) works."""

    samples: npt.NDArray[np.float32]  # mono, full scale 1
    sample_rate: int  # Hz
    begin_s: float  # seconds from the beginning of the speech to the first sample
    words: list[Word]  # words whose times became known; their audio may be in a later chunk

    def __len__(self) -> int:
        return len(self.samples)

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[Any]:
        return np.array(self.samples, dtype=dtype) if dtype or copy else self.samples


@dataclass(frozen=True)
class Outcome:
    """The result of a speech. `end` is "text", or "length" or "repetition" if cut short."""

    end: str
    underruns: int
    audio_s: float
    first_audio_s: float
    total_s: float


def _plain(text: str) -> str:
    """Returns the text with a space for each zero, because a zero ends a string in C."""
    return text.replace("\0", " ")


class _Chunks:
    """Reads a speech. Leaving the loop before the end cancels the speech."""

    def __init__(self, speech: Speech) -> None:
        self._speech = speech
        self._reads = False  # true after the first read

    def _next(self, timeout_s: float) -> Optional[Chunk]:
        chunk = self._speech._next(timeout_s)
        self._reads = True
        return chunk

    def __iter__(self) -> _Chunks:
        return self

    def __next__(self) -> Chunk:
        chunk = self._next(-1)
        if chunk is None:
            raise StopIteration
        return chunk

    def __aiter__(self) -> _Chunks:
        return self

    async def __anext__(self) -> Chunk:
        while True:
            chunk = self._next(0)
            if chunk is not None:
                return chunk
            if self._speech.outcome is not None:
                raise StopAsyncIteration
            await self._speech._readable()

    def __del__(self) -> None:
        if self._reads:
            self._speech.cancel()


class Speech:
    """A running speech. Read it once, with `for chunk in speech`, or `async for` in a coroutine.

    Leaving the loop cancels the speech. Any thread may call feed(), end() and cancel().
    """

    def __init__(self, speech: _syrinx.Speech, text: str) -> None:
        self._speech = speech
        self._text = bytearray(text.encode())

    def __iter__(self) -> Iterator[Chunk]:
        return iter(_Chunks(self))

    def __aiter__(self) -> _Chunks:
        return _Chunks(self)

    def read(self) -> npt.NDArray[np.float32]:
        """Returns the remaining audio in one array; waits until the speech ends."""
        parts = [chunk.samples for chunk in self]
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)

    def feed(self, text: str) -> None:
        """Adds text to a speech that was started with `open_text=True`."""
        text = _plain(text)
        self._text += text.encode()
        self._speech.feed(text, False)

    def end(self) -> None:
        """Reports that the text of the speech is complete."""
        self._speech.feed("", True)

    def cancel(self) -> None:
        """Ends the speech before its next step. A reader gets CancelledError after the existing
        audio."""
        self._speech.cancel()

    @property
    def outcome(self) -> Optional[Outcome]:
        """Returns the result after all audio was read. None before, or if the speech was cancelled
        or failed."""
        told = self._speech.outcome()
        return Outcome(_ENDS[told[0]], *told[1:]) if told and told[0] in _ENDS else None

    def _next(self, timeout_s: float) -> Optional[Chunk]:
        told = self._speech.read(timeout_s)
        if told is None:
            return None
        samples, rate, begin_s, words = told
        return Chunk(samples, rate, begin_s,
                     [Word(self._text[begin:end].decode(errors="replace"), at_s)
                      for begin, end, at_s in words])

    async def _readable(self) -> None:
        loop, descriptor = asyncio.get_running_loop(), self._speech.fd()
        there = loop.create_future()

        def tell() -> None:
            if not there.done():
                there.set_result(None)

        loop.add_reader(descriptor, tell)
        try:
            await there
        finally:
            loop.remove_reader(descriptor)


class Voice:
    """A voice from a recording, for models of the family that made it."""

    def __init__(self, voice: _syrinx.Voice) -> None:
        self._voice = voice

    def save(self, path: _Path, consent: Optional[str] = None) -> None:
        """Saves the voice as a .safetensors file. `consent`: the person that agreed to be cloned,
        and how."""
        self._voice.save(os.fspath(path), consent)


class Model:
    """A loaded model. Any number of threads may use it at the same time; they share
    batches."""

    def __init__(self, model: _syrinx.Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def family(self) -> str:
        return self._model.family

    @property
    def sample_rate(self) -> int:
        """Returns the sample rate in Hz; audio has one channel."""
        return self._model.sample_rate

    @property
    def voices(self) -> dict[str, str]:
        """Returns the names of voices with their descriptions."""
        return self._model.voices

    @property
    def languages(self) -> list[str]:
        return self._model.languages

    @property
    def tells_words(self) -> bool:
        return bool(self._model.traits & 1)

    @property
    def hears_late_text(self) -> bool:
        """Returns whether the model speaks before all text has arrived; other models wait for all
        text."""
        return bool(self._model.traits & 2)

    @property
    def clones(self) -> bool:
        return bool(self._model.traits & 4)

    def __repr__(self) -> str:
        return f"<syrinx.Model {self.name!r} of the family {self.family!r}>"

    def speak(self, text: str = "", *, voice: Union[str, Voice, None] = None,
              open_text: bool = False, speed: float = 1.0, language: Optional[str] = None,
              instructions: Optional[str] = None, temperature: Optional[float] = None,
              top_p: Optional[float] = None, top_k: Optional[int] = None,
              repetition_penalty: Optional[float] = None, guidance: Optional[float] = None,
              seed: int = 0, max_s: float = 0.0) -> Speech:
        """Starts a speech at once. `voice`: a name, a mix such as "finch(2)+raven(1)", a voice
        stored by `syrinx voice add`, or a Voice. With `open_text`, add further text by feed() and
        finish with end(). The same seed makes the same samples."""
        text = _plain(text)
        learned = voice._voice if isinstance(voice, Voice) else None
        name = voice if isinstance(voice, str) else None
        return Speech(self._model.open(text, open_text, name, learned, language, instructions, speed,
                                       temperature, top_p, top_k, repetition_penalty, guidance,
                                       seed, max_s), text)

    def learn_voice(self, recording: Union[_Path, npt.ArrayLike],
                    sample_rate: Optional[int] = None, text: Optional[str] = None) -> Voice:
        """Makes a voice from a recording: the path of an audio file, or mono samples and their
        rate. `text`: the words of the recording, which some models need. Takes seconds."""
        if isinstance(recording, (str, os.PathLike)):
            return Voice(self._model.learn_file(os.fspath(recording), text))
        if sample_rate is None:
            raise InvalidError("samples need their sample_rate")
        samples = np.ascontiguousarray(recording, dtype=np.float32)
        if samples.ndim != 1:
            raise InvalidError(f"mono samples must have one dimension, not {samples.ndim}")
        return Voice(self._model.learn(samples, sample_rate, text))


def load(model: str = "finch", *, weights: Optional[str] = None, device: Optional[str] = None,
         policy: Optional[str] = None, threads: int = 0, max_batch: int = 0, max_open: int = 0,
         max_wait_s: float = 0.0, beside: Optional[Model] = None) -> Model:
    """Loads "finch" (the built-in voice), a checkpoint's directory, or Org/Name[@revision] from the
    hub's local cache; downloads nothing. `beside`: a model that shares its threads. syrinx.h
    explains the other options. 0 and None mean the defaults."""
    return Model(_syrinx.Model(os.fspath(model), weights, device, policy, threads, max_batch,
                               max_open, max_wait_s, beside._model if beside else None))


def load_voice(path: _Path) -> Voice:
    """Loads a voice from a file that Voice.save() or `syrinx voice export` wrote."""
    return Voice(_syrinx.open_voice(os.fspath(path)))

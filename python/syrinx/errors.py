"""Exceptions for errors of the library. Messages come from the library."""


class Error(Exception):
    """Is the base of all exceptions of syrinx. `retry_after_s`: seconds to wait; 0 if unknown."""

    retry_after_s: float = 0.0


class InvalidError(Error, ValueError):
    """The request is malformed; a repetition fails again."""


class NotFoundError(Error, LookupError):
    """Reports that the model lacks the named voice."""


class UnsupportedError(Error):
    """The request is well-formed, but not supported by the model."""


class OverloadedError(Error):
    """Reports that the server is full; retry after `retry_after_s` seconds."""


class CancelledError(Error):
    """The speech was cancelled."""


class SpeechTimeoutError(Error, TimeoutError):
    """The engine waited too long."""


class InternalError(Error):
    """A fault of the library."""


class LoadError(Error, OSError):
    """A model or a file cannot be used."""


_CLASSES = {1: InvalidError, 2: NotFoundError, 3: UnsupportedError, 4: OverloadedError,
            5: CancelledError, 6: SpeechTimeoutError, 7: InternalError, 8: LoadError}


def fault(code: int, message: str, retry_after_s: float) -> Error:
    """Returns the exception for an error code of syrinx.h."""
    error = _CLASSES.get(code, Error)(message)
    error.retry_after_s = retry_after_s
    return error

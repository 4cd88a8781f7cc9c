"""Exceptions for errors of the library. Messages come from the library."""


class Error(Exception):
    """Is the base of all exceptions of syrinx. `retry_after_s`: seconds to wait; 0 if unknown."""

    retry_after_s: float = 0.0


class InvalidError(Error, ValueError):
    """Reports a malformed request; a retry fails again."""


class NotFoundError(Error, LookupError):
    """Reports that the model lacks the named voice."""


class UnsupportedError(Error):
    """Reports a well-formed request that the model does not support."""


class OverloadedError(Error):
    """Reports that the server is full; retry after `retry_after_s` seconds."""


class CancelledError(Error):
    """Reports that the speech was cancelled."""


class SpeechTimeoutError(Error, TimeoutError):
    """Reports that the engine waited too long for text or for the reader."""


class InternalError(Error):
    """Reports an internal error of the library."""


class LoadError(Error, OSError):
    """Reports a model or a file that cannot be used."""


_CLASSES = {1: InvalidError, 2: NotFoundError, 3: UnsupportedError, 4: OverloadedError,
            5: CancelledError, 6: SpeechTimeoutError, 7: InternalError, 8: LoadError}


def fault(code: int, message: str, retry_after_s: float) -> Error:
    """Returns the exception for an error code of syrinx.h."""
    error = _CLASSES.get(code, Error)(message)
    error.retry_after_s = retry_after_s
    return error

"""Why something failed. The message is the library's own."""


class Error(Exception):
    """Anything that syrinx raises; `retry_after_s` is 0 where there is no prediction."""

    retry_after_s: float = 0.0


class InvalidError(Error, ValueError):
    """The request is malformed; the same again fails again."""


class NotFoundError(Error, LookupError):
    """There is no voice of that name."""


class UnsupportedError(Error):
    """Well-formed, but this model cannot do it."""


class OverloadedError(Error):
    """No room now; see `retry_after_s`."""


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
    """The exception for a code of syrinx.h."""
    error = _CLASSES.get(code, Error)(message)
    error.retry_after_s = retry_after_s
    return error

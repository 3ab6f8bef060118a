"""Structured logs: one JSON line per message handled, with all its facts."""

import asyncio
import atexit
import logging
import sys
import threading
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, TextIO

import structlog

from rota_common.redaction import may_hold_credentials, without_credentials

GATHER_S = 0.02
"""How long a line may wait, to be written together with those that follow."""


class _Output:
    """Where lines go at the moment. Loggers keep the stream they began with; this one stays when a file is closed.

    Lines of a file or a pipe are gathered while an event loop runs: each write is a system call. A stream of Python's
    own gets each at once.
    """

    def __init__(self) -> None:
        self._given: TextIO | None = None
        self._lines: list[str] = []
        self._lock = threading.RLock()
        self._flushed_by: asyncio.AbstractEventLoop | None = None

    def direct(self, stream: TextIO | None) -> None:
        """Write to this stream from now on; None: to standard error."""
        self.flush()
        self._given = stream

    def write(self, text: str, *, at_once: bool = True) -> int:
        loop = None if at_once else self._gathering()
        with self._lock:
            self._lines.append(text)
            if loop is None:
                self.flush()
            elif self._flushed_by is not loop:
                self._flushed_by = loop
                loop.call_later(GATHER_S, self.flush)
        return len(text)

    def flush(self) -> None:
        """Write what waits: in the order of the lines, whichever thread wrote them."""
        with self._lock:
            text, self._lines, self._flushed_by = "".join(self._lines), [], None
            if text:
                self._stream.write(text)
                self._stream.flush()

    @property
    def _stream(self) -> TextIO:
        return self._given or sys.stderr

    def _gathering(self) -> asyncio.AbstractEventLoop | None:
        """The loop that will flush: none in other threads, and for streams without a descriptor."""
        try:
            self._stream.fileno()
            return asyncio.get_running_loop()
        except (OSError, RuntimeError):  # io.UnsupportedOperation is an OSError
            return None


_output = _Output()
atexit.register(_output.flush)
flush = _output.flush


class _Lines:
    """What structlog gives a rendered line to, by the method of its level. An error is written at once: the process may
    be about to die of it."""

    def __init__(self, *_: Any) -> None: ...

    def msg(self, line: str) -> None:
        _output.write(line + "\n", at_once=False)

    def failure(self, line: str) -> None:
        _output.write(line + "\n")

    debug = info = warning = warn = msg
    error = critical = fatal = exception = failure


@contextmanager
def written_to(stream: TextIO) -> Iterator[None]:
    """Write all lines to `stream`, and to standard error again at the end, when the stream may be closed."""
    configure(stream=stream)
    try:
        yield
    finally:
        _output.direct(None)


def _without_credentials(render: Any) -> Any:
    """Renders without credentials, because errors quote what others wrote. One look at the whole line is enough for
    nearly all of them; an escape in it may hide a character that the look is for."""

    def rendered(log: Any, method: str, line: MutableMapping[str, Any]) -> str:
        text: str = render(log, method, dict(line))
        if "\\u" not in text and not may_hold_credentials(text):
            return text
        shown = {name: without_credentials(value) if isinstance(value, str) else value for name, value in line.items()}
        return str(render(log, method, shown))

    return rendered


def configure(*, level: str = "INFO", stream: TextIO | None = None, human: bool = False) -> None:
    """Write the lines of structlog and of the standard library to `stream` (by default standard error)."""
    _output.direct(stream)
    renderer: Any = structlog.dev.ConsoleRenderer(colors=False) if human else structlog.processors.JSONRenderer()
    number = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _without_credentials(renderer),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=_Lines,
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(
        level=max(number, logging.WARNING), stream=_output, force=True, format="%(levelname)s %(name)s %(message)s"
    )


def logger(**facts: Any) -> Any:
    """A logger that adds `facts` to each line. It reads the configuration at its first use, not here."""
    return structlog.get_logger(**facts)

"""Structured logs: one JSON line per message handled, with all its facts."""

import logging
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, TextIO, cast

import structlog

from rota_common.redaction import may_hold_credentials, without_credentials


class _Output:
    """Where lines go at the moment. Loggers keep the stream they began with; this one stays when a file is closed."""

    stream: TextIO | None = None

    def write(self, text: str) -> int:
        return (self.stream or sys.stderr).write(text)

    def flush(self) -> None:
        (self.stream or sys.stderr).flush()


_output = _Output()


@contextmanager
def written_to(stream: TextIO) -> Iterator[None]:
    """Write all lines to `stream`, and to standard error again at the end, when the stream may be closed."""
    configure(stream=stream)
    try:
        yield
    finally:
        _output.stream = None


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
    _output.stream = stream
    renderer: Any = structlog.dev.ConsoleRenderer(colors=False) if human else structlog.processors.JSONRenderer()
    number = logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _without_credentials(renderer),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", _output)),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(
        level=max(number, logging.WARNING), stream=_output, force=True, format="%(levelname)s %(name)s %(message)s"
    )


def logger(**facts: Any) -> Any:
    """A logger that adds `facts` to each line. It reads the configuration at its first use, not here."""
    return structlog.get_logger(**facts)

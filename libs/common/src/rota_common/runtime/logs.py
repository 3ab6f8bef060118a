"""Structured logs: one JSON line per message handled, with all its facts."""

import logging
import sys
from typing import Any, TextIO

import structlog


def configure(*, level: str = "INFO", stream: TextIO | None = None, human: bool = False) -> None:
    """Write the lines of structlog and of the standard library to `stream` (by default standard error)."""
    out = stream or sys.stderr
    renderer: Any = structlog.dev.ConsoleRenderer(colors=False) if human else structlog.processors.JSONRenderer()
    number = logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(
        level=max(number, logging.WARNING), stream=out, force=True, format="%(levelname)s %(name)s %(message)s"
    )


def logger(**facts: Any) -> Any:
    """A logger that adds `facts` to each line. It reads the configuration at its first use, not here."""
    return structlog.get_logger(**facts)

"""The log of a whole system: everything into a file, warnings also to whoever watches the terminal."""

import io
import json
from collections.abc import Callable
from pathlib import Path

LOUD = ("warning", "error", "critical")


class LogFile(io.TextIOWrapper):
    """A text stream that `rota_common.logs.configure` can write to; `tell` gets the warnings, in words."""

    def __init__(self, path: Path, *, tell: Callable[[str], None]) -> None:
        super().__init__(path.open("ab"), encoding="utf-8", line_buffering=True)
        self._tell, self._line = tell, ""

    def write(self, text: str, /) -> int:
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            if told := _short(line):
                self._tell(told)
        return super().write(text)


def _short(line: str) -> str:
    """A warning in words; nothing for lines that nobody needs to see at once."""
    try:
        facts = json.loads(line)
    except ValueError:  # the standard library's own loggers only write from WARNING on
        return line if line.startswith(("WARNING", "ERROR", "CRITICAL")) else ""
    if not isinstance(facts, dict) or facts.get("level") not in LOUD:
        return ""
    known = ("level", "service", "event", "loop", "state", "reason", "error")
    return " ".join(str(facts[name]) for name in known if facts.get(name))

"""The log of the whole system: a file with every line, and warnings on the terminal."""

import io
import json
from collections.abc import Callable
from pathlib import Path

LOUD = ("warning", "error", "critical")
LOST = ("buried", "unsettled")


class LogFile(io.TextIOWrapper):
    """A text stream for `rota_common.runtime.logs.written_to`. `on_warning` receives each warning as text."""

    def __init__(self, path: Path, *, on_warning: Callable[[str], None]) -> None:
        super().__init__(path.open("ab"), encoding="utf-8", line_buffering=True)
        self._on_warning = on_warning
        self._line = ""

    def write(self, text: str, /) -> int:
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            if warning := _warning(line):
                self._on_warning(warning)
        return super().write(text)


def failure_reasons(path: Path, *, limit: int = 5) -> list[str]:
    """Why messages could not be handled: each reason once, the newest last."""
    found: dict[str, None] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and entry.get("reason"):
            text = f"{entry.get('service', '')} {entry.get('channel') or entry.get('event', '')}: {entry['reason']}"
            found.pop(text, None)
            found[text] = None
    return list(found)[-limit:]


def _warning(line: str) -> str:
    """The line as text if it is a warning or worse, else nothing."""
    try:
        entry = json.loads(line)
    except ValueError:  # the standard library's own loggers only write from WARNING on
        return line if line.startswith(("WARNING", "ERROR", "CRITICAL")) else ""
    if not isinstance(entry, dict) or not (entry.get("level") in LOUD or entry.get("outcome") in LOST):
        return ""
    known = ("level", "service", "event", "outcome", "channel", "loop", "state", "reason", "error")
    return " ".join(str(entry[name]) for name in known if entry.get(name))

"""The log of a whole system: everything into a file, warnings also to whoever watches the terminal."""

import io
import json
from collections.abc import Callable
from pathlib import Path

LOUD = ("warning", "error", "critical")
LOST = ("buried", "unsettled")


class LogFile(io.TextIOWrapper):
    """A text stream that `rota_common.runtime.logs.configure` can write to; `tell` gets the warnings, in words."""

    def __init__(self, path: Path, *, tell: Callable[[str], None]) -> None:
        super().__init__(path.open("ab"), encoding="utf-8", line_buffering=True)
        self._tell, self._line = tell, ""

    def write(self, text: str, /) -> int:
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            if told := _short(line):
                self._tell(told)
        return super().write(text)


def reasons_in(path: Path, *, limit: int = 5) -> list[str]:
    """Why messages could not be handled, each reason once, the newest last: for somebody who asks what went wrong."""
    found: dict[str, None] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            facts = json.loads(line)
        except ValueError:
            continue
        if isinstance(facts, dict) and facts.get("reason"):
            told = f"{facts.get('service', '')} {facts.get('channel') or facts.get('event', '')}: {facts['reason']}"
            found.pop(told, None)
            found[told] = None
    return list(found)[-limit:]


def _short(line: str) -> str:
    """A warning in words; nothing for lines that nobody needs to see at once."""
    try:
        facts = json.loads(line)
    except ValueError:  # the standard library's own loggers only write from WARNING on
        return line if line.startswith(("WARNING", "ERROR", "CRITICAL")) else ""
    if not isinstance(facts, dict) or not (facts.get("level") in LOUD or facts.get("outcome") in LOST):
        return ""
    known = ("level", "service", "event", "outcome", "channel", "loop", "state", "reason", "error")
    return " ".join(str(facts[name]) for name in known if facts.get(name))

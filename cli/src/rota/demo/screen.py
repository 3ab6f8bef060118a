"""The output of the demo: headings and lines, or one JSON object per line."""

from collections.abc import Sequence
from typing import Any

from rota.event_format import format_event
from rota.output import say, say_json


class Screen:
    def __init__(self, *, json: bool) -> None:
        self._json = json

    def heading(self, text: str) -> None:
        if self._json:
            say_json({"step": text})
        else:
            say("")
            say(text, style="bold cyan")

    def line(self, text: str) -> None:
        if self._json:
            say_json({"note": text})
        else:
            say(f"  {text}")

    def part(self, name: str, state: str) -> None:
        if self._json:
            say_json({"part": name, "state": state})
        else:
            say(f"  {name:<9} {state}")

    def event(self, event: dict[str, Any]) -> None:
        if self._json:
            say_json({"event": event})
        else:
            say(f"  {str(event.get('time', ''))[11:23]}  {format_event(event)}", style="dim")

    def party(self, name: str, *, ok: bool, lines: Sequence[str]) -> None:
        """What an external system received, and whether it is what was expected."""
        if self._json:
            say_json({"party": name, "ok": ok, "got": list(lines)})
            return
        say(f"  {'✓' if ok else '✗'} {name}", style="green" if ok else "red")
        for line in lines:
            say(f"      {line}")

    def end(self, *, ok: bool, seconds: float) -> None:
        if self._json:
            say_json({"ok": ok, "seconds": round(seconds, 1)})
        else:
            say("")
            verdict = "Every system received what it should" if ok else "Not every system received what it should"
            say(f"{verdict}, after {seconds:.1f} s.", style="bold green" if ok else "bold red")

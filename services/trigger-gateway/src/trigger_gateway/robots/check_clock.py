"""Previews a clock before any robot has it: its next runs, or the problems of its fields."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from pydantic import ValidationError

from rota_contracts.robots.clock_config import Clock, ClockMode
from rota_contracts.robots.recurrence import due_instants, in_words
from trigger_gateway.problems import invalid

COUNT = 5

EXAMPLES = {
    ClockMode.TIMES: '{"mode": "times", "times": ["09:00", "17:30"], "days": ["Mon", "Fri"], "tz": "Europe/Paris"}',
    ClockMode.INTERVAL: '{"mode": "interval", "every": "30m"}',
    ClockMode.DAEMON: '{"mode": "daemon", "timeout": "10m"}',
}
"""A right clock of each mode."""


@dataclass(frozen=True)
class Checked:
    """`upcoming` is empty for a daemon: its runs follow one another."""

    words: str
    upcoming: list[datetime]


def check_clock(raw: Mapping[str, Any], now: datetime) -> Checked:
    """If a robot got it now. Raise Invalid for a wrong one: with each field, and an example of a right one."""
    try:
        clock = Clock.model_validate(raw, extra="forbid")
    except ValidationError as error:
        raise invalid("invalid_clock", f"the clock is not valid; a right one: {_example(raw)}", error) from error
    return Checked(in_words(clock), list(islice(due_instants(clock, now, anchor=now), COUNT)))


def _example(raw: Mapping[str, Any]) -> str:
    """Of the same mode, if it has one."""
    return next((text for mode, text in EXAMPLES.items() if mode == raw.get("mode")), EXAMPLES[ClockMode.TIMES])

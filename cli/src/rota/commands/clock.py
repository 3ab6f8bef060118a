"""`rota clock`: a clock configuration in words and as the next instants, checked without a server."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer
from pydantic import ValidationError

from rota.definitions import documents
from rota.errors import CliError
from rota.output import JsonFlag, say, say_json
from rota.schedule import shifts, show_schedule
from rota.timestamps import wall_time
from rota.validation_errors import BARE, IN_ROBOT, faults, words
from rota_common.clock import now
from rota_contracts.robots.clock_config import DAYS, Clock, ClockMode
from rota_contracts.robots.recurrence import due_instants, in_words


@dataclass(frozen=True)
class Found:
    """A clock, and whose: nobody's if it was not in a robot. `clock` is None for a robot without one."""

    member: str
    clock: Clock | None


def register(app: typer.Typer) -> None:
    examples = "`rota clock --times 09:00,17:30 --days Mon-Fri --tz Europe/Paris`, `rota clock -f robot.yaml`"
    app.command("clock", epilog=f"Examples: {examples}")(clock)


def clock(
    times: Annotated[str, typer.Option(help="Mode times: HH:MM, several with commas.")] = "",
    days: Annotated[str, typer.Option(help="With --times: like Mon,Wed or Mon-Fri. Default: every day.")] = "",
    tz: Annotated[str, typer.Option(help="An IANA zone. Default: UTC.")] = "",
    every: Annotated[str, typer.Option(help="Mode interval: like 30m or 1h30m.")] = "",
    daemon: Annotated[bool, typer.Option("--daemon", help="Mode daemon: run after run.")] = False,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="YAML: robots, or a clock alone; - for standard input.")
    ] = None,
    start: Annotated[
        datetime | None,
        typer.Option("--from", parser=wall_time, metavar="TIME", help="Default: now. With no offset: by the zone."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, max=100, help="How many runs.")] = 5,
    json: JsonFlag = False,
) -> None:
    """Say when a clock would run, without a server. It is the same arithmetic that the scheduler uses."""
    if [bool(times), bool(every), daemon, file is not None].count(True) != 1:
        raise typer.BadParameter("expected one of --times, --every, --daemon and --file")
    if (days and not times) or (tz and file):
        raise typer.BadParameter("--days goes with --times, and --tz doesn't go with --file, which says it itself")
    if file is None:
        raw = {"mode": _mode(times, every), "times": _listed(times), "days": _days(days), "every": every or None}
        every_one = [_given(raw | {"tz": tz or "UTC"})]
    else:
        every_one = [_in_file(raw, f"{file}, document {number}") for number, raw in enumerate(documents(file), 1)]
    for one in every_one:
        _tell(one, start, count, json=json)


def _tell(found: Found, start: datetime | None, count: int, *, json: bool) -> None:
    whose = f"{found.member}: " if found.member else ""
    if (it := found.clock) is None:
        say_json({"member_id": found.member, "clock": None}) if json else say(f"{whose}no clock wakes it")
        return
    since = start or now()
    since = since if since.tzinfo else since.replace(tzinfo=ZoneInfo(it.tz))
    upcoming = list(islice(due_instants(it, since, anchor=since), count))
    if not json:
        show_schedule(f"{whose}{in_words(it)}", upcoming, it.tz)
        return
    told = {"member_id": found.member or None, "clock": it.model_dump(mode="json"), "words": in_words(it)}
    instants = [at.astimezone(ZoneInfo(it.tz)).isoformat() for at in upcoming]
    say_json(told | {"upcoming": instants, "shifts": shifts(upcoming, it.tz)})


def _mode(times: str, every: str) -> ClockMode:
    return ClockMode.TIMES if times else ClockMode.INTERVAL if every else ClockMode.DAEMON


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text else []


def _days(text: str) -> list[str]:
    return [day for part in _listed(text) for day in _span(part)]


def _span(text: str) -> Iterator[str]:
    """`Fri-Mon` is four days. What is no span is left as it is, for the contract to judge."""
    first, sign, last = text.partition("-")
    if not sign or first not in DAYS or last not in DAYS:
        yield text
        return
    start = DAYS.index(first)
    for step in range((DAYS.index(last) - start) % len(DAYS) + 1):
        yield DAYS[(start + step) % len(DAYS)]


def _given(raw: dict[str, Any]) -> Found:
    try:
        return Found("", Clock.model_validate(raw))
    except ValidationError as error:
        # Every fault is in the field of an option: each is a text, so only our own checks can find one.
        told = "; ".join(f"--{fault['loc'][0]}: {words(fault)}" for fault in error.errors())
        raise typer.BadParameter(told) from error


def _in_file(raw: Any, where: str) -> Found:
    if not isinstance(raw, dict) or not ("mode" in raw or "robot_config" in raw):
        hint = "`rota clock --help` shows what is taken; docs/clock.md shows clocks"
        raise CliError(f"expected a robot, or a clock (mode: times, times: …) in {where}, not {raw!r}", hint=hint)
    if "robot_config" not in raw:
        return Found("", _checked(raw, where, BARE))
    config, member = raw["robot_config"], str(raw.get("member_id") or where)
    own = config.get("clock") if isinstance(config, dict) else None
    return Found(member, None if own is None else _checked(own, where, IN_ROBOT))


def _checked(raw: Any, where: str, at: tuple[str, ...]) -> Clock:
    """As strictly as when the robot is written: an unknown field is an error."""
    try:
        return Clock.model_validate(raw, extra="forbid")
    except ValidationError as error:
        hint = "docs/clock.md shows right ones"
        raise CliError(f"the clock in {where} is wrong:", hint=hint, details=faults(error, at=at)) from error

"""`rota clock`: a clock configuration as text and as the next instants, validated without a server."""

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
from rota.timestamps import now, parse_time
from rota.validation_errors import BARE, IN_ROBOT, describe, message_of
from rota_contracts.robots.clock_config import Clock, ClockMode
from rota_contracts.robots.recurrence import due_instants, in_words


@dataclass(frozen=True)
class RobotClock:
    """A robot's clock, None if it has none. `member` is empty for a clock outside a robot."""

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
        Path | None, typer.Option("--file", "-f", help="YAML: robots, or a clock; - for standard input.")
    ] = None,
    start: Annotated[
        datetime | None,
        typer.Option(
            "--from", parser=parse_time, metavar="TIME", help="Default: now. Without an offset: local to --tz."
        ),
    ] = None,
    count: Annotated[int, typer.Option(min=1, max=100, help="Number of runs.")] = 5,
    json: JsonFlag = False,
) -> None:
    """Show the runs of a clock, without a server, by the scheduler's own arithmetic."""
    if [bool(times), bool(every), daemon, file is not None].count(True) != 1:
        raise typer.BadParameter("expected one of --times, --every, --daemon and --file")
    if (days and not times) or (tz and file):
        raise typer.BadParameter("--days goes with --times, and --tz is not for --file, which has its own")
    if file is None:
        raw = {"mode": _mode(times, every), "times": _listed(times), "days": _listed(days), "every": every or None}
        clocks = [_given(raw | {"tz": tz or "UTC"})]
    else:
        clocks = [_in_file(raw, f"{file}, document {number}") for number, raw in enumerate(documents(file), 1)]
    for one in clocks:
        _print(one, start, count, json=json)


def _print(found: RobotClock, start: datetime | None, count: int, *, json: bool) -> None:
    prefix = f"{found.member}: " if found.member else ""
    if (it := found.clock) is None:
        say_json({"member_id": found.member, "clock": None}) if json else say(f"{prefix}no clock")
        return
    since = start or now()
    since = since if since.tzinfo else since.replace(tzinfo=ZoneInfo(it.tz))
    upcoming = list(islice(due_instants(it, since, anchor=since), count))
    if not json:
        show_schedule(f"{prefix}{in_words(it)}", upcoming, it.tz)
        return
    summary = {"member_id": found.member or None, "clock": it.model_dump(mode="json"), "words": in_words(it)}
    instants = [at.astimezone(ZoneInfo(it.tz)).isoformat() for at in upcoming]
    say_json(summary | {"upcoming": instants, "shifts": shifts(upcoming, it.tz)})


def _mode(times: str, every: str) -> ClockMode:
    return ClockMode.TIMES if times else ClockMode.INTERVAL if every else ClockMode.DAEMON


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text else []


def _given(raw: dict[str, Any]) -> RobotClock:
    try:
        return RobotClock("", Clock.model_validate(raw))
    except ValidationError as error:
        # Every error is in the field of an option.
        errors = "; ".join(f"--{one['loc'][0]}: {message_of(one)}" for one in error.errors())
        raise typer.BadParameter(errors) from error


def _in_file(raw: Any, source: str) -> RobotClock:
    if not isinstance(raw, dict) or not ("mode" in raw or "robot_config" in raw):
        hint = "see `rota clock --help`, and docs/clock.md for examples"
        raise CliError(f"expected a robot, or a clock (mode: times, times: …) in {source}, not {raw!r}", hint=hint)
    if "robot_config" not in raw:
        return RobotClock("", _checked(raw, source, BARE))
    config, member = raw["robot_config"], str(raw.get("member_id") or source)
    own = config.get("clock") if isinstance(config, dict) else None
    return RobotClock(member, None if own is None else _checked(own, source, IN_ROBOT))


def _checked(raw: Any, source: str, at: tuple[str, ...]) -> Clock:
    """Validated like a robot's definition: an unknown field is an error."""
    try:
        return Clock.model_validate(raw, extra="forbid")
    except ValidationError as error:
        hint = "see docs/clock.md for valid clocks"
        raise CliError(f"the clock in {source} is not valid:", hint=hint, details=describe(error, at=at)) from error

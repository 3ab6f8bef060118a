"""A robot of the fleet as Rota's gateway stores it."""

from datetime import timedelta

from rota_contracts.robots.robot import Robot
from tests.clock_year.fleet import Given

TEAM = "year"
QUOTA = {"max": 1000, "queue": 1000}
"""So large that nothing waits for it: here only the clock decides."""

DAEMON_TIMEOUT = "6h"


def definition(given: Given) -> Robot:
    clock = {"tz": given.tz, "catch_up": {"policy": given.policy, "max_age": _span(given.max_age)}}
    if given.daemon:
        clock |= {"mode": "daemon", "timeout": DAEMON_TIMEOUT}
    elif given.every is not None:
        clock |= {"mode": "interval", "every": _span(given.every)}
    else:
        clock |= {"mode": "times", "times": list(given.times), "days": list(given.days)}
    config = {"identity": {"role": "A robot of the year"}, "clock": clock, "quota": QUOTA}
    return Robot.model_validate({"team_id": TEAM, "member_id": given.member, "robot_config": config})


def _span(span: timedelta) -> str:
    return f"{int(span.total_seconds()) // 60}m"

"""A robot of the fleet as Rota's gateway stores it."""

from datetime import timedelta

from rota_contracts.robots.robot import Robot
from tests.clock_year.fleet import RobotSpec

TEAM = "year"
QUOTA = {"max": 1000, "queue": 1000}
"""So large that nothing waits for it: only the clock decides."""

DAEMON_TIMEOUT = "6h"


def definition(spec: RobotSpec) -> Robot:
    clock = {"tz": spec.tz, "catch_up": {"policy": spec.policy, "max_age": _span(spec.max_age)}}
    if spec.daemon:
        clock |= {"mode": "daemon", "timeout": DAEMON_TIMEOUT}
    elif spec.every is not None:
        clock |= {"mode": "interval", "every": _span(spec.every)}
    else:
        clock |= {"mode": "times", "times": list(spec.times), "days": list(spec.days)}
    config = {"identity": {"role": "A robot of the year"}, "clock": clock, "quota": QUOTA}
    return Robot.model_validate({"team_id": TEAM, "member_id": spec.member, "robot_config": config})


def _span(span: timedelta) -> str:
    return f"{int(span.total_seconds()) // 60}m"

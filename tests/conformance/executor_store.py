"""Runs and signals for conformance tests of the executor's store."""

from datetime import datetime, timedelta
from typing import Any

from executor.domain import phases
from executor.domain.run import Layout, Run, Signal
from executor.ports import Runs
from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot, a_trigger

SOON = NOON + timedelta(seconds=10)
LATER = NOON + timedelta(seconds=60)
MINUTE, ENDED = timedelta(minutes=1), timedelta(0)
"""A lease or a delay that outlasts the test, and one that is over at once: the store's own clock decides."""


def a_run(run_id: str = "e1", *, at: datetime = NOON, team: str = TEAM, member: str = MEMBER) -> Run:
    owner: dict[str, Any] = {"team_id": team, "member_id": member}
    return phases.begin(run_id, a_trigger(**owner), a_robot(**owner), now=at, traceparent="00-trace")


def bare(run: Run | None) -> Run:
    """The run itself, without what its store remembers of it."""
    assert run is not None
    return run.model_copy(update={"stored": None, "layout": Layout()})


async def created(runs: Runs, run: Run, *, lease: timedelta = MINUTE) -> int:
    epoch = await runs.create(run, owner="first", lease=lease)
    assert epoch is not None
    return epoch


async def overdue(runs: Runs, *, limit: int = 100) -> list[str]:
    return [run_id async for run_id in runs.overdue(limit=limit)]


def a_signal(action: str = "stop", word_id: str = "w1", **fields: Any) -> Signal:
    return Signal.model_validate({"id": word_id, "action": action, "at": NOON, "reason": "no more"} | fields)

"""The report of full backlogs: gateways refuse events for these robots and teams before they accept them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from rota_common.bus.publishing import Publish
from rota_common.clock import Clock
from rota_contracts.catalog import BACKLOG_REPORTED
from rota_contracts.messages.backlog import BacklogReportedV1, FullBacklog
from rota_contracts.model import ALL
from scheduler.domain.queue import QueueState

REPORT_S = 0.5
MOST = 5000
"""Robots in one report: a message of the bus holds 1 MB."""


@dataclass(frozen=True)
class BacklogLimits:
    """Accepted events that may wait for their first slot, of one robot and of one team."""

    robot: int
    team: int


@dataclass(frozen=True, kw_only=True)
class ReportBacklog:
    """`queue_state` is None while another replica dispatches: it reports then."""

    queue_state: Callable[[], QueueState | None]
    limits: BacklogLimits
    publish: Publish
    clock: Clock

    async def __call__(self) -> None:
        queue_state = self.queue_state()
        if queue_state is None:
            return
        report = BacklogReportedV1(
            team_id=ALL, member_id=ALL, full=full_backlogs(queue_state, self.limits), at=self.clock()
        )
        await self.publish.observe(BACKLOG_REPORTED, report)


def full_backlogs(queue_state: QueueState, limits: BacklogLimits) -> list[FullBacklog]:
    """Teams first; a robot of a full team isn't named beside it."""
    teams = Counter[str]()
    for (team, _), count in queue_state.backlog_of.items():
        teams[team] += count
    full = [FullBacklog(team_id=team, waiting=count) for team, count in teams.items() if count >= limits.team]
    named = {each.team_id for each in full}
    robots = [
        FullBacklog(team_id=team, member_id=member, waiting=count)
        for (team, member), count in queue_state.backlog_of.items()
        if count >= limits.robot and team not in named
    ]
    return [*full, *robots][:MOST]

"""The full backlogs of robots and teams, as the scheduler last reported them: no more events are accepted for them."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from rota_contracts.envelope import Event
from rota_contracts.messages.backlog import BacklogReportedV1, FullBacklog
from trigger_gateway.problems import TooMany

RETRY_AFTER_S = 30


@dataclass
class Backlogs:
    """A report holds until the next one: while no scheduler runs, nothing leaves a backlog."""

    full: dict[tuple[str, str | None], FullBacklog] = field(default_factory=dict)

    def update(self, event: Event[BacklogReportedV1]) -> None:
        self.full = {(each.team_id, each.member_id): each for each in event.data.full}

    def check(self, team: str, members: Iterable[str]) -> None:
        """Raise TooMany if an event for these robots would have to wait in a full backlog."""
        for member in (None, *members):
            if full := self.full.get((team, member)):
                raise _too_many(full)


def _too_many(full: FullBacklog) -> TooMany:
    whose = f"team {full.team_id}" if full.member_id is None else f"robot {full.member_id}"
    text = f"{full.waiting} events wait for {whose}, which is all that may: try again in {RETRY_AFTER_S} s"
    return TooMany("backlog_full", text, after=RETRY_AFTER_S)

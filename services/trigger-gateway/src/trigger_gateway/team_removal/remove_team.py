"""The removal of a team: at once for those who call, then in rounds of a fact that every service handles.

What of the team is still on its way comes late: it is removed by the next round. The rounds end after the last message
of the team has; the name is free once no round can come any more (docs/decisions/0018).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.stores.team_documents import TeamDocuments
from rota_contracts.envelope import Event
from rota_contracts.messages.team_facts import TeamRemovedV1
from trigger_gateway.attachments.ports import AttachmentRecords, Attachments
from trigger_gateway.definitions.ports import DefinitionCopies
from trigger_gateway.problems import NotFound, StoredNotApplied
from trigger_gateway.robots.ports import Definitions, RobotRecords
from trigger_gateway.robots.save_robot import SaveRobot
from trigger_gateway.sources.ports import Sources
from trigger_gateway.teams.ports import Keys, RemovedTeam, TeamEvents, Teams

ROUNDS_FOR = timedelta(days=31)
"""Longer than a dead letter is kept, which may be sent back."""

NAME_TAKEN_FOR = timedelta(days=90)
"""The last round, 14 days in the stream, a day of tries and 30 days as a dead letter: 76 days, and some to spare."""

FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=10), timedelta(days=1)
BATCH = 100


@dataclass(frozen=True, kw_only=True)
class RemoveTeam:
    teams: Teams
    keys: Keys
    sources: Sources
    forget_routes: Callable[[str], None]
    clock: Clock

    async def __call__(self, team: str) -> RemovedTeam:
        """Its keys and sources are gone with the answer; again for a removed team, it changes nothing. Raises NotFound
        for a team that isn't there."""
        now = self.clock()
        now = now.replace(microsecond=now.microsecond // 1000 * 1000)  # as MongoDB keeps it
        removed = await self.teams.remove(RemovedTeam(team, now, now + NAME_TAKEN_FOR, next_at=now))
        if removed is None:
            raise NotFound("team_not_found", f"there is no team {team}")
        await self.keys.remove_all(team)
        for source in await self.sources.of_team(team):
            await self.sources.remove(team, source.name)
        self.forget_routes(team)
        return removed


@dataclass(frozen=True, kw_only=True)
class PublishRemovals:
    """A loop of every replica."""

    teams: Teams
    events: TeamEvents
    clock: Clock

    async def __call__(self) -> bool:
        """Publish the rounds that are due; True if there may be more. While NATS is away they wait."""
        due = await self.teams.removals_due(self.clock(), limit=BATCH)
        for removed in due:
            try:
                await self.events.publish(removed, round=removed.rounds + 1)
            except Transient:
                return False
            await self.teams.note_round(removed, after_round(removed, self.clock()))
        return len(due) == BATCH


def after_round(removed: RemovedTeam, now: datetime) -> RemovedTeam:
    """The tombstone once its next round is published: the pauses double, from ten seconds to a day."""
    pause = min(max(now - removed.removed_at, FIRST_PAUSE), LONGEST_PAUSE)
    last = now - removed.removed_at >= ROUNDS_FOR
    return replace(removed, rounds=removed.rounds + 1, next_at=None if last else now + pause)


@dataclass(frozen=True, kw_only=True)
class ClearTeam:
    """One round in the gateway."""

    robots: RobotRecords
    save_robot: SaveRobot
    definitions: Definitions
    own_definitions: DefinitionCopies
    files: Attachments
    records: AttachmentRecords
    documents: TeamDocuments

    async def __call__(self, event: Event[TeamRemovedV1]) -> None:
        """The robots are deleted as by their owner, so that their runs, plans and deliveries end as of any other."""
        team = event.data.team_id
        while members := [robot.member_id for robot in (await self.robots.page(team, page=1, page_size=BATCH))[0]]:
            for member in members:
                await self._delete(team, member)
        while file_ids := await self.records.of_team(team, limit=BATCH):
            for file_id in file_ids:
                await self.files.delete(team, file_id)
                await self.records.release(file_id)
        await self.definitions.remove_team(team)
        await self.own_definitions.remove_team(team)
        await self.documents.remove(team)

    async def _delete(self, team: str, member: str) -> None:
        try:
            await self.save_robot.delete(team, member)
        except NotFound:  # its owner has deleted it since it was listed
            return
        except StoredNotApplied as error:
            raise Transient(error.message) from error

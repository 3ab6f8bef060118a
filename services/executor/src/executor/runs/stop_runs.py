"""The end of the executions of deleted robots and removed teams."""

import contextlib
from dataclasses import dataclass

from executor.domain.run import Signal
from executor.file_ports import Blobs
from executor.ports import Runs, Scope
from executor.runs.signals import SendSignal
from executor.runs.worker import RunWorker
from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.stores.team_documents import TeamDocuments
from rota_contracts.envelope import Event
from rota_contracts.ids import derived_id
from rota_contracts.messages.control import ControlAction
from rota_contracts.messages.robot_facts import RobotDeletedV1
from rota_contracts.messages.team_facts import TeamRemovedV1

STOP_AGAIN_S = 1.0


@dataclass(frozen=True, kw_only=True)
class StopRuns:
    runs: Runs
    worker: RunWorker
    send: SendSignal
    clock: Clock

    async def of_robot(self, event: Event[RobotDeletedV1]) -> None:
        """Stop the executions of a deleted robot."""
        deleted = event.data
        signal_id = derived_id("deleted", deleted.team_id, deleted.member_id, deleted.rev)
        await self(Scope(deleted.team_id, deleted.member_id), signal_id, "the robot was deleted")

    async def __call__(self, scope: Scope, signal_id: str, reason: str) -> None:
        """Waiting executions end at once, the others in the middle of their step. Raises Transient until all have
        ended and their ends are published."""
        signal = Signal(id=signal_id, action=ControlAction.STOP, reason=reason, at=self.clock())
        left = 0
        for signalled in await self.send(scope, signal):
            with contextlib.suppress(Transient):  # a worker holds it, and applies the signal with its next write
                await self.worker.resume(signalled.id)
            run = await self.runs.find(signalled.id)
            left += run is not None and not run.over
        if left:
            raise Transient(f"{left} executions are still at a step: {reason}", after=STOP_AGAIN_S)


@dataclass(frozen=True, kw_only=True)
class RemoveTeam:
    """Ends the executions of a removed team, and removes them with all that they kept."""

    stop: StopRuns
    blobs: Blobs
    documents: TeamDocuments

    async def __call__(self, event: Event[TeamRemovedV1]) -> None:
        """Raises Transient until all have ended: a slot is freed by the end of its execution."""
        removed = event.data
        signal_id = derived_id("team removed", removed.team_id, removed.removed_at)
        await self.stop(Scope(removed.team_id), signal_id, "the team was removed")
        await self.blobs.free_team(removed.team_id)
        await self.documents.remove(removed.team_id)

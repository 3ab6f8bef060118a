"""Finds an execution by the services that know it, and waits until it is over or waits for a person."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from rota_common.bus.live import Events, LiveEvents
from rota_common.redaction import model_without_credentials
from rota_contracts.catalog import ACTIVITY, EXECUTION_FINISHED, EXECUTION_PARKED
from rota_contracts.envelope import Event
from rota_contracts.messages.activity import ActivityV1
from rota_contracts.messages.execution import ExecStatus, Execution, TriggerReply, TriggerState
from trigger_gateway.problems import NotFound
from trigger_gateway.runs.ports import Executions, Schedule

MOST_WAIT_S = 55
"""Seconds that one question waits: many clients give up after 60."""

RESTING = frozenset(
    {ExecStatus.COMPLETED, ExecStatus.FAILED, ExecStatus.CANCELLED, ExecStatus.WAITING, ExecStatus.PAUSED}
)

Progress = Callable[[str], Awaitable[None]]
"""Reports, to a client that asked for it, what is being done."""


async def unreported(_: str) -> None: ...


@dataclass(frozen=True)
class FoundRun:
    """One run: its record once it has begun, before that or without it the state of its trigger."""

    execution_id: str
    execution: Execution | None = None
    trigger: TriggerReply | None = None

    @property
    def rests(self) -> bool:
        """Over, rejected, or waiting for something."""
        if self.execution is not None:
            return self.execution.status in RESTING
        return self.trigger is not None and self.trigger.state in (TriggerState.REJECTED, TriggerState.DONE)


@dataclass(frozen=True, kw_only=True)
class FollowExecution:
    executions: Executions
    schedule: Schedule
    live: LiveEvents

    async def find(self, team: str, execution_id: str) -> FoundRun:
        """Raise NotFound for one that isn't the team's, Transient when a service that should know it doesn't answer."""
        execution = await self.executions.find(team, execution_id)
        if execution is not None:
            return FoundRun(execution_id, model_without_credentials(execution))
        queued = await self.schedule.find(team, execution_id, with_trigger=True)
        if queued.state is TriggerState.UNKNOWN:
            raise NotFound("execution_not_found", f"team {team} has no execution {execution_id}")
        return FoundRun(execution_id, trigger=queued)

    async def __call__(
        self,
        team: str,
        execution_id: str,
        *,
        within: float,
        progress: Progress = unreported,
        until: Callable[[FoundRun], bool] = lambda run: run.rests,
    ) -> FoundRun:
        """As it is `until` then, or after so many seconds. Raise as `find` does."""
        if not within:
            return await self.find(team, execution_id)
        async with self.live.listen([ACTIVITY, EXECUTION_FINISHED, EXECUTION_PARKED], team=team) as heard:
            found = await self.find(team, execution_id)
            try:
                async with asyncio.timeout(within):
                    while not until(found):
                        await _changed(heard, execution_id, progress)
                        found = await self.find(team, execution_id)
            except TimeoutError:
                pass
            return found


async def _changed(heard: Events, execution_id: str, progress: Progress) -> None:
    """Return when it is over or parked; report what it does until then."""
    while True:
        event: Event[Any] = await heard.next()
        if event.data.execution_id != execution_id:
            continue
        if not isinstance(event.data, ActivityV1):
            return
        if event.data.text:
            await progress(f"{event.data.phase}: {event.data.text}")

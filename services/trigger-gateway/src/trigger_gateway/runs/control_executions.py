"""Pauses, resumes and stops executions: running ones at the executor, queued ones at the scheduler."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rota_common.errors import Transient
from rota_contracts.messages.control import Control, ControlAction, ControlReply, Withdraw, WithdrawReply
from rota_contracts.messages.execution import TriggerState
from trigger_gateway.problems import Conflict, NotFound
from trigger_gateway.runs.ports import Executions, Schedule

PATIENCE_S = 3.0
"""How long an admitted execution may take to begin at an executor."""

STEP_S = 0.1

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class ControlOutcome:
    """The executions that were signalled. `withdrawn`: those of them that were queued. `robots`: the robots
    whose status was set."""

    execution_ids: tuple[str, ...]
    withdrawn: tuple[str, ...] = ()
    robots: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ControlExecutions:
    executions: Executions
    schedule: Schedule
    new_id: Callable[[], str]
    sleep: Sleep = asyncio.sleep

    async def one(self, team: str, execution_id: str, action: ControlAction, reason: str) -> ControlOutcome:
        """Raise NotFound if there is none, Conflict if it is finished or has not begun."""
        command = self._command(team, None, action, reason, execution_id)
        reply = await self.executions.control(command)
        if reply.unknown:
            if action is ControlAction.STOP and await self._withdrawn(team, execution_id, reason):
                return ControlOutcome((execution_id,), withdrawn=(execution_id,))
            if action is not ControlAction.STOP:
                await self._check_begun(team, execution_id, action)
            reply = await self._once_begun(command)
        if reply.over is not None:
            text = f"expected a running execution to {action}: {execution_id} is {reply.over} already"
            raise Conflict("execution_over", text)
        if reply.refused:
            raise Conflict("inbox_full", f"{execution_id} can't {action} any more: {reply.refused}")
        return ControlOutcome(tuple(reply.execution_ids))

    async def every(self, team: str, member: str | None, action: ControlAction, reason: str) -> ControlOutcome:
        """All of a robot, or of the team. Stopping also withdraws the queued ones.

        Each service is asked even if the other is away, to stop everything that can be stopped now.
        """
        running = self.executions.control(self._command(team, member, action, reason))
        if action is not ControlAction.STOP:
            return ControlOutcome(tuple((await running).execution_ids))
        waiting = self.schedule.withdraw(Withdraw(team_id=team, member_id=member, reason=reason))
        reply, withdrawn = await asyncio.gather(running, waiting, return_exceptions=True)
        if isinstance(reply, BaseException):
            raise reply
        if isinstance(withdrawn, BaseException):
            if not isinstance(withdrawn, Transient):
                raise withdrawn
            text = f"{len(reply.execution_ids)} executions were stopped, but {withdrawn}"
            raise Transient(f"{text}: queued ones may still start; try again") from withdrawn
        late = await self._late(team, action, reason, reply, withdrawn)
        queued = tuple(withdrawn.execution_ids)
        return ControlOutcome((*reply.execution_ids, *late, *queued), withdrawn=queued)

    async def _late(
        self, team: str, action: ControlAction, reason: str, reply: ControlReply, withdrawn: WithdrawReply
    ) -> list[str]:
        """Those that were admitted, and had not begun at an executor when all of them were signalled."""
        missed = [each for each in withdrawn.admitted if each not in reply.execution_ids]
        commands = [self._command(team, None, action, reason, each) for each in missed]
        answers = await asyncio.gather(*(self._once_begun(command) for command in commands))
        return [each for answer in answers for each in answer.execution_ids]

    async def _withdrawn(self, team: str, execution_id: str, reason: str) -> bool:
        """False if it is admitted already. Raises NotFound when the scheduler doesn't know it either."""
        withdrawn = await self.schedule.withdraw(Withdraw(team_id=team, execution_id=execution_id, reason=reason))
        if execution_id in withdrawn.execution_ids:
            return True
        if execution_id not in withdrawn.admitted:
            raise _not_found(team, execution_id)
        return False

    async def _check_begun(self, team: str, execution_id: str, action: ControlAction) -> None:
        match (await self.schedule.find(team, execution_id)).state:
            case TriggerState.QUEUED:
                text = f"expected a running execution to {action}: {execution_id} is still queued; stop withdraws it"
                raise Conflict("not_begun", text)
            case TriggerState.UNKNOWN | TriggerState.REJECTED | TriggerState.DONE:
                raise _not_found(team, execution_id)
            case _:
                return

    async def _once_begun(self, command: Control) -> ControlReply:
        for _ in range(round(PATIENCE_S / STEP_S)):
            reply = await self.executions.control(command)
            if not reply.unknown:
                return reply
            await self.sleep(STEP_S)
        text = f"execution {command.execution_id} is admitted, but no executor began it within {PATIENCE_S:g} s"
        raise Transient(f"{text}: try again")

    def _command(
        self, team: str, member: str | None, action: ControlAction, reason: str, execution_id: str | None = None
    ) -> Control:
        return Control(
            request_id=self.new_id(),
            team_id=team,
            member_id=member,
            execution_id=execution_id,
            action=action,
            reason=reason,
        )


def _not_found(team: str, execution_id: str) -> NotFound:
    return NotFound("execution_not_found", f"team {team} has no execution {execution_id}: GET …/executions lists them")

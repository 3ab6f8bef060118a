"""Pauses, resumes and stops executions (TG-16, F11): what runs at the executor, what still waits at the scheduler."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rota_common.errors import Transient
from rota_contracts.messages.control import Control, ControlAction, ControlReply, Withdraw, WithdrawReply
from rota_contracts.messages.execution import TriggerState
from trigger_gateway.problems import Conflict, NotFound
from trigger_gateway.runs.ports import Executions, Schedule

PATIENCE_S = 3.0
"""How long an execution that has its slot may take to arrive at an executor."""

STEP_S = 0.1

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class Told:
    """The executions that the word was given to. `withdrawn`: those of them that had waited for a slot. `robots`: those
    whose status was set for it."""

    execution_ids: tuple[str, ...]
    withdrawn: tuple[str, ...] = ()
    robots: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ControlExecutions:
    executions: Executions
    schedule: Schedule
    new_id: Callable[[], str]
    sleep: Sleep = asyncio.sleep

    async def one(self, team: str, execution_id: str, action: ControlAction, reason: str) -> Told:
        """Raise NotFound if there is none, Conflict if it is over or has not begun."""
        word = self._word(team, None, action, reason, execution_id)
        told = await self.executions.control(word)
        if told.unknown:
            if action is ControlAction.STOP and await self._withdrawn(team, execution_id, reason):
                return Told((execution_id,), withdrawn=(execution_id,))
            if action is not ControlAction.STOP:
                await self._check_begun(team, execution_id, action)
            told = await self._once_taken_up(word)
        if told.over is not None:
            text = f"expected an execution that is under way, to {action} it: {execution_id} is {told.over} already"
            raise Conflict("execution_over", text)
        return Told(tuple(told.execution_ids))

    async def every(self, team: str, member: str | None, action: ControlAction, reason: str) -> Told:
        """All of a robot, or of the team. Stopping also withdraws what waits for a slot.

        Either is asked although the other is away: whoever says stop means everything that can be stopped now.
        """
        running = self.executions.control(self._word(team, member, action, reason))
        if action is not ControlAction.STOP:
            return Told(tuple((await running).execution_ids))
        waiting = self.schedule.withdraw(Withdraw(team_id=team, member_id=member, reason=reason))
        told, back = await asyncio.gather(running, waiting, return_exceptions=True)
        if isinstance(told, BaseException):
            raise told
        if isinstance(back, BaseException):
            if not isinstance(back, Transient):
                raise back
            text = (
                f"{len(told.execution_ids)} executions were stopped, but {back}: what waits may still start; try again"
            )
            raise Transient(text) from back
        late = await self._late(team, action, reason, told, back)
        return Told((*told.execution_ids, *late, *back.execution_ids), withdrawn=tuple(back.execution_ids))

    async def _late(
        self, team: str, action: ControlAction, reason: str, told: ControlReply, back: WithdrawReply
    ) -> list[str]:
        """Those that had their slot, and had not arrived at an executor when all of them were told."""
        missed = [each for each in back.admitted if each not in told.execution_ids]
        words = [self._word(team, None, action, reason, each) for each in missed]
        answers = await asyncio.gather(*(self._once_taken_up(word) for word in words))
        return [each for answer in answers for each in answer.execution_ids]

    async def _withdrawn(self, team: str, execution_id: str, reason: str) -> bool:
        """False: it has its slot already. Raises NotFound when the scheduler doesn't know it either."""
        back = await self.schedule.withdraw(Withdraw(team_id=team, execution_id=execution_id, reason=reason))
        if execution_id in back.execution_ids:
            return True
        if execution_id not in back.admitted:
            raise _not_found(team, execution_id)
        return False

    async def _check_begun(self, team: str, execution_id: str, action: ControlAction) -> None:
        match (await self.schedule.find(team, execution_id)).state:
            case TriggerState.QUEUED:
                text = (
                    f"expected an execution that has begun, to {action} it: {execution_id} still waits for its slot; "
                )
                raise Conflict("not_begun", f"{text}stop takes it out of the queue")
            case TriggerState.UNKNOWN | TriggerState.REJECTED | TriggerState.DONE:
                raise _not_found(team, execution_id)
            case _:
                return

    async def _once_taken_up(self, word: Control) -> ControlReply:
        for _ in range(round(PATIENCE_S / STEP_S)):
            told = await self.executions.control(word)
            if not told.unknown:
                return told
            await self.sleep(STEP_S)
        text = f"execution {word.execution_id} has its slot, but no executor has begun it within {PATIENCE_S:g} s"
        raise Transient(f"{text}: try again")

    def _word(
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

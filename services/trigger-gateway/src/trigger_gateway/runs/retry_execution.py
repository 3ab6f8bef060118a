"""Retries a rejected or failed execution: its trigger once more, as a new execution on the robot's current revision."""

from dataclasses import dataclass

from rota_common.clock import Clock
from rota_contracts import ids
from rota_contracts.messages.execution import TriggerReply, TriggerState
from rota_contracts.messages.trigger import TriggerReceivedV1, TriggerRejectedV1
from rota_contracts.roles import Role
from trigger_gateway.problems import Conflict
from trigger_gateway.robots.find_robot import find_robot
from trigger_gateway.robots.ports import RobotRecords
from trigger_gateway.runs import retries
from trigger_gateway.runs.backlogs import Backlogs
from trigger_gateway.runs.ports import Executions, Outcome, Outcomes, Schedule, Triggers
from trigger_gateway.runs.request_run import PATIENCE_S


@dataclass(frozen=True)
class RetryOptions:
    """`role`: of the key that asks. `force`: also if the outcome of a call is unknown. `dry_run`: only say whether it
    may run again."""

    role: Role
    force: bool = False
    dry_run: bool = False
    trace: str = ""


@dataclass(frozen=True)
class RetryAnswer:
    """The new execution. `repeated`: it was requested before, and this is its current state."""

    execution_id: str
    trigger_id: str
    retry_of: str
    state: TriggerState
    message: str
    repeated: bool = False


@dataclass(frozen=True, kw_only=True)
class RetryExecution:
    robots: RobotRecords
    triggers: Triggers
    outcomes: Outcomes
    executions: Executions
    schedule: Schedule
    backlogs: Backlogs
    clock: Clock

    async def __call__(self, team: str, execution_id: str, how: RetryOptions) -> RetryAnswer:
        """Raise NotFound for an unknown execution or robot, Conflict if it may not run again or the scheduler refuses,
        and TooMany for an event that would have to wait in a full backlog."""
        read = await self.schedule.find(team, execution_id, with_trigger=True)
        old = retries.old_trigger(team, execution_id, read)
        trigger_id = ids.retry_trigger_id(team, execution_id)
        earlier = await self.schedule.find(team, ids.execution_id(trigger_id))
        if earlier.state is not TriggerState.UNKNOWN:
            return _again(execution_id, trigger_id, earlier)
        if read.state is TriggerState.DONE and not how.force:
            retries.check_calls(execution_id, await self.executions.find(team, execution_id))
        record = await find_robot(self.robots, team, old.member_id)
        if old.type.is_event:
            self.backlogs.check(team, [old.member_id])
        trigger = retries.new_trigger(old, execution_id, rev=record.robot.rev, role=how.role, at=self.clock())
        if how.dry_run:
            return _answer(trigger, TriggerState.UNKNOWN, "it can be retried; nothing was started")
        async with self.outcomes.listen(team, old.member_id) as decisions:
            new = await self.triggers.publish(trigger, trace=how.trace)
            return _decided(trigger, await decisions.outcome(trigger_id, within=PATIENCE_S), repeated=not new)


def _decided(trigger: TriggerReceivedV1, outcome: Outcome | None, *, repeated: bool) -> RetryAnswer:
    if outcome is None:
        text = "stored; the scheduler has not decided yet"
        return _answer(trigger, TriggerState.UNKNOWN, text, repeated=repeated)
    if isinstance(outcome, TriggerRejectedV1):
        run = ids.execution_id(trigger.trigger_id)
        raise Conflict(outcome.reason, f"{outcome.message}; to try again, retry {run}, which was rejected now")
    return _answer(trigger, TriggerState.QUEUED, "queued", repeated=repeated)


def _answer(trigger: TriggerReceivedV1, state: TriggerState, message: str, *, repeated: bool = False) -> RetryAnswer:
    run = ids.execution_id(trigger.trigger_id)
    return RetryAnswer(run, trigger.trigger_id, trigger.retry_of or "", state, message, repeated)


def _again(execution_id: str, trigger_id: str, read: TriggerReply) -> RetryAnswer:
    run = ids.execution_id(trigger_id)
    over = read.state in (TriggerState.REJECTED, TriggerState.DONE)
    text = f"it was retried before: {read.message or read.state}" + (f"; to run it again, retry {run}" if over else "")
    return RetryAnswer(run, trigger_id, execution_id, read.state, text, repeated=True)

"""Requests a run from the scheduler by hand, and waits a moment for its decision."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from rota_common.clock import Clock
from rota_contracts.ids import derived_id, execution_id, request_trigger_id
from rota_contracts.json_values import unstorable
from rota_contracts.messages.control import has_content
from rota_contracts.messages.execution import ExecStatus, TriggerReply, TriggerState
from rota_contracts.messages.trigger import (
    ExecutorMode,
    InterventionAction,
    Message,
    TriggerAdmittedV1,
    TriggerInput,
    TriggerReceivedV1,
    TriggerType,
)
from rota_contracts.robots.clock import clock_context
from rota_contracts.robots.robot import Robot
from rota_contracts.roles import Role
from trigger_gateway.problems import Conflict, FieldProblem, Invalid
from trigger_gateway.robots.find_robot import find_robot
from trigger_gateway.robots.ports import RobotRecords
from trigger_gateway.robots.record import RobotRecord
from trigger_gateway.runs.backlogs import Backlogs
from trigger_gateway.runs.guard_input import GuardInput
from trigger_gateway.runs.idempotency import find_repeat
from trigger_gateway.runs.interventions import wrong_messages
from trigger_gateway.runs.ports import Outcome, Outcomes, Requests, Triggers

PATIENCE_S = 0.8
"""Timeout of the scheduler's decision, so that the answer takes at most a second."""


@dataclass(frozen=True)
class RunRequest:
    """A run requested by hand. `key` is the idempotency key of the request."""

    type: TriggerType
    messages: Sequence[Message] = ()
    action: InterventionAction | None = None
    source: str | None = None
    event_type: str | None = None
    data: dict[str, Any] | None = None
    executor_mode: ExecutorMode | None = None
    locale: str | None = None
    key: str | None = None
    follows: str | None = None


@dataclass(frozen=True)
class RunAnswer:
    """The run that was requested. `repeated`: the request was made before, and this is its current state."""

    execution_id: str
    trigger_id: str
    status: ExecStatus
    message: str
    repeated: bool = False


@dataclass(frozen=True, kw_only=True)
class RequestRun:
    robots: RobotRecords
    triggers: Triggers
    outcomes: Outcomes
    requests: Requests
    backlogs: Backlogs
    clock: Clock
    new_id: Callable[[], str]
    guard: GuardInput = field(default_factory=GuardInput)

    async def __call__(
        self, team: str, member: str, request: RunRequest, *, role: Role, trace: str = "", guarded: bool = False
    ) -> RunAnswer:
        """`role`: of the key that asks. `guarded`: its words were scanned already.

        Raise NotFound for an unknown robot, Conflict with the scheduler's reason when it refuses the trigger, and
        TooMany for an event that would have to wait in a full backlog.
        """
        check(request)
        record = await find_robot(self.robots, team, member)
        if not guarded:
            words = (message.text() for message in request.messages)
            self.guard.check(team, [member], *words, request.source, request.event_type, request.data)
        trigger_id, repeated = await self._identify(team, member, request)
        request = replace(request, messages=self.guard.cut(request.messages))
        if request.type is TriggerType.EVENT and not repeated:
            self.backlogs.check(team, [member])
        trigger = trigger_of(request, record, trigger_id, role=role, at=self.clock())
        async with self.outcomes.listen(team, member) as decisions:
            # Also when it is a repeat: the first one may have failed right here, and the stream drops a second.
            await self.triggers.publish(trigger, trace=trace)
            if repeated:
                read = await self.outcomes.read(team, trigger_id)
                if read is not None and read.state is not TriggerState.UNKNOWN:
                    return answer_again(trigger_id, read)
            return answer(trigger_id, await decisions.outcome(trigger_id, within=PATIENCE_S))

    async def _identify(self, team: str, member: str, request: RunRequest) -> tuple[str, bool]:
        if request.key is None:
            return self.new_id(), False
        trigger_id = request_trigger_id(team, member, request.key)
        # Of the time when the id of an event could be the same: its repeats are known for 30 days.
        former_id = derived_id("trigger", team, member, "request", request.key)
        if await self.requests.recall(former_id) is not None:
            trigger_id = former_id
        return trigger_id, await find_repeat(self.requests, trigger_id, request) is not None


def check(request: RunRequest) -> None:
    """Raise Invalid for a request that can't start a run."""
    problems = wrong_messages(request.messages)
    if request.type is TriggerType.HUMAN and not has_content([*request.messages]):
        problems.append(FieldProblem("messages", "a request of a person needs at least one message with content"))
    if request.type is TriggerType.EVENT and not (request.source or request.event_type or request.data):
        problems.append(FieldProblem("data", "an event needs its data, or at least its source or event_type"))
    if request.follows is not None and request.type is not TriggerType.HUMAN:
        problems.append(FieldProblem("follows", f"expected with type human only, not with {request.type}"))
    if unfit := unstorable(request.data):
        problems.append(FieldProblem("data", unfit))
    if problems:
        raise Invalid("invalid_request", "the request is not valid", fields=problems)


def trigger_of(
    request: RunRequest, record: RobotRecord, trigger_id: str, *, role: Role, at: datetime
) -> TriggerReceivedV1:
    robot = record.robot
    return TriggerReceivedV1(
        team_id=robot.team_id,
        member_id=robot.member_id,
        trigger_id=trigger_id,
        type=request.type,
        input=TriggerInput(
            action=request.action,
            messages=list(request.messages),
            follows=request.follows,
            source=request.source,
            event_type=request.event_type,
            data=request.data or {},
            clock=clock_context(at, _zone(robot)) if request.type is TriggerType.CLOCK else None,
        ),
        received_at=at,
        executor_mode=request.executor_mode,
        locale=request.locale,
        robot_rev=robot.rev,
        scheduled_at=at if request.type is TriggerType.CLOCK else None,
        role=role,
    )


def answer(trigger_id: str, outcome: Outcome | None) -> RunAnswer:
    """The answer to a first request; raises Conflict when the scheduler rejects it."""
    if outcome is None:
        text = "stored; the scheduler has not decided yet"
        return RunAnswer(execution_id(trigger_id), trigger_id, ExecStatus.PENDING, text)
    if isinstance(outcome, TriggerAdmittedV1):
        return RunAnswer(outcome.execution_id, trigger_id, ExecStatus.PENDING, "queued")
    raise Conflict(outcome.reason, outcome.message)


def answer_again(trigger_id: str, read: TriggerReply) -> RunAnswer:
    """The answer to a repeat, by the state of its trigger; raises Conflict when it was rejected."""
    if read.state is TriggerState.REJECTED:
        raise Conflict("rejected", read.message)
    running = ExecStatus.RUNNING if read.state is TriggerState.RUNNING else ExecStatus.PENDING
    run = read.execution_id or execution_id(trigger_id)
    text = read.message or f"this request was made before: {read.state}"
    return RunAnswer(run, trigger_id, read.status or running, text, repeated=True)


def _zone(robot: Robot) -> str:
    clock = robot.robot_config.clock
    return clock.tz if clock else "UTC"

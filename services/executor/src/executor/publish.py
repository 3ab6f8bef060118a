"""Published events of a run: facts, requests to other services, and activity to watch.

Every event id derives from the execution, not from the message being handled, so a repeat by the sweeper is the same
event.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, assert_never

from executor.domain import activities
from executor.domain.activities import Seen
from executor.domain.calls.asked import AskedCall
from executor.domain.conversation.messages import Texts
from executor.domain.delivery_request import NO_TEXTS, delivery_request, failure_request
from executor.domain.outcomes import Outcome, StepDelayed, StepFailed
from executor.domain.phases import lesson_scope
from executor.domain.run import Run, Signal
from executor.domain.situation import wording
from executor.domain.situation.moment import now_text
from executor.domain.steps import (
    Question,
    RequestDelivery,
    RequestLearning,
    RequestSlot,
    RequestVerdict,
    Work,
)
from executor.file_ports import Blobs
from executor.ports import Scope
from executor.reads.run_summary import run_summary
from rota_common.bus.publishing import Publish
from rota_common.clock import Clock
from rota_common.runtime.logs import logger
from rota_contracts import catalog
from rota_contracts.messages.activity import EVENTS, ActivityKind, ActivityV1
from rota_contracts.messages.approval import ApprovalDecidedV1, ApprovalRequestedV1, ApprovalStatus
from rota_contracts.messages.control import ControlGivenV1, ExecutionIntervenedV1
from rota_contracts.messages.execution import ExecutionFinishedV1, ExecutionStartedV1, excerpt
from rota_contracts.messages.learning import LearningRequestedV1
from rota_contracts.messages.parking import ExecutionParkedV1, ExecutionResumableV1
from rota_contracts.messages.quarantine import FailedResult
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import TriggerType
from rota_contracts.messages.validation import ValidationRequestedV1
from rota_contracts.model import ALL, Payload

MATERIAL_LIMIT = 20_000
"""Characters of one text that a verdict's request carries beside the output."""

QUARANTINED = 20
"""Results in quarantine that the end of a run names."""

LOG = logger(service="executor")


def ignore(run: Run) -> None: ...


@dataclass(frozen=True, kw_only=True)
class EventPublisher:
    """`on_end` gets each run that is over, once its end is published; it returns at once. `verbose`: calls of
    tools are observed with their arguments."""

    publish: Publish
    blobs: Blobs
    clock: Clock
    verbose: bool = False
    on_end: Callable[[Run], None] = ignore

    async def started(self, run: Run, *, grant: int = 0) -> None:
        execution = run.execution
        if not grant:  # before the fact, for whose acknowledgement its first step doesn't wait
            await self._observe(run, activities.of_begin(run))
        fact = ExecutionStartedV1(**_owner(run), started_at=execution.started_at or execution.created_at, grant=grant)
        await self._publish(run, catalog.EXECUTION_STARTED, fact, step=str(grant) if grant else "")

    async def finished(self, run: Run) -> None:
        execution = run.execution
        fact = ExecutionFinishedV1(
            **_owner(run),
            trigger_id=execution.trigger.trigger_id,
            status=execution.status,
            error=execution.error,
            finished_at=execution.finished_at or execution.created_at,
            quarantined=[FailedResult(**dict(each)) for each in execution.quarantine[:QUARANTINED]],
        )
        await self._publish(run, catalog.EXECUTION_FINISHED, fact)
        if failure := failure_request(run):
            await self._publish(run, catalog.DELIVERY_REQUESTED, failure, step="failure")
        await self._observe(run, activities.of_end(run))
        self.on_end(run)

    async def parked(self, run: Run) -> None:
        execution = run.execution
        reason = run.parked_for
        fact = ExecutionParkedV1(
            **_owner(run),
            status=execution.status,
            reason=excerpt(reason),
            question=execution.question is not None,
            parks=run.parks,
            parked_at=self.clock(),
        )
        await self._publish(run, catalog.EXECUTION_PARKED, fact, step=str(run.parks))
        kind = ActivityKind.WAITING if execution.question or run.promised or run.asked else ActivityKind.PAUSED
        await self._observe(run, Seen(kind, reason))

    async def approval(self, run: Run, asked: AskedCall) -> None:
        """It waits for a person, or doesn't any more."""
        approval = asked.public()
        owner = {"team_id": run.execution.team_id, "member_id": run.execution.member_id}
        if approval.status is not ApprovalStatus.PENDING:
            decided = ApprovalDecidedV1(**owner, approval=approval)
            await self._publish(run, catalog.APPROVAL_DECIDED, decided, step=approval.approval_id)
            return
        requested = ApprovalRequestedV1(
            **owner,
            approval=approval,
            robot=run.robot.display_name or run.robot.member_id,
            manager_id=run.robot.manager_id,
        )
        await self._publish(run, catalog.APPROVAL_REQUESTED, requested, step=approval.approval_id)

    async def intervened(self, run: Run, signal: Signal) -> None:
        """A signal is in a run's inbox."""
        fact = ExecutionIntervenedV1(
            **_owner(run),
            intervention_id=signal.id,
            action=signal.action,
            text=excerpt(signal.text(), 2000),
            at=signal.at,
        )
        await self._publish(run, catalog.EXECUTION_INTERVENED, fact, step=signal.id)

    async def control(self, scope: Scope, signal: Signal, run_ids: list[str]) -> None:
        """Broadcast to every executor and delivery-center. Losing it does no harm: they also read the inbox."""
        given = ControlGivenV1(
            team_id=scope.team,
            member_id=scope.member or ALL,
            action=signal.action,
            execution_ids=run_ids,
            reason=signal.reason,
            at=self.clock(),
        )
        await self.publish.observe(catalog.CONTROL_GIVEN, given)

    async def request(self, run: Run, question: Question) -> None:
        """Send a request; a repeat gets a new id, because the first may be lost."""
        again = max(run.asks - 1, 0)
        match question:
            case RequestVerdict():
                request = validation_request(run, question, await self._earlier(run))
                await self._publish(
                    run, catalog.VALIDATION_REQUESTED, request, step=question.validation_id, again=again
                )
            case RequestDelivery(request_id):
                delivery = delivery_request(run, request_id, await self._earlier(run))
                await self._publish(run, catalog.DELIVERY_REQUESTED, delivery, again=again)
            case RequestLearning():
                request_learning = await self._learning_request(run)
                await self._publish(run, catalog.LEARNING_REQUESTED, request_learning, again=again)
            case RequestSlot(parks):
                slot = ExecutionResumableV1(**_owner(run), parks=parks, resumable_at=self.clock())
                await self._publish(run, catalog.EXECUTION_RESUMABLE, slot, step=str(parks), again=again)
            case never:
                assert_never(never)

    async def step_started(self, run: Run, step: Work) -> None:
        for seen in activities.of_step(run, step, verbose=self.verbose):
            await self._observe(run, seen)

    async def step_finished(self, run: Run, outcome: Outcome, reply: Text | None = None) -> None:
        """`reply`: of the step's model, as it is kept."""
        if isinstance(outcome, StepFailed | StepDelayed):
            phase, again = run.execution.phase, isinstance(outcome, StepDelayed)
            LOG.warning("step failed", execution_id=run.id, phase=phase, again=again, reason=excerpt(outcome.reason))
        for seen in activities.of_outcome(run, outcome, reply):
            await self._observe(run, seen)

    async def answer_piece(self, run: Run, task_id: str, number: int, text: str) -> None:
        """A piece of a task's answer; number 0 clears those so far."""
        kind = ActivityKind.ANSWER_PIECE if number else ActivityKind.ANSWER_CLEARED
        phase = run.execution.phase
        activity = ActivityV1(
            **_owner(run),
            kind=kind,
            event=EVENTS.get(kind),
            phase=phase,
            task_id=task_id,
            text=text,
            piece=number or None,
            at=self.clock(),
        )
        await self.publish.hint(catalog.ACTIVITY, activity)

    async def _publish(
        self, run: Run, channel: catalog.Channel[Any], fact: Payload, *, step: str = "", again: int = 0
    ) -> None:
        await self.publish(channel, fact, caused_by=run.id, step=step, again=again, trace=run.traceparent)

    async def _observe(self, run: Run, seen: Seen) -> None:
        phase = run.execution.phase
        LOG.info("step", execution_id=run.id, phase=phase, step=seen.kind, task_id=seen.task_id)
        activity = ActivityV1(**_owner(run), phase=phase, at=self.clock(), **seen.of_message())
        await self.publish.hint(catalog.ACTIVITY, activity)

    async def _earlier(self, run: Run) -> dict[str, str]:
        """The texts of results that are kept by reference."""
        kept = [each.output for each in run.execution.results if each.output is not None and each.status == "completed"]
        return {text.ref.name: await self.blobs.read(text) for text in kept if text.ref is not None}

    async def _learning_request(self, run: Run) -> LearningRequestedV1:
        learn = run.robot.robot_config.learn
        return LearningRequestedV1(
            **_owner(run),
            summary=await run_summary(run, self.blobs),
            types=learn.types,
            keep_days=learn.keep,
            agent=run.robot.phase_agent("learning"),
            scope=lesson_scope(run) or "",
        )


def _owner(run: Run) -> dict[str, Any]:
    return {"execution_id": run.id, "team_id": run.execution.team_id, "member_id": run.execution.member_id}


def validation_request(run: Run, question: RequestVerdict, texts: Texts = NO_TEXTS) -> ValidationRequestedV1:
    if run.checked is None:
        raise AssertionError("the meaning of an output is asked for once its rules are checked")
    execution, task = run.execution, question.task
    return ValidationRequestedV1(
        validation_id=question.validation_id,
        execution_id=run.id,
        team_id=execution.team_id,
        member_id=execution.member_id,
        task_id=task.id,
        description=task.description,
        expected_output=task.expected_output,
        rules=run.checked.open_rules,
        rules_verdict=run.checked.verdict,
        output=question.output,
        agent=run.robot.phase_agent("validation"),
        threshold=run.robot.robot_config.executor.validation_threshold,
        conversation=question.conversation,
        asked=wording.words(execution.trigger) if execution.trigger.type is TriggerType.HUMAN else "",
        said=wording.interventions_text(run),
        given=_material(run, texts),
        now=now_text(run, task),
    )


def _material(run: Run, texts: Texts) -> dict[str, str]:
    """What its author had before it, for the judge of a task's output."""
    trigger = run.execution.trigger
    found = {
        "event": "" if trigger.type is TriggerType.HUMAN else wording.given_input(trigger),
        "data": wording.data_text(trigger) if trigger.type is TriggerType.HUMAN else "",
        "knowledge of the team": wording.known_text(run),
        "earlier results": wording.previous_results(run, texts),
    }
    return {name: excerpt(text, MATERIAL_LIMIT) for name, text in found.items() if text}

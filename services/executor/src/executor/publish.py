"""What the executor tells the others: requests, facts, and progress for people to watch.

Every id derives from the execution, not from the message at hand, so a sweeper's repeat is the same fact.
"""

from typing import Any, assert_never

from executor.domain.outcomes import LookedUp, Outcome, StepDelayed, StepFailed, TaskAnswered, Unusable, Used
from executor.domain.run import Run, Signal
from executor.domain.steps import (
    AskAgent,
    MakeCalls,
    Question,
    RequestDelivery,
    RequestLearning,
    RequestSlot,
    RequestVerdict,
    RunTurn,
    Work,
)
from executor.requests import delivery_request, validation_request
from executor.summary import run_summary
from rota_common.bus.publishing import Publish
from rota_common.clock import Clock
from rota_common.runtime.logs import logger
from rota_common.stores.blobs import Blobs
from rota_contracts import catalog
from rota_contracts.messages.activity import ActivityKind, ActivityV1
from rota_contracts.messages.control import ControlGivenV1, ExecutionIntervenedV1
from rota_contracts.messages.execution import ExecutionFinishedV1, ExecutionStartedV1, excerpt
from rota_contracts.messages.learning import LearningRequestedV1
from rota_contracts.messages.parking import ExecutionParkedV1, ExecutionResumableV1
from rota_contracts.model import ALL, Payload


class EventPublisher:
    def __init__(self, publish: Publish, blobs: Blobs, clock: Clock) -> None:
        self._publish, self._blobs, self._clock = publish, blobs, clock
        self._log = logger(service="executor")

    async def started(self, run: Run, *, grant: int = 0) -> None:
        execution = run.execution
        fact = ExecutionStartedV1(**_owner(run), started_at=execution.started_at or execution.created_at, grant=grant)
        await self._tell(run, catalog.EXECUTION_STARTED, fact, step=str(grant) if grant else "")

    async def finished(self, run: Run) -> None:
        execution = run.execution
        fact = ExecutionFinishedV1(
            **_owner(run),
            trigger_id=execution.trigger.trigger_id,
            status=execution.status,
            error=execution.error,
            finished_at=execution.finished_at or execution.created_at,
        )
        await self._tell(run, catalog.EXECUTION_FINISHED, fact)

    async def parked(self, run: Run) -> None:
        execution = run.execution
        reason = run.holds_for
        fact = ExecutionParkedV1(
            **_owner(run),
            status=execution.status,
            reason=excerpt(reason),
            parks=run.parks,
            parked_at=self._clock(),
        )
        await self._tell(run, catalog.EXECUTION_PARKED, fact, step=str(run.parks))
        kind = ActivityKind.WAITING if execution.question or run.promised else ActivityKind.PAUSED
        await self._observe(run, kind, text=reason)

    async def intervened(self, run: Run, word: Signal) -> None:
        """A word lies in a run's inbox."""
        fact = ExecutionIntervenedV1(
            **_owner(run), intervention_id=word.id, action=word.action, text=excerpt(word.text(), 2000), at=word.at
        )
        await self._tell(run, catalog.EXECUTION_INTERVENED, fact, step=word.id)

    async def control(self, team: str, member: str | None, action: str, run_ids: list[str], reason: str) -> None:
        """To every executor and delivery-center, whoever has these runs in hand. Losing it does no harm: each also
        reads the runs' inboxes."""
        given = ControlGivenV1(
            team_id=team,
            member_id=member or ALL,
            action=action,
            execution_ids=run_ids,
            reason=reason,
            at=self._clock(),
        )
        await self._publish.observe(catalog.CONTROL_GIVEN, given)

    async def ask(self, run: Run, question: Question) -> None:
        """Send a request; from the second time on past the stream's memory of ids, because the first may be lost."""
        again = max(run.asks - 1, 0)
        match question:
            case RequestVerdict():
                request = validation_request(run, question)
                await self._tell(run, catalog.VALIDATION_REQUESTED, request, step=question.validation_id, again=again)
            case RequestDelivery(request_id):
                await self._tell(run, catalog.DELIVERY_REQUESTED, delivery_request(run, request_id), again=again)
            case RequestLearning():
                await self._tell(run, catalog.LEARNING_REQUESTED, await self._learning(run), again=again)
            case RequestSlot(parks):
                wish = ExecutionResumableV1(**_owner(run), parks=parks, resumable_at=self._clock())
                await self._tell(run, catalog.EXECUTION_RESUMABLE, wish, step=str(parks), again=again)
            case never:
                assert_never(never)

    async def beginning(self, run: Run, step: Work) -> None:
        """Tell whoever watches, and the log (EX-30)."""
        match step:
            case AskAgent(phase):
                await self._observe(run, ActivityKind.PHASE_STARTED, text=run.robot.phase_agent(phase))
            case RunTurn(task, _, 1, 0):
                await self._observe(run, ActivityKind.TASK_STARTED, task_id=task.id, text=task.description)
            case RunTurn(task, _, turn, 0):
                await self._observe(run, ActivityKind.TURN_STARTED, task_id=task.id, text=f"turn {turn}")
            case MakeCalls(task, uses):
                for use in uses:
                    await self._observe(run, ActivityKind.TOOL_STARTED, task_id=task.id, text=use.name)

    async def happened(self, run: Run, outcome: Outcome) -> None:
        match outcome:
            case TaskAnswered(task_id, output):
                text = output.inline or f"{output.ref.size if output.ref else 0} bytes"
                await self._observe(run, ActivityKind.TASK_FINISHED, task_id=task_id, text=text)
            case Used(task_id, _, _, error):
                await self._observe(run, ActivityKind.TOOL_FINISHED, task_id=task_id, text=error or "")
            case LookedUp(made):
                for use in made.uses:
                    await self._observe(run, ActivityKind.TOOL_FINISHED, text=use.error or "")
            case Unusable(reason):
                await self._observe(run, ActivityKind.PHASE_FINISHED, text=reason)
            case StepFailed(reason) | StepDelayed(reason):
                phase, again = run.execution.phase, isinstance(outcome, StepDelayed)
                self._log.warning("step failed", execution_id=run.id, phase=phase, again=again, reason=excerpt(reason))
                await self._observe(run, ActivityKind.PHASE_FINISHED, text=reason)

    async def _tell(
        self, run: Run, channel: catalog.Channel[Any], fact: Payload, *, step: str = "", again: int = 0
    ) -> None:
        await self._publish(channel, fact, caused_by=run.id, step=step, again=again, trace=run.traceparent)

    async def _observe(self, run: Run, kind: ActivityKind, *, text: str, task_id: str | None = None) -> None:
        execution = run.execution
        self._log.info("step", execution_id=run.id, phase=execution.phase, step=kind, task_id=task_id)
        activity = ActivityV1(
            **_owner(run),
            kind=kind,
            phase=execution.phase,
            task_id=task_id,
            text=excerpt(text, 500),
            at=self._clock(),
        )
        await self._publish.observe(catalog.ACTIVITY, activity)

    async def _learning(self, run: Run) -> LearningRequestedV1:
        learn = run.robot.robot_config.learn
        return LearningRequestedV1(
            **_owner(run),
            summary=await run_summary(run, self._blobs),
            types=learn.types,
            keep_days=learn.keep,
            agent=run.robot.phase_agent("learning"),
        )


def _owner(run: Run) -> dict[str, str]:
    """Which execution a fact is about, and whose it is."""
    return {"execution_id": run.id, "team_id": run.execution.team_id, "member_id": run.execution.member_id}

"""What the executor tells the others: requests, facts, and progress for people to watch.

Every id derives from the execution, not from the message at hand, so a sweeper's repeat is the same fact.
"""

from typing import assert_never

from executor.run import Run
from executor.steps import (
    AskAgent,
    Outcome,
    Question,
    RequestDelivery,
    RequestLearning,
    RequestVerdict,
    RunTurn,
    StepDelayed,
    StepFailed,
    TaskAnswered,
    Unusable,
    Work,
)
from executor.summary import run_summary
from rota_common.blobs import Blobs
from rota_common.clock import Clock
from rota_common.logs import logger
from rota_common.publishing import Publish
from rota_contracts import catalog
from rota_contracts.activity import ActivityKind, ActivityV1
from rota_contracts.delivery import DeliveryContext, DeliveryRequestedV1
from rota_contracts.execution import ExecutionFinishedV1, ExecutionStartedV1, excerpt
from rota_contracts.learning import LearningRequestedV1
from rota_contracts.validation import ValidationRequestedV1


class Announce:
    def __init__(self, publish: Publish, blobs: Blobs, clock: Clock) -> None:
        self._publish, self._blobs, self._clock = publish, blobs, clock
        self._log = logger(service="executor")

    async def started(self, run: Run) -> None:
        execution = run.execution
        fact = ExecutionStartedV1(
            execution_id=run.id,
            team_id=execution.team_id,
            member_id=execution.member_id,
            started_at=execution.started_at or execution.created_at,
        )
        await self._publish(catalog.EXECUTION_STARTED, fact, caused_by=run.id, trace=run.traceparent)

    async def finished(self, run: Run) -> None:
        execution = run.execution
        fact = ExecutionFinishedV1(
            execution_id=run.id,
            team_id=execution.team_id,
            member_id=execution.member_id,
            trigger_id=execution.trigger.trigger_id,
            status=execution.status,
            error=execution.error,
            finished_at=execution.finished_at or execution.created_at,
        )
        await self._publish(catalog.EXECUTION_FINISHED, fact, caused_by=run.id, trace=run.traceparent)

    async def ask(self, run: Run, question: Question) -> None:
        """Send a request; from the second time on past the stream's memory of ids, because the first may be lost."""
        again = run.asks - 1
        match question:
            case RequestVerdict():
                request = self._validation(run, question)
                await self._publish(
                    catalog.VALIDATION_REQUESTED,
                    request,
                    caused_by=run.id,
                    step=question.validation_id,
                    again=again,
                    trace=run.traceparent,
                )
            case RequestDelivery(request_id):
                await self._publish(
                    catalog.DELIVERY_REQUESTED,
                    _delivery(run, request_id),
                    caused_by=run.id,
                    again=again,
                    trace=run.traceparent,
                )
            case RequestLearning():
                await self._publish(
                    catalog.LEARNING_REQUESTED,
                    await self._learning(run),
                    caused_by=run.id,
                    again=again,
                    trace=run.traceparent,
                )
            case never:
                assert_never(never)

    async def beginning(self, run: Run, step: Work) -> None:
        """Tell whoever watches, and the log (EX-30)."""
        match step:
            case AskAgent(phase):
                await self._observe(run, ActivityKind.PHASE_STARTED, text=run.robot.phase_agent(phase))
            case RunTurn(task):
                await self._observe(run, ActivityKind.TASK_STARTED, task_id=task.id, text=task.description)

    async def happened(self, run: Run, outcome: Outcome) -> None:
        match outcome:
            case TaskAnswered(task_id, output):
                text = output.inline or f"{output.ref.size if output.ref else 0} bytes"
                await self._observe(run, ActivityKind.TASK_FINISHED, task_id=task_id, text=text)
            case Unusable(reason) | StepFailed(reason) | StepDelayed(reason):
                await self._observe(run, ActivityKind.PHASE_FINISHED, text=reason)

    async def _observe(self, run: Run, kind: ActivityKind, *, text: str, task_id: str | None = None) -> None:
        execution = run.execution
        self._log.info("step", execution_id=run.id, phase=execution.phase, step=kind, task_id=task_id)
        activity = ActivityV1(
            execution_id=run.id,
            team_id=execution.team_id,
            member_id=execution.member_id,
            kind=kind,
            phase=execution.phase,
            task_id=task_id,
            text=excerpt(text, 500),
            at=self._clock(),
        )
        await self._publish.observe(catalog.ACTIVITY, activity)

    def _validation(self, run: Run, question: RequestVerdict) -> ValidationRequestedV1:
        execution, task = run.execution, question.task
        return ValidationRequestedV1(
            validation_id=question.validation_id,
            execution_id=run.id,
            team_id=execution.team_id,
            member_id=execution.member_id,
            task_id=task.id,
            description=task.description,
            expected_output=task.expected_output,
            rules=run.checked[task.id].open_rules,
            output=question.output,
            agent=run.robot.phase_agent("validation"),
        )

    async def _learning(self, run: Run) -> LearningRequestedV1:
        execution, learn = run.execution, run.robot.robot_config.learn
        return LearningRequestedV1(
            execution_id=run.id,
            team_id=execution.team_id,
            member_id=execution.member_id,
            summary=await run_summary(run, self._blobs),
            types=learn.types,
            keep_days=learn.keep,
            agent=run.robot.phase_agent("learning"),
        )


def _delivery(run: Run, request_id: str) -> DeliveryRequestedV1:
    execution = run.execution
    if execution.content is None:
        raise AssertionError("a delivery is requested once its content is written")
    return DeliveryRequestedV1(
        request_id=request_id,
        team_id=execution.team_id,
        member_id=execution.member_id,
        content=execution.content,
        context=DeliveryContext(
            member_id=execution.member_id,
            execution_id=run.id,
            trigger_type=execution.trigger.type,
            team_id=execution.team_id,
        ),
        executor_mode=execution.executor_mode,
    )

"""The request to deliver a run's result, or why it failed: its content, and where it comes from."""

from executor.domain.answers.dialects import without_wrapping
from executor.domain.conversation.messages import Texts, read
from executor.domain.run import Run
from rota_common.json_text import parse_json
from rota_contracts.ids import derived_id
from rota_contracts.json_values import unstorable
from rota_contracts.messages.delivery import (
    DeliveredTask,
    DeliveryContent,
    DeliveryContext,
    DeliveryRequestedV1,
    EventOrigin,
)
from rota_contracts.messages.execution import ExecStatus, Task, TaskResult, TaskStatus, excerpt
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import TriggerInput
from rota_contracts.model import Json
from rota_contracts.robots.preferences import ResultPart, RunEnd

DESCRIPTION = 200
"""Characters of a task's description that go with its output."""

OUTPUT, OUTPUTS = 4_000, 16_000
"""Characters of one task's output, and of all: they go inline with each message of the delivery."""

NO_TEXTS: Texts = {}


def delivery_request(run: Run, request_id: str, texts: Texts = NO_TEXTS) -> DeliveryRequestedV1:
    """`texts`: the outputs that are kept by reference."""
    content = run.execution.content
    if content is None:
        raise AssertionError("a delivery is requested once its content is written")
    if ResultPart.TASKS in run.robot.robot_config.delivery.include:
        content = content.model_copy(update={"tasks": _tasks(run, texts)})
    return request_of(run, request_id, content, score=_lowest_score(run))


def failure_id(run: Run) -> str:
    return derived_id("failure", run.id)


def failure_request(run: Run) -> DeliveryRequestedV1 | None:
    """Why a run failed, if its targets are to hear of that, and got no result of it."""
    execution, config = run.execution, run.robot.robot_config
    if execution.status is not ExecStatus.FAILED or execution.delivery is not None:
        return None
    if RunEnd.FAILED not in config.delivery.on:
        return None
    role, error = config.identity.role, execution.error or "no reason is known"
    content = DeliveryContent(summary=excerpt(f"{role}: a run failed"), body=Text(inline=error))
    return request_of(run, failure_id(run), content, score=None, failed=True)


def request_of(
    run: Run,
    request_id: str,
    content: DeliveryContent,
    *,
    score: float | None,
    released_by: str | None = None,
    failed: bool = False,
) -> DeliveryRequestedV1:
    execution = run.execution
    return DeliveryRequestedV1(
        request_id=request_id,
        team_id=execution.team_id,
        member_id=execution.member_id,
        content=content,
        context=DeliveryContext(
            member_id=execution.member_id,
            execution_id=run.id,
            trigger_type=execution.trigger.type,
            team_id=execution.team_id,
            trigger_id=execution.trigger.trigger_id,
            event=_event(execution.trigger.input),
            score=score,
            failed=failed,
            rehearsed=execution.rehearsed,
            released_by=released_by,
        ),
        executor_mode=execution.executor_mode,
        event_values=run.robot.robot_config.delivery.event_values(execution.trigger.input.data),
        robot_rev=run.robot.rev,
    )


def _tasks(run: Run, texts: Texts) -> list[DeliveredTask]:
    """What was validated alone: a task that failed has no output here."""
    tasks = run.execution.tasks or []
    results = {result.task_id: result for result in run.execution.results}
    limit = min(OUTPUT, OUTPUTS // max(len(tasks), 1))
    return [_task(task, results.get(task.id), texts, limit) for task in tasks]


def _task(task: Task, result: TaskResult | None, texts: Texts, limit: int) -> DeliveredTask:
    status = TaskStatus.PENDING if result is None else result.status
    shown = DeliveredTask(id=task.id, description=excerpt(task.description, DESCRIPTION), status=status)
    if result is None or result.output is None or status is not TaskStatus.COMPLETED:
        return shown
    whole = read(result.output, texts)
    if len(whole) > limit:
        return shown.model_copy(update={"output": excerpt(whole, limit), "truncated": True})
    return shown.model_copy(update={"output": _as_json(whole)})


def _as_json(text: str) -> Json:
    """The object or list that all of the text is, also in a fence; else the text."""
    try:
        found = parse_json(without_wrapping(text))
    except ValueError:
        return text
    return found if isinstance(found, dict | list) and not unstorable(found) else text


def _event(given: TriggerInput) -> EventOrigin | None:
    if given.source is None or given.event_id is None:
        return None
    return EventOrigin(source=given.source, type=given.event_type, id=given.event_id)


def _lowest_score(run: Run) -> float | None:
    """The lowest score of the results that the delivery is made of; None if none was validated."""
    scores = [
        result.validation.score
        for result in run.execution.results
        if result.status is TaskStatus.COMPLETED and result.validation is not None
    ]
    return min(scores, default=None)

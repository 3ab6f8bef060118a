"""What other services are asked to do for a run, as their messages say it."""

from executor.domain.run import Run
from executor.domain.steps import RequestVerdict
from executor.domain.tasks.promised_calls import callback_of
from rota_contracts.messages.callback import callback_path
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.delivery import DeliveryContext, DeliveryRequestedV1
from rota_contracts.messages.execution import Task, TaskStatus
from rota_contracts.messages.process import ProcessCall
from rota_contracts.messages.validation import ValidationRequestedV1


def validation_request(run: Run, question: RequestVerdict) -> ValidationRequestedV1:
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
    )


def delivery_request(run: Run, request_id: str) -> DeliveryRequestedV1:
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
            score=lowest_score(run),
        ),
        executor_mode=execution.executor_mode,
    )


def process_call(run: Run, task: Task, use: ToolUse) -> ProcessCall:
    callback = callback_of(run, use.step_id)
    return ProcessCall(
        step_id=use.step_id,
        team_id=run.execution.team_id,
        member_id=run.execution.member_id,
        execution_id=run.id,
        task_id=task.id,
        args=use.arguments if isinstance(use.arguments, list) else [use.arguments],
        callback=callback_path(callback.id) if callback else "",
    )


def lowest_score(run: Run) -> float | None:
    """Of the results that a delivery is made of; none if none was judged (F13)."""
    scores = [
        result.validation.score
        for result in run.execution.results
        if result.status is TaskStatus.COMPLETED and result.validation is not None
    ]
    return min(scores, default=None)

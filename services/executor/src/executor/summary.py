"""A run in short, for the learner."""

from executor.domain.run import Run
from executor.domain.situation.wording import about
from executor.domain.tasks.tasks import result_of
from rota_common.stores.blobs import Blobs
from rota_contracts.messages.execution import Task, excerpt
from rota_contracts.messages.learning import RunSummary, TaskSummary

OUTPUT_LIMIT = 2000


async def run_summary(run: Run, blobs: Blobs) -> RunSummary:
    """P5's input (LE-01). Also of a run that failed: there is most to learn."""
    execution = run.execution
    return RunSummary(
        role=run.robot.robot_config.identity.role,
        trigger=about(execution.trigger),
        status="failed"
        if execution.error
        else f"nothing to do: {execution.skipped}"
        if execution.skipped
        else "completed",
        error=execution.error,
        goals=execution.goals.content if execution.goals else "",
        tasks=[await _task(run, task, blobs) for task in execution.tasks or []],
        delivered=execution.content.summary if execution.content and execution.delivery else "",
    )


async def _task(run: Run, task: Task, blobs: Blobs) -> TaskSummary:
    result = result_of(run, task.id)
    if result is None:
        return TaskSummary(description=task.description, status="pending")
    output = await blobs.read(result.output) if result.output else ""
    issues = result.validation.issues if result.validation else []
    issues = [*issues, result.error] if result.error and result.error not in issues else issues
    return TaskSummary(
        description=task.description, status=result.status, output=excerpt(output, OUTPUT_LIMIT), issues=issues
    )

"""The summary of a run, for the learner."""

from executor.domain.run import Run
from executor.domain.situation.moment import now_text
from executor.domain.situation.wording import about
from executor.domain.tasks.tasks import result_of
from executor.file_ports import Blobs
from rota_contracts.messages.execution import Task, excerpt
from rota_contracts.messages.learning import RunSummary, TaskSummary

OUTPUT_LIMIT = 2000


async def run_summary(run: Run, blobs: Blobs) -> RunSummary:
    """A run in short, for the learner; failed runs too, which teach the most."""
    execution = run.execution
    status = "failed" if execution.error else "completed"
    if execution.skipped and not execution.error:
        status = f"nothing to do: {execution.skipped}"
    return RunSummary(
        role=run.robot.robot_config.identity.role,
        trigger=about(execution.trigger),
        status=status,
        error=execution.error,
        goals=execution.goals.content if execution.goals else "",
        tasks=[await _task_summary(run, task, blobs) for task in execution.tasks or []],
        delivered=execution.content.summary if execution.content and execution.delivery else "",
        known=[lesson.content for lesson in execution.recalled if not lesson.rehearsed],
        now=now_text(run),
    )


async def _task_summary(run: Run, task: Task, blobs: Blobs) -> TaskSummary:
    result = result_of(run, task.id)
    if result is None:
        return TaskSummary(description=task.description, status="pending")
    output = await blobs.read(result.output) if result.output else ""
    issues = result.validation.issues if result.validation else []
    issues = [*issues, result.error] if result.error and result.error not in issues else issues
    return TaskSummary(
        description=task.description, status=result.status, output=excerpt(output, OUTPUT_LIMIT), issues=issues
    )

"""The instant of a prompt: the newest one that the run itself has stored, so that it is the same when the
prompt is made again."""

from datetime import datetime

from executor.domain.run import Run
from executor.domain.situation.recent import zone_of
from rota_contracts.messages.execution import Task


def moment_of(run: Run, task: Task | None = None) -> datetime:
    """Of a task: when its turn could begin, so that it stays the same through all rounds of the turn."""
    execution = run.execution
    known: list[datetime | None] = [execution.created_at, execution.started_at, run.retry_at]
    known += [phase.started_at for phase in execution.phases]
    known += [each.at for each in execution.interventions]
    for result in execution.results:
        if task is not None and result.task_id == task.id:
            known += [turn.finished_at for turn in result.turns]
        else:
            known.append(result.finished_at)
    return max(instant for instant in known if instant is not None)


def now_text(run: Run, task: Task | None = None) -> str:
    """The date, the time and the zone of the robot."""
    zone = zone_of(run)
    local = moment_of(run, task).astimezone(zone)
    return f"{local:%A}, {local:%Y-%m-%d %H:%M:%S} ({zone.key})"

"""A run as text: what woke it, what it decided, did, delivered and learnt."""

from collections.abc import Iterator

from rota_contracts.execution import Execution, Task, TaskResult
from rota_contracts.text import Text

EXCERPT = 1500


def report(run: Execution) -> Iterator[str]:
    """Line by line; a phase that hasn't happened yet is left out."""
    yield f"execution {run.execution_id}  {run.status.value}  (phase {run.phase.value}, {run.executor_mode.value})"
    yield f"robot     {run.team_id}/{run.member_id}, rev {run.robot_rev}"
    yield f"trigger   {run.trigger.type.value}, {run.trigger.received_at.isoformat(timespec='seconds')}"
    if run.error:
        yield f"error     {run.error}"
    yield from (f"note      {note}" for note in run.notes)
    yield from _section("Recalled", [f"- {lesson.content}" for lesson in run.recalled])
    if run.inspiration is not None:
        yield from _section("P0 Inspiration", run.inspiration.content.splitlines())
    if run.goals is not None:
        yield from _section("P1 Goals", run.goals.content.splitlines())
    yield from _section("P2 Tasks, P3 Run", _tasks(run))
    if run.content is not None:
        yield from _section("P4 Delivery", [run.content.summary, "", *_text(run.content.body).splitlines()])
    if run.delivery is not None:
        yield from _section("Targets", _targets(run))
    if run.learning is not None:
        yield from _section("P5 Learning", _lessons(run))


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield ""
        yield title
        yield from (f"  {line}".rstrip() for line in lines)


def _tasks(run: Execution) -> list[str]:
    results = {result.task_id: result for result in run.results}
    return [line for task in run.tasks or [] for line in _task(task, results.get(task.id))]


def _task(task: Task, result: TaskResult | None) -> list[str]:
    status = result.status.value if result else "pending"
    lines = [f"{task.id} [{status}] {task.description} → {task.executor_type.value} {task.executor_id}"]
    if result is None:
        return lines
    if result.output is not None:
        lines += [f"    {line}" for line in _text(result.output).splitlines()]
    if result.validation is not None:
        verdict = result.validation
        lines.append(f"    verdict: {'passed' if verdict.passed else 'not passed'}, score {verdict.score:.2f}")
        lines += [f"    issue: {issue}" for issue in verdict.issues]
    if result.error:
        lines.append(f"    error: {result.error}")
    return lines


def _targets(run: Execution) -> list[str]:
    delivery = run.delivery
    if delivery is None:
        return []
    lines = [
        f"{'✓' if one.success else '✗'} {one.type.value} {one.target}, attempts {one.attempts}"
        + (f": {one.error}" if one.error else "")
        + ("" if one.final else " (will be tried again)")
        for one in delivery.results
    ]
    return lines or ["none: the robot has no delivery preferences"]


def _lessons(run: Execution) -> list[str]:
    learning = run.learning
    if learning is None:
        return []
    told = [f"{lesson.type.value}: {lesson.content}" for lesson in learning.lessons]
    return told + [line for line in (learning.skipped, learning.error) if line]


def _text(text: Text) -> str:
    if text.inline is None:
        return f"({text.ref.size if text.ref else 0} bytes, in the object store: see --json)"
    return text.inline if len(text.inline) <= EXCERPT else f"{text.inline[:EXCERPT]}… (whole with --json)"

"""A run's tasks as text: the turns with their input, output, tool uses and verdicts."""

import json

from rota.timestamps import duration_text
from rota_contracts.messages.conversation import Round, ToolStatus, ToolUse, Turn
from rota_contracts.messages.execution import Execution, Task, TaskResult
from rota_contracts.messages.text import Text
from rota_contracts.messages.validation import ValidationResult

EXCERPT = 1500
SHORT = 200
MARKS = {
    ToolStatus.COMPLETED: "✓",
    ToolStatus.FAILED: "✗",
    ToolStatus.UNKNOWN: "?",
    ToolStatus.STARTED: "▶",
    ToolStatus.PENDING: "·",
}


def work(run: Execution) -> list[str]:
    """Every task, with its result."""
    results = {result.task_id: result for result in run.results}
    return [line for task in run.tasks or [] for line in _task(task, results.get(task.id))]


def text_of(text: Text) -> str:
    """Its beginning, or a note that it is in the object store."""
    if text.inline is None:
        return f"({text.ref.size if text.ref else 0} bytes, in the object store: see --json)"
    return text.inline if len(text.inline) <= EXCERPT else f"{text.inline[:EXCERPT]}… (full text with --json)"


def _task(task: Task, result: TaskResult | None) -> list[str]:
    status = result.status.value if result else "pending"
    line = f"{task.id} [{status}] {task.description} → {task.executor_type.value} {task.executor_id}"
    if result is None:
        return [line]
    lines = [line + (f", {duration_text(result.started_at, result.finished_at)}" if result.started_at else "")]
    for turn in result.turns:
        lines += _indented(_turn(turn))
    if result.output is not None:
        lines += _indented(text_of(result.output).splitlines())
    last = result.turns[-1].validation if result.turns else None
    if result.validation is not None and result.validation != last:
        lines += _indented(_verdict(result.validation))
    if result.error:
        lines.append(f"    error: {result.error}")
    return lines


def _turn(turn: Turn) -> list[str]:
    """The last turn's output is the task's, which is shown there."""
    lines = [
        f"turn {turn.number}, {duration_text(turn.started_at, turn.finished_at)}"
        + (f": {_short(turn.told)}" if turn.told else "")
    ]
    for number, one in enumerate(turn.rounds, start=1):
        lines += _indented(_round(number, one))
    if turn.validation is not None:
        lines += _indented(_verdict(turn.validation))
    return lines


def _round(number: int, one: Round) -> list[str]:
    text = f": {_short(one.text)}" if one.text else ""
    return [f"round {number}{text}", *_indented([line for use in one.uses for line in _use(use)])]


def _use(use: ToolUse) -> list[str]:
    source = f"{use.server}.{use.tool}" if use.server else "process"
    name = use.name if use.name == source else f"{use.name} ({source})"
    arguments = _short(json.dumps(use.arguments, ensure_ascii=False, default=str))
    line = (
        f"{MARKS[use.status]} {name} {use.status.value}, {duration_text(use.started_at, use.finished_at)}: {arguments}"
    )
    return [line, *([f"    error: {use.error}"] if use.error else [])]


def _verdict(verdict: ValidationResult) -> list[str]:
    lines = [f"verdict: {'passed' if verdict.passed else 'not passed'}, score {verdict.score:.2f}"]
    lines += [f"issue: {issue}" for issue in verdict.issues]
    return lines + ([f"reply: {_short(verdict.reply_content)}"] if verdict.need_reply and verdict.reply_content else [])


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHORT else f"{line[: SHORT - 1]}…"

"""The log of a run: what happened in it, in order, as lines."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from rota.timestamps import duration_text, utc_time
from rota_contracts.messages.conversation import ToolStatus, ToolUse, Turn
from rota_contracts.messages.delivery import DeliveryReply, TargetDetail
from rota_contracts.messages.execution import Execution, TaskResult
from rota_contracts.robots.robot import Phase

TEXT_LIMIT = 200
PHASE_WIDTH = max(len(phase.value) for phase in Phase)


class LogLine(NamedTuple):
    """One event of a run. `phase` is empty for what belongs to none."""

    at: datetime
    phase: str
    text: str

    def __str__(self) -> str:
        return f"{utc_time(self.at)}  {self.phase:<{PHASE_WIDTH}}  {self.text}"


def log_lines(run: Execution, delivery: DeliveryReply | None) -> list[LogLine]:
    """By time; what happened at the same instant in the order of the phases."""
    return sorted(_lines(run, delivery), key=lambda line: line.at)


def _lines(run: Execution, delivery: DeliveryReply | None) -> Iterator[LogLine]:
    yield LogLine(run.created_at, "", f"● requested by {run.trigger.type.value}, robot {run.member_id}")
    within = {
        Phase.RUN: [line for result in run.results for line in _of_task(result)],
        Phase.DELIVERY: [line for target in delivery.targets for line in _of_target(target)] if delivery else [],
    }
    for visit in run.phases:
        yield LogLine(visit.started_at, visit.phase, "▶ begins")
        yield from within.pop(visit.phase, [])
        if visit.finished_at is not None:
            took = duration_text(visit.started_at, visit.finished_at)
            yield LogLine(visit.finished_at, visit.phase, f"✓ ends after {took}")
    for lines in within.values():
        yield from lines
    yield from _of_people(run)
    if run.finished_at is not None:
        yield LogLine(run.finished_at, "", f"■ {run.status.value}{_after_colon(run.error or run.skipped)}")


def _of_people(run: Execution) -> Iterator[LogLine]:
    for each in run.interventions:
        effect = f" → {each.effect}" if each.effect else ""
        yield LogLine(each.at, "", f"☞ {each.action}{_after_colon(each.text)}{effect}")
    if run.question is not None:
        yield LogLine(run.question.asked_at, "", f"? asks a person{_after_colon(run.question.question)}")


def _of_task(result: TaskResult) -> Iterator[LogLine]:
    name = result.task_id
    if result.started_at is not None:
        yield LogLine(result.started_at, Phase.RUN, f"▶ {name} begins")
    for turn in result.turns:
        yield from _of_turn(name, turn)
    if result.finished_at is not None:
        mark = "✗" if result.error else "✓"
        yield LogLine(result.finished_at, Phase.RUN, f"{mark} {name} {result.status.value}{_after_colon(result.error)}")


def _of_turn(task: str, turn: Turn) -> Iterator[LogLine]:
    if turn.number > 1 and turn.started_at is not None:
        yield LogLine(turn.started_at, Phase.RUN, f"▶ {task} turn {turn.number}{_after_colon(turn.told)}")
    for made in turn.rounds:
        for use in made.uses:
            yield from _of_call(task, use)
    verdict = turn.validation
    if verdict is not None and turn.finished_at is not None:
        said = "passed" if verdict.passed else "not passed"
        issues = _after_colon("; ".join(verdict.issues))
        yield LogLine(turn.finished_at, Phase.RUN, f"⚖ {task} {said}, score {verdict.score:.2f}{issues}")


def _of_call(task: str, use: ToolUse) -> Iterator[LogLine]:
    if use.started_at is not None:
        yield LogLine(use.started_at, Phase.RUN, f"· {task} calls {use.name}")
    if use.finished_at is not None:
        mark = "✓" if use.status is ToolStatus.COMPLETED else "✗"
        took = duration_text(use.started_at, use.finished_at)
        text = f"{mark} {task} {use.name} {use.status.value} after {took}{_after_colon(use.error)}"
        yield LogLine(use.finished_at, Phase.RUN, text)


def _of_target(target: TargetDetail) -> Iterator[LogLine]:
    name = f"{target.result.type.value} {target.result.target}"
    for each in target.attempts:
        text = f"✓ {name} delivered" if each.ok else f"✗ {name}{_after_colon(each.error)}"
        yield LogLine(each.at, Phase.DELIVERY, text)
    if target.next_attempt_at is not None:
        yield LogLine(target.next_attempt_at, Phase.DELIVERY, f"… {name}: the next attempt")


def _after_colon(text: str | None) -> str:
    """`: ` and the beginning of the text, on one line; nothing for an empty text."""
    line = " ".join((text or "").split())
    return f": {line if len(line) <= TEXT_LIMIT else line[: TEXT_LIMIT - 1] + '…'}" if line else ""

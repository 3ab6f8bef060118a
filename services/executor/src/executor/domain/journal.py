"""The journal: each change of a run is applied together with its entry, so that a run can be replayed."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic_core import to_jsonable_python

from executor.domain import lifecycle, quarantine
from executor.domain.answers.understand import VERSION
from executor.domain.conversation.chat import Tool
from executor.domain.notes import noted
from executor.domain.outcomes import Outcome, calls_of
from executor.domain.planning.arguments import outline
from executor.domain.quarantine import Decided
from executor.domain.run import JournalEntry, Run
from executor.domain.signals import control
from executor.domain.steps import AskAgent, describe
from executor.domain.tasks.take_over import facts, take_over
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.text import Text
from rota_contracts.messages.usage import ModelCall
from rota_contracts.robots.robot import Phase

SIGNAL, PARKED, GRANTED, TAKEN_OVER, FINISHED = "word", "parked", "granted", "taken over", "finished"
EXPIRED, QUARANTINED, DECIDED = "expired", "quarantined", "decided"
"""Kinds of entries beside the names of outcomes; they are stored, and replays show them."""


def record_outcome(
    run: Run,
    outcome: Outcome,
    *,
    now: datetime,
    step: str = "",
    began: datetime | None = None,
    retry_after: float = 0.0,
    said: Text | None = None,
    tools: Sequence[Tool] = (),
    notes: Sequence[str] = (),
    call: ModelCall | None = None,
) -> Run:
    """`lifecycle.apply`, with an entry; an outcome that the run doesn't wait for leaves none.

    `step`: the one it belongs to, by `describe`; the outcome of another step than the current one comes too late.
    Outcomes that name what they answer need none. `notes` are noted on the execution, each once, and `call` is counted.
    """
    next_step = lifecycle.next_step(run)
    current, planned = describe(next_step), isinstance(next_step, AskAgent) and next_step.phase is Phase.TASKS
    if step and step != current:
        return run
    after = lifecycle.apply(run, outcome, now=now, began=began, retry_after=retry_after)
    if after is run:
        return run
    new_notes = [each for each in notes if each not in after.execution.notes]
    entry = JournalEntry(
        at=now,
        step=current,
        kind=type(outcome).__name__,
        began=began,
        said=said,
        tools=_kept(tools, planned=planned) if said else [],
        data=None if said else to_jsonable_python(outcome),
        notes=new_notes,
        retry_after=retry_after,
        understanding=VERSION if said else 0,
        call=call,
    )
    return _append(_sized(counted(noted(after, new_notes), outcome, call, now=now), said), entry)


def _sized(run: Run, said: Text | None) -> Run:
    size = 0 if said is None else len(said.inline or "") or (said.ref.size if said.ref else 0)
    return run.model_copy(update={"said_bytes": run.said_bytes + size})


def _kept(tools: Sequence[Tool], *, planned: bool) -> list[Any]:
    """Tools, as far as their model's answer is interpreted by them; a plan also by the arguments that they take."""
    return [
        [tool.name, tool.server, tool.tool, tool.idempotent, *([outline(tool)] if planned else [])] for tool in tools
    ]


def counted(run: Run, outcome: Outcome, call: ModelCall | None, *, now: datetime) -> Run:
    """The run with what the outcome's calls of models took: its own, and those of judges and of the learner."""
    calls = [*([call] if call else []), *calls_of(outcome)]
    usage = run.execution.usage
    for each in calls:
        usage = usage.plus(each, day=now.astimezone(UTC).date().isoformat())
    return run.with_execution(usage=usage) if calls else run


def record_signals(run: Run, *, now: datetime) -> Run:
    """Apply all signals of the inbox, with an entry each."""
    for signal in run.inbox:
        step = describe(lifecycle.next_step(run))
        entry = JournalEntry(at=now, step=step, kind=SIGNAL, data={"signal": signal.id})  # the inbox holds it
        run = _append(control.apply_signal(run, signal, now=now), entry)
    return run.model_copy(update={"inbox": []}) if run.inbox else run


def record_parked(run: Run, *, now: datetime) -> Run:
    return _record(run, control.park(run, now=now), PARKED, now)


def record_granted(run: Run, grant: int, *, now: datetime) -> Run:
    return _record(run, control.grant(run, grant, now=now), GRANTED, now, grant)


def record_taken_over(run: Run, *, now: datetime) -> Run:
    known = facts(run)
    return _record(run, take_over(run, known, now=now), TAKEN_OVER, now, known)


def record_expired(run: Run, *, now: datetime) -> Run:
    return _record(run, control.expire(run, now=now), EXPIRED, now)


def record_finished(run: Run, status: ExecStatus, *, now: datetime) -> Run:
    """Quarantine has an entry of its own: a run that ended without one replays without one."""
    run = _record(run, quarantine.hold(run, status, now=now), QUARANTINED, now, status)
    return _record(run, lifecycle.finish(run, status, now=now), FINISHED, now, status)


def record_decided(run: Run, decided: Decided, *, now: datetime) -> Run:
    return _record(run, quarantine.decide(run, decided, now=now), DECIDED, now, decided.model_dump(mode="json"))


def _record(before: Run, after: Run, kind: str, now: datetime, data: Any = None) -> Run:
    if after is before:
        return before
    return _append(after, JournalEntry(at=now, step=describe(lifecycle.next_step(before)), kind=kind, data=data))


def _append(run: Run, entry: JournalEntry) -> Run:
    return run.model_copy(update={"unsaved": [*run.unsaved, entry]})

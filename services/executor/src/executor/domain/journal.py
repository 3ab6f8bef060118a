"""Every change of a run, and its entry in the decision trail: what is applied here can be replayed (F24)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic_core import to_jsonable_python

from executor.domain import lifecycle
from executor.domain.conversation.chat import Tool
from executor.domain.outcomes import Outcome
from executor.domain.run import Run
from executor.domain.signals import control
from executor.domain.steps import describe
from executor.domain.tasks import promised_calls, tasks
from executor.domain.trail import Entry
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.text import Text

WORD, PARKED, GRANTED, TAKEN_OVER, FINISHED = "word", "parked", "granted", "taken over", "finished"
EXPIRED = "expired"


def took(
    run: Run,
    outcome: Outcome,
    *,
    now: datetime,
    of: str = "",
    began: datetime | None = None,
    retry_after: float = 0.0,
    said: Text | None = None,
    tools: Sequence[Tool] = (),
) -> Run:
    """`lifecycle.apply`, noted; an outcome that isn't waited for leaves no trace.

    `of`: the step that it came of, as `describe` says it; of another step than the one in hand it comes too late.
    Outcomes that name what they answer need none.
    """
    step = describe(lifecycle.next_step(run))
    if of and of != step:
        return run
    after = lifecycle.apply(run, outcome, now=now, began=began, retry_after=retry_after)
    if after is run:
        return run
    entry = Entry(
        at=now,
        step=step,
        kind=type(outcome).__name__,
        began=began,
        said=said,
        tools=[[tool.name, tool.server, tool.tool, tool.idempotent] for tool in tools] if said else [],
        data=None if said else to_jsonable_python(outcome),
        retry_after=retry_after,
    )
    size = 0 if said is None else len(said.inline or "") or (said.ref.size if said.ref else 0)
    return _noted(after.model_copy(update={"said_bytes": run.said_bytes + size}), entry)


def heard(run: Run, *, now: datetime) -> Run:
    """All words of the inbox, heeded and noted."""
    for word in run.inbox:
        step = describe(lifecycle.next_step(run))
        entry = Entry(at=now, step=step, kind=WORD, data=word.model_dump(mode="json"))
        run = _noted(control.heed(run, word, now=now), entry)
    return run.model_copy(update={"inbox": []}) if run.inbox else run


def parked(run: Run, *, now: datetime) -> Run:
    return _changed(run, control.parked(run, now=now), PARKED, now)


def granted(run: Run, grant: int, *, now: datetime) -> Run:
    return _changed(run, control.granted(run, grant, now=now), GRANTED, now, grant)


def taken_over(run: Run, *, now: datetime) -> Run:
    spared = promised_calls.known_results(run)
    return _changed(run, tasks.taken_over(run, now=now, spared=spared), TAKEN_OVER, now, spared or None)


def expired(run: Run, *, now: datetime) -> Run:
    return _changed(run, control.expired(run, now=now), EXPIRED, now)


def finished(run: Run, status: ExecStatus, *, now: datetime) -> Run:
    return _changed(run, lifecycle.finish(run, status, now=now), FINISHED, now, status)


def _changed(before: Run, after: Run, kind: str, now: datetime, data: Any = None) -> Run:
    if after is before:
        return before
    return _noted(after, Entry(at=now, step=describe(lifecycle.next_step(before)), kind=kind, data=data))


def _noted(run: Run, entry: Entry) -> Run:
    return run.model_copy(update={"fresh": [*run.fresh, entry]})

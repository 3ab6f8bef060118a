"""The replay of a stored execution against its recorded answers; nothing leaves, nothing changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from executor.domain import journal, lifecycle, phases, quarantine
from executor.domain.conversation.chat import ModelReply, Tool
from executor.domain.notes import noted
from executor.domain.outcome_words import in_words
from executor.domain.outcomes import OUTCOMES, Outcome
from executor.domain.planning.interpret import interpret
from executor.domain.run import JournalEntry, Run, Signal
from executor.domain.signals import control
from executor.domain.steps import AskAgent, RunTurn, describe
from executor.domain.tasks.take_over import take_over
from executor.domain.texts import texts_again
from executor.file_ports import Blobs
from executor.ports import RunQueries
from rota_contracts.messages.execution import ExecStatus, Execution
from rota_contracts.messages.replay import Decision, ReplayExecution, ReplayReply


@dataclass(frozen=True, kw_only=True)
class Replay:
    """Recorded replies of models are interpreted again; all other recorded answers are taken as they are."""

    runs: RunQueries
    blobs: Blobs

    async def __call__(self, request: ReplayExecution) -> ReplayReply:
        stored = await self.runs.find(request.execution_id)
        if stored is None or stored.execution.team_id != request.team_id:
            return ReplayReply(found=False)
        entries = await self.runs.journal(request.execution_id)
        replies = [await self.blobs.read(entry.said) if entry.said else "" for entry in entries]
        return replay(stored, entries, replies, signals=await self.runs.signals(request.execution_id))


def replay(
    stored: Run, entries: Sequence[JournalEntry], replies: Sequence[str], *, signals: Sequence[Signal] = ()
) -> ReplayReply:
    """`replies`: for each entry the model's reply in full, or nothing. `signals`: all that the run has got."""
    inbox = {signal.id: signal for signal in signals}
    execution = stored.execution
    run = phases.begin(
        execution.execution_id,
        execution.trigger,
        stored.robot,
        now=execution.created_at,
        traceparent=stored.traceparent,
        definitions_rev=stored.definitions_rev,
    )
    decisions: list[Decision] = []
    for entry, reply in zip(entries, replies, strict=True):
        step, kind = describe(lifecycle.next_step(run)), entry.kind
        try:
            run, kind, made = _apply(run, entry, reply, inbox)
        except Exception as error:  # whatever it is, it is the difference
            return _differs(decisions, entry, f"{step}: {type(error).__name__}: {error}")
        if (step, kind) != (entry.step, entry.kind):
            return _differs(decisions, entry, f"{step}: {kind}")
        decisions.append(Decision(at=entry.at, step=entry.step, outcome=entry.kind, made=made))
    if difference := first_difference(execution, run.execution):
        return ReplayReply(difference=difference, decisions=decisions)
    return ReplayReply(same=True, decisions=decisions)


def _differs(decisions: list[Decision], entry: JournalEntry, replayed: str) -> ReplayReply:
    decided = Decision(at=entry.at, step=entry.step, outcome=entry.kind, replayed=replayed)
    text = f"it was decided: {entry.step}: {entry.kind}; the replay decides: {replayed}"
    return ReplayReply(difference=text, decisions=[*decisions, decided])


def _apply(run: Run, entry: JournalEntry, reply: str, inbox: Mapping[str, Signal]) -> tuple[Run, str, str]:
    """The run after an entry is applied again, the kind of entry that this makes, and its outcome in words."""
    if (changed := _changed(run, entry, inbox)) is not None:
        after, made = changed
        return after, entry.kind, made
    outcome = _outcome(run, entry, reply)
    after = lifecycle.apply(run, outcome, now=entry.at, began=entry.began, retry_after=entry.retry_after)
    size = len(reply) if entry.said is not None else 0
    after = journal.counted(noted(after, entry.notes), outcome, entry.call, now=entry.at)
    after = after.model_copy(update={"said_bytes": run.said_bytes + size})
    return after, type(outcome).__name__, in_words(outcome)


def _changed(run: Run, entry: JournalEntry, inbox: Mapping[str, Signal]) -> tuple[Run, str] | None:
    """The run after an entry that is no outcome of a step; None for an outcome."""
    at, data = entry.at, entry.data
    match entry.kind:
        case journal.SIGNAL:
            signal = _signal(entry, inbox)
            return control.apply_signal(run, signal, now=at), signal.action
        case journal.PARKED:
            return control.park(run, now=at), ""
        case journal.GRANTED:
            return control.grant(run, int(data), now=at), ""
        case journal.TAKEN_OVER:
            return take_over(run, data, now=at), ""
        case journal.EXPIRED:
            return control.expire(run, now=at), ""
        case journal.QUARANTINED | journal.DECIDED:
            return _quarantined(run, entry)
        case journal.FINISHED:
            return lifecycle.finish(run, ExecStatus(data), now=at), str(data)
    return None


def _quarantined(run: Run, entry: JournalEntry) -> tuple[Run, str]:
    if entry.kind == journal.QUARANTINED:
        return quarantine.hold(run, ExecStatus(entry.data), now=entry.at), ""
    decided = quarantine.Decided.model_validate(entry.data)
    return quarantine.decide(run, decided, now=entry.at), f"{decided.decision} by {decided.by}"


def _signal(entry: JournalEntry, inbox: Mapping[str, Signal]) -> Signal:
    """The signal that an entry names; entries of earlier versions hold it themselves."""
    if "signal" not in entry.data:
        return Signal.model_validate(entry.data)
    return inbox[entry.data["signal"]]


def _outcome(run: Run, entry: JournalEntry, reply: str) -> Outcome:
    if entry.said is None:
        outcome: Outcome = _adapter(entry.kind).validate_python(entry.data)
        return outcome
    step = lifecycle.next_step(run)
    if not isinstance(step, AskAgent | RunTurn):
        raise ValueError(f"a model's answer was recorded where the next step is {describe(step)}")
    tools = [_tool(*kept) for kept in entry.tools]
    said = ModelReply.model_validate_json(reply)
    return interpret(run, step, said, tools, texts_again(run, entry.understanding), version=entry.understanding)


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    """Of one kind of outcome: an adapter takes a millisecond to make."""
    return TypeAdapter(OUTCOMES[kind])


def _tool(name: str, server: str, tool: str, idempotent: bool, parameters: dict[str, Any] | None = None) -> Tool:
    """A tool as an entry keeps it; `parameters` of those that a plan could use."""
    return Tool(name=name, server=server, tool=tool, idempotent=idempotent, parameters=parameters or {})


def first_difference(stored: Execution, replayed: Execution) -> str:
    """The first field in which two executions differ as JSON; empty if they are equal, byte by byte."""
    if stored.model_dump_json() == replayed.model_dump_json():
        return ""
    for name in Execution.model_fields:
        one, other = (each.model_dump_json(include={name}) for each in (stored, replayed))
        if one != other:
            return f"{name}: stored {one[:500]}, replayed {other[:500]}"
    return "the executions differ"

"""The trail of an execution: step by step what the models wrote, and what was made of it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from executor.domain.conversation.chat import ModelReply
from executor.domain.outcomes import OUTCOMES, calls_of
from executor.domain.run import JournalEntry
from executor.file_ports import Blobs
from executor.ports import RunQueries
from executor.reads.replay import replay
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.replay import Decision
from rota_contracts.messages.run_trail import ReadTrail, TrailReply, TrailStep
from rota_contracts.messages.usage import ModelCall

SHORT, WHOLE = 300, 50_000
"""Characters of a model's words in a trail, and in that of one step. An answer stays below a message's limit."""

MOST_STEPS = 150
"""Steps of one answer: the newest."""


@dataclass(frozen=True, kw_only=True)
class ReadSteps:
    """The outcomes are those of a replay, which interprets each answer as the run did."""

    runs: RunQueries
    blobs: Blobs

    async def __call__(self, request: ReadTrail) -> TrailReply:
        stored = await self.runs.find(request.execution_id)
        if stored is None or stored.execution.team_id != request.team_id:
            return TrailReply(found=False)
        entries = await self.runs.journal(request.execution_id)
        replies = [await self.blobs.read(entry.said) if entry.said else "" for entry in entries]
        signals = await self.runs.signals(request.execution_id)
        steps = steps_of(
            entries, replies, replay(stored, entries, replies, signals=signals).decisions, only=request.step
        )
        return TrailReply(steps=steps[-MOST_STEPS:], left_out=max(len(steps) - MOST_STEPS, 0))


def steps_of(
    entries: Sequence[JournalEntry], replies: Sequence[str], decisions: Sequence[Decision], *, only: int | None = None
) -> list[TrailStep]:
    """A step for each entry, or for the one numbered `only`; where the replay stopped, without its outcome in words."""
    made = [decision.made for decision in decisions] + [""] * (len(entries) - len(decisions))
    numbered = enumerate(zip(entries, replies, made, strict=True), start=1)
    return [
        _step(number, entry, reply, words, limit=SHORT if only is None else WHOLE)
        for number, (entry, reply, words) in numbered
        if only in (None, number)
    ]


def _step(number: int, entry: JournalEntry, reply: str, words: str, *, limit: int) -> TrailStep:
    said = ModelReply.model_validate_json(reply) if reply else ModelReply()
    calls = [f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}" for call in said.calls]
    return TrailStep(
        number=number,
        at=entry.at,
        step=entry.step,
        outcome=entry.kind,
        made=words,
        wrote=excerpt(said.text, limit),
        reasoning=excerpt(said.reasoning, limit),
        calls=[excerpt(call, limit) for call in calls[:CALLS]],
        characters=len(said.text),
        call=entry.call,
        asked=asked_of(entry),
    )


def asked_of(entry: JournalEntry) -> list[ModelCall]:
    """Calls of other agents that belong to an entry: judges, the learner."""
    if entry.kind not in ASKING:
        return []
    made: Any = TypeAdapter(OUTCOMES[entry.kind]).validate_python(entry.data)
    return calls_of(made)


ASKING = ("VerdictGiven", "GoalsCompared", "Learnt")
"""Outcomes that other agents' calls belong to."""

CALLS = 3
"""Calls of one answer that a step shows: the outcome names all."""

"""The state of a trigger, as its team may read it."""

from dataclasses import dataclass

from rota_contracts.ids import execution_id
from rota_contracts.messages.execution import ReadTrigger, TriggerReply, TriggerState
from scheduler.domain.batch import StoredTrigger
from scheduler.domain.queue import EntryState
from scheduler.ports import Queue

MESSAGES = {
    EntryState.DUE: "it is due, and is about to be decided about",
    EntryState.QUEUED: "it waits for a free slot",
    EntryState.ADMITTED: "it has its slot and is about to run",
    EntryState.RUNNING: "it runs",
    EntryState.PARKED: "it waits for a person's answer or was paused, and holds no slot meanwhile",
}


@dataclass(frozen=True, kw_only=True)
class FindTrigger:
    queue: Queue

    async def __call__(self, question: ReadTrigger) -> TriggerReply:
        """Its state and execution; `unknown` if the scheduler has not received it yet, or it is another team's."""
        wanted = question.execution_id or execution_id(question.trigger_id)
        stored = (await self.queue.stored([wanted])).get(wanted)
        if stored is None or stored.trigger.team_id != question.team_id:
            return TriggerReply(
                trigger_id=question.trigger_id, state=TriggerState.UNKNOWN, message="not seen by the scheduler (yet)"
            )
        return TriggerReply(
            trigger_id=stored.trigger.trigger_id,
            state=TriggerState.QUEUED if stored.state is EntryState.DUE else TriggerState(stored.state),
            execution_id=None if stored.refusal else wanted,
            status=stored.status,
            message=_message(stored),
            reason=stored.refusal.reason if stored.refusal else None,
            trigger=stored.trigger if question.with_trigger else None,
        )


def _message(stored: StoredTrigger) -> str:
    if stored.refusal is not None:
        return stored.refusal.message
    return f"it has ended: {stored.status}" if stored.state is EntryState.DONE else MESSAGES[stored.state]

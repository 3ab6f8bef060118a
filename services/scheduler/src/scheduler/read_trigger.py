"""How far a trigger has come."""

from rota_contracts.ids import execution_id
from rota_contracts.messages.execution import ReadTrigger, TriggerReply, TriggerState
from scheduler.domain import State
from scheduler.ports import Known, Queue

WORDS = {
    State.DUE: "it is due, and is about to be decided about",
    State.QUEUED: "it waits for a free slot",
    State.ADMITTED: "it has its slot and is about to run",
    State.RUNNING: "it runs",
    State.PARKED: "it waits for a person's answer or was paused, and holds no slot meanwhile",
}


async def read_trigger(question: ReadTrigger, queue: Queue) -> TriggerReply:
    """Its state and execution; `unknown` if it hasn't been seen yet, or is another team's."""
    wanted = question.execution_id or execution_id(question.trigger_id)
    known = (await queue.known([wanted])).get(wanted)
    if known is None or known.trigger.team_id != question.team_id:
        return TriggerReply(
            trigger_id=question.trigger_id, state=TriggerState.UNKNOWN, message="not seen by the scheduler (yet)"
        )
    return TriggerReply(
        trigger_id=known.trigger.trigger_id,
        state=TriggerState.QUEUED if known.state is State.DUE else TriggerState(known.state),
        execution_id=None if known.refusal else wanted,
        status=known.status,
        message=_words(known),
    )


def _words(known: Known) -> str:
    if known.refusal is not None:
        return known.refusal.message
    return f"it has ended: {known.status}" if known.state is State.DONE else WORDS[known.state]

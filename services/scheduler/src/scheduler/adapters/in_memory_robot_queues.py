"""The queue in memory, by robot."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from rota_contracts.messages.goal_merge import ListWaiting, MergeInto, Waiting
from rota_contracts.messages.trigger import ExecutorMode, TriggerReceivedV1
from rota_contracts.roles import least
from scheduler.adapters.in_memory_queue import InMemoryQueue, Row
from scheduler.domain.batch import waiting_of
from scheduler.domain.queue import Entry, EntryState
from scheduler.domain.robot_summary import Key
from scheduler.ports import RobotActivity

HOLDS_SLOT = (EntryState.ADMITTED, EntryState.RUNNING)
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class InMemoryRobotQueues:
    def __init__(self, queue: InMemoryQueue) -> None:
        self._queue = queue
        self._merged: set[tuple[str, str]] = set()

    async def read(self, keys: Sequence[Key]) -> dict[Key, RobotActivity]:
        return {key: self._activity(key) for key in keys}

    async def waiting(self, question: ListWaiting) -> list[Waiting]:
        found = [
            (entry.queued_at, waiting_of(entry.execution_id, row.trigger, entry.queued_at))
            for entry, row in self._first_waiting((question.team_id, question.member_id))
            if row.trigger.executor_mode in (None, ExecutorMode.STANDARD)
        ]
        return [waiting for _, waiting in sorted(found, key=lambda each: each[0])][: question.limit]

    async def merge(self, question: MergeInto) -> bool:
        done = (question.execution_id, question.merge_id)
        key = question.team_id, question.member_id
        waiting = {entry.execution_id: row for entry, row in self._first_waiting(key)}
        row = waiting.get(question.execution_id)
        if row is not None and done not in self._merged:
            self._queue.rows[question.execution_id] = replace(row, trigger=_with_goals(row.trigger, question))
            self._merged.add(done)
        return done in self._merged

    def _of(self, key: Key) -> list[tuple[Entry, Row]]:
        rows = (row for row in self._queue.rows.values() if (row.trigger.team_id, row.trigger.member_id) == key)
        return [(row.entry, row) for row in rows if row.entry is not None]

    def _first_waiting(self, key: Key) -> list[tuple[Entry, Row]]:
        return [(entry, row) for entry, row in self._of(key) if row.state is EntryState.QUEUED and not entry.parks]

    def _activity(self, key: Key) -> RobotActivity:
        rows = sorted(self._of(key), key=lambda each: each[0].queued_at)
        states = [row.state for _, row in rows]
        done = [(row.ended_at or LONG_AGO, entry, row) for entry, row in rows if row.state is EntryState.DONE]
        _, last, last_row = max(done, key=lambda each: each[0], default=(None, None, None))
        return RobotActivity(
            running=[entry.execution_id for entry, row in rows if row.state in HOLDS_SLOT],
            queued=states.count(EntryState.QUEUED),
            parked=states.count(EntryState.PARKED),
            last_run=(last.admitted_at or last.queued_at) if last else None,
            last_status=last_row.status if last_row else None,
        )


def _with_goals(trigger: TriggerReceivedV1, question: MergeInto) -> TriggerReceivedV1:
    content = trigger.model_dump(mode="json") | {"role": least(trigger.highest_role, question.role)}
    content["input"]["messages"] = [*content["input"].get("messages", []), {"role": "user", "content": question.goals}]
    return TriggerReceivedV1.model_validate(content)

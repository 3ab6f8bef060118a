"""Ended triggers in memory."""

from rota_common.page_cursor import PageCursor
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.retry import ListRetryable, Retryable, RetryableStatus
from rota_contracts.messages.trigger import RejectReason
from scheduler.adapters.in_memory_queue import InMemoryQueue, Row
from scheduler.domain.queue import EntryState


class InMemoryEndedTriggers:
    def __init__(self, queue: InMemoryQueue) -> None:
        self._queue = queue

    async def retryable(self, question: ListRetryable, *, after: PageCursor | None) -> list[Retryable]:
        mine = [(each, row) for each, row in self._queue.rows.items() if row.trigger.team_id == question.team_id]
        found = [one for each, row in mine if (one := _retryable(each, row)) and _wanted(one, question)]
        found.sort(key=_cursor)
        return [one for one in found if after is None or _cursor(one) > after][: question.limit]


def _retryable(execution_id: str, row: Row) -> Retryable | None:
    refusal, failed = row.refusal, row.state is EntryState.DONE and row.status is ExecStatus.FAILED
    if row.ended_at is None or not (failed or refusal) or (refusal and refusal.reason is RejectReason.STOPPED):
        return None
    return Retryable(
        execution_id=execution_id,
        member_id=row.trigger.member_id,
        trigger_type=row.trigger.type,
        status=RetryableStatus.FAILED if failed else RetryableStatus.REJECTED,
        ended_at=row.ended_at,
        reason=refusal.reason if refusal else None,
        message=refusal.message if refusal else "",
    )


def _wanted(one: Retryable, question: ListRetryable) -> bool:
    return (
        question.member_id in (None, one.member_id)
        and question.status in (None, one.status)
        and (question.since is None or one.ended_at >= question.since)
        and (question.until is None or one.ended_at < question.until)
    )


def _cursor(one: Retryable) -> PageCursor:
    return PageCursor(one.ended_at, one.execution_id)

"""The executions of a team that can be retried: rejected ones and failed ones, page by page."""

from dataclasses import dataclass

from rota_common.page_cursor import PageCursor, parse_cursor
from rota_contracts.messages.retry import ListRetryable, RetryablePage
from scheduler.ports import EndedTriggers


@dataclass(frozen=True, kw_only=True)
class FindRetryable:
    ended: EndedTriggers

    async def __call__(self, question: ListRetryable) -> RetryablePage:
        """Raises Permanent if `after` is no cursor."""
        found = await self.ended.retryable(question, after=parse_cursor(question.after))
        last = found[-1] if len(found) == question.limit else None
        following = PageCursor(last.ended_at, last.execution_id).text() if last else ""
        return RetryablePage(executions=found, next=following)

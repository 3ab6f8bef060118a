"""Retries a page of rejected and failed executions, each on its own: one that can't run again stops no other."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_contracts.messages.retry import ListRetryable, Retryable
from trigger_gateway.problems import FieldProblem, Invalid, Problem
from trigger_gateway.runs.ports import Schedule
from trigger_gateway.runs.retry_execution import RetryAnswer, RetryExecution, RetryOptions

AT_ONCE = 8


@dataclass(frozen=True)
class RefusedRetry:
    """An execution that was not retried, and why: the code of the problem, and its sentence."""

    execution: Retryable
    code: str
    message: str


@dataclass(frozen=True)
class RetriedExecution:
    execution: Retryable
    answer: RetryAnswer


@dataclass(frozen=True)
class RetryPage:
    """In the order of their ends. `next` is empty on the last page."""

    retried: tuple[RetriedExecution, ...]
    refused: tuple[RefusedRetry, ...]
    next: str


@dataclass(frozen=True)
class PageMark:
    """A place in a range of retries. `until` was set with the first page: what is retried and rejected meanwhile is
    not met again, or a walk over pages would have no end."""

    until: datetime
    after: str = ""

    @classmethod
    def parse(cls, text: str) -> "PageMark":
        """Raises Invalid."""
        until, _, after = text.partition("~")
        try:
            parsed = datetime.fromisoformat(until)
            at = parsed.astimezone(UTC) if parsed.tzinfo else None
        except (ValueError, OverflowError):
            at = None
        if at is None or not after:
            problem = FieldProblem("after", "expected it as the next of an earlier answer")
            raise Invalid("invalid_request", "the request is not valid", fields=[problem])
        return cls(at, after)

    def __str__(self) -> str:
        return f"{self.until.isoformat()}~{self.after}"


@dataclass(frozen=True, kw_only=True)
class RetryExecutions:
    schedule: Schedule
    retry: RetryExecution
    clock: Clock

    async def __call__(self, wanted: ListRetryable, how: RetryOptions) -> RetryPage:
        """`wanted.after` is the `next` of the page before."""
        now = self.clock()
        mark = PageMark.parse(wanted.after) if wanted.after else PageMark(min(wanted.until or now, now))
        page = await self.schedule.retryable(wanted.model_copy(update={"until": mark.until, "after": mark.after}))
        turns = asyncio.Semaphore(AT_ONCE)

        async def one(execution: Retryable) -> RetriedExecution | RefusedRetry:
            async with turns:
                return await self._one(wanted.team_id, execution, how)

        done = await asyncio.gather(*(one(each) for each in page.executions))
        return RetryPage(
            retried=tuple(each for each in done if isinstance(each, RetriedExecution)),
            refused=tuple(each for each in done if isinstance(each, RefusedRetry)),
            next=str(PageMark(mark.until, page.next)) if page.next else "",
        )

    async def _one(self, team: str, execution: Retryable, how: RetryOptions) -> RetriedExecution | RefusedRetry:
        try:
            return RetriedExecution(execution, await self.retry(team, execution.execution_id, how))
        except Problem as problem:
            return RefusedRetry(execution, problem.code, problem.message)
        except Transient as error:
            return RefusedRetry(execution, "unavailable", str(error))

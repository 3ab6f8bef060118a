"""Retries of executions: the question which of a team's runs can be retried."""

from pydantic import Field

from rota_contracts.model import Instant, Name, Part
from rota_contracts.run_status import RetryableStatus as RetryableStatus


class ListRetryable(Part):
    """Request to the scheduler: list executions that were rejected or have failed, the earliest first; those that a
    person stopped are not among them. `after` is the `next` of the page before."""

    team_id: Name
    member_id: Name | None = None
    status: RetryableStatus | None = None
    since: Instant | None = Field(default=None, description="rejected or failed at this instant or later")
    until: Instant | None = Field(default=None, description="rejected or failed before this instant")
    limit: int = Field(default=100, ge=1, le=100)
    after: str = ""


class Retryable(Part):
    """An execution that was rejected or has failed; `message` is why it was rejected."""

    execution_id: str
    member_id: Name
    trigger_type: str
    status: RetryableStatus
    ended_at: Instant
    reason: str | None = None
    message: str = ""


class RetryablePage(Part):
    """One page; `next` is empty on the last one."""

    executions: list[Retryable]
    next: str = ""

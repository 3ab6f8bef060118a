"""The port to what waits for a person's decision: calls that need approval, results in quarantine."""

from typing import Protocol

from executor.domain.run import Run
from rota_common.page_cursor import PageCursor
from rota_contracts.messages.approval import ApprovalPage, ListApprovals
from rota_contracts.messages.quarantine import ListQuarantine, QuarantinePage


class DecisionQueries(Protocol):
    """Stored runs by what people decide about."""

    async def quarantine(self, wanted: ListQuarantine, *, after: PageCursor | None) -> QuarantinePage:
        """Results in quarantine, those of the newest runs first."""
        ...

    async def by_quarantined(self, quarantine_id: str) -> tuple[Run, int] | None:
        """The run with this result in its quarantine, which is over, and the epoch to `release` it under."""
        ...

    async def by_approval(self, approval_id: str) -> Run | None:
        """The run whose call waits for this approval, or has waited."""
        ...

    async def pending_approvals(self, wanted: ListApprovals, *, after: PageCursor | None) -> ApprovalPage:
        """Of runs that aren't over, the oldest first."""
        ...

"""Pages of approvals, the oldest first."""

from rota_common.page_cursor import PageCursor
from rota_contracts.messages.approval import Approval, ListApprovals


def asked_at(approval: Approval) -> PageCursor:
    """Its place: a database keeps instants to the millisecond."""
    at = approval.asked_at
    return PageCursor(at.replace(microsecond=at.microsecond // 1000 * 1000), approval.approval_id)


def is_wanted(approval: Approval, wanted: ListApprovals) -> bool:
    return wanted.member_id in (None, approval.member_id) and wanted.execution_id in (None, approval.execution_id)

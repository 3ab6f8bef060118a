"""An executor with approvals of the team acme, as the test gives it, over the bus in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from rota_common.bus.router import Router
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_contracts.catalog import DECIDE_APPROVAL, LIST_APPROVALS, READ_APPROVAL
from rota_contracts.messages.approval import (
    Approval,
    ApprovalPage,
    ApprovalReply,
    ApprovalRequestedV1,
    ApprovalStatus,
    DecideApproval,
    Decision,
    ListApprovals,
    ReadApproval,
)

from .stand_ins import answering

SHA, OTHER_SHA = "8f" * 32, "0a" * 32
DRAFT = {
    "approval_id": "a1",
    "member_id": "leader",
    "execution_id": "e1",
    "task_id": "task-1",
    "tool": "crm.delete_lead",
    "arguments": '{"id":"<L-1042>"}',
    "arguments_sha256": SHA,
}


def approval(**fields: Any) -> Approval:
    now = datetime.now(UTC)
    return Approval.model_validate(DRAFT | {"asked_at": now, "expires_at": now + timedelta(days=3)} | fields)


def requested(waiting: Approval, manager: str | None = "ann", robot: str = "Lead Processor") -> ApprovalRequestedV1:
    return ApprovalRequestedV1(
        team_id="acme", member_id=waiting.member_id, approval=waiting, robot=robot, manager_id=manager
    )


@dataclass
class Executor:
    """`decisions` are those that it was asked for."""

    has: dict[str, Approval] = field(default_factory=dict)
    decisions: list[DecideApproval] = field(default_factory=list)

    @asynccontextmanager
    async def running(self, bus: InMemoryBus) -> AsyncIterator["Executor"]:
        router = Router()
        router.answer(LIST_APPROVALS, self._list)
        router.answer(READ_APPROVAL, self._read)
        router.answer(DECIDE_APPROVAL, self._decide)
        async with answering("executor", bus, router):
            yield self

    async def _list(self, asked: ListApprovals) -> ApprovalPage:
        found = [each for each in self._of(asked.team_id) if each.status is ApprovalStatus.PENDING]
        found = [each for each in found if asked.member_id in (None, each.member_id)]
        found = [each for each in found if asked.execution_id in (None, each.execution_id)]
        start = int(asked.cursor or 0)
        more = str(start + asked.limit) if len(found) > start + asked.limit else None
        return ApprovalPage(approvals=found[start : start + asked.limit], cursor=more)

    async def _read(self, asked: ReadApproval) -> ApprovalReply:
        return ApprovalReply(approval=self.has.get(asked.approval_id) if asked.team_id == "acme" else None)

    async def _decide(self, wanted: DecideApproval) -> ApprovalReply:
        self.decisions.append(wanted)
        found = self.has.get(wanted.approval_id) if wanted.team_id == "acme" else None
        if found is None:
            return ApprovalReply()
        status = ApprovalStatus.DENIED if wanted.decision is Decision.DENY else ApprovalStatus.APPROVED
        if found.arguments_sha256 != wanted.arguments_sha256:
            return ApprovalReply(approval=found, refused="the call has other arguments")
        if found.status is not ApprovalStatus.PENDING:
            repeated = found.status is status and found.decided_by == wanted.by
            refused = "" if repeated else f"it is {found.status} already"
            return ApprovalReply(approval=found, refused=refused, repeated=repeated)
        given = {"status": status, "decided_by": wanted.by, "decided_at": datetime.now(UTC), "note": wanted.note}
        self.has[wanted.approval_id] = found.model_copy(update=given)
        return ApprovalReply(approval=self.has[wanted.approval_id])

    def _of(self, team: str) -> list[Approval]:
        return list(self.has.values()) if team == "acme" else []

"""Approvals that people list, read and decide through the API."""

from dataclasses import dataclass

from rota_contracts.messages.approval import (
    Approval,
    ApprovalPage,
    ApprovalReply,
    DecideApproval,
    ListApprovals,
    ReadApproval,
)
from trigger_gateway.approvals.ports import Approvals
from trigger_gateway.problems import Conflict, NotFound


@dataclass(frozen=True)
class Decided:
    """`repeated`: the same decision was taken before."""

    approval: Approval
    repeated: bool = False


@dataclass(frozen=True, kw_only=True)
class DecideApprovals:
    approvals: Approvals

    async def page(self, asked: ListApprovals) -> ApprovalPage:
        return await self.approvals.page(asked)

    async def read(self, team: str, approval_id: str) -> Approval:
        """Raise NotFound if the team has none of this id."""
        return _found(await self.approvals.read(ReadApproval(team_id=team, approval_id=approval_id)), approval_id)

    async def decide(self, decision: DecideApproval) -> Decided:
        """Raise NotFound, or Conflict if the decision has no effect: it is decided, its time is over, or the arguments
        are others."""
        reply = await self.approvals.decide(decision)
        if reply.refused:
            raise Conflict("not_decided", reply.refused)
        return Decided(_found(reply, decision.approval_id), reply.repeated)


def _found(reply: ApprovalReply, approval_id: str) -> Approval:
    if reply.approval is None:
        raise NotFound("approval_not_found", f"the team has no approval {approval_id}")
    return reply.approval

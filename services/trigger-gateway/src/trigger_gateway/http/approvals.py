"""Approvals: calls that wait for a person, listed, read and decided."""

from typing import Annotated

from fastapi import Path, Query
from pydantic import BaseModel, Field

from rota_contracts.messages.approval import Approval, DecideApproval, Decision, ListApprovals, Sha256
from rota_contracts.model import Name
from trigger_gateway.audit.entry import ADMINISTRATOR
from trigger_gateway.http.auth_routes import CallerDep, team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.strict import Strict

router = team_router("approvals")

ApprovalId = Annotated[str, Path(min_length=1, max_length=200)]


class WaitingCalls(BaseModel):
    """The oldest first. Continue with `cursor` = `next`, until `next` is empty."""

    approvals: list[Approval]
    next: str = Field(description="empty on the last page")


class NewDecision(Strict):
    """`arguments_sha256` is that of the approval as it was read: the decision holds for exactly these arguments."""

    decision: Decision
    arguments_sha256: Sha256
    note: str = Field(default="", max_length=500, description="for the robot: with a denial, why")


class DecidedView(Approval):
    """The approval as it is now. `repeated`: the same decision was taken before."""

    decision: Decision
    repeated: bool = False


@router.get("/approvals", summary="List the calls that wait for an approval")
async def list_approvals(
    team: Name,
    use: UseCasesDep,
    member_id: Name | None = None,
    execution_id: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    after: Annotated[str, Query(max_length=1000, description="`next` of the page before")] = "",
    cursor: Annotated[str, Query(max_length=1000, deprecated=True, description="`after` by its old name")] = "",
) -> WaitingCalls:
    asked = ListApprovals(
        team_id=team, member_id=member_id, execution_id=execution_id, limit=limit, cursor=after or cursor or None
    )
    page = await use.approvals.page(asked)
    return WaitingCalls(approvals=page.approvals, next=page.cursor or "")


@router.get("/approvals/{approval_id}", summary="Read an approval, decided or not")
async def read_approval(team: Name, approval_id: ApprovalId, use: UseCasesDep) -> Approval:
    return await use.approvals.read(team, approval_id)


@router.post("/approvals/{approval_id}", summary="Approve or deny a call with exactly these arguments")
async def decide_approval(
    team: Name, approval_id: ApprovalId, body: NewDecision, use: UseCasesDep, caller: CallerDep
) -> DecidedView:
    """409 if it is decided already, if its time is over, or if the arguments are others. `always`: further calls of
    this tool in the same run don't wait either, but for those of `always_ask`."""
    wanted = DecideApproval(
        team_id=team,
        approval_id=approval_id,
        arguments_sha256=body.arguments_sha256,
        decision=body.decision,
        by=caller.key_id or ADMINISTRATOR,
        note=body.note,
    )
    decided = await use.approvals.decide(wanted)
    return DecidedView.model_validate(
        {**decided.approval.model_dump(), "decision": body.decision, "repeated": decided.repeated}
    )

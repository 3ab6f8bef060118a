"""Approvals: calls of tools and processes that wait for a person's yes."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from rota_contracts.model import Instant, Name, Part, Payload

SUMMARY_LIMIT = 4_000
"""Characters of a call's arguments that people are shown."""

Sha256 = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]


class ApprovalStatus(StrEnum):
    """`expired`: denied, because its time was over. `withdrawn`: its task or its run ended."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class Decision(StrEnum):
    """`always`: approved, and so are further calls of this tool in the same run, but for those of `always_ask`."""

    APPROVE = "approve"
    DENY = "deny"
    ALWAYS = "always"


class Approval(Part):
    """One call that waits for a person. `arguments_sha256` is of the canonical JSON (RFC 8785) of all its arguments: a
    decision holds for exactly these."""

    approval_id: str
    member_id: Name
    execution_id: str
    task_id: str
    tool: str = Field(description="a process, a built-in tool, or server.tool")
    arguments: str = Field(default="", max_length=SUMMARY_LIMIT, description="JSON, without secrets, cut if it is long")
    arguments_sha256: Sha256
    reason: str = Field(default="", description="why it waits")
    asked_at: Instant
    expires_at: Instant
    status: ApprovalStatus = ApprovalStatus.PENDING
    decided_by: str = Field(default="", description="the id of a key or a member; empty if a time was over")
    decided_at: Instant | None = None
    note: str = Field(default="", max_length=500, description="what the one who decided said")


class ApprovalRequestedV1(Payload):
    """Published when a call waits for a person's approval. `manager_id` is the member whom the robot reports to."""

    approval: Approval
    robot: str = Field(default="", description="the robot's display name")
    manager_id: str | None = None


class ApprovalDecidedV1(Payload):
    """Published when an approval isn't pending any more."""

    approval: Approval


class ListApprovals(Part):
    """Request to the executor: the pending approvals of a team, the oldest first."""

    team_id: Name
    member_id: Name | None = None
    execution_id: str | None = None
    limit: int = Field(default=50, ge=1, le=200)
    cursor: str | None = None


class ApprovalPage(Part):
    """The pending approvals of one page."""

    approvals: list[Approval] = []
    cursor: str | None = Field(default=None, description="of the next page; null = the last one")


class ReadApproval(Part):
    """Request to the executor: one approval, decided or not."""

    team_id: Name
    approval_id: str = Field(min_length=1, max_length=200)


class ApprovalReply(Part):
    """`approval` null: there is none of this id. `refused`: why a decision has no effect. `repeated`: the same decision
    was taken before."""

    approval: Approval | None = None
    refused: str = ""
    repeated: bool = False


class DecideApproval(Part):
    """Request to the executor: decide about exactly these arguments."""

    team_id: Name
    approval_id: str = Field(min_length=1, max_length=200)
    arguments_sha256: Sha256
    decision: Decision
    by: str = Field(min_length=1, max_length=200)
    note: str = Field(default="", max_length=500)

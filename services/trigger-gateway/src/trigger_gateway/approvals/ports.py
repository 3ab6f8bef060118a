"""Ports of approvals: the executor that keeps them, the notices about them, the signatures of links."""

from typing import Protocol

from rota_contracts.envelope import Event
from rota_contracts.messages.approval import ApprovalPage, ApprovalReply, DecideApproval, ListApprovals, ReadApproval
from rota_contracts.messages.notice import NoticeRequestedV1
from rota_contracts.model import Payload


class Approvals(Protocol):
    """Each method raises Transient when the executor does not answer."""

    async def page(self, asked: ListApprovals) -> ApprovalPage: ...

    async def read(self, asked: ReadApproval) -> ApprovalReply: ...

    async def decide(self, decision: DecideApproval) -> ApprovalReply: ...


class NoticeRequests(Protocol):
    async def request(self, notice: NoticeRequestedV1, *, caused_by: Event[Payload]) -> None:
        """Publish it; the same cause is the same fact however often. Raise Transient when NATS is away."""
        ...


class LinkSigner(Protocol):
    """Signatures with a key of their own use, derived from the master key."""

    def sign(self, text: str) -> str | None:
        """None if there is no key."""
        ...

    def signed(self, text: str, signature: str) -> bool:
        """Compares in constant time; with a key from before, too."""
        ...

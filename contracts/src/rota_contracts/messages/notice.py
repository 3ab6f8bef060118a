"""Notices: messages to a member about a robot, sent by the delivery-center for the gateway."""

from enum import StrEnum

from pydantic import Field

from rota_contracts.messages.approval import Sha256
from rota_contracts.model import Instant, Name, Part, Payload
from rota_contracts.robots.preferences import NoticeWebhook

TEXT_LIMIT = 20_000


class NoticeKind(StrEnum):
    """The cause of a notice, and the `type` of its webhook."""

    APPROVAL = "approval.requested"
    QUESTION = "question.asked"
    FAILED = "robot.failed"
    RECOVERED = "robot.recovered"


class NoticeRequestedV1(Payload):
    """Published when a member is to get a mail, and perhaps a webhook, about a robot. No address is in it.

    Nor is a link. The delivery-center asks the gateway for them when it sends the notice.
    """

    notice_id: str = Field(description="derived from the cause: the mail's Message-ID, and the webhook's id")
    kind: NoticeKind | None = Field(default=None, description="null: of an earlier version, for mail alone")
    execution_id: str = ""
    recipient: Name = Field(description="the member who gets the notice")
    subject: str = Field(max_length=200)
    text: str = Field(max_length=TEXT_LIMIT, description="markdown")
    approval_id: str | None = Field(default=None, description="of the call that the mail is about")
    arguments_sha256: Sha256 | None = None
    until: Instant | None = Field(default=None, description="after this it isn't sent any more")


class ReadRecipient(Part):
    """Request to the gateway: where a notice goes, and how it ends."""

    team_id: Name
    member_id: Name = Field(description="the robot")
    recipient: Name
    approval_id: str | None = None
    arguments_sha256: Sha256 | None = None
    until: Instant | None = None


class RecipientReply(Part):
    """`email` null: the team has no such member any more. `webhook`: where the member gets notices,
    too. `closing` is the end of the text: it may hold a link that is
    for this member alone, so it is kept nowhere."""

    email: str | None = None
    webhook: NoticeWebhook | None = None
    closing: str = Field(default="", repr=False, description="markdown")

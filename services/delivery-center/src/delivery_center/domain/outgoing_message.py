"""Outgoing messages: what a channel sends to one target, and the attachments in it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rota_contracts.messages.attachment import StoredAttachment, attachment_path
from rota_contracts.messages.delivery import Attachment, DeliveryContent, DeliveryContext
from rota_contracts.messages.notice import NoticeRequestedV1
from rota_contracts.robots.robot import Robot

STORED_FIELDS = {"name", "content_type", "size", "sha256"}


@dataclass(frozen=True, slots=True)
class ResolvedAttachment:
    """An attachment of a result with its stored file; `missing` is why there is none."""

    attachment: Attachment
    stored: StoredAttachment | None = None
    missing: str = ""

    def as_json(self) -> dict[str, Any]:
        """For webhooks and processes; `href` is the gateway's path of a stored file."""
        described, stored = self.attachment.model_dump(mode="json"), self.stored
        if stored is None:
            return described
        known = stored.model_dump(mode="json", include=STORED_FIELDS)
        return described | known | {"href": attachment_path(stored.team_id, stored.file_id)}


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """The content of one attempt. `at` is its instant, `created_at` that of the delivery. `notice`: it is one,
    and no result."""

    delivery_id: str
    request_id: str
    at: datetime
    created_at: datetime
    content: DeliveryContent
    body: str
    context: DeliveryContext
    robot: Robot
    traceparent: str = ""
    attachments: tuple[ResolvedAttachment, ...] = ()
    replay_of: str | None = None
    notice: NoticeRequestedV1 | None = None

    def for_programs(self) -> dict[str, Any]:
        """The content of a result, as webhooks and processes get it; what its owner didn't ask for isn't there."""
        content: dict[str, Any] = {
            "summary": self.content.summary,
            "body": self.body,
            "attachments": [each.as_json() for each in self.attachments],
        }
        if self.content.result is not None:
            content["result"] = self.content.result
        if self.content.tasks:
            content["tasks"] = [task.model_dump(mode="json") for task in self.content.tasks]
        return content

"""The files that go with a result: what is known of each, and how programs are told of them (DC-04)."""

from collections.abc import Sequence
from typing import Any

from delivery_center.ports import Files, OutgoingMessage, ResolvedAttachment
from rota_contracts.messages.attachment import ALIASES, attachment_path, parse
from rota_contracts.messages.delivery import Attachment

TOLD = {"name", "content_type", "size", "sha256"}


async def resolve_attachments(
    files: Files, team: str, attachments: Sequence[Attachment]
) -> tuple[ResolvedAttachment, ...]:
    """Each attachment with what is kept of it, or why there is nothing. Only files of the team itself are looked for.

    Raises Transient when nobody can say.
    """
    return tuple([await _resolve(files, team, attachment) for attachment in attachments])


async def _resolve(files: Files, team: str, attachment: Attachment) -> ResolvedAttachment:
    uploader, file_id, _ = parse(attachment.file)
    if uploader not in ALIASES:
        return ResolvedAttachment(attachment, missing=f"it is kept by {uploader}, and not here")
    stored = await files.find(team, file_id)
    if stored is None:
        return ResolvedAttachment(attachment, missing="there is no such file, or it is too old")
    return ResolvedAttachment(attachment, stored)


def named(outgoing: OutgoingMessage) -> list[dict[str, Any]]:
    """The attachments as programs are told of them; `href` is the gateway's path of a file that is kept here."""
    return [_named(resolved) for resolved in outgoing.attachments]


def _named(resolved: ResolvedAttachment) -> dict[str, Any]:
    published, stored = resolved.attachment.model_dump(mode="json"), resolved.stored
    if stored is None:
        return published
    known = stored.model_dump(mode="json", include=TOLD)
    return published | known | {"href": attachment_path(stored.team_id, stored.file_id)}

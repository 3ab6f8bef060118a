"""Attachments of a result, resolved to their stored files."""

from collections.abc import Sequence

from delivery_center.domain.outgoing_message import ResolvedAttachment
from delivery_center.ports import Files
from rota_contracts.messages.attachment import ALIASES, parse
from rota_contracts.messages.delivery import Attachment


async def resolve_attachments(
    files: Files, team: str, attachments: Sequence[Attachment]
) -> tuple[ResolvedAttachment, ...]:
    """Each attachment with its stored file, or the reason why it has none. Only files of the team are found.

    Raises Transient when the store is unavailable.
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

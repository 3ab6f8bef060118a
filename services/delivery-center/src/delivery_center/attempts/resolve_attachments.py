"""The files that go with a result: what is known of each, and how programs are told of them (DC-04)."""

from collections.abc import Sequence
from typing import Any

from delivery_center.ports import Enclosure, Files, Parcel
from rota_contracts.messages.attachment import ALIASES, attachment_path, parse
from rota_contracts.messages.delivery import Attachment

TOLD = {"name", "content_type", "size", "sha256"}


async def enclosures(files: Files, team: str, attachments: Sequence[Attachment]) -> tuple[Enclosure, ...]:
    """Each attachment with what is kept of it, or why there is nothing. Only files of the team itself are looked for.

    Raises Transient when nobody can say.
    """
    return tuple([await _enclosure(files, team, attachment) for attachment in attachments])


async def _enclosure(files: Files, team: str, attachment: Attachment) -> Enclosure:
    uploader, file_id, _ = parse(attachment.file)
    if uploader not in ALIASES:
        return Enclosure(attachment, missing=f"it is kept by {uploader}, and not here")
    stored = await files.find(team, file_id)
    if stored is None:
        return Enclosure(attachment, missing="there is no such file, or it is too old")
    return Enclosure(attachment, stored)


def named(parcel: Parcel) -> list[dict[str, Any]]:
    """The attachments as programs are told of them; `href` is the gateway's path of a file that is kept here."""
    return [_named(enclosure) for enclosure in parcel.enclosures]


def _named(enclosure: Enclosure) -> dict[str, Any]:
    told, stored = enclosure.attachment.model_dump(mode="json"), enclosure.stored
    if stored is None:
        return told
    known = stored.model_dump(mode="json", include=TOLD)
    return told | known | {"href": attachment_path(stored.team_id, stored.file_id)}

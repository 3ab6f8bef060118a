"""The files of a mail: as many as fit, and the reason for each one left out."""

from base64 import b64encode, encodebytes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import default
from secrets import token_bytes

from delivery_center.domain.outgoing_message import ResolvedAttachment
from delivery_center.ports import Files
from rota_common.errors import Permanent
from rota_contracts.messages.attachment import StoredAttachment
from rota_contracts.messages.delivery import Attachment

MB = 1_000_000
END = b"\r\n"
LINE = 57
"""Bytes in a line of base64."""

CHUNK = LINE * 1024
OTHER = ("application", "octet-stream")


@dataclass(frozen=True)
class Packed:
    """An attachment of a mail; `left_out` says why it has no content."""

    attachment: Attachment
    stored: StoredAttachment | None = None
    content: bytes = b""
    left_out: str = ""

    @property
    def note(self) -> str:
        """For the reader of the mail."""
        if self.stored is None or self.left_out:
            return f"not attached: {self.left_out}"
        return self.stored.name


def room_for(attachments: Sequence[ResolvedAttachment], *, limit: int) -> int:
    """Bytes of the files that `pack` may read."""
    return min(limit, sum(each.stored.size for each in attachments if each.stored))


async def pack(files: Files, attachments: Sequence[ResolvedAttachment], *, limit: int) -> list[Packed]:
    """In their order, up to `limit` bytes of content. Raises Transient when a file can't be read now."""
    packed, room = list[Packed](), limit
    for resolved in attachments:
        packed.append(await _packed(files, resolved, room, limit))
        room -= len(packed[-1].content)
    return packed


async def _packed(files: Files, resolved: ResolvedAttachment, room: int, limit: int) -> Packed:
    attachment, stored = resolved.attachment, resolved.stored
    if stored is None:
        return Packed(attachment, left_out=resolved.missing)
    if stored.size > room:
        text = f"it has {_size(stored.size)}, and a mail takes {_size(limit)} of files; it is {stored.file}"
        return Packed(attachment, stored, left_out=text)
    try:
        return Packed(attachment, stored, await files.content(stored))
    except Permanent as error:
        return Packed(attachment, stored, left_out=str(error))


def _size(count: int) -> str:
    return f"{count / MB:.1f} MB" if count >= MB else f"{count / 1000:.1f} kB"


def attach(message: EmailMessage, packed: Packed) -> bytes:
    """Attach it with a placeholder for its content. The encoded placeholder; empty if it is left out."""
    if packed.stored is None or packed.left_out:
        return b""
    (maintype, subtype), charset = _type(packed.stored.content_type)
    params = {"charset": charset} if charset else None
    placeholder = token_bytes(LINE)
    message.add_attachment(placeholder, maintype=maintype, subtype=subtype, filename=packed.stored.name, params=params)
    return b64encode(placeholder) + END


def encoded(content: bytes) -> Iterator[bytes]:
    """Base64 in lines, chunk by chunk."""
    for start in range(0, len(content), CHUNK):
        yield encodebytes(content[start : start + CHUNK]).replace(b"\n", END)


def encoded_size(content: bytes) -> int:
    return -(-len(content) // 3) * 4 + -(-len(content) // LINE) * len(END)


def _type(content_type: str) -> tuple[tuple[str, str], str | None]:
    """Main type, subtype and charset. A message or a multipart can't be sent encoded as a file is."""
    header = default.header_factory("Content-Type", content_type)
    if header.maintype in ("message", "multipart") or header.defects:
        return OTHER, None
    return (header.maintype, header.subtype), header.params.get("charset")

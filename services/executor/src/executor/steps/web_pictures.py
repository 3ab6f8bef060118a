"""Pictures of the web, which people name in their messages: each is fetched once for a run, and kept as an attachment.

So every prompt of the run shows the same picture, whatever its address has meanwhile, and after a crash too.
"""

from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from executor.file_ports import Files, WebPictures
from rota_contracts.ids import derived_id
from rota_contracts.messages.attachment import StoredAttachment

NAME_LIMIT = 80


@dataclass(frozen=True, kw_only=True)
class KeepPictures:
    """`kept` finds or fetches the picture of an address; it is counted in the team's share."""

    files: Files
    web: WebPictures

    async def kept(self, url: str, *, team: str, run_id: str, limit: int) -> StoredAttachment:
        file_id = derived_id("web picture", run_id, url).replace("-", "")
        if (there := await self.files.find(team, file_id)) is not None:
            return there
        found = await self.web.fetch(url, limit=limit)
        return await self.files.keep(team, file_id, picture_name(url), found.content_type, found.content)


def picture_name(url: str) -> str:
    """The last part of the path, else the host; never the query, which may hold a key."""
    try:
        parts = urlsplit(url)
        name = PurePosixPath(unquote(parts.path)).name or parts.hostname or ""
    except ValueError:
        name = ""
    plain = "".join(each if each.isalnum() or each in "._-" else "-" for each in name)
    return plain[:NAME_LIMIT].strip("-.") or "picture"

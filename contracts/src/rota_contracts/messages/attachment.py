"""Attachments: files of a result in the object store, named by a wrapper `__<uploader>://<fileID>`."""

import re
from typing import NamedTuple

from pydantic import Field

from rota_contracts.model import Instant, Name, Part

UPLOADER = "rota.attachment"
ALIASES = (UPLOADER, "yao.attachment")
"""The uploader of files that Rota stores, and an alias of it."""

_WRAPPER = re.compile(r"__(?P<uploader>[A-Za-z0-9_.-]+)://(?P<file_id>.+)")
FILE_ID = r"^[A-Za-z0-9_-]{8,64}$"


class Wrapper(NamedTuple):
    """A parsed value. If it is no wrapper, `file_id` is the whole value."""

    uploader: str
    file_id: str
    is_wrapper: bool


def parse(value: str) -> Wrapper:
    """Parse `__<uploader>://<fileID>`."""
    found = _WRAPPER.fullmatch(value)
    return Wrapper(found["uploader"], found["file_id"], True) if found else Wrapper("", value, False)


def attachment_path(team: str, file_id: str) -> str:
    """The gateway's path of the file."""
    return f"/v1/teams/{team}/attachments/{file_id}"


def wrap(file_id: str) -> str:
    return f"__{UPLOADER}://{file_id}"


def object_name(team: str, file_id: str) -> str:
    """The object's name in the bucket. No two teams can share one."""
    return f"{team}/{file_id}"


class StoredAttachment(Part):
    """The metadata of a stored file. `size` in bytes, `sha256` in hexadecimal."""

    file_id: str = Field(pattern=FILE_ID)
    team_id: Name
    name: str = Field(min_length=1, max_length=200, description="the file name for recipients")
    content_type: str = Field(default="application/octet-stream", max_length=200)
    size: int = Field(ge=0)
    sha256: str
    created_at: Instant

    @property
    def file(self) -> str:
        """The wrapper that names the file in a result."""
        return wrap(self.file_id)


class ReserveAttachment(Part):
    """Request to the gateway, before a service stores a file of a team: count it in the team's share. Repeated with
    the same `file_id` it is counted once. `size` in bytes."""

    team_id: Name
    file_id: str = Field(pattern=FILE_ID)
    size: int = Field(ge=0)


class ReserveReply(Part):
    """The answer to a reservation; empty where the file is counted."""

    refused: str = Field(default="", description="why the team has no room for it")

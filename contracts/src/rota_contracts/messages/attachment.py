"""Files that go with a result (DC-04, DC-05): by a wrapper `__<uploader>://<fileID>`, in the object store."""

import re
from typing import NamedTuple

from pydantic import Field

from rota_contracts.model import Instant, Name, Part

UPLOADER = "rota.attachment"
ALIASES = (UPLOADER, "yao.attachment")
"""The uploader of the files that Rota itself keeps, and the documents' own name for it."""

_WRAPPER = re.compile(r"__(?P<uploader>[A-Za-z0-9_.-]+)://(?P<file_id>.+)")
FILE_ID = r"^[A-Za-z0-9_-]{8,64}$"


class Wrapper(NamedTuple):
    """What `parse` finds. Without a wrapper, `file_id` is the whole value."""

    uploader: str
    file_id: str
    is_wrapper: bool


def parse(value: str) -> Wrapper:
    """(uploader, file id, whether it is a wrapper) of `__<uploader>://<fileID>`."""
    found = _WRAPPER.fullmatch(value)
    return Wrapper(found["uploader"], found["file_id"], True) if found else Wrapper("", value, False)


def attachment_path(team: str, file_id: str) -> str:
    """Where the gateway gives it out."""
    return f"/v1/teams/{team}/attachments/{file_id}"


def wrap(file_id: str) -> str:
    return f"__{UPLOADER}://{file_id}"


def object_name(team: str, file_id: str) -> str:
    """Where the bucket keeps it; a name of another team can't be made of this one's."""
    return f"{team}/{file_id}"


class StoredAttachment(Part):
    """What is known of a file that is kept. `size` in bytes, `sha256` in hexadecimal."""

    file_id: str = Field(pattern=FILE_ID)
    team_id: Name
    name: str = Field(min_length=1, max_length=200, description="for the people who receive it")
    content_type: str = Field(default="application/octet-stream", max_length=200)
    size: int = Field(ge=0)
    sha256: str
    created_at: Instant

    @property
    def file(self) -> str:
        """The wrapper that names it in a result."""
        return wrap(self.file_id)

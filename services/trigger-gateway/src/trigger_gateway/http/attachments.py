"""Attachments: files that are uploaded, named in a result, and downloaded."""

import re
from typing import Annotated, Any, Self
from urllib.parse import quote

from fastapi import Path, Query, Request, Response
from pydantic import AfterValidator, BaseModel, Field
from starlette.responses import StreamingResponse

from rota_contracts.messages.attachment import FILE_ID, StoredAttachment
from rota_contracts.model import Instant, Name
from trigger_gateway.http.auth_routes import team_router
from trigger_gateway.http.dependencies import UseCasesDep, page_cursor
from trigger_gateway.problems import FieldProblem, Invalid

router = team_router("attachments")

DEFAULT_TYPE = "application/octet-stream"
_TOKEN = r"[A-Za-z0-9!#$&^_.+-]+"  # noqa: S105  # a piece of a pattern, and no password
_TYPE = re.compile(rf"{_TOKEN}/{_TOKEN}( *;[ -~]*)?")
_PLAIN = re.compile(r"[A-Za-z0-9._ -]")

BINARY = {"schema": {"type": "string", "format": "binary"}}
CONTENT = {"requestBody": {"required": True, "content": {DEFAULT_TYPE: BINARY}}}
FILE: dict[int | str, dict[str, Any]] = {200: {"description": "the file", "content": {DEFAULT_TYPE: BINARY}}}


def _file_name(name: str) -> str:
    if not name.isprintable() or not name.strip(". ") or {"/", "\\"} & set(name):
        raise ValueError("expected the name of a file: printable characters, no / and no \\")
    return name


FileName = Annotated[
    str,
    Query(min_length=1, max_length=200, description="for the people who receive it"),
    AfterValidator(_file_name),
]
FileId = Annotated[str, Path(pattern=FILE_ID)]


class AttachmentView(BaseModel):
    """`file` names it in a result."""

    file_id: str
    file: str
    name: str
    content_type: str
    size: int
    sha256: str

    @classmethod
    def of(cls, stored: StoredAttachment) -> Self:
        return cls(file=stored.file, **stored.model_dump(include=set(cls.model_fields)))


class ListedAttachment(AttachmentView):
    created_at: Instant


class AttachmentPage(BaseModel):
    """A page may have fewer files than the limit: `next` says whether there are more."""

    attachments: list[ListedAttachment]
    next: str = Field(description="empty on the last page")


@router.post("/attachments", status_code=201, summary="Upload a file: its content is the body", openapi_extra=CONTENT)
async def put_attachment(team: Name, name: FileName, request: Request, use: UseCasesDep) -> AttachmentView:
    """Each upload is a new file, stored for 90 days. The size of the body is limited (413), and so is what a team may
    keep (409); a body that doesn't announce its length must have room for the largest one."""
    content_type = request.headers.get("content-type") or DEFAULT_TYPE
    if not _TYPE.fullmatch(content_type) or len(content_type) > 200:
        problem = FieldProblem("Content-Type", "expected a type like text/csv, of at most 200 characters")
        raise Invalid("invalid_request", "the request is not valid", fields=[problem])
    length = request.headers.get("content-length", "")
    announced = int(length) if length.isdigit() else None
    stored = await use.attachments.put(team, name, content_type, request.stream(), announced=announced)
    return AttachmentView.of(stored)


@router.get("/attachments", summary="List the files, newest first")
async def list_attachments(
    team: Name,
    use: UseCasesDep,
    limit: Annotated[int, Query(ge=1, le=100)] = 50,
    after: Annotated[str, Query(max_length=500, description="`next` of the page before")] = "",
) -> AttachmentPage:
    """Those that people have uploaded, and those that runs have made."""
    found, following = await use.attachments.page(team, after=page_cursor(after), limit=limit)
    return AttachmentPage(attachments=[ListedAttachment.of(each) for each in found], next=following)


@router.get("/attachments/{file_id}", summary="Download a file", response_class=StreamingResponse, responses=FILE)
async def get_attachment(team: Name, file_id: FileId, use: UseCasesDep) -> StreamingResponse:
    """The ETag is the SHA-256 of the content. A response that is cut off means that the file is damaged."""
    stored = await use.attachments.find(team, file_id)
    headers = {
        "content-type": stored.content_type,
        "content-length": str(stored.size),
        "content-disposition": _disposition(stored.name),
        "etag": f'"{stored.sha256}"',
        "x-content-type-options": "nosniff",  # a browser saves it as its declared type and runs nothing
    }
    return StreamingResponse(use.attachments.files.read(stored), headers=headers)


@router.delete("/attachments/{file_id}", status_code=204, summary="Delete a file")
async def delete_attachment(team: Name, file_id: FileId, use: UseCasesDep) -> Response:
    """A result that names it is delivered without it from now on, and says so."""
    await use.attachments.delete(team, file_id)
    return Response(status_code=204)


def _disposition(name: str) -> str:
    """A download under its name: in ASCII for old clients, exact for others (RFC 6266)."""
    plain = "".join(character if _PLAIN.match(character) else "_" for character in name)
    exactly = "" if plain == name else f"; filename*=UTF-8''{quote(name, safe='')}"
    return f'attachment; filename="{plain}"{exactly}'

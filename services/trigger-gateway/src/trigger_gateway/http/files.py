"""A robot's files: its workspace, which people may read and change."""

from typing import Annotated, Any

from fastapi import Header, Path, Query, Request, Response
from pydantic import BaseModel

from rota_contracts.catalog import DELETE_FILE, LIST_FILES, READ_FILE, WRITE_FILE
from rota_contracts.messages.workspace import (
    FILE_LIMIT,
    PATH_LIMIT,
    DeleteFile,
    FileInfo,
    FileRefusal,
    FileReply,
    ListFiles,
    ReadFile,
    WorkspacePath,
    WriteFile,
)
from rota_contracts.model import Name
from trigger_gateway import rpc
from trigger_gateway.http.auth_routes import team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.problems import Conflict, FieldProblem, Invalid, NotFound, ShareUsed, TooLarge
from trigger_gateway.robots.find_robot import find_robot

router = team_router("files")

TEXT = "text/plain; charset=utf-8"
CONTENT = {"requestBody": {"required": True, "content": {"text/plain": {"schema": {"type": "string"}}}}}
FILE: dict[int | str, dict[str, Any]] = {
    200: {"description": "the file", "content": {"text/plain": {"schema": {"type": "string"}}}}
}

FilePath = Annotated[WorkspacePath, Path(description="like memory/2026-11-23.md")]
IfMatch = Annotated[str | None, Header(description="only if the file has this ETag")]
IfNoneMatch = Annotated[str | None, Header(description="*: only if there is no such file")]


class FileListing(BaseModel):
    """All files of a robot, or those below a folder, by path."""

    files: list[FileInfo]


@router.get("/robots/{member}/files", summary="List a robot's files")
async def list_files(
    team: Name,
    member: Name,
    use: UseCasesDep,
    folder: Annotated[str, Query(max_length=PATH_LIMIT, description="only those below it")] = "",
) -> FileListing:
    await find_robot(use.view_robots.records, team, member)
    found = await rpc.call(use.ask, LIST_FILES, ListFiles(team_id=team, member_id=member, folder=folder))
    return FileListing(files=found.files)


@router.get("/robots/{member}/files/{path:path}", summary="Read a file", response_class=Response, responses=FILE)
async def read_file(team: Name, member: Name, path: FilePath, use: UseCasesDep) -> Response:
    """The ETag is the SHA-256 of the content."""
    await find_robot(use.view_robots.records, team, member)
    read = await rpc.call(use.ask, READ_FILE, ReadFile(team_id=team, member_id=member, path=path))
    file = done(read)
    headers = {"etag": f'"{file.etag}"', "x-content-type-options": "nosniff"}
    return Response((read.content or "").encode(), media_type=TEXT, headers=headers)


@router.put("/robots/{member}/files/{path:path}", summary="Write a file: its text is the body", openapi_extra=CONTENT)
async def write_file(
    team: Name,
    member: Name,
    path: FilePath,
    request: Request,
    use: UseCasesDep,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> FileInfo:
    """An existing file is replaced, unless a header forbids it (409)."""
    await find_robot(use.view_robots.records, team, member)
    wanted = WriteFile(
        team_id=team,
        member_id=member,
        path=path,
        content=text_of(await request.body()),
        etag="" if if_none_match == "*" else etag_of(if_match),
    )
    return done(await rpc.call(use.ask, WRITE_FILE, wanted))


@router.delete("/robots/{member}/files/{path:path}", status_code=204, summary="Delete a file")
async def delete_file(team: Name, member: Name, path: FilePath, use: UseCasesDep, if_match: IfMatch = None) -> Response:
    await find_robot(use.view_robots.records, team, member)
    wanted = DeleteFile(team_id=team, member_id=member, path=path, etag=etag_of(if_match))
    done(await rpc.call(use.ask, DELETE_FILE, wanted))
    return Response(status_code=204)


def text_of(body: bytes) -> str:
    if len(body) > FILE_LIMIT:
        raise TooLarge("file_too_large", f"expected at most {FILE_LIMIT} bytes, got {len(body)}")
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        problem = FieldProblem("body", f"expected text in UTF-8: byte {error.start} is none; other files: attachments")
        raise Invalid("invalid_request", "the request is not valid", fields=[problem]) from error


def etag_of(header: str | None) -> str | None:
    return None if header in (None, "*") else header.removeprefix("W/").strip('"')


def done(reply: FileReply) -> FileInfo:
    """The file. Raises the problem of a refusal."""
    match reply.refused:
        case FileRefusal.NOT_FOUND:
            raise NotFound("file_not_found", reply.reason)
        case FileRefusal.NO_ROBOT:
            raise NotFound("robot_not_found", reply.reason)
        case FileRefusal.CHANGED:
            raise Conflict("file_changed", reply.reason)
        case FileRefusal.FULL:
            raise ShareUsed("workspace_full", reply.reason)
        case FileRefusal.TOO_LARGE:
            raise TooLarge("file_too_large", reply.reason)
    if reply.file is None:
        raise Invalid("not_text", reply.reason)
    return reply.file

"""The files that a person has with an agent: read, written and deleted by that person, or by an admin."""

from typing import Annotated

from fastapi import Path, Query, Request, Response
from pydantic import BaseModel

from rota_contracts.agent_ids import platform_name
from rota_contracts.catalog import DELETE_FILE, LIST_FILES, READ_FILE, WRITE_FILE
from rota_contracts.messages.workspace import (
    PERSONAL_FILES,
    USER_FILE,
    DeleteFile,
    FileInfo,
    ListFiles,
    ReadFile,
    WriteFile,
)
from rota_contracts.model import Name
from trigger_gateway import rpc
from trigger_gateway.http.auth_routes import CallerDep, team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.http.files import CONTENT, FILE, TEXT, IfMatch, IfNoneMatch, done, etag_of, text_of
from trigger_gateway.problems import FieldProblem, Invalid, NotFound
from trigger_gateway.use_cases import UseCases

router = team_router("files")

Agent = Annotated[str, Path(max_length=200, pattern=r"^[^/\s]+$", description="its id, as in the list of agents")]
PersonalFile = Annotated[str, Path(max_length=200, description=f"one of {', '.join(PERSONAL_FILES)}")]
Member = Annotated[Name | None, Query(description="for admins: the person; without it, that of the key")]


class PersonFileList(BaseModel):
    """What a person has with an agent, by path."""

    member_id: str
    files: list[FileInfo]


class PersonFile(FileInfo):
    """A file that was written, and whose it is."""

    member_id: str


@router.get("/agents/{agent}/files", summary="List the files that a person has with an agent")
async def list_agent_files(
    team: Name, agent: Agent, use: UseCasesDep, caller: CallerDep, member: Member = None
) -> PersonFileList:
    person = await use.people.person_of.whose(team, caller, member)
    wanted = ListFiles(team_id=team, member_id=person, agent_id=platform_name(agent))
    return PersonFileList(member_id=person, files=(await rpc.call(use.ask, LIST_FILES, wanted)).files)


@router.get(
    "/agents/{agent}/files/{path:path}",
    summary="Read a file that a person has with an agent",
    response_class=Response,
    responses=FILE,
)
async def read_agent_file(
    team: Name, agent: Agent, path: PersonalFile, use: UseCasesDep, caller: CallerDep, member: Member = None
) -> Response:
    """The ETag is the SHA-256 of the content."""
    person = await use.people.person_of.whose(team, caller, member)
    wanted = ReadFile(team_id=team, member_id=person, agent_id=platform_name(agent), path=_known(path))
    read = await rpc.call(use.ask, READ_FILE, wanted)
    headers = {"etag": f'"{done(read).etag}"', "x-content-type-options": "nosniff"}
    return Response((read.content or "").encode(), media_type=TEXT, headers=headers)


@router.put(
    "/agents/{agent}/files/{path:path}",
    summary="Write a file that a person has with an agent: its text is the body",
    openapi_extra=CONTENT,
)
async def write_agent_file(
    team: Name,
    agent: Agent,
    path: PersonalFile,
    request: Request,
    use: UseCasesDep,
    caller: CallerDep,
    member: Member = None,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> PersonFile:
    """An existing file is replaced, unless a header forbids it (409)."""
    person, text = await use.people.person_of.whose(team, caller, member), text_of(await request.body())
    wanted = WriteFile(
        team_id=team,
        member_id=person,
        agent_id=await _agent_of(use, team, agent, path),
        path=path,
        content=text,
        etag="" if if_none_match == "*" else etag_of(if_match),
    )
    use.call_agent.guard.check(team, [agent], text)
    written = done(await rpc.call(use.ask, WRITE_FILE, wanted))
    if await use.people.person_of.members.find(team, person) is None:  # removed meanwhile: so is what was written
        async with use.people.end_files(team, person=person):
            raise NotFound("member_not_found", f"team {team} has no member {person} any more")
    return PersonFile(member_id=person, **dict(written))


@router.delete(
    "/agents/{agent}/files/{path:path}", status_code=204, summary="Delete a file that a person has with an agent"
)
async def delete_agent_file(
    team: Name,
    agent: Agent,
    path: PersonalFile,
    request: Request,
    use: UseCasesDep,
    caller: CallerDep,
    member: Member = None,
    if_match: IfMatch = None,
) -> Response:
    person = await use.people.person_of.whose(team, caller, member)
    request.state.on = {"member_id": person}
    wanted = DeleteFile(
        team_id=team, member_id=person, agent_id=platform_name(agent), path=_known(path), etag=etag_of(if_match)
    )
    done(await rpc.call(use.ask, DELETE_FILE, wanted))
    return Response(status_code=204)


async def _agent_of(use: UseCases, team: str, agent: str, path: str) -> str:
    """The id of the team's agent with which a person may have this file."""
    card = await use.offered.find.agent(team, platform_name(agent))
    if card.context == "open":
        _known(path)
    elif path != USER_FILE:
        text = f"expected {USER_FILE}, which people have of their own with agent {card.id}; others: with an open agent"
        raise _invalid(text)
    return card.id


def _known(path: str) -> str:
    if path not in PERSONAL_FILES:
        raise _invalid(f"expected one of {', '.join(PERSONAL_FILES)}")
    return path


def _invalid(text: str) -> Invalid:
    return Invalid("invalid_request", "the request is not valid", fields=[FieldProblem("path", text)])

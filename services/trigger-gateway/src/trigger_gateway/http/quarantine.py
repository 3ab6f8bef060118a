"""The quarantine: results that failed validation, to be looked at, released or dropped."""

from typing import Annotated

from fastapi import Body, Path, Query
from pydantic import Field

from rota_common.redaction import model_without_credentials
from rota_contracts.catalog import DECIDE_QUARANTINED, LIST_QUARANTINE, READ_QUARANTINED
from rota_contracts.messages.quarantine import (
    NOTE_LIMIT,
    DecideQuarantined,
    ListQuarantine,
    Quarantined,
    QuarantineDecision,
    QuarantinePage,
    QuarantineReply,
    QuarantineStatus,
    ReadQuarantined,
)
from rota_contracts.model import Name
from trigger_gateway import rpc
from trigger_gateway.audit.entry import ADMINISTRATOR
from trigger_gateway.http.auth_routes import CallerDep, team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.problems import Conflict, NotFound
from trigger_gateway.strict import Strict
from trigger_gateway.teams.authenticate import Caller
from trigger_gateway.use_cases import UseCases

router = team_router("quarantine")

QuarantineId = Annotated[str, Path(min_length=1, max_length=200, description="as in the list of the quarantine")]


class Note(Strict):
    note: str = Field(default="", max_length=NOTE_LIMIT, description="stored with the decision")


OptionalNote = Annotated[Note | None, Body()]


class QuarantinedView(Quarantined):
    """`output` is cut at 100,000 characters."""

    output: str
    cut: bool


@router.get("/quarantine", summary="List the results in quarantine, those of the newest runs first")
async def list_quarantine(
    team: Name,
    use: UseCasesDep,
    member_id: Name | None = None,
    execution_id: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
    status: QuarantineStatus | None = None,
    limit: Annotated[int, Query(ge=1, le=100, description="of runs")] = 50,
    after: Annotated[str, Query(max_length=500, description="`next` of the page before")] = "",
) -> QuarantinePage:
    question = ListQuarantine(
        team_id=team, member_id=member_id, execution_id=execution_id, status=status, limit=limit, after=after
    )
    return model_without_credentials(await rpc.call(use.ask, LIST_QUARANTINE, question, show_reason=True))


@router.get("/quarantine/{quarantine_id}", summary="Read a result in quarantine: its output, score and issues")
async def read_quarantined(team: Name, quarantine_id: QuarantineId, use: UseCasesDep) -> QuarantinedView:
    question = ReadQuarantined(team_id=team, quarantine_id=quarantine_id)
    read = await rpc.call(use.ask, READ_QUARANTINED, question)
    found = _found(read, team, quarantine_id)
    return model_without_credentials(QuarantinedView(**found.model_dump(), output=read.output, cut=read.cut))


@router.post("/quarantine/{quarantine_id}/release", summary="Release a result: it is delivered to the robot's targets")
async def release_quarantined(
    team: Name, quarantine_id: QuarantineId, use: UseCasesDep, caller: CallerDep, body: OptionalNote = None
) -> Quarantined:
    """The first decision counts. A repeat delivers nothing again."""
    return await _decide(use, team, quarantine_id, caller, QuarantineDecision.RELEASE, body)


@router.post("/quarantine/{quarantine_id}/drop", summary="Drop a result: it is never delivered")
async def drop_quarantined(
    team: Name, quarantine_id: QuarantineId, use: UseCasesDep, caller: CallerDep, body: OptionalNote = None
) -> Quarantined:
    """The first decision counts."""
    return await _decide(use, team, quarantine_id, caller, QuarantineDecision.DROP, body)


async def _decide(
    use: UseCases, team: str, quarantine_id: str, caller: Caller, decision: QuarantineDecision, body: Note | None
) -> Quarantined:
    by, note = caller.key_id or ADMINISTRATOR, body.note if body else ""
    question = DecideQuarantined(team_id=team, quarantine_id=quarantine_id, decision=decision, by=by, note=note)
    reply = await rpc.call(use.ask, DECIDE_QUARANTINED, question)
    found = _found(reply, team, quarantine_id)
    if reply.refused:
        raise Conflict("already_decided", reply.refused)
    return model_without_credentials(found)


def _found(reply: QuarantineReply, team: str, quarantine_id: str) -> Quarantined:
    if reply.result is None:
        text = f"team {team} has no result {quarantine_id} in quarantine: it never existed, or has expired"
        raise NotFound("quarantined_not_found", text)
    return reply.result

"""The dead letters, for the administrator."""

from typing import Annotated

from fastapi import Path, Query
from pydantic import BaseModel

from rota_common.bus import dead_letters
from rota_common.bus.dead_letters import DeadLetter, RedriveInterrupted
from rota_common.errors import Permanent
from trigger_gateway.http.auth_routes import admin_router
from trigger_gateway.http.dependencies import UseCasesDep, jetstream_of
from trigger_gateway.problems import Conflict, NotFound

router = admin_router("dead letters")

Seq = Annotated[int, Path(ge=1, le=2**63)]
Force = Annotated[bool, Query(description="also if an earlier redrive was interrupted and may have published it")]


class DeadLetters(BaseModel):
    dead: list[DeadLetter]


@router.get("/dead", summary="List dead letters, oldest first")
async def list_dead(use: UseCasesDep, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> DeadLetters:
    return DeadLetters(dead=await dead_letters.listed(jetstream_of(use), limit=limit))


@router.get("/dead/{seq}", summary="Read a dead letter")
async def read_dead(seq: Seq, use: UseCasesDep) -> DeadLetter:
    return _found(await dead_letters.find(jetstream_of(use), seq), seq)


@router.post("/dead/{seq}/redrive", summary="Redrive a dead letter to its stream")
async def redrive_dead(seq: Seq, use: UseCasesDep, force: Force = False) -> DeadLetter:
    try:
        return _found(await dead_letters.redrive(jetstream_of(use), seq, force=force), seq)
    except RedriveInterrupted as error:
        raise Conflict("redrive_interrupted", str(error)) from error
    except Permanent as error:
        raise Conflict("payload_left_out", str(error)) from error


def _found(letter: DeadLetter | None, seq: int) -> DeadLetter:
    if letter is None:
        raise NotFound("dead_letter_not_found", f"there is no dead letter {seq}: it may have been redriven already")
    return letter

"""Calls of agents that are under way, and their abortion: each caller gets an error at once."""

from typing import Annotated

from fastapi import Path, Query

from rota_contracts.catalog import ABORT_CALLS, LIST_CALLS
from rota_contracts.messages.agent import AbortCalls, AbortedCalls, CallList, ListCalls
from rota_contracts.model import Name
from trigger_gateway import rpc
from trigger_gateway.http.auth_routes import team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.problems import NotFound

router = team_router("agents")

ChatId = Annotated[str, Query(min_length=1, max_length=200, description="only those of this chat")]


@router.get("/calls", summary="List the calls of agents that are under way, the newest first")
async def list_calls(team: Name, use: UseCasesDep, chat_id: ChatId | None = None) -> CallList:
    """Calls by the API, by MCP and by messages; not those in the course of a robot's run."""
    return await rpc.call(use.ask, LIST_CALLS, ListCalls(team_id=team, chat_id=chat_id))


@router.delete("/calls/{call_id}", summary="Abort a call of an agent")
async def abort_call(
    team: Name, call_id: Annotated[str, Path(max_length=200, description="its id, as in the list")], use: UseCasesDep
) -> AbortedCalls:
    done = await rpc.call(use.ask, ABORT_CALLS, AbortCalls(team_id=team, call_id=call_id))
    if not done.aborted:
        raise NotFound("call_not_found", f"no call {call_id} of this team is under way: it is over, or never was")
    return done


@router.delete("/calls", summary="Abort all calls of agents in a chat")
async def abort_calls(team: Name, chat_id: ChatId, use: UseCasesDep) -> AbortedCalls:
    """Succeeds if there is none."""
    return await rpc.call(use.ask, ABORT_CALLS, AbortCalls(team_id=team, chat_id=chat_id))

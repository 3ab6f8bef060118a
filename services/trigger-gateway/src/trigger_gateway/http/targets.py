"""The places that a team's results go to: which are unwell, and switching them off and on."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Body, Path
from pydantic import BaseModel, Field

from rota_contracts.catalog import LIST_TARGETS, SWITCH_TARGET
from rota_contracts.messages.targets import ListTargets, SwitchTarget, TargetHealth
from rota_contracts.model import Name
from trigger_gateway import rpc
from trigger_gateway.http.auth_routes import team_router
from trigger_gateway.http.dependencies import Strict, UseCasesDep
from trigger_gateway.problems import NotFound

router = team_router("targets")

TargetId = Annotated[str, Path(min_length=1, max_length=200, description="as in a delivery, or in the list of targets")]

SUMMARIES = {
    "enable": "Send to a place again: what it missed meanwhile can be replayed",
    "disable": "Send nothing to a place any more: its deliveries fail at once",
}


class SwitchReason(Strict):
    reason: str = Field(default="", max_length=500, description="told to whoever looks why")


class TargetList(BaseModel):
    """A place that is well isn't kept, so it isn't here."""

    targets: list[TargetHealth]


@router.get("/targets", summary="List the places that are failing or disabled")
async def list_targets(team: Name, use: UseCasesDep) -> TargetList:
    return TargetList(targets=(await rpc.call(use.ask, LIST_TARGETS, ListTargets(team_id=team))).targets)


def switching(*, enabled: bool) -> Callable[..., Awaitable[TargetList]]:
    async def switch(
        team: Name, target_id: TargetId, use: UseCasesDep, body: Annotated[SwitchReason | None, Body()] = None
    ) -> TargetList:
        word = SwitchTarget(team_id=team, target_id=target_id, enabled=enabled, reason=(body or SwitchReason()).reason)
        answer = await rpc.call(use.ask, SWITCH_TARGET, word)
        if answer.refused:
            raise NotFound("target_not_found", answer.refused)
        return TargetList(targets=[each for each in answer.targets if each.target_id == target_id])

    return switch


for verb, summary in SUMMARIES.items():
    router.add_api_route(
        f"/targets/{{target_id}}/{verb}",
        switching(enabled=verb == "enable"),
        methods=["POST"],
        summary=summary,
        name=f"{verb}_target",
    )

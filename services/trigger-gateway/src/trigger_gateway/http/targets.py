"""Delivery targets of a team: those that are failing, and disabling and enabling them."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Body, Path
from pydantic import BaseModel, Field

from rota_contracts.catalog import LIST_TARGETS, SWITCH_TARGET
from rota_contracts.messages.targets import ListTargets, SwitchTarget, TargetHealth
from rota_contracts.model import Name
from trigger_gateway import rpc
from trigger_gateway.http.auth_routes import team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.problems import NotFound
from trigger_gateway.strict import Strict

router = team_router("targets")

TargetId = Annotated[str, Path(min_length=1, max_length=200, description="as in a delivery, or in the list of targets")]

SUMMARIES = {
    "enable": "Enable a target: deliveries that it missed can be replayed",
    "disable": "Disable a target: deliveries to it fail at once",
}


class SwitchReason(Strict):
    reason: str = Field(default="", max_length=500, description="shown with the target")


class TargetList(BaseModel):
    """Failing and disabled targets; healthy ones are not listed."""

    targets: list[TargetHealth]


@router.get("/targets", summary="List the targets that are failing or disabled")
async def list_targets(team: Name, use: UseCasesDep) -> TargetList:
    return TargetList(targets=(await rpc.call(use.ask, LIST_TARGETS, ListTargets(team_id=team))).targets)


def switching(*, enabled: bool) -> Callable[..., Awaitable[TargetList]]:
    async def switch(
        team: Name, target_id: TargetId, use: UseCasesDep, body: Annotated[SwitchReason | None, Body()] = None
    ) -> TargetList:
        request = SwitchTarget(
            team_id=team, target_id=target_id, enabled=enabled, reason=(body or SwitchReason()).reason
        )
        answer = await rpc.call(use.ask, SWITCH_TARGET, request)
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

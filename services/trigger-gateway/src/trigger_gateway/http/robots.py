"""The life of robots: create, read, replace, change, delete (TG-17)."""

from typing import Annotated, Any

from fastapi import Body, Query, Request, Response
from pydantic import BaseModel

from rota_contracts.model import Name
from rota_contracts.robot import Robot, RobotDefinition
from trigger_gateway.http.guarded import team_router
from trigger_gateway.http.headers import idempotency_key
from trigger_gateway.http.parts import PartsDep
from trigger_gateway.problems import no_robot

router = team_router("robots")

Raw = Annotated[dict[str, Any], Body()]


class RobotPage(BaseModel):
    """`total` counts all pages."""

    robots: list[Robot]
    total: int
    page: int
    page_size: int


def _takes(*, required: bool) -> dict[str, Any]:
    """How such a body is documented; it is read strictly, by the contract itself, which FastAPI wouldn't do."""
    schema = RobotDefinition.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs")
    if not required:
        schema.pop("required")
        schema["properties"]["robot_status"] = {"type": "string", "enum": ["idle", "paused", "maintenance"]}
    return {"requestBody": {"content": {"application/json": {"schema": schema}}}}


@router.post("/robots", status_code=201, summary="Create a robot", openapi_extra=_takes(required=True))
async def create_robot(team: Name, body: Raw, request: Request, parts: PartsDep) -> Robot:
    return await parts.save_robot.create(team, body, key=idempotency_key(request.headers))


@router.get("/robots", summary="List the robots")
async def list_robots(
    team: Name,
    parts: PartsDep,
    page: Annotated[int, Query(ge=1, le=100_000)] = 1,
    page_size: Annotated[int, Query(ge=1, le=100)] = 10,
) -> RobotPage:
    robots, total = await parts.robots.page(team, page=page, page_size=page_size)
    return RobotPage(robots=robots, total=total, page=page, page_size=page_size)


@router.get("/robots/{member}", summary="Read a robot")
async def read_robot(team: Name, member: Name, parts: PartsDep) -> Robot:
    record = await parts.robots.find(team, member)
    if record is None or record.robot.deleted:
        raise no_robot(team, member)
    return record.robot


@router.put("/robots/{member}", summary="Replace a robot's definition", openapi_extra=_takes(required=True))
async def replace_robot(team: Name, member: Name, body: Raw, parts: PartsDep) -> Robot:
    return await parts.save_robot.replace(team, member, body)


@router.patch(
    "/robots/{member}", summary="Change top-level fields, or robot_status", openapi_extra=_takes(required=False)
)
async def change_robot(team: Name, member: Name, body: Raw, parts: PartsDep) -> Robot:
    robot = await parts.save_robot.change(team, member, body)
    if "robot_status" in body:
        await parts.control_robots.forget(team, member)
    return robot


@router.delete("/robots/{member}", status_code=204, summary="Delete a robot: its executions are stopped")
async def delete_robot(team: Name, member: Name, parts: PartsDep) -> Response:
    await parts.save_robot.delete(team, member)
    return Response(status_code=204)

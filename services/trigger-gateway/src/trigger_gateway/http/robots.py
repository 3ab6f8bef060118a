"""Robots: create, read, replace, change, delete, and their states."""

from typing import Annotated, Any

from fastapi import Body, Path, Query, Request, Response
from pydantic import BaseModel, Field

from rota_contracts.catalog import CHECK_ROBOT
from rota_contracts.messages.robot_check import CheckRobot, RobotProblems
from rota_contracts.messages.robot_state import RobotState
from rota_contracts.model import Instant, Name
from rota_contracts.robots.robot import RobotDefinition
from rota_contracts.roles import Role
from trigger_gateway import rpc
from trigger_gateway.http.auth_routes import CallerDep, team_router
from trigger_gateway.http.definitions import RollBack
from trigger_gateway.http.dependencies import UseCasesDep, idempotency_key
from trigger_gateway.http.suppressions import author
from trigger_gateway.problems import NotFound
from trigger_gateway.robots.find_robot import find_robot
from trigger_gateway.robots.record import RobotView, as_read, for_viewers
from trigger_gateway.teams.authenticate import Caller

router = team_router("robots")

Raw = Annotated[dict[str, Any], Body()]
ShareInQuery = Annotated[int | None, Query(ge=1, le=99)]


class RobotPage(BaseModel):
    """`total` counts all pages."""

    robots: list[RobotView]
    states: list[RobotState] = Field(description="states of these robots; empty if the scheduler did not answer")
    total: int
    page: int
    page_size: int


class NextRuns(BaseModel):
    member_id: str
    clock: str = Field(description="the robot's clock in words; empty if it has none")
    upcoming: list[Instant] = Field(description="empty without a clock, while nothing may start, and for a daemon")


class RobotRevisionView(BaseModel):
    """`written_by`: the name of the key; empty where it isn't known. `canary`: it came as a canary."""

    rev: int
    written_at: Instant
    written_by: str
    canary: bool = False


class RobotRevisions(BaseModel):
    revisions: list[RobotRevisionView]


def _takes(*, required: bool) -> dict[str, Any]:
    """The documentation of such a body, which the contract itself parses strictly; FastAPI wouldn't."""
    schema = RobotDefinition.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs")
    if not required:
        schema.pop("required")
        schema["properties"]["robot_status"] = {"type": "string", "enum": ["idle", "paused", "maintenance"]}
    return {"requestBody": {"content": {"application/json": {"schema": schema}}}}


@router.post("/robots", status_code=201, summary="Create a robot", openapi_extra=_takes(required=True))
async def create_robot(team: Name, body: Raw, request: Request, use: UseCasesDep, caller: CallerDep) -> RobotView:
    key = idempotency_key(request.headers)
    return as_read(await use.save_robot.create(team, body, key=key, by=author(caller)))


@router.get("/robots", summary="List the robots")
async def list_robots(
    team: Name,
    use: UseCasesDep,
    caller: CallerDep,
    page: Annotated[int, Query(ge=1, le=100_000)] = 1,
    page_size: Annotated[int, Query(ge=1, le=100)] = 10,
) -> RobotPage:
    seen = await use.view_robots.page(team, page=page, page_size=page_size)
    return RobotPage(
        robots=[_for(caller, robot) for robot in seen.robots],
        states=seen.states,
        total=seen.total,
        page=page,
        page_size=page_size,
    )


@router.get("/robots/{member}", summary="Read a robot")
async def read_robot(team: Name, member: Name, use: UseCasesDep, caller: CallerDep) -> RobotView:
    """`robot_status` is derived: error, else paused, else working, else the status that its owner has set. A viewer
    reads headers and addresses of webhooks without what may be a key."""
    return _for(caller, await use.view_robots.one(team, member))


def _for(caller: Caller, robot: RobotView) -> RobotView:
    return robot if caller.role.covers(Role.MEMBER) else for_viewers(robot)


@router.get("/robots/{member}/status", summary="Read a robot's state: running and queued executions, next runs")
async def read_robot_status(
    team: Name, member: Name, use: UseCasesDep, upcoming: Annotated[int, Query(ge=0, le=100)] = 5
) -> RobotState:
    return await use.view_robots.state(team, member, upcoming=upcoming)


@router.get("/robots/{member}/next", summary="Read the next runs of a robot's clock")
async def read_next_runs(
    team: Name, member: Name, use: UseCasesDep, count: Annotated[int, Query(ge=1, le=100)] = 5
) -> NextRuns:
    state = await use.view_robots.state(team, member, upcoming=count)
    return NextRuns(member_id=state.member_id, clock=state.clock, upcoming=state.upcoming)


@router.get("/robots/{member}/problems", summary="Read what the robot names and the executor doesn't have")
async def read_robot_problems(team: Name, member: Name, use: UseCasesDep) -> RobotProblems:
    """Agents and MCP servers: by the operator's files, and by what servers answered last."""
    robot = (await find_robot(use.view_robots.records, team, member)).robot
    which = [robot.as_of(None), *([robot.as_of(robot.canary.rev)] if robot.canary else [])]
    found = [(await rpc.call(use.ask, CHECK_ROBOT, CheckRobot(robot=each))).problems for each in which]
    return RobotProblems(problems=[*dict.fromkeys(problem for each in found for problem in each)])


@router.get("/robots/{member}/revisions", summary="List the revisions of a robot's definition, the newest first")
async def list_robot_revisions(team: Name, member: Name, use: UseCasesDep) -> RobotRevisions:
    """The newest 20. A change of its status alone makes none."""
    found = await use.save_robot.history.revisions(team, member)
    return RobotRevisions(
        revisions=[
            RobotRevisionView(rev=each.robot.rev, written_at=each.at, written_by=each.by, canary=each.canary)
            for each in found
        ]
    )


@router.get("/robots/{member}/revisions/{rev}", summary="Read a revision of a robot's definition")
async def read_robot_revision(
    team: Name, member: Name, rev: Annotated[int, Path(ge=1)], use: UseCasesDep, caller: CallerDep
) -> RobotView:
    found = await use.save_robot.history.revisions(team, member)
    robot = next((each.robot for each in found if each.robot.rev == rev), None)
    if robot is None:
        raise NotFound("revision_not_found", f"robot {member} has no revision {rev}")
    return _for(caller, as_read(robot))


@router.post("/robots/{member}/rollback", summary="Write an earlier revision of a robot's definition again")
async def roll_back_robot(team: Name, member: Name, body: RollBack, use: UseCasesDep, caller: CallerDep) -> RobotView:
    """Its status stays."""
    return as_read(await use.save_robot.roll_back(team, member, to=body.to, by=author(caller)))


@router.put("/robots/{member}", summary="Replace a robot's definition", openapi_extra=_takes(required=True))
async def replace_robot(
    team: Name, member: Name, body: Raw, use: UseCasesDep, caller: CallerDep, canary: ShareInQuery = None
) -> RobotView:
    """With `canary` it isn't the current definition yet, but that of so many percent of new runs; it may only change
    what runs do."""
    return as_read(await use.save_robot.replace(team, member, body, by=author(caller), share=canary))


@router.patch(
    "/robots/{member}", summary="Change top-level fields, or robot_status", openapi_extra=_takes(required=False)
)
async def change_robot(team: Name, member: Name, body: Raw, use: UseCasesDep, caller: CallerDep) -> RobotView:
    robot = await use.save_robot.change(team, member, body, by=author(caller))
    if "robot_status" in body:
        await use.control_robots.forget(team, member)
    return as_read(robot)


@router.delete("/robots/{member}", status_code=204, summary="Delete a robot: its executions are stopped")
async def delete_robot(team: Name, member: Name, use: UseCasesDep) -> Response:
    await use.save_robot.delete(team, member)
    return Response(status_code=204)

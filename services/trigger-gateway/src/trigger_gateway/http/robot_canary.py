"""Canaries of robots: figures, share of new runs, and their end."""

from rota_contracts.model import Name
from trigger_gateway.http.auth_routes import CallerDep, team_router
from trigger_gateway.http.definitions import CanaryFigures, NewShare
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.http.suppressions import author
from trigger_gateway.robots.record import RobotView, as_read

router = team_router("robots")


@router.get("/robots/{member}/canary", summary="Read how runs of the robot's canary end, beside those of the current")
async def read_robot_canary(team: Name, member: Name, use: UseCasesDep) -> CanaryFigures:
    robot, counts = await use.robot_canary.figures(team, member)
    assert robot.canary is not None
    canary = as_read(robot).canary
    assert canary is not None
    return CanaryFigures(rev=robot.canary.beside, canary=canary, counts=[*counts])


@router.put("/robots/{member}/canary", summary="Change the share of new runs of the robot's canary")
async def change_robot_canary(team: Name, member: Name, body: NewShare, use: UseCasesDep) -> RobotView:
    return as_read(await use.robot_canary.set_share(team, member, body.share))


@router.post("/robots/{member}/canary/promote", summary="Make the canary's definition the robot's current one")
async def promote_robot_canary(team: Name, member: Name, use: UseCasesDep, caller: CallerDep) -> RobotView:
    return as_read(await use.robot_canary.promote(team, member, by=author(caller)))


@router.post(
    "/robots/{member}/canary/abort", summary="End the canary: new runs begin with the robot's current revision"
)
async def abort_robot_canary(team: Name, member: Name, use: UseCasesDep) -> RobotView:
    return as_read(await use.robot_canary.abort(team, member))

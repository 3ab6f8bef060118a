"""What the gateway listens to: whether robots are in error."""

from rota_common.bus.router import Router
from rota_contracts.catalog import ROBOT_FAILED, ROBOT_RECOVERED
from rota_contracts.envelope import Event
from rota_contracts.messages.robot_facts import RobotFailedV1, RobotRecoveredV1
from trigger_gateway.robots.track_robot_health import JudgeRobot


def build_router(judge: JudgeRobot) -> Router:
    router = Router()

    @router.consume(ROBOT_FAILED)
    async def on_robot_failed(event: Event[RobotFailedV1]) -> None:
        await judge.failed(event.data)

    @router.consume(ROBOT_RECOVERED)
    async def on_robot_recovered(event: Event[RobotRecoveredV1]) -> None:
        await judge.recovered(event.data)

    return router

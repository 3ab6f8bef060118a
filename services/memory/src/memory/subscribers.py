"""What the memory listens to, and which use case each message goes to."""

from memory.domain import Owner
from memory.follow_robots import FollowRobots
from memory.forget import ForgetEntries
from memory.recall import RecallEntries
from memory.remember import RememberEntries
from rota_common.router import Router
from rota_contracts.catalog import FORGET, RECALL, REMEMBER, ROBOT_CHANGED, ROBOT_DELETED
from rota_contracts.envelope import Event
from rota_contracts.memory import Forget, Forgotten, Recall, Recalled, Remember, Remembered
from rota_contracts.robot import RobotChangedV1, RobotDeletedV1


def build_router(
    remember: RememberEntries, recall: RecallEntries, forget: ForgetEntries, follow: FollowRobots
) -> Router:
    router = Router()

    @router.answer(REMEMBER)
    async def on_remember(question: Remember) -> Remembered:
        return await remember(question)

    @router.answer(RECALL)
    async def on_recall(question: Recall) -> Recalled:
        return await recall(question)

    @router.answer(FORGET)
    async def on_forget(question: Forget) -> Forgotten:
        return await forget(question)

    @router.consume(ROBOT_CHANGED)
    async def on_robot_changed(event: Event[RobotChangedV1]) -> None:
        await follow.changed(Owner(event.data.team_id, event.data.member_id), rev=event.data.rev, at=event.time)

    @router.consume(ROBOT_DELETED)
    async def on_robot_deleted(event: Event[RobotDeletedV1]) -> None:
        await follow.deleted(Owner(event.data.team_id, event.data.member_id), rev=event.data.rev, at=event.time)

    return router

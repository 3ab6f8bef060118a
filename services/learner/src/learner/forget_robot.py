"""The end of a deleted robot's lessons and history. The memory consumes the deletion itself."""

from dataclasses import dataclass

from learner.ports import History, Lessons
from rota_contracts.envelope import Event
from rota_contracts.messages.robot_facts import RobotDeletedV1


@dataclass(frozen=True, kw_only=True)
class ForgetRobot:
    lessons: Lessons
    history: History

    async def __call__(self, event: Event[RobotDeletedV1]) -> None:
        robot = event.data
        await self.lessons.remove_robot(robot.team_id, robot.member_id, up_to_rev=robot.rev)
        await self.history.remove_robot(robot.team_id, robot.member_id, up_to_rev=robot.rev)

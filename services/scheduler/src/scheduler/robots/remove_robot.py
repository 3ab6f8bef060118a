"""The removal of a deleted robot's queued executions and plan."""

from dataclasses import dataclass

from rota_contracts.envelope import Event
from rota_contracts.messages.robot_facts import RobotDeletedV1
from scheduler.dispatching.dispatcher import Dispatcher
from scheduler.plans.change_plans import ChangePlans


@dataclass(frozen=True, kw_only=True)
class RemoveRobot:
    dispatcher: Dispatcher
    change_plans: ChangePlans

    async def __call__(self, event: Event[RobotDeletedV1]) -> None:
        await self.dispatcher.take(event)
        await self.change_plans.remove_all(event.data.team_id, event.data.member_id)

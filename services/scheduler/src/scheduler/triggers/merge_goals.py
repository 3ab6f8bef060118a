"""Merging of goals into an execution that waits for its first slot."""

from dataclasses import dataclass

from rota_contracts.messages.goal_merge import ListWaiting, MergeInto, MergeReply, WaitingPage
from scheduler.ports import RobotQueues


@dataclass(frozen=True, kw_only=True)
class MergeGoals:
    robot_queues: RobotQueues

    async def list_waiting(self, question: ListWaiting) -> WaitingPage:
        return WaitingPage(waiting=await self.robot_queues.waiting(question))

    async def merge(self, question: MergeInto) -> MergeReply:
        return MergeReply(done=await self.robot_queues.merge(question))

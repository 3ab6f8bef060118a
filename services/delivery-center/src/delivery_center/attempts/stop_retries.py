"""The end of retries: what is pending for a deleted robot is given up."""

from dataclasses import dataclass
from datetime import timedelta

from delivery_center.attempts.retry import Finish
from delivery_center.domain.delivery import give_up
from delivery_center.ports import Deliveries
from rota_common.errors import Transient
from rota_contracts.envelope import Event
from rota_contracts.messages.robot_facts import RobotDeletedV1

WHILE_CLAIMED_S = 2.0


@dataclass(frozen=True, kw_only=True)
class StopRetries:
    deliveries: Deliveries
    finish: Finish
    lease: timedelta

    async def __call__(self, event: Event[RobotDeletedV1]) -> None:
        """Raise Transient while a sweeper attempts one of them: its outcome is recorded before it is given up."""
        team, member = event.data.team_id, event.data.member_id
        while True:
            delivery = await self.deliveries.claim_of(team, member, self.lease)
            if delivery is None:
                break
            if any(target.unpublished for target in delivery.targets):
                await self.finish.publish_saved(delivery)
            else:
                await self.finish(give_up(delivery, f"the robot {member} was deleted"))
        if await self.deliveries.has_pending(team, member):
            raise Transient(f"deliveries of {member} are being attempted just now", after=WHILE_CLAIMED_S)

"""The subscriptions to notifications of a team's channels: added, removed and listed."""

from dataclasses import dataclass

from delivery_center.ports import Subscriptions
from rota_common.clock import Clock
from rota_contracts.messages.notification import (
    ListSubscriptions,
    Subscribe,
    Subscription,
    SubscriptionPage,
    Unsubscribe,
)

MOST = 1000
"""Subscriptions of one team: each notification is posted once for each, and the list of them is one message."""


@dataclass(frozen=True, kw_only=True)
class ManageSubscriptions:
    """Each reply lists the subscribers to the channel then."""

    subscriptions: Subscriptions
    clock: Clock

    async def add(self, asked: Subscribe) -> SubscriptionPage:
        """Two concurrent requests may both find one subscription left: one more than the limit is harmless."""
        known = await self.subscriptions.of(asked.team_id)
        theirs = [one for one in known if one.channel == asked.channel]
        if any(one.subscriber == asked.subscriber for one in theirs):
            return SubscriptionPage(subscriptions=theirs)
        if len(known) >= MOST:
            refused = (
                f"expected at most {MOST} subscriptions of one team, {asked.team_id} has {len(known)}: remove some"
            )
            return SubscriptionPage(subscriptions=theirs, refused=refused)
        names = {"team_id": asked.team_id, "channel": asked.channel, "subscriber": asked.subscriber}
        await self.subscriptions.add(Subscription(**names, created_at=self.clock()))
        return await self.list(ListSubscriptions(team_id=asked.team_id, channel=asked.channel))

    async def remove(self, asked: Unsubscribe) -> SubscriptionPage:
        await self.subscriptions.remove(asked.team_id, asked.channel, asked.subscriber)
        return await self.list(ListSubscriptions(team_id=asked.team_id, channel=asked.channel))

    async def list(self, asked: ListSubscriptions) -> SubscriptionPage:
        return SubscriptionPage(subscriptions=await self.subscriptions.of(asked.team_id, asked.channel))

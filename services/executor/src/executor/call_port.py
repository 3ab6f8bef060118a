"""The port to calls of agents: their claims, what came in their course, and their replies."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from rota_contracts.messages.agent import AgentReply, CallAgent, CallUnderWay
from rota_contracts.messages.conversation import Turn


class Calls(Protocol):
    """Replies to agent calls by call id, kept for a while, and claims of the calls that have none yet.

    Claims end by the store's own clock."""

    async def claim(
        self, call_id: str, *, team: str, owner: str, lease: timedelta, shown: CallAgent | None = None
    ) -> AgentReply | bool:
        """The reply, if there is one. Otherwise True if the call is `owner`'s for `lease`, and False while another
        claim is alive, be it the owner's own. `shown`: the call, if its team is to see and abort it."""
        ...

    async def renew(self, call_id: str, *, owner: str, lease: timedelta) -> bool:
        """Prolong the claim. False if it isn't this owner's any more, or the call has its reply."""
        ...

    async def release(self, call_id: str, *, owner: str) -> None:
        """End the claim of a call that can't be answered now: the next request claims it at once."""
        ...

    async def turn(self, call_id: str) -> Turn | None:
        """The agent's turn as far as it was saved; None before its first round, and once there is a reply."""
        ...

    async def save_turn(self, call_id: str, turn: Turn, *, owner: str) -> bool:
        """Save the turn of a call without a reply. False if the claim isn't this owner's any more, or there is a
        reply."""
        ...

    async def remember(self, call_id: str, answer: AgentReply) -> AgentReply:
        """Store the reply and return it; if there is one already, return that."""
        ...

    async def keep(self, call_id: str, name: str, text: str, *, team: str) -> str:
        """Keep what came in the course of a call or of a run's turn, under this name, and return it; if there is
        something already, return that. It stays as long as replies do."""
        ...

    async def kept(self, call_id: str, name: str) -> str | None: ...

    async def under_way(self, team: str, *, chat_id: str | None = None) -> Sequence[CallUnderWay]:
        """The calls with a claim that is alive, of those that the team is to see; the newest first, CALLS_LISTED at
        most."""
        ...

    async def abort(self, call: CallUnderWay, *, team: str) -> bool:
        """Give the call a reply that says so, unless it has one; False if it has, or isn't under way."""
        ...


async def _nothing() -> None: ...

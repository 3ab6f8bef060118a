"""Addresses that get no mail of a team any more: put on the list, taken off it, listed (F23)."""

import re

from delivery_center.ports import Suppressions
from rota_common.clock import Clock
from rota_contracts.messages.targets import ListSuppressions, Suppress, Suppression, SuppressionPage, Unsuppress

ROOM = 512 * 1024
"""Bytes of one answer: a message of the bus holds 1 MB."""

_ADDRESS = re.compile(r"[^@\s<>,;:]+@[^@\s<>,;:]+")


class ManageSuppressions:
    """Mail servers tell upper from lower case in the first half of an address only on paper; here nobody does."""

    def __init__(self, suppressions: Suppressions, clock: Clock) -> None:
        self._suppressions, self._clock = suppressions, clock

    async def add(self, asked: Suppress) -> SuppressionPage:
        """The answer is what is on the list then: an address that was there stays as it was."""
        address = normal(asked.address)
        if not _ADDRESS.fullmatch(address):
            return SuppressionPage(refused=f"expected one address like ann@example.org, not {asked.address!r}")
        wanted = Suppression(
            team_id=asked.team_id, address=address, reason=asked.reason, by=asked.by, created_at=self._clock()
        )
        return SuppressionPage(suppressions=[await self._suppressions.add(wanted)])

    async def remove(self, asked: Unsuppress) -> SuppressionPage:
        """One that isn't there is none to remove."""
        await self._suppressions.remove(asked.team_id, normal(asked.address))
        return SuppressionPage()

    async def list(self, asked: ListSuppressions) -> SuppressionPage:
        """As many as fit into one answer."""
        found = await self._suppressions.page(asked.team_id, normal(asked.after), asked.limit + 1)
        listed: list[Suppression] = []
        room = ROOM
        for each in found[: asked.limit]:
            room -= len(each.model_dump_json().encode())
            if room < 0:
                break
            listed.append(each)
        more = len(found) > len(listed)
        return SuppressionPage(suppressions=listed, next=listed[-1].address if more and listed else "")


def normal(address: str) -> str:
    return address.strip().lower()

"""The suppression list: addresses that get no mail of a team, added, removed and listed."""

import re
from dataclasses import dataclass

from delivery_center.ports import Suppressions
from rota_common.clock import Clock
from rota_contracts.messages.targets import ListSuppressions, Suppress, Suppression, SuppressionPage, Unsuppress

ROOM = 512 * 1024
"""Bytes of one reply: a message holds 1 MB."""

_ADDRESS = re.compile(r"[^@\s<>,;:]+@[^@\s<>,;:]+")


@dataclass(frozen=True, kw_only=True)
class ManageSuppressions:
    """Addresses are compared in lower case: mail servers distinguish case in the local part only on paper."""

    suppressions: Suppressions
    clock: Clock

    async def add(self, asked: Suppress) -> SuppressionPage:
        """The reply is what is on the list then: an earlier entry stays as it was."""
        address = normal(asked.address)
        if not _ADDRESS.fullmatch(address):
            return SuppressionPage(refused=f"expected one address like ann@example.org, not {asked.address!r}")
        wanted = Suppression(
            team_id=asked.team_id, address=address, reason=asked.reason, by=asked.by, created_at=self.clock()
        )
        return SuppressionPage(suppressions=[await self.suppressions.add(wanted)])

    async def remove(self, asked: Unsuppress) -> SuppressionPage:
        """Succeeds if there is none."""
        await self.suppressions.remove(asked.team_id, normal(asked.address))
        return SuppressionPage()

    async def list(self, asked: ListSuppressions) -> SuppressionPage:
        """As many as fit into one reply."""
        found = await self.suppressions.page(asked.team_id, normal(asked.after), asked.limit + 1)
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

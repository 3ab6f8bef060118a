"""The limits of mail: the senders a team may use, the recipients of one mail, and a team's mails of a day."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from email.headerregistry import Address
from typing import Protocol

from rota_common.errors import Permanent, Transient

ANY = "*"


class MailCounts(Protocol):
    """The mails of each team and day."""

    async def take(self, team: str, day: date, most: int) -> bool:
        """Count one more, unless the team has `most`. Raise Transient if the store is unavailable."""
        ...

    async def give_back(self, team: str, day: date) -> None:
        """Count one less."""
        ...


@dataclass(frozen=True, kw_only=True)
class MailLimits:
    """`senders`: the domains that a team's robots may send from; `*` is every team, or every domain. 0 as a number of
    mails: no limit. `setting` is the name of the one that says this number."""

    senders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    recipients: int = 50
    mails_a_day: int = 1000
    setting: str = "ROTA_MAILS_A_DAY"

    def allows_sender(self, team: str, address: Address) -> bool:
        domains = {domain.lower() for key in (team, ANY) for domain in self.senders.get(key, ())}
        return ANY in domains or address.domain.lower() in domains

    def check_recipients(self, addresses: Sequence[str]) -> None:
        """Raises Permanent if there are too many."""
        if len(addresses) > self.recipients:
            raise Permanent(
                f"expected at most {self.recipients} recipients of one mail, not {len(addresses)}: "
                "divide them between several targets, or raise ROTA_MAIL_RECIPIENTS"
            )


@dataclass(frozen=True)
class DailyMails:
    counts: MailCounts
    limits: MailLimits

    @asynccontextmanager
    async def counted(self, team: str, at: datetime) -> AsyncIterator[None]:
        """Counts one mail; not if it isn't taken by the mail server. Raises Transient until the next day when a team
        has sent all it may."""
        most, today = self.limits.mails_a_day, at.astimezone(UTC).date()
        if most == 0:
            yield
            return
        if not await self.counts.take(team, today, most):
            midnight = datetime.combine(today + timedelta(days=1), time(), tzinfo=UTC)
            text = f"team {team} has sent {most} mails today, which is all that {self.limits.setting} allows"
            raise Transient(f"{text}: tried again after midnight (UTC)", after=(midnight - at).total_seconds())
        try:
            yield
        except BaseException:  # a timeout too
            await self.counts.give_back(team, today)
            raise

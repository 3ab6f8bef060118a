"""Shares: what one team may keep of what all teams share. No I/O."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from trigger_gateway.problems import ShareUsed, TooMany


@dataclass(frozen=True)
class Usage:
    """What a team keeps: things, and their bytes."""

    count: int = 0
    bytes: int = 0

    def __add__(self, more: "Usage") -> "Usage":
        return Usage(self.count + more.count, self.bytes + more.bytes)


Allow = Callable[[Usage], None]
"""Takes what a team would keep after a write, in the transaction of that write. Raises what refuses it."""


def allow_all(_: Usage) -> None: ...


@dataclass(frozen=True)
class Share:
    """A team's share of `what`; 0: no limit. `settings` are the names of the two limits."""

    what: str
    settings: tuple[str, ...]
    count: int = 0
    bytes: int = 0

    def allow(self, after: Usage) -> None:
        """Raise ShareUsed for more than the share."""
        if self.count and after.count > self.count:
            raise self._used(f"{after.count - 1} of {self.count} {self.what}", self.settings[0])
        if self.bytes and after.bytes > self.bytes:
            text = f"{after.bytes} bytes of {self.what} with this one, and at most {self.bytes}"
            raise self._used(text, self.settings[1])

    def _used(self, text: str, setting: str) -> ShareUsed:
        return ShareUsed("share_used", f"the team has {text}: delete some, or have the operator raise {setting}")


@dataclass(frozen=True, kw_only=True)
class Shares:
    """The shares of each team. `streams` and `calls` of agents are those that are open at one replica."""

    robots: Share
    definitions: Share
    members: Share
    sources: Share
    databases: Share
    attachments: Share
    streams: int = 0
    calls: int = 0


@dataclass
class OpenRequests:
    """Requests of one kind, `what`, that stay open for long, at this replica, by team; it is worth another try `after`
    so many seconds."""

    limit: int
    what: str
    after: int
    _open: dict[str, int] = field(init=False, default_factory=dict)

    def enter(self, team: str) -> bool:
        """False if the team has its share."""
        if self.limit and self._open.get(team, 0) >= self.limit:
            return False
        self._open[team] = self._open.get(team, 0) + 1
        return True

    @contextmanager
    def held(self, team: str) -> Iterator[None]:
        """Raise TooMany if the team has its share."""
        if not self.enter(team):
            raise self.refusal()
        try:
            yield
        finally:
            self.leave(team)

    def refusal(self) -> TooMany:
        text = f"the team has {self.limit} {self.what} here, and may have no more at a time"
        return TooMany("share_used", text, after=self.after)

    def leave(self, team: str) -> None:
        self._open[team] -= 1
        if not self._open[team]:
            del self._open[team]

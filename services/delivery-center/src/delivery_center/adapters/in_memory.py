"""The adapters in memory: stores held to the same tests as the real ones, and scripted channels."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from delivery_center.adapters.in_memory_deliveries import InMemoryDeliveries
from delivery_center.adapters.in_memory_targets import InMemoryTargets
from delivery_center.domain.delivery import PERMITTED, Delivery
from delivery_center.domain.facts import Fact
from delivery_center.domain.outgoing_message import OutgoingMessage
from delivery_center.ports import Adapters, Channel, Robots, Sent
from rota_common.errors import Permanent
from rota_common.testing.in_memory_stores import InMemoryTeamDocuments
from rota_contracts.messages.attachment import StoredAttachment
from rota_contracts.messages.delivery import DeliveryPermission, DeliveryType
from rota_contracts.messages.notification import Subscription
from rota_contracts.messages.targets import Suppression
from rota_contracts.messages.text import Text
from rota_contracts.robots.robot import Robot


class InMemorySubscriptions:
    def __init__(self) -> None:
        self._stored: dict[tuple[str, str, str], Subscription] = {}

    async def add(self, subscription: Subscription) -> None:
        key = (subscription.team_id, subscription.channel, subscription.subscriber)
        self._stored.setdefault(key, subscription)

    async def remove(self, team: str, channel: str, subscriber: str) -> None:
        self._stored.pop((team, channel, subscriber), None)

    async def of(self, team: str, channel: str | None = None) -> list[Subscription]:
        theirs = [one for one in self._stored.values() if one.team_id == team and channel in (None, one.channel)]
        return sorted(theirs, key=lambda one: (one.channel, one.subscriber))


class InMemorySuppressions:
    def __init__(self) -> None:
        self._stored: dict[tuple[str, str], Suppression] = {}

    async def add(self, suppression: Suppression) -> Suppression:
        return self._stored.setdefault((suppression.team_id, suppression.address), suppression)

    async def remove(self, team: str, address: str) -> None:
        self._stored.pop((team, address), None)

    async def among(self, team: str, addresses: Collection[str]) -> set[str]:
        return {address for address in addresses if (team, address) in self._stored}

    async def page(self, team: str, after: str, limit: int) -> list[Suppression]:
        theirs = sorted(address for owner, address in self._stored if owner == team and address > after)
        return [self._stored[team, address] for address in theirs[:limit]]


class InMemoryMailCounts:
    def __init__(self) -> None:
        self._counts: Counter[tuple[str, date]] = Counter()

    async def take(self, team: str, day: date, most: int) -> bool:
        if self._counts[team, day] >= most:
            return False
        self._counts[team, day] += 1
        return True

    async def give_back(self, team: str, day: date) -> None:
        self._counts[team, day] = max(0, self._counts[team, day] - 1)


class InMemorySentNotices:
    def __init__(self) -> None:
        self.sent: dict[str, datetime] = {}

    async def has(self, notice_id: str) -> bool:
        return notice_id in self.sent

    async def add(self, notice_id: str, at: datetime) -> None:
        self.sent.setdefault(notice_id, at)


class InMemoryFiles:
    """`contents` by file id; one whose size differs from the stored one is damaged."""

    def __init__(self, *stored: StoredAttachment, contents: Mapping[str, bytes] | None = None) -> None:
        self._stored, self._contents = stored, contents or {}

    async def find(self, team: str, file_id: str) -> StoredAttachment | None:
        return next((each for each in self._stored if (each.team_id, each.file_id) == (team, file_id)), None)

    async def content(self, stored: StoredAttachment) -> bytes:
        content = self._contents.get(stored.file_id, b"")
        if len(content) != stored.size:
            raise Permanent(f"the content of file {stored.file_id} isn't what was stored there")
        return content


class InMemoryRobots:
    def __init__(self, *robots: Robot) -> None:
        self.stored = {(robot.team_id, robot.member_id): robot for robot in robots}

    async def find(self, team: str, member: str) -> Robot | None:
        return self.stored.get((team, member))

    async def known(self, team: str, member: str, *, rev: int | None = None) -> Robot | None:
        return await self.find(team, member)


class ScriptedExecutions:
    """Replies with `script`, one entry per question; after its end with permission."""

    def __init__(self) -> None:
        self.script: list[DeliveryPermission | Exception] = []
        self.asked: list[tuple[str, str]] = []

    async def may_deliver(self, team: str, execution_id: str, request_id: str) -> DeliveryPermission:
        self.asked.append((team, execution_id))
        answer = self.script.pop(0) if self.script else PERMITTED
        if isinstance(answer, Exception):
            raise answer
        return answer


class InlineTexts:
    """Inline texts; `damaged` is raised instead once it is set."""

    damaged: Exception | None = None

    async def read(self, text: Text) -> str:
        if self.damaged is not None:
            raise self.damaged
        return text.inline or ""


class ScriptedChannel:
    """Replies with `script`, one entry per attempt; after its end every attempt succeeds."""

    def __init__(self, *script: Sent | Exception) -> None:
        self.script = list(script)
        self.sent: list[OutgoingMessage] = []

    async def send(self, target: object, outgoing: OutgoingMessage) -> Sent:
        self.sent.append(outgoing)
        answer = self.script.pop(0) if self.script else Sent()
        if isinstance(answer, Exception):
            raise answer
        return answer


class InMemoryFeedPublisher:
    """Records what was published; `failures` are raised first."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.facts: list[Fact] = []
        self.again: list[bool] = []

    async def position(self) -> int:
        return len(self.facts)

    async def publish(self, facts: Sequence[Fact], *, of: Delivery, again: bool = False) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.facts += facts
        self.again.append(again)


class InMemoryFeedCounts:
    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    async def last(self, subject: str) -> int:
        return self._counts.get(subject, 0)

    async def keep(self, counts: Mapping[str, int]) -> None:
        for subject, count in counts.items():
            self._counts[subject] = max(count, self._counts.get(subject, 0))


def in_memory(
    *,
    robots: Robots | None = None,
    deliveries: InMemoryDeliveries | None = None,
    files: InMemoryFiles | None = None,
    suppressions: InMemorySuppressions | None = None,
    channels: Mapping[DeliveryType, Channel[Any]] | None = None,
    notices: Channel[Any] | None = None,
) -> Adapters:
    """`channels` replace the scripted ones of email and webhooks."""
    stored = deliveries or InMemoryDeliveries()
    scripted: dict[DeliveryType, Channel[Any]] = {
        DeliveryType.EMAIL: ScriptedChannel(),
        DeliveryType.WEBHOOK: ScriptedChannel(),
    }
    return Adapters(
        deliveries=stored,
        failing_targets=InMemoryTargets(stored),
        subscriptions=InMemorySubscriptions(),
        suppressions=suppressions or InMemorySuppressions(),
        feed_counts=InMemoryFeedCounts(),
        robots=robots or InMemoryRobots(),
        texts=InlineTexts(),
        files=files or InMemoryFiles(),
        channels=scripted | dict(channels or {}),
        notices=notices or ScriptedChannel(),
        sent_notices=InMemorySentNotices(),
        team_documents=InMemoryTeamDocuments(),
    )

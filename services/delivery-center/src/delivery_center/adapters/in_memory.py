"""The store in memory, held to the same tests as the real one; channels and a bulletin that a test looks into."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

from delivery_center.domain.delivery import PERMITTED, Delivery, Target
from delivery_center.domain.facts import Fact
from delivery_center.domain.page_cursor import PageCursor, cursor_of
from delivery_center.ports import OutgoingMessage, Sent
from rota_common.errors import Permanent
from rota_contracts.messages.attachment import StoredAttachment
from rota_contracts.messages.delivery import DeliveryPermission
from rota_contracts.messages.delivery_log import DeliveryFilter, ListDeliveries, ReplayDeliveries, TargetState
from rota_contracts.messages.notification import Subscription
from rota_contracts.messages.targets import Suppression
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.robots.robot import Robot


class InMemoryDeliveries:
    def __init__(self) -> None:
        self._stored: dict[str, Delivery] = {}

    async def find(self, request_id: str) -> Delivery | None:
        return self._stored.get(request_id)

    async def find_of(self, team: str, execution_id: str) -> Delivery | None:
        found = self._fitting(ListDeliveries(team_id=team, execution_id=execution_id))
        return next((_without_body(delivery) for delivery in reversed(found) if delivery.replay_of is None), None)

    async def page(self, asked: ListDeliveries, *, after: PageCursor | None) -> list[Delivery]:
        found = [each for each in self._fitting(asked) if asked.state in (None, each.state)]
        left = [each for each in reversed(found) if after is None or cursor_of(each) < after]
        return [_without_body(each) for each in left[: asked.limit]]

    async def replayable(self, asked: ReplayDeliveries, *, after: PageCursor | None) -> list[Delivery]:
        found = [
            each
            for each in self._fitting(asked)
            if each.mode is ExecutorMode.STANDARD
            and (each.replay_of is None if asked.request_id is None else each.request_id == asked.request_id)
            and any(_is_replayable(target, asked) for target in each.targets)
        ]
        return [each for each in found if after is None or cursor_of(each) > after][: asked.limit]

    async def replays_of(self, request_ids: Sequence[str]) -> list[Delivery]:
        return [_without_body(each) for each in self._stored.values() if each.replay_of in request_ids]

    async def insert(self, delivery: Delivery) -> Delivery:
        return self._stored.setdefault(delivery.request_id, delivery)

    async def claim_due(self, now: datetime, until: datetime) -> Delivery | None:
        return self._claim(lambda delivery: delivery.due_at is not None and delivery.due_at <= now, until)

    async def claim_of(self, team: str, member: str, now: datetime, until: datetime) -> Delivery | None:
        return self._claim(
            lambda delivery: (
                _pending_of(delivery, team, member)
                and (not delivery.claimed or (delivery.due_at is not None and delivery.due_at <= now))
            ),
            until,
        )

    async def has_pending(self, team: str, member: str) -> bool:
        return any(_pending_of(delivery, team, member) for delivery in self._stored.values())

    async def save(self, delivery: Delivery) -> bool:
        stored = self._stored.get(delivery.request_id)
        if stored is None or stored.revision != delivery.revision:
            return False
        written = {name: getattr(delivery, name) for name in ("targets", "due_at", "claimed")}
        self._stored[delivery.request_id] = stored.model_copy(update=written)
        return True

    def _fitting(self, asked: DeliveryFilter) -> list[Delivery]:
        """Oldest first."""
        return sorted(
            (
                each
                for each in self._stored.values()
                if each.context.team_id == asked.team_id
                and asked.member_id in (None, each.context.member_id)
                and asked.execution_id in (None, each.context.execution_id)
                and (asked.target_id is None or any(asked.target_id == target.target_id for target in each.targets))
                and (asked.since is None or each.created_at >= asked.since)
                and (asked.until is None or each.created_at < asked.until)
            ),
            key=cursor_of,
        )

    def _claim(self, wanted: Callable[[Delivery], bool], until: datetime) -> Delivery | None:
        found = sorted(filter(wanted, self._stored.values()), key=lambda delivery: delivery.due_at or until)
        if not found:
            return None
        update = {"due_at": until, "claimed": True, "revision": found[0].revision + 1}
        claimed = self._stored[found[0].request_id] = found[0].model_copy(update=update)
        return claimed


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
        theirs = sorted(address for whose, address in self._stored if whose == team and address > after)
        return [self._stored[team, address] for address in theirs[:limit]]


class InMemoryFiles:
    """`contents` by file id; one whose content isn't what it says is spoilt."""

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


class ScriptedExecutions:
    """Answers what `script` says, one entry per question; after its end everything may go out."""

    def __init__(self) -> None:
        self.script: list[DeliveryPermission | Exception] = []
        self.asked: list[tuple[str, str]] = []

    async def may_deliver(self, team: str, execution_id: str) -> DeliveryPermission:
        self.asked.append((team, execution_id))
        answer = self.script.pop(0) if self.script else PERMITTED
        if isinstance(answer, Exception):
            raise answer
        return answer


class InlineTexts:
    """Reads what is inline; `spoilt` is raised instead once it is set."""

    spoilt: Exception | None = None

    async def read(self, text: Text) -> str:
        if self.spoilt is not None:
            raise self.spoilt
        return text.inline or ""


class ScriptedChannel:
    """Does what `script` says, one entry per attempt; after its end every attempt succeeds."""

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
    """Remembers what was published; `failures` are raised first."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.facts: list[Fact] = []

    async def publish(self, facts: Sequence[Fact], *, of: Delivery, again: bool = False) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.facts += facts


def _without_body(delivery: Delivery) -> Delivery:
    return delivery.model_copy(update={"content": delivery.content.model_copy(update={"body": Text(inline="")})})


def _is_replayable(target: Target, asked: ReplayDeliveries) -> bool:
    wanted = target.state is TargetState.FAILED or (asked.targets == "all" and target.state is TargetState.DELIVERED)
    return wanted and asked.target_id in (None, target.target_id)


def _pending_of(delivery: Delivery, team: str, member: str) -> bool:
    owner = (delivery.context.team_id, delivery.context.member_id)
    return owner == (team, member) and delivery.due_at is not None

"""The inbound log and the rate limits in memory, held to the same tests as the real ones."""

from dataclasses import replace

from rota_common.errors import Transient
from trigger_gateway.adapters.inbound_batch import Batch, Refusals, entry_id
from trigger_gateway.webhooks.inbound_event import InboundEvent
from trigger_gateway.webhooks.inbound_log import REFUSALS_KEPT, LogEntry, LogLine, Refusal, Status
from trigger_gateway.webhooks.ports import Reserved
from trigger_gateway.webhooks.posts import KeptPost, PostLimits, accepted_post, refused_post
from trigger_gateway.webhooks.rate_limits import COUNTED_STEPS, room_at


class InMemoryInboundLog:
    """`away` makes it fail; `late` are entries that another replica is just writing."""

    def __init__(self, limits: PostLimits | None = None) -> None:
        self._noted = Batch()
        self._posts, self._limits = dict[str, KeptPost](), limits or PostLimits()
        self.away = False
        self.late: list[LogEntry] = []

    async def add(self, entry: LogEntry) -> None:
        key = self._noted.add(entry)
        if key not in self._posts and (post := accepted_post(entry.event)):
            self._keep(key, post)

    def repeated(self, event: InboundEvent) -> None:
        self._noted.repeated(event)

    def refused(self, refusal: Refusal) -> None:
        noted = self._noted.refused(refusal)
        mine = [key for key, each in self._noted.refusals.items() if _same_source(each, refusal)]
        for key in sorted(mine, key=lambda key: self._noted.refusals[key].first_at)[:-REFUSALS_KEPT]:
            del self._noted.refusals[key]
        if post := refused_post(refusal):
            self._keep(noted, post)

    async def recall(self, team: str, source: str, event_id: str) -> LogEntry | None:
        if self.away:
            raise Transient("MongoDB: gone")
        return self._noted.events.get(entry_id(team, source, event_id))

    async def recall_body(self, team: str, source: str, digest: str) -> LogEntry | None:
        if self.away:
            raise Transient("MongoDB: gone")
        return self._noted.by_body(team, source, digest)

    async def await_entry(self, team: str, source: str, event_id: str) -> LogEntry | None:
        for entry in self.late:
            self._noted.add(entry)
        return await self.recall(team, source, event_id)

    async def find(self, team: str, source: str, name: str) -> LogLine | None:
        key = entry_id(team, source, name)
        if key in self._noted.events:
            return self._line(key)
        refused = [line for line in self._refused(team, source) if name in (line.event_id, line.request_id)]
        return max(refused, key=lambda line: line.at, default=None)

    async def post(self, team: str, line: LogLine) -> KeptPost | None:
        found = self._posts.get(line.key)
        return found if found and found.team == team else None

    async def by_trigger(self, team: str, trigger_id: str) -> LogLine | None:
        for key, entry in self._noted.events.items():
            if entry.event.team == team and any(run.trigger_id == trigger_id for run in entry.runs):
                return self._line(key)
        return None

    async def page(self, team: str, source: str, *, page: int, page_size: int) -> tuple[list[LogLine], bool]:
        wanted = team, source
        lines = [
            self._line(key)
            for key, each in self._noted.events.items()
            if (each.event.team, each.event.source) == wanted
        ]
        lines += self._refused(team, source)
        rest = sorted(lines, key=lambda line: line.at, reverse=True)[(page - 1) * page_size :]
        return rest[:page_size], len(rest) > page_size

    def _keep(self, key: str, post: KeptPost) -> None:
        if not self._limits.days:
            return
        self._posts.pop(key, None)
        self._posts[key] = post
        mine = {k: each for k, each in self._posts.items() if (each.team, each.refused) == (post.team, post.refused)}
        share, used = self._limits.share(refused=post.refused), sum(each.weight for each in mine.values())
        for oldest in sorted(mine, key=lambda k: mine[k].at):
            if share and used > share:
                used -= self._posts.pop(oldest).weight

    def _refused(self, team: str, source: str) -> list[LogLine]:
        return [
            _line(key, each)
            for key, each in self._noted.refusals.items()
            if (each.last.team, each.last.source) == (team, source)
        ]

    def _line(self, key: str) -> LogLine:
        entry, repeats = self._noted.events[key], self._noted.repeats.get(key)
        event = entry.event
        line = LogLine(
            event.source,
            Status.ACCEPTED,
            event.id,
            event.received_at,
            1,
            event.received_at,
            event.type,
            entry.runs,
            key=key,
        )
        return replace(line, count=1 + repeats.count, last_at=repeats.last_at) if repeats else line


class InMemoryRateStore:
    """`asked` counts the questions; `away` makes it fail."""

    def __init__(self) -> None:
        self._taken: dict[str, dict[int, int]] = {}
        self.asked = 0
        self.away = False

    async def reserve(self, key: str, step: int, wanted: int, limit: int) -> Reserved:
        self.asked += 1
        if self.away:
            raise Transient("MongoDB: gone")
        taken = {at: count for at, count in self._taken.get(key, {}).items() if at > step - COUNTED_STEPS}
        granted = max(0, min(wanted, limit - sum(taken.values())))
        if granted:
            taken[step] = taken.get(step, 0) + granted
        self._taken[key] = taken
        return Reserved(granted, room_at(taken))


def _same_source(refusals: Refusals, refusal: Refusal) -> bool:
    return (refusals.last.team, refusals.last.source) == (refusal.team, refusal.source)


def _line(key: str, refusals: Refusals) -> LogLine:
    last = refusals.last
    return LogLine(
        last.source,
        Status.REFUSED,
        last.event_id,
        refusals.first_at,
        refusals.count,
        last.at,
        reason=last.reason,
        request_id=last.request_id,
        cause=last.cause,
        key=key,
    )

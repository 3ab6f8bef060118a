"""Reads the changes of one database while this replica has its lease: each becomes the triggers of its subscribers.

The triggers are stored first, the resume token after them: after a crash the next reader makes the same triggers again,
with the same ids.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from time import monotonic
from typing import Any

from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.retries import backoff
from rota_common.runtime import metrics
from rota_common.runtime.logs import logger
from rota_contracts.messages.trigger import TriggerReceivedV1
from rota_contracts.secret_refs import secret_name
from trigger_gateway.databases.change_event import Change, event_id_of, event_of, is_wanted
from trigger_gateway.databases.change_streams import (
    Batch,
    ChangeStream,
    Databases,
    Lease,
    LeaseLost,
    ReadingState,
    StreamBroken,
    StreamLeases,
)
from trigger_gateway.problems import Problem, TooMany
from trigger_gateway.robots.routes import Routes
from trigger_gateway.runs.backlogs import Backlogs
from trigger_gateway.runs.guard_input import GuardInput
from trigger_gateway.runs.ports import Triggers
from trigger_gateway.secrets.ports import OperatorSecrets
from trigger_gateway.sources.source import DatabaseSettings, Source
from trigger_gateway.sources.source_forms import is_own_database
from trigger_gateway.webhooks.inbound_event import InboundEvent, StartedRun, triggers_of
from trigger_gateway.webhooks.inbound_log import LogEntry, Refusal
from trigger_gateway.webhooks.ports import InboundLog

AT_ONCE = 64
"""Triggers that are published side by side."""

BATCH = 200
SAVE_IDLE_S = 10.0
"""How often the token of a quiet stream is saved: else it could fall out of the database's log."""

RETRY_BASE_S, RETRY_CAP_S = 0.5, 30.0
BUG = "an error inside Rota: see the gateway's log"


@dataclass(kw_only=True)
class ReadChanges:
    """Reads one database. `secrets` hold the addresses, `own_databases` are Rota's own, in lower case; `outages`: the
    exceptions of our own store when it is away."""

    databases: Databases
    leases: StreamLeases
    routes: Routes
    triggers: Triggers
    backlogs: Backlogs
    inbound: InboundLog
    secrets: OperatorSecrets
    own_databases: frozenset[str]
    clock: Clock
    random: Random
    service: str
    outages: tuple[type[Exception], ...]
    guard: GuardInput = field(default_factory=GuardInput)
    _away: tuple[type[Exception], ...] = field(init=False)
    _log: Any = field(init=False)

    def __post_init__(self) -> None:
        self._away = (Transient, *self.outages)
        self._log = logger(service=self.service)

    async def __call__(self, source: Source, lease: Lease) -> None:
        """Return when another replica has the lease; else continue until cancelled."""
        reading = _Reading(lease)
        while True:
            try:
                await self._attempt(source, reading)
            except LeaseLost:
                self._log.warning("reading lost to another replica", team=source.team, source=source.name)
                return
            except self._away as error:  # our own store is away: no state can be stored
                self._log.warning("reading waits", team=source.team, source=source.name, reason=str(error))
            reading.failures += 1
            await asyncio.sleep(backoff(reading.failures, random=self.random, base=RETRY_BASE_S, cap=RETRY_CAP_S))

    async def _attempt(self, source: Source, reading: "_Reading") -> None:
        """Read until something fails, and store the reason."""
        try:
            await self._follow(source, reading)
        except StreamBroken as lost:
            await self.leases.mark_lost(reading.lease, lost.reason, after=lost.after, now=self.clock())
            metrics.DATABASE_LOST.inc()
            self._log.error("changes lost", team=source.team, source=source.name, reason=lost.reason)
            reading.failures = 0
        except Transient as error:
            self._log.warning("reading waits", team=source.team, source=source.name, reason=str(error))
            await self.leases.note(reading.lease, ReadingState.WAITING, str(error))
        except LeaseLost:
            raise
        except self._away:
            raise
        except Exception:
            self._log.exception("reading failed", team=source.team, source=source.name)
            await self.leases.note(reading.lease, ReadingState.WAITING, BUG)

    async def _follow(self, source: Source, reading: "_Reading") -> None:
        if source.database is None:
            raise TypeError(f"expected {source.team}/{source.name} to be a database: it is a webhook")
        start = await self.leases.resume_point(reading.lease)
        reading.saved(start.after)
        address = await self._address(source.team, source.database)
        async with self.databases.follow(source.database, start, address=address) as stream:
            await self.leases.note(reading.lease, ReadingState.READING)
            while True:
                await self._next(source, reading, stream)
                reading.failures = 0

    async def _address(self, team: str, settings: DatabaseSettings) -> str:
        """From the operator alone: Rota connects to it from inside, where a team may not choose the address."""
        if is_own_database(settings.database, self.own_databases):
            raise Transient(f"{settings.database} is one of Rota's own databases: no source may read it")
        name = secret_name(settings.url) or ""
        address = (await self.secrets.read(team, [name])).get(name)
        if not address:
            raise Transient(
                f"expected the secret {name} of team {team} (referred to as {settings.url}), with the address of a "
                "database: the operator of Rota gives it, in the folder of ROTA_SECRETS_DIR"
            )
        return address

    async def _next(self, source: Source, reading: "_Reading", stream: ChangeStream) -> None:
        batch = await stream.batch(BATCH)
        count = await self._publish_changes(source, batch) if batch.changes else 0
        if batch.after is None or batch.after == reading.after or not (batch.changes or reading.is_old):
            return
        last = batch.changes[-1].at if count else None
        await self.leases.advance(reading.lease, batch.after, changes=count, last_change_at=last)
        reading.saved(batch.after)

    async def _publish_changes(self, source: Source, batch: Batch) -> int:
        """Publish the triggers of the changes, and log them; how many changes were events."""
        events = [event for change in batch.changes if (event := self._event(source, change)) is not None]
        route = await self.routes.find(source.team, source.name)
        subscribers = route.subscribers if route else ()
        matched = [(event, self._allowed(event, triggers_of(event, subscribers))) for event in events]
        self._check_backlogs(source.team, [trigger for _, triggers in matched for trigger in triggers])
        refused = await self._publish([trigger for _, triggers in matched for trigger in triggers])
        for event, triggers in matched:
            stored = [
                StartedRun(each.trigger_id, each.member_id) for each in triggers if each.trigger_id not in refused
            ]
            _count("triggered" if stored else "refused" if triggers else "unwanted")
            await self.inbound.add(LogEntry(event, stored))
        return len(events)

    def _check_backlogs(self, team: str, triggers: Sequence[TriggerReceivedV1]) -> None:
        """A change waits in its database until all its robots' backlogs have room: raise Transient until then."""
        try:
            self.backlogs.check(team, (each.member_id for each in triggers))
        except TooMany as full:
            raise Transient(full.message, after=full.after) from full

    def _event(self, source: Source, change: Change) -> InboundEvent | None:
        """None if the source doesn't want it, or if it can't be an event, which is logged and blocks no other."""
        at = self.clock()
        try:
            event = event_of(source, change, at)
        except Problem as problem:
            self._log.warning("change refused", team=source.team, source=source.name, reason=problem.message)
            self.inbound.refused(Refusal(source.team, source.name, problem.code, at, event_id=event_id_of(change)))
            _count("refused")
            return None
        if is_wanted(source, event):
            return event
        _count("filtered")
        return None

    def _allowed(self, event: InboundEvent, triggers: list[TriggerReceivedV1]) -> list[TriggerReceivedV1]:
        """None of them, if the input guard blocks the change."""
        try:
            self.guard.check(event.team, [each.member_id for each in triggers], dict(event.data))
        except Problem as problem:
            at = event.received_at
            self.inbound.refused(Refusal(event.team, event.source, problem.code, at, event_id=event.id))
            return []
        return triggers

    async def _publish(self, triggers: Sequence[TriggerReceivedV1]) -> set[str]:
        """Raise Transient unless all are stored; the ids of those that never can be."""
        refused = set[str]()

        async def publish(trigger: TriggerReceivedV1) -> None:
            try:
                await self.triggers.publish(trigger)
            except Problem as problem:
                self._log.warning("trigger refused", trigger=trigger.trigger_id, reason=problem.message)
                refused.add(trigger.trigger_id)

        for start in range(0, len(triggers), AT_ONCE):
            await asyncio.gather(*map(publish, triggers[start : start + AT_ONCE]))
        return refused


class _Reading:
    """The progress of this replica."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.after: str | None = None
        self.failures = 0
        self._saved_at = monotonic()

    def saved(self, after: str | None) -> None:
        self.after, self._saved_at = after, monotonic()

    @property
    def is_old(self) -> bool:
        """Should the token be saved although nothing has changed?"""
        return self.after is None or monotonic() - self._saved_at >= SAVE_IDLE_S


def _count(outcome: str) -> None:
    metrics.DATABASE_CHANGES.labels(outcome).inc()

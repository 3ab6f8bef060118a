"""A running service: its connection, its handlers, its background loops, and whether it is ready."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Protocol, Self

from nats.errors import Error as NatsError

from rota_common.bus.connection import Bus
from rota_common.bus.consuming import HANDLING_LIMIT_S, Worker
from rota_common.bus.handling_marks import HandlingMarks
from rota_common.bus.live import EVENTS_LIMIT, LiveEvents
from rota_common.bus.middlewares import Middleware, wrap
from rota_common.bus.publishing import Publish
from rota_common.bus.router import Router
from rota_common.bus.rpc import Ask, respond
from rota_common.clock import Clock, now
from rota_common.retries import backoff
from rota_common.runtime import readiness
from rota_common.runtime.hooks import Failure, Hook, failure_of, run_all
from rota_common.runtime.logs import logger
from rota_common.runtime.settings import ServiceSettings
from rota_common.runtime.supervised_loop import SupervisedLoop
from rota_contracts.catalog import Channel
from rota_contracts.envelope import Event

Work = Callable[[], Awaitable[bool | None]]
CANCEL_AGAIN_S = 0.05
"""After the first cancellation that had no effect; doubled each time."""


class Transport(Protocol):
    """Where a service gets its connection from."""

    def connection(self, name: str) -> Any: ...


@dataclass(frozen=True)
class Runtime:
    """What differs between production and a test. `bus` replaces the connection to NATS (`testing.in_memory_bus`)."""

    clock: Clock = now
    bus: Transport | None = None
    random: Random = field(default_factory=Random)
    middlewares: Sequence[Middleware] = ()


class Service:
    """Built by a service's `app.py`; started and stopped by `rota_common.runtime.serving` or by a test."""

    def __init__(
        self,
        name: str,
        nats_url: str,
        *,
        nkey_file: str = "",
        ca_file: str = "",
        runtime: Runtime | None = None,
        outages: tuple[type[Exception], ...] = (),
        handling_limit: float = HANDLING_LIMIT_S,
    ) -> None:
        self.name, self.runtime = name, runtime or Runtime()
        self.outages: tuple[type[Exception], ...] = (NatsError, *outages)
        """The errors of servers that are away: they pass."""
        transport = self.runtime.bus
        self.bus: Bus = (
            transport.connection(name) if transport else Bus(nats_url, name=name, nkey_file=nkey_file, ca_file=ca_file)
        )
        self.publish = Publish(self.bus, source=name, clock=self.runtime.clock)
        self.ask = Ask(self.bus, by=name)
        self.live = LiveEvents(self.bus, service=name)
        self._handling_limit, self._marks = handling_limit, HandlingMarks(bus=self.bus)
        self._workers: list[Worker] = []
        self._hooks_up: list[Hook] = []
        self._hooks_down: list[Hook] = []
        self._hooks_closing: list[Hook] = []
        self._probes: dict[str, Hook] = {}
        self.degraded: dict[str, str] = {}
        """Parts that are there but near their limit, and how near: the service is ready all the same."""
        self.is_leaving = False
        """It is about to stop, and isn't ready for that reason alone: what still comes is handled."""
        self._loops: dict[str, SupervisedLoop] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._state = "not started"
        self._failed: dict[str, Failure] = {}
        self.started = asyncio.Event()
        self._log = logger(service=name)

    @classmethod
    def of(
        cls,
        name: str,
        settings: ServiceSettings,
        *,
        runtime: Runtime | None = None,
        outages: tuple[type[Exception], ...] = (),
    ) -> Self:
        """The service at the NATS that `settings` name, known there by its key."""
        return cls(
            name,
            settings.nats_url,
            nkey_file=settings.nats_nkey_file,
            ca_file=settings.nats_ca_file,
            runtime=runtime,
            outages=outages,
            handling_limit=settings.handling_limit,
        )

    def include(self, router: Router) -> None:
        """Connect a router's handlers. Raises ValueError for a channel or question the catalog doesn't give it."""
        middlewares = self.runtime.middlewares
        for handler in router.handlers:
            self._workers.append(
                Worker(
                    replace(handler, handle=wrap(handler.handle, middlewares)),
                    self.name,
                    self.bus,
                    self.runtime.clock,
                    self.runtime.random,
                    self.outages,
                    self._handling_limit,
                    self._marks,
                )
            )
        for responder in router.responders:
            wrapped = replace(responder, handle=wrap(responder.handle, middlewares))
            respond(self.bus, self.name, wrapped, self.outages)

    @property
    def channels(self) -> set[str]:
        """The names of the channels this service listens to."""
        return {worker.handler.channel.name for worker in self._workers}

    def on_start(self, hook: Hook) -> None:
        """Run once the bus is connected, before any message; tried again until it succeeds."""
        self._hooks_up.append(hook)

    def on_stop(self, hook: Hook) -> None:
        """Run at a stop, once no message is handled: gives up what goes on beside them."""
        self._hooks_down.append(hook)

    def on_close(self, hook: Hook) -> None:
        """Run at the end of a stop, once no question is answered any more: closes connections."""
        self._hooks_closing.append(hook)

    def probe(self, name: str, check: Hook) -> None:
        """A part that must answer for the service to be ready; `check` raises if it doesn't."""
        self._probes[name] = check

    def background(self, name: str, loop: Hook, *, release: Hook | None = None) -> SupervisedLoop:
        """Run `loop` as long as the service runs; it is started again when it ends. Failures are logged and counted;
        after a few in a row the service isn't ready. `release` gives up what it holds, whenever it ends: it isn't cut
        off by the stop, which waits 3 seconds for it."""
        self._loops[name] = self._supervised(name, loop, release=release)
        return self._loops[name]

    def every(self, seconds: float, work: Work, *, name: str, release: Hook | None = None) -> None:
        """Run `work` now, and again `seconds` after each end; at once if it returned True, because there is more.
        `release`: as of `background`, after a failure of `work` too."""

        async def loop() -> None:
            while True:
                more = await work()
                supervised.worked()
                if more is not True:
                    await asyncio.sleep(seconds)

        supervised = self.background(name, loop, release=release)

    def follow(
        self,
        channels: Sequence[Channel[Any]],
        handle: Callable[[Event[Any]], None],
        *,
        name: str,
        limit: int = EVENTS_LIMIT,
    ) -> None:
        """Give each event of `channels` to `handle` as it passes, in every replica. An event that passes while NATS is
        away is missed; a replica that is slower than `limit` events loses the oldest."""

        async def loop() -> None:
            async with self.live.listen(channels, limit=limit) as events:
                while True:
                    handle(await events.next())
                    supervised.worked()

        supervised = self.background(name, loop)

    async def start(self) -> None:
        """Return at once; `started` is set when the service has all it needs. It waits for its servers for ever."""
        readiness.RUNNING.add(self)
        self._tasks.append(asyncio.create_task(self._run(), name=f"{self.name}: start"))

    async def stop(self, timeout: float = 25.0) -> None:
        """Take nothing new, finish what runs (`timeout` seconds at most), close the connections."""
        await asyncio.gather(*(worker.stop(timeout) for worker in self._workers))
        tasks, self._tasks = self._tasks, []
        pullers = [task for task in tasks if task.get_name().startswith("pull")]
        await _cancel([task for task in tasks if task not in pullers or not self.bus.connected])
        await asyncio.gather(*tasks, return_exceptions=True)
        await run_all(self._hooks_down)
        await self.bus.finish_answers()
        await self.publish.stop()
        await run_all(self._hooks_closing)
        await self.bus.stop()
        readiness.stopped(self)

    async def problems(self) -> dict[str, str]:
        """What keeps the service from being ready: part → kind of failure. Empty when it is ready.

        The driver's own words, which name hosts, are in the log alone.
        """
        found = {"stop": "it is about to stop"} if self.is_leaving else {}
        if not self.bus.connected:
            found["nats"] = "not connected"
        if not self.started.is_set():
            found["start"] = self._state
        found |= {f"loop {name}": loop.problem for name, loop in self._loops.items() if loop.problem}
        checks = dict(self._probes)
        if self.bus.connected and self.started.is_set():
            checks |= {f"consumer {worker.config.durable}": self._consumer_probe(worker) for worker in self._workers}
        results = await asyncio.gather(*(failure_of(check) for check in checks.values()))
        failed = {name: failure for name, failure in zip(checks, results, strict=True) if failure}
        found |= {name: failure.kind for name, failure in failed.items()}
        if failed != self._failed and failed:
            self._log.warning("not ready", **{f"part {name}": failure.text for name, failure in failed.items()})
        self._failed = failed
        readiness.show(self.name, found, dependencies=("nats", *self._probes))
        return found

    def _consumer_probe(self, worker: Worker) -> Hook:
        async def probe() -> None:
            await self.bus.jetstream.consumer_info(worker.config.stream, worker.config.durable, timeout=1)

        return probe

    async def _run(self) -> None:
        self._state = "connecting to NATS"
        await self._until_it_works(self.bus.connect)
        for hook in self._hooks_up:
            self._state = "preparing its store"
            await self._until_it_works(hook)
        self._state = "waiting for its streams and consumers: has `python -m rota_common.topology` been run?"
        for worker in self._workers:
            await self._until_it_works(self._consumer_probe(worker))
        await self.bus.listen()
        for worker in self._workers:
            name = f"pull {worker.config.durable}"
            self._loops[name] = self._supervised(name, worker.run, is_over=worker.is_stopping)
        for name, loop in self._loops.items():
            self._tasks.append(asyncio.create_task(loop(), name=name))
        self._state = "started"
        self.started.set()
        self._log.info("started")

    async def _until_it_works(self, step: Hook) -> None:
        attempt = 0
        while failure := await failure_of(step, timeout=30):
            attempt += 1
            self._log.warning("waiting", state=self._state, reason=failure.text)
            await asyncio.sleep(backoff(attempt, random=self.runtime.random, base=0.2, cap=2))

    def _supervised(
        self, name: str, loop: Hook, *, is_over: Callable[[], bool] = lambda: False, release: Hook | None = None
    ) -> SupervisedLoop:
        return SupervisedLoop(
            name=name,
            service=self.name,
            run=loop,
            outages=self.outages,
            random=self.runtime.random,
            is_over=is_over,
            release=release,
        )


async def _cancel(tasks: Sequence[asyncio.Task[None]], *, again: float = CANCEL_AGAIN_S) -> None:
    """Cancel until it works: Python 3.11's `wait_for` swallows a cancellation that comes together with its result."""
    while late := [task for task in tasks if not task.done()]:
        for task in late:
            task.cancel()
        await asyncio.wait(late, timeout=again)
        again *= 2

"""A scheduler in a process that kills itself before or after its n-th write."""

import asyncio
import multiprocessing
import os
import signal
import sys
from pathlib import Path
from typing import Any

from nats.aio.client import Client
from pymongo import monitoring

from rota_common.runtime import logs
from scheduler.app import build
from scheduler.settings import Settings

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["scheduler.app", "motor.motor_asyncio", "nats"])
"""Imports take longer than the rest of a start: they are done once."""

COMMANDS = ("insert", "update", "delete", "findAndModify", "commitTransaction")


class Fuse:
    """Shared with the process. `_left`: its writes until it dies; none is counted while it is 0, as at first and once
    it has burnt down."""

    def __init__(self, deaths: Path, *, after: bool) -> None:
        self._deaths, self._after = deaths, after
        self._left: Any = CONTEXT.Value("i", 0)
        self._only: Any = CONTEXT.Array("c", 80)

    def light(self, writes: int, *, only: str = "") -> None:
        """Die at this write, or at this one of those that are called `only`."""
        with self._left.get_lock():
            self._left.value, self._only.value = writes, only.encode()

    def put_out(self) -> bool:
        """True if it had burnt down: its process is dead, or about to be."""
        with self._left.get_lock():
            burnt = self._left.value == 0
            self._left.value = 0
        return burnt

    def before(self, what: str) -> bool:
        """Called before each write; True if the process dies after it."""
        with self._left.get_lock():
            if self._left.value == 0 or self._only.value not in (b"", what.encode()):
                return False
            self._left.value -= 1
            last = self._left.value == 0
        if last and not self._after:
            self.die(what)
        return bool(last)

    def die(self, what: str) -> None:
        with self._deaths.open("a") as file:
            file.write(f"{what}\n")
        os.kill(os.getpid(), signal.SIGKILL)


class DatabaseWrites(monitoring.CommandListener):
    """Those of the path: not the lease's renewal, which comes whenever its time has come, and not what a start does."""

    def __init__(self, fuse: Fuse) -> None:
        self._fuse = fuse
        self._last: tuple[int, str] | None = None

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        what = _name(event)
        if what and self._fuse.before(what):
            self._last = event.request_id, what

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        self._done(event.request_id)

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        self._done(event.request_id)

    def _done(self, request_id: int) -> None:
        if self._last is not None and self._last[0] == request_id:
            self._fuse.die(self._last[1])


def _name(event: monitoring.CommandStartedEvent) -> str:
    """Nothing, if it isn't a write of the path."""
    name, inside = event.command_name, "autocommit" in event.command
    if name not in COMMANDS:
        return ""
    if name == "commitTransaction":
        return name
    where = event.command[name]
    if inside:
        return f"{name} {where} in the transaction"
    return "" if where == "leases" else f"{name} {where}"


def watch_the_bus(fuse: Fuse) -> None:
    """Facts that are published, which are requests to the server, and messages that are acknowledged."""
    client: Any = Client
    request, publish = client.request, client.publish

    async def counted_request(self: Client, subject: str, *args: Any, **given: Any) -> Any:
        tokens = subject.split(".")
        if not subject.startswith("rota.v1.") or tokens[2] == "rpc":
            return await request(self, subject, *args, **given)
        what = f"publish {tokens[2]}.{tokens[3]}"
        last = fuse.before(what)
        try:
            return await request(self, subject, *args, **given)
        finally:
            if last:
                fuse.die(what)

    async def counted_publish(self: Client, subject: str, *args: Any, **given: Any) -> None:
        what = "" if args else _acknowledgement(subject)  # a sign of life and a return have a payload
        last = bool(what) and fuse.before(what)
        await publish(self, subject, *args, **given)
        if last:
            await self.flush()  # it is at the server, or this was no death after it
            fuse.die(what)

    client.request, client.publish = counted_request, counted_publish


def _acknowledgement(subject: str) -> str:
    """Nothing, if it isn't one."""
    if not subject.startswith("$JS.ACK."):
        return ""
    return f"ack {next(each for each in subject.split('.') if each.startswith('scheduler'))}"


async def _live(settings: dict[str, Any], ready: Any) -> None:
    service = build(Settings(**settings)).service
    await service.start()
    await service.started.wait()
    ready.set()
    await asyncio.Event().wait()


def _run(settings: dict[str, Any], fuse: Fuse, ready: Any, log: Path) -> None:
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), sys.stderr.fileno())
    logs.configure()
    monitoring.register(DatabaseWrites(fuse))
    watch_the_bus(fuse)
    asyncio.run(_live(settings, ready))


class Mortal:
    """One such process, and what it died of."""

    def __init__(self, settings: dict[str, Any], folder: Path, *, after: bool) -> None:
        self._deaths = folder / "deaths"
        self.fuse, self._ready = Fuse(self._deaths, after=after), CONTEXT.Event()
        given = (settings, self.fuse, self._ready, folder / "scheduler.log")
        self._process = CONTEXT.Process(target=_run, args=given, daemon=True)
        self._process.start()

    async def ready(self) -> None:
        while not self._ready.is_set():
            assert self._process.is_alive(), f"it ended with code {self._process.exitcode}: see its log"
            await asyncio.sleep(0.02)

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    async def dead(self) -> None:
        while self._process.is_alive():
            await asyncio.sleep(0.02)

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self._process.close()

    def died_of(self) -> str:
        """It, or the last one of this folder."""
        return self._deaths.read_text().splitlines()[-1] if self._deaths.exists() else "no death"

"""The run itself: in lock-step, each step is shown to all clocks and done when all that is due has come."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from random import Random
from time import monotonic

from rota_common.errors import Transient
from rota_common.runtime.service import Service
from rota_contracts import catalog
from rota_contracts.messages.robot_state import ReadRobots
from tests.clock_year.bus_listener import Ears
from tests.clock_year.daemons import Daemons
from tests.clock_year.definition import TEAM, definition
from tests.clock_year.executor import StubExecutor
from tests.clock_year.fleet import BEGIN, fleet
from tests.clock_year.oracle import Oracle
from tests.clock_year.replicas import Replicas
from tests.clock_year.report import Figures
from tests.clock_year.scoreboard import Book
from tests.clock_year.script import REPLICAS, Script, Step, horizon
from tests.clock_year.servers import Servers, servers

STEP_S, HOLD_S, ECHO_S, PROGRESS_S = 20.0, 0.2, 2.0, 10.0
"""How long a step may take; how long one is held at which nothing may happen; how long whatever is doubled may take to
come, at the end: longer than the bus waits before it delivers again what a dead replica had in hand."""

HOPELESS = 5
"""Steps in a row that don't come to their end: nothing will."""

AT_ONCE, SHOWN = 100, 5
LOOK_S, AGREE_S = 0.02, 0.2
ANSWER_S = 1.0
"""Whoever was asked may have been killed meanwhile."""


class Year:
    def __init__(self, folder: Path, *, days: int, seed: int) -> None:
        self._folder, self._days, self._seed = folder, days, seed
        robots = fleet(seed)
        self._end = horizon(BEGIN, days)
        self._definitions = [definition(given) for given in robots]
        self._oracle = Oracle(robots, BEGIN, self._end)
        self._members = [given.member for given in robots if not given.daemon]
        self.book = Book()
        self._daemons = Daemons((given.member for given in robots if given.daemon), Random(f"{seed} daemons"))
        self._now, self._began, self._hopeless = BEGIN, monotonic(), 0

    async def run(self) -> Figures:
        async with self._everybody():
            if not await self._agree(STEP_S):
                self._say(f"the clocks aren't stored as they should be {STEP_S:g} s after the start")
            self._say(f"{len(self._definitions)} robots are there; the year begins")
            said = self._began = monotonic()
            steps = 0
            for step in Script(self._oracle.instants, days=self._days, seed=self._seed).steps():
                await self._take(step)
                steps += 1
                if monotonic() - said > PROGRESS_S:
                    said = monotonic()
                    self._say_progress(steps)
                if self._hopeless == HOPELESS:
                    self._say(f"{HOPELESS} steps in a row didn't come to their end: given up")
                    break
            return await self._figures(steps)

    @asynccontextmanager
    async def _everybody(self) -> AsyncIterator[None]:
        async with servers(self._folder) as given:
            self._servers: Servers = given
            await given.keep(self._definitions)
            ears = Ears(self.book)
            self._executor = StubExecutor(given.nats_url, self.book, self._daemons, lambda: self._now)
            self._gateway = Service("trigger-gateway", given.nats_url)
            chance = Random(f"{self._seed} replicas")
            self._replicas = Replicas(REPLICAS, self._folder, BEGIN, settings=given.settings, random=chance)
            try:
                await ears.open(given.nats_url)
                for service in (self._executor.service, self._gateway):
                    await service.start()
                    await service.started.wait()
                await self._replicas.open()
                await self._replicas.start_all()
                yield
            finally:
                await self._replicas.close()
                for service in (self._executor.service, self._gateway):
                    await service.stop(1)
                await ears.close()

    async def _take(self, step: Step) -> None:
        self._replicas.check()
        if step.down:
            await self._replicas.kill_all()
        if step.odd is not None:
            await self._replicas.all_there()
        self.book.expect(self._oracle.advance(step.last))
        self._now = step.at
        self._replicas.show(step.readings)
        if step.daemons_end:
            await self._end_daemons(step.at)
        if step.down:
            await self._replicas.start_all()
        if step.kills:
            self._replicas.strike(step.kills, after=step.blow, spare=step.odd[0] if step.odd else None)
        if step.quiet:
            await asyncio.sleep(HOLD_S)
        if step.daemons_run:
            await self._daemons.all_run(step.at, STEP_S)
        await self._complete(step)

    async def _complete(self, step: Step) -> None:
        if await self.book.complete(STEP_S):
            self._hopeless = 0
            return
        self._hopeless += 1
        late = self.book.give_up()
        text = f"{len(late)} had not come after {STEP_S:g} s: {'; '.join(late[:SHOWN])}"
        self._say(f"{step.last:%a %d %b %Y %H:%M:%S}: {text}")

    async def _end_daemons(self, at: datetime) -> None:
        """And wait until the scheduler has noticed: only then it knows when the next runs are due."""
        ends = self._daemons.ends(at)
        for end in ends:
            await self._executor.finish(end.member, end.run, well=end.well, told=end.told)
        deadline = monotonic() + STEP_S
        resting = [end.member for end in ends]
        while resting and monotonic() < deadline:
            told = await self._next_runs(resting)
            resting = [member for member in resting if told.get(member) is None]
            await asyncio.sleep(LOOK_S)
        self._daemons.unnoticed(resting, at)

    async def _agree(self, timeout: float) -> bool:
        """Does the scheduler wait for the same instants as the oracle? Asked until it does."""
        deadline = monotonic() + timeout
        while await self._differing():
            if monotonic() > deadline:
                return False
            await asyncio.sleep(AGREE_S)
        return True

    async def _differing(self) -> list[str]:
        """Robots whose `next_run` isn't what the oracle says, in words."""
        found = []
        for start in range(0, len(self._members), AT_ONCE):
            members = self._members[start : start + AT_ONCE]
            told = await self._next_runs(members)
            for member in members:
                if told.get(member) != (wanted := self._oracle.next_due(member)):
                    found.append(f"{member} should run next at {wanted}, and its clock says {told.get(member)}")
        return found

    async def _next_runs(self, members: list[str]) -> dict[str, datetime | None]:
        """What the scheduler says of these robots, as anybody may ask it; nothing while nobody can answer."""
        try:
            question = ReadRobots(team_id=TEAM, member_ids=members)
            answer = await self._gateway.ask(catalog.READ_ROBOTS, question, timeout=ANSWER_S)
        except Transient:
            return {}
        return {robot.member_id: robot.next_run for robot in answer.robots}

    async def _figures(self, steps: int) -> Figures:
        await self._replicas.all_there()
        await self.book.complete(STEP_S)
        await asyncio.sleep(ECHO_S)
        await self._agree(ECHO_S)
        return Figures(
            book=self.book,
            daemons=self._daemons,
            wrong_next=await self._differing(),
            kills=self._replicas.kills,
            days=self._days,
            seed=self._seed,
            steps=steps,
            seconds=monotonic() - self._began,
        )

    def _say_progress(self, steps: int) -> None:
        book = self.book
        self._say(
            f"{monotonic() - self._began:5.0f} s: {self._now:%a %d %b %Y}, {steps} steps, {book.due} due, "
            f"{book.fired_count} fired, {book.skipped} skipped, {self._replicas.kills} kills"
        )

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

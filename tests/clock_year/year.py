"""The run of the year, in lock-step: each step sets all clocks, and ends when all that is due has fired."""

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
from tests.clock_year.bus_listener import BusListener
from tests.clock_year.daemons import Daemons
from tests.clock_year.definition import TEAM, definition
from tests.clock_year.executor import StubExecutor
from tests.clock_year.fleet import BEGIN, fleet
from tests.clock_year.oracle import Oracle
from tests.clock_year.replicas import Replicas
from tests.clock_year.report import Figures
from tests.clock_year.scoreboard import Scoreboard
from tests.clock_year.script import REPLICAS, Script, Step, horizon
from tests.clock_year.servers import Servers, servers

STEP_S, HOLD_S, STRAGGLERS_S, PROGRESS_S = 20.0, 0.2, 2.0, 10.0
"""The limit of a step; the length of a quiet one; the wait for doubled runs at the end, longer than the bus waits
until it redelivers a killed replica's messages; the interval of progress lines."""

STUCK_STEPS = 5
"""Consecutive incomplete steps after which the run is given up."""

AT_ONCE, SHOWN = 100, 5
POLL_S, AGREE_POLL_S = 0.02, 0.2
REPLY_S = 1.0
"""The replica that was asked may be killed before it replies."""


class Year:
    def __init__(self, folder: Path, *, days: int, seed: int) -> None:
        self._folder = folder
        self._days, self._seed = days, seed
        robots = fleet(seed)
        self._end = horizon(BEGIN, days)
        self._definitions = [definition(spec) for spec in robots]
        self._oracle = Oracle(robots, BEGIN, self._end)
        self._members = [spec.member for spec in robots if not spec.daemon]
        self.scoreboard = Scoreboard()
        self._daemons = Daemons((spec.member for spec in robots if spec.daemon), Random(f"{seed} daemons"))
        self._now, self._began = BEGIN, monotonic()
        self._stuck = 0

    async def run(self) -> Figures:
        async with self._running():
            if not await self._agree(STEP_S):
                self._print(f"after {STEP_S:g} s the stored clocks differ from the oracle")
            self._print(f"{len(self._definitions)} robots stored; the year begins")
            printed = self._began = monotonic()
            steps = 0
            for step in Script(self._oracle.instants, days=self._days, seed=self._seed).steps():
                await self._take(step)
                steps += 1
                if monotonic() - printed > PROGRESS_S:
                    printed = monotonic()
                    self._print_progress(steps)
                if self._stuck == STUCK_STEPS:
                    self._print(f"{STUCK_STEPS} consecutive steps were incomplete: given up")
                    break
            return await self._figures(steps)

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        async with servers(self._folder) as started:
            self._servers: Servers = started
            await started.keep(self._definitions)
            listener = BusListener(self.scoreboard)
            self._executor = StubExecutor(started.nats_url, self.scoreboard, self._daemons, lambda: self._now)
            self._gateway = Service("trigger-gateway", started.nats_url)
            chance = Random(f"{self._seed} replicas")
            self._replicas = Replicas(REPLICAS, self._folder, BEGIN, settings=started.settings, random=chance)
            try:
                await listener.open(started.nats_url)
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
                await listener.close()

    async def _take(self, step: Step) -> None:
        self._replicas.check()
        if step.down:
            await self._replicas.kill_all()
        if step.odd is not None:
            await self._replicas.wait_until_all_run()
        self.scoreboard.expect(self._oracle.advance(step.last))
        self._now = step.at
        self._replicas.show(step.readings)
        if step.daemons_end:
            await self._end_daemons(step.at)
        if step.down:
            await self._replicas.start_all()
        if step.kills:
            self._replicas.kill_some(step.kills, after=step.kill_after, spare=step.odd[0] if step.odd else None)
        if step.quiet:
            await asyncio.sleep(HOLD_S)
        if step.daemons_run:
            await self._daemons.all_run(step.at, STEP_S)
        await self._complete(step)

    async def _complete(self, step: Step) -> None:
        if await self.scoreboard.complete(STEP_S):
            self._stuck = 0
            return
        self._stuck += 1
        late = self.scoreboard.give_up()
        text = f"{len(late)} had not fired after {STEP_S:g} s: {'; '.join(late[:SHOWN])}"
        self._print(f"{step.last:%a %d %b %Y %H:%M:%S}: {text}")

    async def _end_daemons(self, at: datetime) -> None:
        """Also waits until the scheduler has noticed, and so knows when the next runs are due."""
        ends = self._daemons.ends(at)
        for end in ends:
            await self._executor.finish(end.member, end.run, well=end.well, reported=end.reported)
        deadline = monotonic() + STEP_S
        resting = [end.member for end in ends]
        while resting and monotonic() < deadline:
            next_runs = await self._next_runs(resting)
            resting = [member for member in resting if next_runs.get(member) is None]
            await asyncio.sleep(POLL_S)
        self._daemons.unnoticed(resting, at)

    async def _agree(self, timeout: float) -> bool:
        """Poll until the scheduler's next runs equal the oracle's; False if they don't in time."""
        deadline = monotonic() + timeout
        while await self._differences():
            if monotonic() > deadline:
                return False
            await asyncio.sleep(AGREE_POLL_S)
        return True

    async def _differences(self) -> list[str]:
        """Descriptions of the robots whose `next_run` isn't the oracle's."""
        found = []
        for start in range(0, len(self._members), AT_ONCE):
            members = self._members[start : start + AT_ONCE]
            next_runs = await self._next_runs(members)
            for member in members:
                if next_runs.get(member) != (wanted := self._oracle.next_due(member)):
                    found.append(f"{member} should run next at {wanted}, and its next_run is {next_runs.get(member)}")
        return found

    async def _next_runs(self, members: list[str]) -> dict[str, datetime | None]:
        """The `next_run` of these robots as the scheduler returns it; empty if no replica replies."""
        try:
            question = ReadRobots(team_id=TEAM, member_ids=members)
            answer = await self._gateway.ask(catalog.READ_ROBOTS, question, timeout=REPLY_S)
        except Transient:
            return {}
        return {robot.member_id: robot.next_run for robot in answer.robots}

    async def _figures(self, steps: int) -> Figures:
        await self._replicas.wait_until_all_run()
        await self.scoreboard.complete(STEP_S)
        await asyncio.sleep(STRAGGLERS_S)
        await self._agree(STRAGGLERS_S)
        return Figures(
            scoreboard=self.scoreboard,
            daemons=self._daemons,
            wrong_next=await self._differences(),
            kills=self._replicas.kills,
            days=self._days,
            seed=self._seed,
            steps=steps,
            seconds=monotonic() - self._began,
        )

    def _print_progress(self, steps: int) -> None:
        scoreboard = self.scoreboard
        self._print(
            f"{monotonic() - self._began:5.0f} s: {self._now:%a %d %b %Y}, {steps} steps, {scoreboard.due} due, "
            f"{scoreboard.fired_count} fired, {scoreboard.skipped} skipped, {self._replicas.kills} kills"
        )

    def _print(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

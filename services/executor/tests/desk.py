"""A worker and its surroundings in memory: what it carries out, saves and tells."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from random import Random
from typing import Any

from services.executor.tests.lives import GOOD, answer

from executor.adapters.fakes import InMemoryRuns
from executor.domain import lifecycle
from executor.domain.outcomes import Outcome, VerdictGiven
from executor.domain.run import Run, Signal
from executor.domain.steps import Question, Step
from executor.ports import Scope
from executor.signals import SendSignal
from executor.steps.step_runner import StepResult
from executor.worker import RunWorker, Timeouts
from rota_common.testing.samples import TEAM, SetClock

PACE = Timeouts(lease=10, patience=60)
Doing = Callable[[Run, Step], Awaitable[Outcome]]


class Told:
    """What was announced, and how the run was stored at that moment. What is `away` can't be told."""

    def __init__(self, runs: InMemoryRuns) -> None:
        self._runs = runs
        self.facts: list[str] = []
        self.asked: list[tuple[Question, Run | None]] = []
        self.away: set[str] = set()

    async def _tell(self, fact: str) -> None:
        if fact in self.away:
            raise ConnectionError("NATS is away")
        self.facts.append(fact)

    async def started(self, run: Run, *, grant: int = 0) -> None:
        await self._tell(f"started {grant}" if grant else "started")

    async def finished(self, run: Run) -> None:
        await self._tell(f"finished {run.execution.status}")

    async def parked(self, run: Run) -> None:
        await self._tell(f"parked {run.parks}")

    async def intervened(self, run: Run, word: Signal) -> None:
        await self._tell(f"intervened {word.action}")

    async def control(self, team: str, member: str | None, action: str, run_ids: list[str], reason: str) -> None:
        await self._tell(f"control {action} {' '.join(run_ids)}")

    async def ask(self, run: Run, question: Question) -> None:
        self.asked.append((question, await self._runs.find(run.id)))
        await self._tell(f"asked {run.waiting} {run.asks}")

    async def beginning(self, run: Run, step: Step) -> None: ...

    async def happened(self, run: Run, outcome: Outcome) -> None: ...


class Desk:
    """A worker with its surroundings. `doing` may be exchanged for what should happen while a step is carried out."""

    def __init__(self, *, expected: str = "", pace: Timeouts = PACE, runs: InMemoryRuns | None = None) -> None:
        self.runs, self.clock, self.steps = runs or InMemoryRuns(), SetClock(), list[str]()
        self.told = Told(self.runs)
        self._expected = expected
        self.doing: Doing = self.well
        self.drive = self.worker("first", pace)

    def worker(self, owner: str, pace: Timeouts = PACE) -> RunWorker:
        given: dict[str, Any] = {"owner": owner, "pace": pace, "clock": self.clock, "random": Random(7)}
        perform: Any = self._perform
        announce: Any = self.told
        return RunWorker(self.runs, perform, announce, **given)

    def giving(self, drive: RunWorker | None = None) -> SendSignal:
        """Whoever passes words on, beside `drive`."""
        announce: Any = self.told
        return SendSignal(self.runs, drive or self.drive, announce, self.clock)

    async def say(self, action: str, *, give: SendSignal | None = None, **fields: Any) -> None:
        """A word to all runs, and what follows from it at once."""
        give = give or self.giving()
        word = Signal.model_validate({"id": f"w-{len(self.told.facts)}", "action": action, "at": self.clock()} | fields)
        await give(Scope(TEAM), word)
        while give._going:
            await asyncio.wait(give._going)

    async def well(self, run: Run, step: Step) -> Outcome:
        return answer(run, step, tasks=1, expected=self._expected)

    async def _perform(self, run: Run, step: Step) -> AsyncIterator[StepResult]:
        self.steps.append(type(step).__name__)
        yield StepResult(await self.doing(run, step))

    async def found(self) -> Run:
        run = await self.runs.find("e1")
        assert run is not None
        return run

    async def overdue(self) -> list[str]:
        return [run_id async for run_id in self.runs.overdue(self.clock(), limit=10)]

    async def verdict(self) -> VerdictGiven:
        step: Any = lifecycle.next_step(await self.found())
        return VerdictGiven(step.validation_id, step.task.id, GOOD, None)


class Held:
    """Stops at the first step of a kind until it is let go."""

    def __init__(self, desk: Desk, kind: type[Any]) -> None:
        self.reached, self.go = asyncio.Event(), asyncio.Event()
        self.cancelled = False
        self._desk, self._kind = desk, kind
        desk.doing = self

    async def __call__(self, run: Run, step: Step) -> Outcome:
        if isinstance(step, self._kind) and not self.reached.is_set():
            self.reached.set()
            try:
                await self.go.wait()
            except asyncio.CancelledError:
                self.cancelled = True
                raise
        return await self._desk.well(run, step)

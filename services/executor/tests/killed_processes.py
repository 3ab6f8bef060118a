"""Processes of an executor over the stores of a world, each killed before or after one of its effects."""

from collections.abc import Awaitable, Callable
from functools import partial
from random import Random
from typing import Any, TypeVar

from services.executor.tests.killed_world import World

from executor.adapters.in_memory import InMemoryBlobs, InMemoryCalls, ScriptedPictures, ScriptedProcesses
from executor.agents.prompt_files import Agents
from executor.agents.team_view import TeamViews
from executor.publish import EventPublisher
from executor.runs.signals import SendSignal
from executor.runs.worker import RunWorker, Timeouts
from executor.steps.call_runner import CallRunner, Toolset
from executor.steps.compact_conversation import CompactConversation
from executor.steps.describe_media import DescribeMedia
from executor.steps.gather_situation import GatherSituation
from executor.steps.merge_goals import MergeGoals
from executor.steps.models import Models
from executor.steps.questions import Questions
from executor.steps.show_media import ShowMedia
from executor.steps.step_runner import StepRunner
from executor.steps.used_agents import no_agents
from rota_common.errors import Transient
from rota_common.testing.samples import MEMBER, TEAM
from rota_contracts.messages.control import Intervene
from rota_contracts.messages.trigger import Message

T = TypeVar("T")
TIMEOUTS = Timeouts(lease=10, patience=60)
AGENTS = Agents()
LIVES = 12
"""Sweeps after the last message, at most."""

WRITES = frozenset({"create", "claim", "save", "release", "finish", "mark_announced", "send_signal"})


class Killed(BaseException):
    """Nothing more happens in this process."""


class Port:
    """A port whose named methods are effects of a process."""

    def __init__(self, port: Any, process: "Process", effects: frozenset[str]) -> None:
        self._port = port
        self._process = process
        self._effects = effects

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        return partial(self._process.effect, name, found) if name in self._effects else found


class Process:
    """An executor's process over the stores of its world."""

    def __init__(self, world: World) -> None:
        self.world, self.alive = world, True
        runs: Any = Port(world.runs, self, WRITES)
        tools: Any = Port(world.shape.offers, self, frozenset())
        tools.call = partial(self.effect, "call", world.call)
        tools.with_own = lambda own: tools  # the team has none of its own
        model: Any = Port(world, self, frozenset({"complete"}))
        blobs: Any = Port(world.blobs, self, frozenset())
        blobs.keep = self._keep
        publish: Any = self
        publisher = EventPublisher(publish=publish, blobs=blobs, clock=world.clock)
        views = TeamViews(agents=AGENTS, connectors=world.connectors)
        models = Models(views=views, real=model, rehearsal=model)
        ask: Any = world.ask
        processes: Any = Port(ScriptedProcesses(), self, frozenset())
        processes.call = partial(self.effect, "call", world.process)
        toolset = Toolset(tools, processes)
        calls = CallRunner(
            blobs=blobs, views=views, real=toolset, recording=toolset, new_callback=lambda: "its callback"
        )
        run_step = StepRunner(
            models=models,
            blobs=blobs,
            questions=Questions(ask),
            merge_goals=MergeGoals(runs=runs, ask=ask, publisher=publisher, clock=world.clock),
            gather_situation=GatherSituation(runs=runs, blobs=blobs, ask=ask),
            show_media=ShowMedia(files=world.files, web=ScriptedPictures()),
            compact=CompactConversation(models=models, blobs=blobs),
            publish_piece=publisher.answer_piece,
            describe_media=DescribeMedia(calls=calls, replies=InMemoryCalls(), ask_agent=no_agents),
            calls=calls,
        )
        self.worker = RunWorker(
            runs=runs,
            run_step=run_step,
            publisher=publisher,
            owner=f"process-{world.lives}",
            timeouts=TIMEOUTS,
            clock=world.clock,
            random=Random(7),
        )
        self.send = SendSignal(runs=runs, worker=self.worker, publisher=publisher, clock=world.clock)

    async def effect(self, name: str, make: Callable[..., Awaitable[T]], *given: Any, **named: Any) -> T:
        if not self.alive:
            raise Killed
        cut = self.world.cut
        cut.effects.append(name)
        self.alive = not cut.dies(after=False)
        if not self.alive:
            raise Killed
        dies = cut.dies(after=True)
        made = await make(*given, **named)
        if dies or not self.alive:
            self.alive = False
            raise Killed
        return made

    async def work(self) -> None:
        """Handle the messages, and then what a sweeper finds."""
        messages = self.world.messages
        while messages:
            try:
                await messages[0](self)
            except Transient:  # it comes again
                return
            self._check()
            messages.popleft()
        async for run_id in self.world.runs.overdue(limit=10):
            await self.worker.resume(run_id, from_sweeper=True)
            self._check()

    def _check(self) -> None:
        if not self.alive:
            raise Killed

    async def start(self) -> None:
        await self.worker.start(self.world.shape.run)

    async def answer(self, words: str, number: str) -> None:
        owner = {"team_id": TEAM, "member_id": MEMBER, "execution_id": "e1"}
        said = [Message(content=words)]
        await self.send.intervene(Intervene(**owner, intervention_id=number, action="instruct", messages=said))
        await self.send.idle()

    async def __call__(
        self, channel: Any, fact: Any, *, caused_by: str, step: str = "", again: int = 0, trace: str = ""
    ) -> None:
        async def store() -> None:
            self.world.store_fact(f"{channel.name} {caused_by} {step} {again}", fact)

        await self.effect(f"publish {channel.name}", store)

    async def observe(self, channel: Any, fact: Any) -> None:
        """It may be lost."""

    hint = observe

    async def _keep(self, text: str, **how: Any) -> Any:
        made = await InMemoryBlobs().keep(text, **how)
        return made if made.ref is None else await self.effect("keep", self.world.blobs.keep, text, **how)


async def live(world: World) -> World:
    """Everything that happens until nothing more does."""
    for _ in range(LIVES):
        world.lives += 1
        process = Process(world)
        try:
            await process.work()
        except Killed:
            world.store_clock.forward(TIMEOUTS.lease + 1)
            world.clock.forward(7 if world.changing else 0)
            await world.check_replay("at its death")
        else:
            if (run := await world.runs.find("e1")) is not None and run.over and run.id not in await _overdue(world):
                break
            world.store_clock.forward(TIMEOUTS.patience)
    await world.check_end()
    return world


async def _overdue(world: World) -> list[str]:
    return [run_id async for run_id in world.runs.overdue(limit=10)]

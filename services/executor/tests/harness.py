"""Harnesses: a worker over stores in memory, and a step runner with a scripted model and tools."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any, cast

from services.executor.tests.fixtures import GOOD, outcome_of

from executor.adapters.in_memory import (
    InMemoryBlobs,
    InMemoryCalls,
    InMemoryFiles,
    ScriptedModel,
    ScriptedPictures,
    ScriptedProcesses,
    ScriptedTools,
)
from executor.adapters.in_memory_runs import InMemoryRuns
from executor.adapters.in_memory_team_definitions import InMemoryDefinitions
from executor.adapters.recording_tools import RecordingProcesses, RecordingTools
from executor.agents.connectors import Connectors
from executor.agents.operator_files import ALL_TEAMS
from executor.agents.prompt_files import Agent, Agents
from executor.agents.skill_files import Skills
from executor.agents.team_view import TeamViews
from executor.domain import journal, lifecycle
from executor.domain.conversation.chat import ModelReply, Tool, ToolCall
from executor.domain.outcomes import Outcome, VerdictGiven
from executor.domain.run import Run, Signal
from executor.domain.steps import AskAgent, BeginCalls, Compact, Finish, MakeCalls, Question, RunTurn, Step
from executor.ports import Scope
from executor.runs.signals import SendSignal
from executor.runs.worker import RunWorker, Timeouts
from executor.steps.call_runner import CallRunner, Toolset
from executor.steps.compact_conversation import CompactConversation
from executor.steps.describe_media import DescribeMedia
from executor.steps.models import Models
from executor.steps.show_media import ShowMedia
from executor.steps.step_result import StepResult
from executor.steps.step_runner import StepRunner
from executor.steps.used_agents import no_agents
from rota_common.testing.samples import TEAM, SetClock
from rota_contracts.messages.text import Text

TIMEOUTS = Timeouts(lease=10, patience=60)
OutcomeOf = Callable[[Run, Step], Awaitable[Outcome]]

LOOKUP = Tool("crm__lookup", "crm", "lookup", "Looks a customer up", idempotent=True)
NOTE = Tool("crm__note", "crm", "note", "Writes a note")
DRAW = Tool("ark_image_text2img__draw", "ark.image.text2img", "draw")
TOOLS = [LOOKUP, NOTE, DRAW]


class Published:
    """The events that were published, and each run as it was stored when a request went out. Publishing one of
    `unavailable` fails."""

    def __init__(self, runs: InMemoryRuns) -> None:
        self._runs = runs
        self.facts: list[str] = []
        self.requests: list[tuple[Question, Run | None]] = []
        self.unavailable: set[str] = set()
        self.blobs = InMemoryBlobs()
        self.pieces: list[tuple[int, str]] = []

    async def _publish(self, fact: str) -> None:
        if fact in self.unavailable:
            raise ConnectionError("NATS is away")
        self.facts.append(fact)

    async def started(self, run: Run, *, grant: int = 0) -> None:
        await self._publish(f"started {grant}" if grant else "started")

    async def finished(self, run: Run) -> None:
        await self._publish(f"finished {run.execution.status}")

    async def parked(self, run: Run) -> None:
        await self._publish(f"parked {run.parks}")

    async def intervened(self, run: Run, signal: Signal) -> None:
        await self._publish(f"intervened {signal.action}")

    async def control(self, scope: Scope, signal: Signal, run_ids: list[str]) -> None:
        await self._publish(f"control {signal.action} {' '.join(run_ids)}")

    async def request(self, run: Run, question: Question) -> None:
        self.requests.append((question, await self._runs.find(run.id)))
        await self._publish(f"asked {run.waiting} {run.asks}")

    async def step_started(self, run: Run, step: Step) -> None: ...

    async def step_finished(self, run: Run, outcome: Outcome, reply: Text | None = None) -> None: ...


class WorkerHarness:
    """A worker with its ports in memory. `run_step` may be replaced by what happens during a step; `reply` is what the
    model says in each."""

    def __init__(self, *, expected: str = "", timeouts: Timeouts = TIMEOUTS, runs: InMemoryRuns | None = None) -> None:
        self.clock, self.steps = SetClock(), list[str]()
        self.runs = runs or InMemoryRuns()
        self.runs.clock = self.clock
        self.published = Published(self.runs)
        self._expected = expected
        self.reply: Text | None = None
        self.run_step: OutcomeOf = self.succeed
        self.worker = self.new_worker("first", timeouts)

    def new_worker(self, owner: str, timeouts: Timeouts = TIMEOUTS) -> RunWorker:
        run_step: Any = self._run_step
        publisher: Any = self.published
        return RunWorker(
            runs=self.runs,
            run_step=run_step,
            publisher=publisher,
            owner=owner,
            timeouts=timeouts,
            clock=self.clock,
            random=Random(7),
        )

    def sender(self, worker: RunWorker | None = None) -> SendSignal:
        publisher: Any = self.published
        return SendSignal(runs=self.runs, worker=worker or self.worker, publisher=publisher, clock=self.clock)

    async def signal(self, action: str, *, sender: SendSignal | None = None, **fields: Any) -> None:
        """Signal all runs, and wait until they are resumed."""
        send = sender or self.sender()
        given = {"id": f"w-{len(self.published.facts)}", "action": action, "at": self.clock()}
        await send(Scope(TEAM), Signal.model_validate(given | fields))
        await send.idle()

    async def succeed(self, run: Run, step: Step) -> Outcome:
        return outcome_of(run, step, tasks=1, expected=self._expected)

    async def _run_step(self, run: Run, step: Step) -> AsyncIterator[StepResult]:
        self.steps.append(type(step).__name__)
        yield StepResult(await self.run_step(run, step), reply=self.reply)

    async def run(self) -> Run:
        run = await self.runs.find("e1")
        assert run is not None
        return run

    async def overdue(self) -> list[str]:
        return [run_id async for run_id in self.runs.overdue(limit=10)]

    async def verdict(self) -> VerdictGiven:
        step: Any = lifecycle.next_step(await self.run())
        return VerdictGiven(step.validation_id, step.task.id, GOOD, None)


class HeldStep:
    """Stops at the first step of a kind until `go` is set."""

    def __init__(self, harness: WorkerHarness, kind: type[Any]) -> None:
        self.reached, self.go = asyncio.Event(), asyncio.Event()
        self.cancelled = False
        self._harness, self._kind = harness, kind
        harness.run_step = self

    async def __call__(self, run: Run, step: Step) -> Outcome:
        if isinstance(step, self._kind) and not self.reached.is_set():
            self.reached.set()
            try:
                await self.go.wait()
            except asyncio.CancelledError:
                self.cancelled = True
                raise
        return await self._harness.succeed(run, step)


def calls(*named: tuple[str, dict[str, Any]], text: str = "") -> ModelReply:
    """A model's reply that calls tools by these names with these arguments."""
    made = [ToolCall(id=f"c{number}", name=name, arguments=given) for number, (name, given) in enumerate(named, 1)]
    return ModelReply(text=text, calls=made)


class StepHarness:
    """Carries out a run's own steps with scripted tools and a scripted model; all other steps succeed."""

    def __init__(
        self,
        model: ScriptedModel,
        *,
        tools: Sequence[Tool] = TOOLS,
        agent: Agent | None = None,
        window: int = 0,
        connectors: Connectors | None = None,
        skills: Skills | None = None,
    ) -> None:
        self.model, unused = model, cast(Any, None)
        self.tools, self.processes = ScriptedTools(tools), ScriptedProcesses()
        self.clock, self.steps = SetClock(), list[Step]()
        self.blobs, self.files = InMemoryBlobs(), InMemoryFiles()
        self.pictures, self.pieces = ScriptedPictures(), list[tuple[int, str]]()
        self.agents, self.definitions = Agents(), InMemoryDefinitions()
        if agent is not None:
            self.agents._built_in[agent.id] = agent
        connectors = connectors or Connectors("rehearsal", environ={})
        if window:
            connectors._all["rehearsal"] = replace(connectors._all["rehearsal"], window=window)
        self.skills = skills or Skills()
        views = self._views(connectors)
        models = Models(views=views, real=model, rehearsal=model)
        self.replies = InMemoryCalls()
        self.replies.clock = self.clock
        calls = self._calls(views)
        self.run_step = StepRunner(
            models=models,
            compact=CompactConversation(models=models, blobs=self.blobs),
            publish_piece=self._piece,
            blobs=self.blobs,
            questions=unused,
            merge_goals=unused,
            gather_situation=unused,
            show_media=ShowMedia(files=self.files, web=self.pictures),
            describe_media=DescribeMedia(calls=calls, replies=self.replies, ask_agent=no_agents),
            calls=calls,
        )

    def _calls(self, views: TeamViews) -> CallRunner:
        real = Toolset(self.tools, self.processes)
        recording = Toolset(RecordingTools({"crm": ALL_TEAMS}), RecordingProcesses())
        return CallRunner(blobs=self.blobs, views=views, real=real, recording=recording)

    def use(self, connectors: Connectors) -> None:
        """Other connectors from now on; the model stays."""
        models = Models(views=self._views(connectors), real=self.model, rehearsal=self.model)
        self.run_step = replace(self.run_step, models=models)

    def _views(self, connectors: Connectors) -> TeamViews:
        return TeamViews(agents=self.agents, connectors=connectors, skills=self.skills, definitions=self.definitions)

    async def _piece(self, run: Run, task_id: str, number: int, text: str) -> None:
        self.pieces.append((number, text))

    async def step(self, run: Run) -> Run:
        """The run after its next step."""
        step = lifecycle.next_step(run)
        self.steps.append(step)
        began = self.clock()
        if not isinstance(step, AskAgent | RunTurn | BeginCalls | MakeCalls | Compact):
            return journal.record_outcome(run, outcome_of(run, step), now=self.clock())
        async for result in self.run_step(run, step):
            given: Any = {"said": result.reply, "tools": result.tools, "notes": result.problems, "call": result.call}
            run = journal.record_outcome(run, result.outcome, now=self.clock(), began=began, **given)
        return run

    async def until(self, run: Run, stop: Callable[[Run], bool]) -> Run:
        while not stop(run):
            run = await self.step(run)
        return run

    async def task_done(self, run: Run) -> Run:
        """The run once its first task is over."""
        return await self.until(run, lambda run: bool(run.execution.results) and _final(run))

    async def over(self, run: Run) -> Run:
        run = await self.until(run, lambda run: isinstance(lifecycle.next_step(run), Finish))
        step = lifecycle.next_step(run)
        assert isinstance(step, Finish)
        return journal.record_finished(run, step.status, now=self.clock())


def _final(run: Run) -> bool:
    return run.execution.results[0].status in ("completed", "failed", "skipped")

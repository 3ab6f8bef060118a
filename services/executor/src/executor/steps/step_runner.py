"""Carrying out a step that the worker does itself, and saying what came of it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from secrets import token_urlsafe
from typing import assert_never

from executor.agents.connectors import REHEARSAL, Connector, Connectors
from executor.agents.facts import facts
from executor.agents.prompt_files import Agent, Agents
from executor.agents.prompts import for_phase, for_task
from executor.domain.conversation.chat import ModelReply, Tool
from executor.domain.conversation.loop import CAP
from executor.domain.conversation.messages import references
from executor.domain.outcomes import CallsBegun, NotCalled, Outcome, Promised, StepDelayed, StepFailed, Used
from executor.domain.planning.interpret import LargeTexts, interpret, room
from executor.domain.run import Run
from executor.domain.steps import (
    AskAgent,
    BeginCalls,
    CheckRules,
    CompareGoals,
    GiveGoals,
    MakeCalls,
    RecallLessons,
    RunTurn,
    Work,
)
from executor.domain.tasks.promised_calls import callback_of
from executor.ports import Model, NotBegun, Processes, Prompt, ToolFailed, Tools
from executor.requests import process_call
from executor.steps.gather_situation import GatherSituation
from executor.steps.look_up import ROUNDS, look_up, tools_to_look_up
from executor.steps.merge_goals import MergeGoals
from executor.steps.questions import Questions
from rota_common.errors import Permanent, Transient
from rota_common.stores.blobs import Blobs
from rota_contracts.messages.agent import DEFAULT_TIMEOUT_S
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.execution import Task
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.robots.clock_config import duration
from rota_contracts.robots.robot import Phase

SAID_LIMIT, ALL_SAID_LIMIT = 16 * 1024, 4 * 1024 * 1024
"""Bytes of one model answer, and of all answers of a run, that its trail keeps inline."""


def _secret() -> str:
    """Whoever knows it may send a result: nobody can guess it."""
    return token_urlsafe(24)


@dataclass(frozen=True)
class Models:
    """Which model answers: the connector's, or rehearsal for every run that isn't in standard mode (EX-08)."""

    connectors: Connectors
    real: Model
    rehearsal: Model

    def choose(self, mode: ExecutorMode, *wanted: str) -> tuple[Model, Connector]:
        """Raises Permanent when the connector can't be used."""
        if mode is not ExecutorMode.STANDARD:
            return self.rehearsal, self.connectors.choose(REHEARSAL)
        connector = self.connectors.choose(*wanted)
        return (self.rehearsal if connector.type == REHEARSAL else self.real), connector


@dataclass(frozen=True)
class Toolset:
    """Tools and processes; in runs that aren't in standard mode stand-ins that only record."""

    tools: Tools
    processes: Processes


@dataclass(frozen=True)
class StepResult:
    """An outcome; of a model's answer also the answer itself, and the tools that it could call."""

    outcome: Outcome
    said: Text | None = None
    tools: Sequence[Tool] = field(default=())


@dataclass(frozen=True)
class StepRunner:
    """`async for heard in perform(run, step)`: one outcome, or one for each call that is made at once.

    A failure is an outcome, never an exception.
    """

    models: Models
    agents: Agents
    blobs: Blobs
    asking: Questions
    merging: MergeGoals
    look_around: GatherSituation
    real: Toolset
    recording: Toolset
    new_callback: Callable[[], str] = _secret

    async def __call__(self, run: Run, step: Work) -> AsyncIterator[StepResult]:
        if isinstance(step, MakeCalls):
            async for outcome in self._calls(run, step):
                yield StepResult(outcome)
            return
        try:
            heard = await self._carry_out(run, step)
        except Permanent as error:
            heard = StepResult(StepFailed(str(error)))
        except Transient as error:
            heard = StepResult(StepDelayed(str(error), error.after))
        yield heard

    async def _carry_out(
        self, run: Run, step: RecallLessons | AskAgent | CompareGoals | GiveGoals | RunTurn | BeginCalls | CheckRules
    ) -> StepResult:
        match step:
            case RecallLessons():
                return StepResult(await self._recall(run, step))
            case CompareGoals(goals):
                return StepResult(await self.merging.compare(run, goals))
            case GiveGoals(merge):
                return StepResult(await self.merging.give(run, merge))
            case CheckRules():
                return StepResult(await self.asking.check(run, step))
            case BeginCalls(task, uses):
                return StepResult(CallsBegun(task.id, list(uses), self._callbacks(run, uses)))
            case AskAgent():
                return await self._ask_agent(run, step)
            case RunTurn():
                return await self._run_turn(run, step)
            case never:
                assert_never(never)

    async def _recall(self, run: Run, step: RecallLessons) -> Outcome:
        if not step.look_around:
            return await self.asking.recall(run, step.query)
        recalled, around = await asyncio.gather(self.asking.recall(run, step.query), self.look_around(run))
        return replace(recalled, surroundings=around)

    async def _ask_agent(self, run: Run, step: AskAgent) -> StepResult:
        phase = step.phase
        agent_id = run.robot.phase_agent(phase)
        agent = self.agents.find(agent_id)
        if agent is None:
            raise Permanent(f"there is no agent {agent_id}: add {agent_id}.md to the folder of ROTA_AGENTS_DIR")
        if phase is Phase.INSPIRATION:
            return await self._inspire(run, step, agent)
        tools = await self._workshop(run).tools.list(run.robot) if phase is Phase.TASKS else ()
        model, connector = self.models.choose(run.execution.executor_mode, agent.connector)
        messages = for_phase(run, phase, agent, agent_id, await self._texts(run), tools)
        known = facts(run, phase, tools=tools)
        said = await model.complete(Prompt(messages, connector, DEFAULT_TIMEOUT_S, step.step_id, agent.options, known))
        return await self._understood(run, step, said, tools)

    async def _inspire(self, run: Run, step: AskAgent, agent: Agent) -> StepResult:
        shop, cap = self._workshop(run).tools, agent.max_iterations or ROUNDS
        closing = step.iteration >= cap
        tools = () if closing else await tools_to_look_up(shop, run.robot, agent)
        model, connector = self.models.choose(run.execution.executor_mode, agent.connector)
        messages = for_phase(run, step.phase, agent, agent.id, {}, closing=cap if closing else None)
        known = facts(run, step.phase)
        prompt = Prompt(messages, connector, DEFAULT_TIMEOUT_S, step.step_id, agent.options, known, tools)
        said = await model.complete(prompt)
        if said.calls and tools:
            return StepResult(await look_up(shop, said, tools, step_id=step.step_id))
        return await self._understood(run, step, said, ())

    async def _run_turn(self, run: Run, step: RunTurn) -> StepResult:
        task = step.task
        agent = self.agents.assistant(task.executor_id)
        cap = agent.max_iterations or CAP
        closing = step.iteration >= cap
        tools = () if closing else await self._tools_of(run, agent)
        model, connector = self.models.choose(run.execution.executor_mode, agent.connector)
        texts = await self._texts(run, task)
        messages = for_task(run, task, agent, texts, closing=cap if closing else None)
        known = facts(run, "run", task=task, tools=tools)
        prompt = Prompt(messages, connector, DEFAULT_TIMEOUT_S, step.step_id, agent.options, known, tools)
        return await self._understood(run, step, await model.complete(prompt), tools)

    async def _understood(
        self, run: Run, step: AskAgent | RunTurn, said: ModelReply, tools: Sequence[Tool]
    ) -> StepResult:
        kept = LargeTexts()
        outcome = interpret(run, step, said, tools, kept)
        for whole in kept.large:
            await self.blobs.keep(whole, inline_limit=0)
        limit = SAID_LIMIT if run.said_bytes < ALL_SAID_LIMIT else 0
        return StepResult(outcome, await self.blobs.keep(said.model_dump_json(), inline_limit=limit), tools)

    async def _calls(self, run: Run, step: MakeCalls) -> AsyncIterator[Outcome]:
        """All calls at once, each outcome as soon as it is there."""
        calls = [asyncio.create_task(self._call(run, step.task, use)) for use in step.uses]
        try:
            for done in asyncio.as_completed(calls):
                yield await done
        finally:
            for call in calls:
                call.cancel()

    def _callbacks(self, run: Run, uses: Sequence[ToolUse]) -> dict[str, str]:
        """Where the results of calls of processes may be sent later; a stand-in that only records answers at once."""
        if run.execution.executor_mode is not ExecutorMode.STANDARD:
            return {}
        new = [use for use in uses if use.server is None and callback_of(run, use.step_id) is None]
        return {use.step_id: self.new_callback() for use in new}

    async def _call(self, run: Run, task: Task, use: ToolUse) -> Outcome:
        shop = self._workshop(run)
        try:
            if use.server is not None:
                said: str | None = await shop.tools.call(use)
            else:
                process = run.robot.process(use.name)
                seconds = duration(process.timeout).total_seconds() if process else 60.0
                said = await shop.processes.call(use.name, process_call(run, task, use), timeout=seconds)
            if said is None:
                return _promised(run, task, use)
            return Used(task.id, use.step_id, await self.blobs.keep(said, inline_limit=room(run)))
        except NotBegun as error:
            return NotCalled(task.id, use.step_id, str(error), error.after)
        except (ToolFailed, Transient, Permanent) as error:
            return Used(task.id, use.step_id, None, str(error))

    async def _tools_of(self, run: Run, agent: Agent) -> Sequence[Tool]:
        """The robot's tools, as far as this assistant may use them."""
        tools = await self._workshop(run).tools.list(run.robot)
        return [tool for tool in tools if agent.may_use(tool)]

    def _workshop(self, run: Run) -> Toolset:
        return self.real if run.execution.executor_mode is ExecutorMode.STANDARD else self.recording

    async def _texts(self, run: Run, task: Task | None = None) -> dict[str, str]:
        """What the prompt needs of all that is kept by reference: results so far, and the talk about `task`."""
        wanted: list[Text] = []
        for result in run.execution.results:
            if task is not None and result.task_id == task.id:
                wanted += references(result.turns)
            elif result.output is not None and result.output.ref is not None:
                wanted.append(result.output)
        return {text.ref.name: await self.blobs.read(text) for text in wanted if text.ref is not None}


def _promised(run: Run, task: Task, use: ToolUse) -> Outcome:
    if callback_of(run, use.step_id) is None:
        return Used(task.id, use.step_id, None, "it promised a result for later, and was not told where to send it")
    return Promised(task.id, use.step_id)

"""The step runner: carries out the steps that are a worker's own, and yields their outcomes."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

from executor.agents.connectors import Connector
from executor.agents.facts import facts
from executor.agents.prompt_files import Agent, Agents
from executor.agents.prompts import for_phase, for_task, phase_frame, task_frame
from executor.domain.answers.understand import understand
from executor.domain.context.compaction import shown
from executor.domain.context.contexts import context_of, of_task
from executor.domain.conversation.ask_person import ASK_PERSON
from executor.domain.conversation.chat import ModelReply, Tool
from executor.domain.conversation.loop import CAP
from executor.domain.conversation.messages import references
from executor.domain.outcomes import Outcome, Overflowed, StepDelayed, StepFailed
from executor.domain.planning import plain_request
from executor.domain.planning.interpret import LargeTexts, interpret
from executor.domain.planning.resources import assistants
from executor.domain.run import Run
from executor.domain.steps import (
    AskAgent,
    BeginCalls,
    CheckRules,
    Compact,
    CompareGoals,
    GiveGoals,
    MakeCalls,
    RecallLessons,
    RunTurn,
    Work,
)
from executor.ports import Blobs, Model, Prompt
from executor.steps.call_runner import CallRunner
from executor.steps.compact_conversation import CompactConversation
from executor.steps.gather_situation import GatherSituation
from executor.steps.in_context import ASKS_A_PERSON, in_context
from executor.steps.in_window import InWindow
from executor.steps.keep_texts import keep_output, keep_reply
from executor.steps.look_up import ROUNDS, look_up, tools_to_look_up
from executor.steps.merge_goals import MergeGoals
from executor.steps.models import Models
from executor.steps.questions import Questions
from rota_common.errors import Permanent, Transient
from rota_contracts.messages.agent import DEFAULT_TIMEOUT_S
from rota_contracts.messages.execution import Task
from rota_contracts.messages.text import Text
from rota_contracts.robots.robot import Phase


@dataclass(frozen=True)
class StepResult:
    """An outcome; where it comes of a model's `reply`, also that, and the `tools` that the model could call.

    `problems`: why it couldn't call others; noted on the run.
    """

    outcome: Outcome
    reply: Text | None = None
    tools: Sequence[Tool] = ()
    problems: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class StepRunner:
    """A step yields one outcome; calls of tools yield one each. Failures are outcomes, too."""

    models: Models
    agents: Agents
    blobs: Blobs
    questions: Questions
    merge_goals: MergeGoals
    gather_situation: GatherSituation
    calls: CallRunner
    compact: CompactConversation

    async def __call__(self, run: Run, step: Work) -> AsyncIterator[StepResult]:
        if isinstance(step, MakeCalls):
            async for outcome in self.calls(run, step):
                yield StepResult(outcome)
            return
        try:
            result = await self._carry_out(run, step)
        except Permanent as error:
            result = StepResult(StepFailed(str(error)))
        except Transient as error:
            result = StepResult(StepDelayed(str(error), error.after))
        yield result

    async def _carry_out(
        self,
        run: Run,
        step: RecallLessons | AskAgent | CompareGoals | GiveGoals | RunTurn | Compact | BeginCalls | CheckRules,
    ) -> StepResult:
        match step:
            case RecallLessons():
                return StepResult(await self._recall(run, step))
            case CompareGoals(goals):
                return StepResult(await self.merge_goals.compare(run, goals))
            case GiveGoals(merge):
                return StepResult(await self.merge_goals.give_goals(run, merge))
            case CheckRules():
                return StepResult(await self.questions.check(run, step))
            case BeginCalls(task, uses):
                return StepResult(self.calls.begin(run, task, uses))
            case AskAgent() | RunTurn() | Compact():
                return await self._ask_model(run, step)
            case never:
                assert_never(never)

    async def _ask_model(self, run: Run, step: AskAgent | RunTurn | Compact) -> StepResult:
        match step:
            case AskAgent():
                return await self._ask_agent(run, step)
            case RunTurn():
                return await self._run_turn(run, step)
            case Compact():
                return await self._compact(run, step)

    async def _recall(self, run: Run, step: RecallLessons) -> Outcome:
        if not step.with_situation:
            return await self.questions.recall(run, step.query)
        recalled, situation = await asyncio.gather(self.questions.recall(run, step.query), self.gather_situation(run))
        return replace(recalled, surroundings=situation)

    def _phase_agent(self, run: Run, phase: Phase) -> tuple[str, Agent]:
        agent_id = run.robot.phase_agent(phase)
        agent = self.agents.find(agent_id, team=run.execution.team_id)
        if agent is None:
            raise Permanent(f"there is no agent {agent_id}: add {agent_id}.md to the folder of ROTA_AGENTS_DIR")
        return agent_id, agent

    async def _ask_agent(self, run: Run, step: AskAgent) -> StepResult:
        phase, texts = step.phase, await self._read(_wanted(run))
        if ready := plain_request.answer(run, phase, texts):
            return StepResult(ready)
        agent_id, agent = self._phase_agent(run, phase)
        if phase is Phase.INSPIRATION:
            return await self._inspire(run, step, agent)
        plans = phase in (Phase.GOALS, Phase.TASKS)
        shown = await self.calls.toolset(run).tools.list(run.robot) if plans else ()
        tools = shown if phase is Phase.TASKS else ()
        model, connector = self._model(run, agent)
        about = self.agents.about(assistants(run.robot), team=run.execution.team_id) if plans else {}
        messages = for_phase(run, phase, agent, agent_id, texts, shown, about=about, model=connector.model)
        known = facts(run, phase, tools=tools)
        prompt = Prompt(messages, connector, DEFAULT_TIMEOUT_S, step.step_id, agent.options, known)
        asked = await InWindow(run, step, model, connector).ask(prompt, mark=phase_frame(run, phase).mark)
        if isinstance(asked, Overflowed):
            return StepResult(asked)
        return await self._interpret(run, step, in_context(*asked), tools)

    async def _inspire(self, run: Run, step: AskAgent, agent: Agent) -> StepResult:
        mine, cap = self.calls.toolset(run).tools, agent.max_iterations or ROUNDS
        closing = step.iteration >= cap
        model, connector = self._model(run, agent)
        within = InWindow(run, step, model, connector)
        tools = within.tools(() if closing else await tools_to_look_up(mine, run.robot, agent))
        messages = for_phase(
            run,
            step.phase,
            agent,
            agent.id,
            {},
            closing=cap if closing else None,
            in_text=within.in_text(tools),
            model=connector.model,
        )
        if full := within.overflow(messages, tools):
            return StepResult(full)
        known = facts(run, step.phase)
        prompt = Prompt(messages, connector, DEFAULT_TIMEOUT_S, step.step_id, agent.options, known, tools)
        asked = await within.ask(prompt, mark=phase_frame(run, step.phase).mark)
        if isinstance(asked, Overflowed):
            return StepResult(asked)
        reply = in_context(*asked, tools)
        found = understand(reply, tools)
        if found.calls and tools:
            return StepResult(await look_up(mine, found, tools, step_id=step.step_id, team=run.execution.team_id))
        return await self._interpret(run, step, reply, ())

    async def _run_turn(self, run: Run, step: RunTurn) -> StepResult:
        task = step.task
        agent = self.agents.assistant(task.executor_id, team=run.execution.team_id)
        cap = agent.max_iterations or CAP
        closing = step.iteration >= cap
        model, connector = self._model(run, agent)
        within = InWindow(run, step, model, connector)
        mine = within.tools(() if closing else await self._tools_of(run, agent))
        tools = [*mine, ASK_PERSON] if self._may_ask(run, task, closing) else mine
        build = partial(
            for_task,
            run,
            task,
            agent,
            closing=cap if closing else None,
            in_text=within.in_text(tools),
            model=connector.model,
        )
        wanted = _wanted(run, task)
        messages = build(within.sizes(wanted))
        if full := within.overflow(messages, tools):
            return StepResult(full)
        messages = build(await self._read(wanted)) if wanted else messages
        known = facts(run, "run", task=task, tools=mine)
        prompt = Prompt(messages, connector, DEFAULT_TIMEOUT_S, step.step_id, agent.options, known, tools)
        asked = await within.ask(prompt, mark=task_frame(run, task).mark)
        if isinstance(asked, Overflowed):
            return StepResult(asked)
        return await self._interpret(run, step, in_context(*asked, tools, fields=ASKS_A_PERSON), tools)

    async def _compact(self, run: Run, step: Compact) -> StepResult:
        team = run.execution.team_id
        if isinstance(step.of, Task):
            agent = self.agents.assistant(step.of.executor_id, team=team)
        else:
            _, agent = self._phase_agent(run, step.of)
        return StepResult(await self.compact(run, step, agent))

    async def _interpret(
        self, run: Run, step: AskAgent | RunTurn, reply: ModelReply, tools: Sequence[Tool]
    ) -> StepResult:
        texts = LargeTexts()
        outcome = interpret(run, step, reply, tools, texts)
        for text in texts.large:
            await keep_output(self.blobs, run, text, inline_limit=0)
        kept = await keep_reply(self.blobs, run, reply.model_dump_json())
        return StepResult(outcome, kept, tools, self.calls.toolset(run).tools.problems(run.robot))

    def _may_ask(self, run: Run, task: Task, closing: bool) -> bool:
        """The result of a plain request goes to the one who asked; what is asked for again is to be a result."""
        return not closing and not run.attempts and not plain_request.is_request(run, task)

    def _model(self, run: Run, agent: Agent) -> tuple[Model, Connector]:
        execution = run.execution
        return self.models.choose(execution.executor_mode, agent.connector, team=execution.team_id)

    async def _tools_of(self, run: Run, agent: Agent) -> Sequence[Tool]:
        """The robot's tools that this assistant may use."""
        tools = await self.calls.toolset(run).tools.list(run.robot)
        return [tool for tool in tools if agent.may_use(tool)]

    async def _read(self, wanted: Sequence[Text]) -> dict[str, str]:
        return {text.ref.name: await self.blobs.read(text) for text in wanted if text.ref is not None}


def _wanted(run: Run, task: Task | None = None) -> list[Text]:
    """The texts kept by reference that a prompt needs: results so far, and what is sent of the conversation about
    `task`."""
    wanted: list[Text] = []
    for result in run.execution.results:
        if task is not None and result.task_id == task.id:
            wanted += references(shown(result.turns, context_of(run, of_task(task.id))))
        elif result.output is not None and result.output.ref is not None:
            wanted.append(result.output)
    return wanted

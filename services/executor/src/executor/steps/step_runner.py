"""The step runner: carries out the steps that are a worker's own, and yields their outcomes."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

from executor.agents.connectors import Connector
from executor.agents.facts import facts
from executor.agents.prompt_files import Agent
from executor.agents.prompts import for_phase, phase_frame, schema_of, task_frame
from executor.domain.calls.policy import permitted_to, role_of
from executor.domain.conversation.ask_person import ASK_PERSON
from executor.domain.conversation.chat import ModelReply, Tool
from executor.domain.failures import is_last_attempt
from executor.domain.outcomes import CeilingReached, TaskAnswered, TimedOut
from executor.domain.planning import plain_request
from executor.domain.planning.interpret import interpret
from executor.domain.planning.resources import assistants
from executor.domain.run import Run
from executor.domain.skills import listed
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
    subject_of,
)
from executor.domain.texts import LargeTexts, owner_of
from executor.domain.used_tools import reaching
from executor.domain.uses import ByAgent, describer
from executor.file_ports import Blobs
from executor.model_port import Prompt
from executor.spending.budget_port import AtCeiling
from executor.steps.agent_turn import AgentTurn
from executor.steps.answer_stream import AnswerStream
from executor.steps.call_runner import CallRunner
from executor.steps.compact_conversation import CompactConversation
from executor.steps.describe_media import DescribeMedia, Describer
from executor.steps.gather_situation import GatherSituation
from executor.steps.hooked_prompts import HookedPrompts
from executor.steps.in_window import InWindow
from executor.steps.keep_texts import keep_output, keep_reply
from executor.steps.merge_goals import MergeGoals
from executor.steps.models import Candidate, Models
from executor.steps.offer_tools import tools_for
from executor.steps.questions import Questions
from executor.steps.read_texts import read_texts, wanted_texts
from executor.steps.recall import recall
from executor.steps.redacted_calls import KnownValues, failure_of
from executor.steps.run_agents import Asking, RunAgents
from executor.steps.show_media import ShowMedia, Shown, Viewer
from executor.steps.step_result import StepResult
from executor.steps.turn_hooks import NO_TURN_HOOKS, HooksOfTurns, TurnHooks, asking
from rota_common.errors import Permanent, Transient
from rota_common.material import frame_of
from rota_contracts.messages.execution import ExecutorType, Task
from rota_contracts.messages.trigger import ExecutorMode, Message
from rota_contracts.robots.robot import Phase

PublishAnswerPiece = Callable[[Run, str, int, str], Awaitable[None]]
"""Of a run's task: the number of the piece, and its text, as `PublishPiece` takes them."""


@dataclass(frozen=True, kw_only=True)
class StepRunner:
    """A step yields one outcome; calls of tools yield one each. Failures are outcomes, too."""

    models: Models
    blobs: Blobs
    questions: Questions
    merge_goals: MergeGoals
    gather_situation: GatherSituation
    calls: CallRunner
    show_media: ShowMedia
    describe_media: DescribeMedia
    compact: CompactConversation
    publish_piece: PublishAnswerPiece
    hooks: HookedPrompts | None = None
    own_hooks: HooksOfTurns = NO_TURN_HOOKS
    known_secrets: KnownValues = lambda team: ()

    async def __call__(self, run: Run, step: Work) -> AsyncIterator[StepResult]:
        if isinstance(step, MakeCalls):
            async for outcome in self.calls(run, step):
                yield StepResult(outcome)
            return
        try:
            result = await self._carry_out(run, step)
        except (Permanent, Transient) as error:
            result = StepResult(failure_of(error))
        except AtCeiling as error:
            result = StepResult(CeilingReached(str(error), error.need))
        yield result

    async def _carry_out(
        self,
        run: Run,
        step: RecallLessons | AskAgent | CompareGoals | GiveGoals | RunTurn | Compact | BeginCalls | CheckRules,
    ) -> StepResult:
        match step:
            case RecallLessons():
                rehearsed = (await self._agents(run)).rehearses(Phase.GOALS)
                return StepResult(await recall(run, step, self.questions, self.gather_situation, rehearsed=rehearsed))
            case CompareGoals(goals):
                return StepResult(await self.merge_goals.compare(run, goals))
            case GiveGoals(merge):
                return StepResult(await self.merge_goals.give_goals(run, merge))
            case CheckRules():
                return StepResult(await self.questions.check(run, step))
            case BeginCalls(of):
                alone = isinstance(of, Task) and of.executor_type is not ExecutorType.ASSISTANT
                agent = None if alone else await self.own_hooks.agent_of(await self._agents(run), of)
                return StepResult(await self.calls.begin(run, step, agent, self.hooks.chain if self.hooks else None))
            case AskAgent() | RunTurn() | Compact():
                return await self._ask_model(run, step)
            case never:
                assert_never(never)

    async def _agents(self, run: Run) -> RunAgents:
        view = await self.models.views.of(run.execution.team_id, run.definitions_rev)
        return RunAgents(run, view, self.models, self.hooks)

    async def _ask_model(self, run: Run, step: Asking | Compact) -> StepResult:
        agents = await self._agents(run)
        match step:
            case AskAgent(Phase.INSPIRATION) | RunTurn():
                return await self._run_turn(_for_model(agents, step), step, agents)
            case AskAgent():
                own, with_lessons = await self.own_hooks.of(agents, step), _for_model(agents, step)
                return await own.carry_out(partial(self._ask_agent, with_lessons, step, agents, own))
            case Compact():
                return await self.compact(run, step, agents.agent(step.of), view=agents.view)

    async def _ask_agent(self, run: Run, step: AskAgent, agents: RunAgents, own: TurnHooks) -> StepResult:
        phase, texts = step.phase, await read_texts(self.blobs, wanted_texts(run, step.phase))
        if ready := plain_request.answer(run, phase, texts):
            return StepResult(ready)
        agent, of_team = own.agent, agents.view.agents
        plans = phase in (Phase.GOALS, Phase.TASKS)
        listed = await (await self.calls.toolset(run)).tools.list(run.robot) if plans else ()
        shown = permitted_to(run.robot, role_of(run), listed)
        tools = shown if phase is Phase.TASKS else ()
        about = of_team.about(assistants(run.robot)) if plans else {}
        known = facts(run, phase, tools=tools)
        form = schema_of(run, phase, texts) if of_team.is_built_in(agent) else None
        own_form = phase is Phase.DELIVERY and run.robot.robot_config.delivery.result_schema is not None
        mark = phase_frame(run, phase).mark

        async def ask(candidate: Candidate) -> StepResult:
            model, connector = candidate.model, candidate.connector
            messages = for_phase(run, phase, agent, agent.id, texts, shown, about=about, model=connector.model)
            media = await self._with_media(agents, messages, connector, agent, phase)
            messages = [*await own.create(media.messages)]
            prompt = Prompt(
                messages, connector, agent.timeout, step.step_id, agent.options, known, schema=form, own_form=own_form
            )
            within = InWindow(run, step, model, connector, self.hooks)
            asked = await own.complete(asking(within, prompt, mark), messages)
            if not isinstance(asked, ModelReply):
                return StepResult(asked)
            return await self._interpret(agents, step, asked, tools, media.left_out)

        return await agents.ask(step, agent, ask)

    async def _run_turn(self, run: Run, step: Asking, agents: RunAgents) -> StepResult:
        own = await self.own_hooks.of(agents, step)

        async def ask() -> StepResult:
            turn = AgentTurn(run, step, own.agent)
            return await agents.ask(step, own.agent, partial(self._ask_turn, run, step, turn, agents, own))

        return await own.carry_out(ask)

    async def _ask_turn(
        self, run: Run, step: Asking, turn: AgentTurn, agents: RunAgents, own: TurnHooks, candidate: Candidate
    ) -> StepResult:
        seconds_left = turn.seconds_left - candidate.waited
        if turn.task is not None and seconds_left <= 0:
            return StepResult(TimedOut(turn.task.id, turn.budget))
        agent, connector = turn.agent, candidate.connector
        within = InWindow(run, step, candidate.model, connector, self.hooks)
        without = turn.closing or is_last_attempt(run)
        mine = within.tools(() if without else await tools_for((await self.calls.toolset(run)).tools, run, step, agent))
        tools = [*mine, ASK_PERSON] if turn.may_ask else mine
        skills = listed(agents.view.means_of(agent).skills, mine)
        build = partial(turn.messages, in_text=within.in_text(tools), skills=skills, model=connector.model)
        wanted = wanted_texts(run, subject_of(step))
        messages = build(within.sizes(wanted))
        if full := within.overflow(messages, tools):
            return StepResult(full)
        messages = build(await read_texts(self.blobs, wanted)) if wanted else messages
        media = await self._with_media(agents, messages, connector, agent, subject_of(step))
        seconds, known = min(agent.timeout, seconds_left), turn.facts(mine)
        messages = [*await own.create(media.messages)]
        prompt = Prompt(messages, connector, seconds, step.step_id, agent.options, known, tools)
        secrets, mark = self.known_secrets(run.execution.team_id), frame_of(run.id, *turn.frame).mark

        async def publish(number: int, text: str) -> None:
            await self.publish_piece(run, turn.frame[-1], number, text)

        async with AnswerStream(publish, known=secrets) as stream:
            shows = turn.task is not None and agent.hooks.next is None
            prompt = replace(prompt, on_text=stream.feed if shows else None)
            reply = await own.complete(asking(within, prompt, mark, fields=turn.fields), messages, tools)
            if not isinstance(reply, ModelReply):
                return StepResult(reply)
            result = await self._interpret(agents, step, reply, tools, media.left_out)
            if stream.begun and isinstance(result.outcome, TaskAnswered):
                await stream.end(await self.blobs.read(result.outcome.output))
            return result

    async def _with_media(
        self, agents: RunAgents, messages: list[Message], connector: Connector, agent: Agent, subject: Phase | Task
    ) -> Shown:
        """With what people have sent. A planner that can't see it may go on, because those who do the tasks are asked
        again."""

        run = agents.run

        def elsewhere(capability: str) -> bool:
            return not isinstance(subject, Task) or any(agents.can(name, capability) for name in assistants(run.robot))

        def used(capability: str) -> Describer | None:
            provider = describer(agent.uses, capability)
            if provider is None or (isinstance(provider, ByAgent) and not agents.can(provider.agent_id, capability)):
                return None
            return self.describe_media.by(provider, run, subject, agent)

        viewer = Viewer(
            connector=connector,
            team=run.execution.team_id,
            run_id=run.id,
            frame=task_frame(run, subject) if isinstance(subject, Task) else phase_frame(run, subject),
            elsewhere=elsewhere,
            used=used,
            fetches=run.execution.executor_mode is ExecutorMode.STANDARD,
        )
        return await self.show_media(messages, viewer)

    async def _interpret(
        self, agents: RunAgents, step: Asking, reply: ModelReply, tools: Sequence[Tool], left_out: Sequence[str]
    ) -> StepResult:
        run = agents.run
        texts = LargeTexts(owner_of(run))
        outcome = interpret(run, step, reply, tools, texts)
        for text in texts.large:
            await keep_output(self.blobs, run, text, inline_limit=0)
        kept = await keep_reply(self.blobs, run, reply.model_dump_json())
        reached = reaching(run.robot, agents.agent(subject_of(step)).uses)
        problems = [*(await self.calls.toolset(run)).tools.problems(reached), *left_out]
        return StepResult(outcome, kept, tools, problems, reply.call)


def _for_model(agents: RunAgents, step: Asking) -> Run:
    """Without the lessons of canned answers, unless this step gets one, too: a run may have begun without a model, and
    its agents may have different ones."""
    run = agents.run
    lessons = run.execution.recalled
    if not any(lesson.rehearsed for lesson in lessons) or agents.rehearses(subject_of(step), step):
        return run
    return run.with_execution(recalled=[lesson for lesson in lessons if not lesson.rehearsed])

"""The step runner: carries out the steps that are a worker's own, and yields their outcomes."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

from executor.agents.connectors import REHEARSAL, Connector
from executor.agents.facts import facts
from executor.agents.prompt_files import Agent, Agents
from executor.agents.prompts import for_phase, phase_frame, schema_of
from executor.domain.calls.policy import permitted_to, role_of
from executor.domain.conversation.ask_person import ASK_PERSON
from executor.domain.conversation.chat import ModelReply, Tool
from executor.domain.failures import is_last_attempt
from executor.domain.outcomes import CeilingReached, TaskAnswered, TimedOut
from executor.domain.planning import plain_request
from executor.domain.planning.interpret import interpret
from executor.domain.planning.resources import assistants
from executor.domain.run import Run
from executor.domain.spending import payer_of
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
from executor.domain.uses import describer
from executor.file_ports import Blobs
from executor.model_port import Prompt
from executor.spending.budget_port import AtCeiling
from executor.steps.agent_turn import AgentTurn
from executor.steps.answer_stream import AnswerStream
from executor.steps.call_runner import CallRunner
from executor.steps.compact_conversation import CompactConversation
from executor.steps.gather_situation import GatherSituation
from executor.steps.hooked_prompts import HookedPrompts
from executor.steps.in_window import InWindow
from executor.steps.keep_texts import keep_output, keep_reply
from executor.steps.merge_goals import MergeGoals
from executor.steps.models import Ask, Candidate, Models
from executor.steps.offer_tools import tools_for
from executor.steps.questions import Questions
from executor.steps.read_texts import read_texts, wanted_texts
from executor.steps.recall import recall
from executor.steps.redacted_calls import KnownValues, failure_of
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
Asking = AskAgent | RunTurn
Subject = Phase | Task | None


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
    show_media: ShowMedia
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
                rehearsed = self._rehearses(run, Phase.GOALS)
                return StepResult(await recall(run, step, self.questions, self.gather_situation, rehearsed=rehearsed))
            case CompareGoals(goals):
                return StepResult(await self.merge_goals.compare(run, goals))
            case GiveGoals(merge):
                return StepResult(await self.merge_goals.give_goals(run, merge))
            case CheckRules():
                return StepResult(await self.questions.check(run, step))
            case BeginCalls(of):
                alone = isinstance(of, Task) and of.executor_type is not ExecutorType.ASSISTANT
                agent = None if alone else await self.own_hooks.agent_of(run, of, self._agent(run, of))
                return StepResult(await self.calls.begin(run, step, agent, self.hooks.chain if self.hooks else None))
            case AskAgent() | RunTurn() | Compact():
                return await self._ask_model(run, step)
            case never:
                assert_never(never)

    async def _ask_model(self, run: Run, step: Asking | Compact) -> StepResult:
        match step:
            case AskAgent(Phase.INSPIRATION) | RunTurn():
                return await self._run_turn(self._for_model(run, step), step)
            case AskAgent():
                own = await self.own_hooks.of(run, step, self._agent(run, step.phase))
                return await own.carry_out(partial(self._ask_agent, self._for_model(run, step), step, own))
            case Compact():
                return await self.compact(run, step, self._agent(run, step.of))

    def _for_model(self, run: Run, step: Asking) -> Run:
        """Without the lessons of canned answers, unless this step gets one, too: a run may have begun without a model,
        and its agents may have different ones."""
        lessons = run.execution.recalled
        if not any(lesson.rehearsed for lesson in lessons) or self._rehearses(run, subject_of(step), step):
            return run
        return run.with_execution(recalled=[lesson for lesson in lessons if not lesson.rehearsed])

    def _rehearses(self, run: Run, subject: Phase | Task, step: Asking | None = None) -> bool:
        """Does a canned answer stand in for a model's? An agent that can't be asked at all gets none."""
        try:
            return self._connector(run, self._agent(run, subject), subject, step).type == REHEARSAL
        except Permanent:
            return False

    def _agent(self, run: Run, subject: Phase | Task) -> Agent:
        if isinstance(subject, Task):
            return self.agents.assistant(subject.executor_id, team=run.execution.team_id)
        agent_id = run.robot.phase_agent(subject)
        agent = self.agents.find(agent_id, team=run.execution.team_id)
        if agent is None:
            raise Permanent(f"there is no agent {agent_id}: add {agent_id}.md to the folder of ROTA_AGENTS_DIR")
        return agent

    async def _ask_agent(self, run: Run, step: AskAgent, own: TurnHooks) -> StepResult:
        phase, texts = step.phase, await read_texts(self.blobs, wanted_texts(run, step.phase))
        if ready := plain_request.answer(run, phase, texts):
            return StepResult(ready)
        agent = own.agent
        plans = phase in (Phase.GOALS, Phase.TASKS)
        listed = await self.calls.toolset(run).tools.list(run.robot) if plans else ()
        shown = permitted_to(run.robot, role_of(run), listed)
        tools = shown if phase is Phase.TASKS else ()
        about = self.agents.about(assistants(run.robot), team=run.execution.team_id) if plans else {}
        known = facts(run, phase, tools=tools)
        form = schema_of(run, phase, texts) if self.agents.is_built_in(agent) else None
        own_form = phase is Phase.DELIVERY and run.robot.robot_config.delivery.result_schema is not None
        mark = phase_frame(run, phase).mark

        async def ask(candidate: Candidate) -> StepResult:
            model, connector = candidate.model, candidate.connector
            messages = for_phase(run, phase, agent, agent.id, texts, shown, about=about, model=connector.model)
            media = await self._with_media(run, messages, connector, agent, phase)
            messages = [*await own.create(media.messages)]
            prompt = Prompt(
                messages, connector, agent.timeout, step.step_id, agent.options, known, schema=form, own_form=own_form
            )
            within = InWindow(run, step, model, connector, self.hooks)
            asked = await own.complete(asking(within, prompt, mark), messages)
            if not isinstance(asked, ModelReply):
                return StepResult(asked)
            return await self._interpret(run, step, asked, tools, media.left_out)

        return await self._asked(run, step, agent, ask)

    async def _run_turn(self, run: Run, step: Asking) -> StepResult:
        own = await self.own_hooks.of(run, step, self._agent(run, subject_of(step)))

        async def ask() -> StepResult:
            turn = AgentTurn(run, step, own.agent)
            return await self._asked(run, step, own.agent, partial(self._ask_turn, run, step, turn, own))

        return await own.carry_out(ask)

    async def _ask_turn(
        self, run: Run, step: Asking, turn: AgentTurn, own: TurnHooks, candidate: Candidate
    ) -> StepResult:
        seconds_left = turn.seconds_left - candidate.waited
        if turn.task is not None and seconds_left <= 0:
            return StepResult(TimedOut(turn.task.id, turn.budget))
        agent, connector = turn.agent, candidate.connector
        within = InWindow(run, step, candidate.model, connector, self.hooks)
        without = turn.closing or is_last_attempt(run)
        mine = within.tools(() if without else await tools_for(self.calls.toolset(run).tools, run, step, agent))
        tools = [*mine, ASK_PERSON] if turn.may_ask else mine
        build = partial(turn.messages, in_text=within.in_text(tools), model=connector.model)
        wanted = wanted_texts(run, subject_of(step))
        messages = build(within.sizes(wanted))
        if full := within.overflow(messages, tools):
            return StepResult(full)
        messages = build(await read_texts(self.blobs, wanted)) if wanted else messages
        media = await self._with_media(run, messages, connector, agent, *turn.frame)
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
            result = await self._interpret(run, step, reply, tools, media.left_out)
            if stream.begun and isinstance(result.outcome, TaskAnswered):
                await stream.end(await self.blobs.read(result.outcome.output))
            return result

    async def _asked(self, run: Run, step: Asking, agent: Agent, ask: Ask[StepResult]) -> StepResult:
        """The result of the first candidate that answers, with a note if that isn't the usual one."""
        wanted, why = self._wanted(run, agent, subject_of(step), step)
        mode = run.execution.executor_mode
        result, fallback = await self.models.ask(ask, mode, wanted, payer=payer_of(run, agent.id))
        return replace(result, problems=[*result.problems, *why, *fallback])

    async def _with_media(
        self, run: Run, messages: list[Message], connector: Connector, agent: Agent, *step: str | Phase
    ) -> Shown:
        """With what people have sent. A planner that can't see it may go on, because those who do the tasks are asked
        again."""

        def elsewhere(capability: str) -> bool:
            return step[0] != "task" or any(self._can(run, name, capability) for name in assistants(run.robot))

        def used(capability: str) -> str:
            name = describer(agent.uses, capability)
            return name if name and self._can(run, name, capability) else ""

        viewer = Viewer(
            connector=connector,
            agent=agent.id,
            team=run.execution.team_id,
            member=run.execution.member_id,
            run_id=run.id,
            frame=frame_of(run.id, *step),
            elsewhere=elsewhere,
            used=used,
            fetches=run.execution.executor_mode is ExecutorMode.STANDARD,
        )
        return await self.show_media(messages, viewer)

    def _can(self, run: Run, name: str, capability: str) -> bool:
        """An assistant that can't be asked at all can't do it either."""
        try:
            return self._connector(run, self.agents.assistant(name, team=run.execution.team_id), None).can(capability)
        except Permanent:
            return False

    async def _interpret(
        self, run: Run, step: Asking, reply: ModelReply, tools: Sequence[Tool], left_out: Sequence[str]
    ) -> StepResult:
        texts = LargeTexts(owner_of(run))
        outcome = interpret(run, step, reply, tools, texts)
        for text in texts.large:
            await keep_output(self.blobs, run, text, inline_limit=0)
        kept = await keep_reply(self.blobs, run, reply.model_dump_json())
        reached = reaching(run.robot, self._agent(run, subject_of(step)).uses)
        problems = [*self.calls.toolset(run).tools.problems(reached), *left_out]
        return StepResult(outcome, kept, tools, problems, reply.call)

    def _connector(self, run: Run, agent: Agent, subject: Subject, step: Asking | None = None) -> Connector:
        wanted, _ = self._wanted(run, agent, subject, step)
        return self.models.choose(run.execution.executor_mode, wanted, team=run.execution.team_id)

    def _wanted(self, run: Run, agent: Agent, subject: Subject, step: Asking | None) -> tuple[str, Sequence[str]]:
        """The name of its connector: as hooks have chosen, else as its file says, else by the rules for queries, with a
        note. `subject` None: a task of this agent."""
        named = (self.hooks.model(run, step) if self.hooks and step else "") or agent.connector
        return (named, ()) if named else self.models.routed(run, subject)

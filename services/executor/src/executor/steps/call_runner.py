"""The calls of a turn: tools and processes, all at once, each with an outcome of its own."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from secrets import token_urlsafe

from executor.agents.prompt_files import Agent
from executor.agents.team_view import TeamViews
from executor.domain.calls.policy import policy_of, role_of
from executor.domain.conversation.chat import Tool
from executor.domain.conversation.made_files import made_by
from executor.domain.hooks.questions import about_tool
from executor.domain.outcomes import CallsBegun, NotCalled, Outcome, Promised, Used
from executor.domain.planning import looks
from executor.domain.planning.interpret import room
from executor.domain.run import Run
from executor.domain.steps import BeginCalls, MakeCalls, id_of
from executor.domain.tasks import tasks
from executor.domain.tasks.promised_calls import callback_of
from executor.domain.used_tools import agent_of, wish
from executor.file_ports import Blobs
from executor.steps.check_calls import POINT, CheckCalls
from executor.steps.hook_chain import HookChain
from executor.steps.keep_texts import keep_output
from executor.steps.offer_tools import all_tools
from executor.steps.redacted_calls import KnownValues
from executor.steps.used_agents import AskAgent, no_agents, reply_of
from executor.tool_ports import NotBegun, Processes, ToolFailed, Tools
from rota_common.errors import Permanent, Transient
from rota_common.redaction import without_credentials
from rota_contracts.ids import derived_id
from rota_contracts.messages.agent import CallAgent
from rota_contracts.messages.callback import callback_path
from rota_contracts.messages.conversation import ToolUse, Turn
from rota_contracts.messages.execution import Task, excerpt
from rota_contracts.messages.process import ProcessCall
from rota_contracts.messages.trigger import ExecutorMode, Message
from rota_contracts.robots.clock_config import duration
from rota_contracts.robots.robot import Phase

PROCESS_TIMEOUT_S = 60.0


def _secret() -> str:
    """A callback id: it authorizes a result, so it can't be guessed."""
    return token_urlsafe(24)


@dataclass(frozen=True)
class Toolset:
    """Tools and processes."""

    tools: Tools
    processes: Processes


@dataclass(frozen=True, kw_only=True)
class CallRunner:
    """`recording` stands in for `real` in runs that aren't in standard mode."""

    blobs: Blobs
    views: TeamViews
    real: Toolset
    recording: Toolset
    new_callback: Callable[[], str] = _secret
    known_secrets: KnownValues = lambda team: ()
    ask_agent: AskAgent = no_agents

    async def toolset(self, run: Run, subject: Phase | Task | None = None) -> Toolset:
        """With what its team had when it began; for a `subject` with the skills that its agent may read. Raises
        NotBegun while that can't be read."""
        toolset = self.real if run.execution.executor_mode is ExecutorMode.STANDARD else self.recording
        try:
            view = await self.views.of(run.execution.team_id, run.definitions_rev)
        except Transient as error:
            raise NotBegun(str(error), after=error.after) from error
        agent = None if subject is None else view.agents.assistant(_agent_of(run, subject))
        return replace(toolset, tools=toolset.tools.with_own(view.means_of(agent) if agent else view.own))

    async def begin(self, run: Run, step: BeginCalls, agent: Agent | None, chain: HookChain | None) -> CallsBegun:
        """The calls after all checks that stand before them. `agent` None: of a task that is one call."""
        check = CheckCalls(
            robot=run.robot,
            policy=policy_of(run, agent.autonomy if agent else None),
            tools=await self._tools(run, step, agent),
            agent=agent,
            known_secrets=self.known_secrets,
            hooks=chain.hooks(run, POINT) if chain else (),
            about=partial(about_tool, run, step, POINT),
            cleared=run.cleared,
            asked=len(run.approvals),
        )
        serial = agent is not None and agent.serial
        of, uses = step.of, step.uses[:1] if serial else step.uses
        turn = tasks.turn_of(run, of) if isinstance(of, Task) else looks.turn_of(run)
        done = await check(uses, turn or Turn(number=1))
        if not isinstance(of, Task):
            done.refused, done.asks = {**looks.refused(done.uses, done.asks), **done.refused}, []
        callbacks = self._callbacks(run, [use for use in done.uses if use.step_id not in done.refused])
        return CallsBegun(id_of(of), done.uses, callbacks, done.refused, done.asks, done.by, done.notes, serial=serial)

    async def _tools(self, run: Run, step: BeginCalls, agent: Agent | None) -> Sequence[Tool]:
        """All that the robot and its agent have; none for calls that are only made once more."""
        known = all(use.server is None or use.step_id in run.cleared for use in step.uses)
        return () if known else await all_tools((await self.toolset(run)).tools, run.robot, agent)

    async def __call__(self, run: Run, step: MakeCalls) -> AsyncIterator[Outcome]:
        """Each outcome as soon as it is there."""
        calls = [asyncio.create_task(self._call(run, step.of, use)) for use in step.uses]
        try:
            for done in asyncio.as_completed(calls):
                yield await done
        finally:
            for call in calls:
                call.cancel()

    async def _asked(self, run: Run, subject: Phase | Task, use: ToolUse, agent_id: str) -> str:
        """The answer of the agent that does the work of a tool. The call has its id by the step, so a repeated one gets
        the same answer. Raises NotBegun, ToolFailed."""
        request = CallAgent(
            call_id=derived_id("used agent", use.step_id),
            team_id=run.execution.team_id,
            member_id=run.execution.member_id,
            execution_id=run.id,
            assistant_id=agent_id,
            messages=[Message(role="user", content=wish(use))],
            metadata={"source": use.tool},
            callers=[_agent_of(run, subject)],
        )
        try:
            reply = await reply_of(self.ask_agent, request)
        except Transient as error:
            raise NotBegun(str(error), after=error.after) from error
        if reply.error:
            raise ToolFailed(f"agent {agent_id}: {reply.error}")
        return without_credentials(reply.content, self.known_secrets(run.execution.team_id))

    def _callbacks(self, run: Run, uses: Sequence[ToolUse]) -> dict[str, str]:
        """Callback ids of new calls of processes; a recording stand-in needs none, it answers at once."""
        if run.execution.executor_mode is not ExecutorMode.STANDARD:
            return {}
        new = [use for use in uses if use.server is None and callback_of(run, use.step_id) is None]
        return {use.step_id: self.new_callback() for use in new}

    async def _call(self, run: Run, subject: Phase | Task, use: ToolUse) -> Outcome:
        task_id, looks_up = id_of(subject), not isinstance(subject, Task)
        try:
            toolset = await self.toolset(run, subject)
            if (agent_id := agent_of(use.server)) and run.execution.executor_mode is ExecutorMode.STANDARD:
                answer: str | None = await self._asked(run, subject, use, agent_id)
            elif use.server is not None:
                team, role = run.execution.team_id, role_of(run)
                answer = await toolset.tools.call(use, team=team, robot=run.robot, role=role)
            else:
                process = run.robot.process(use.name)
                seconds = duration(process.timeout).total_seconds() if process else PROCESS_TIMEOUT_S
                answer = await toolset.processes.call(use.name, process_call(run, task_id, use), timeout=seconds)
            if answer is None:
                return _promised(run, task_id, use)
            answer = excerpt(answer, looks.OUTPUT_LIMIT) if looks_up else answer
            output = await keep_output(self.blobs, run, answer, inline_limit=room(run))
            files = made_by(use.step_id, answer) if use.server is not None else []
            return Used(task_id, use.step_id, output, files=files)
        except NotBegun as error:
            if looks_up:  # a report doesn't wait for what isn't there
                return Used(task_id, use.step_id, None, str(error))
            return NotCalled(task_id, use.step_id, str(error), error.after)
        except (ToolFailed, Transient, Permanent) as error:
            return Used(task_id, use.step_id, None, str(error))


def _agent_of(run: Run, subject: Phase | Task) -> str:
    return subject.executor_id if isinstance(subject, Task) else run.robot.phase_agent(subject)


def _promised(run: Run, task_id: str, use: ToolUse) -> Outcome:
    if callback_of(run, use.step_id) is None:
        return Used(task_id, use.step_id, None, "it promised a result for later, but the call had no callback")
    return Promised(task_id, use.step_id)


def process_call(run: Run, task_id: str, use: ToolUse) -> ProcessCall:
    callback = callback_of(run, use.step_id)
    return ProcessCall(
        step_id=use.step_id,
        team_id=run.execution.team_id,
        member_id=run.execution.member_id,
        execution_id=run.id,
        task_id=task_id,
        args=use.arguments if isinstance(use.arguments, list) else [use.arguments],
        callback=callback_path(callback.id) if callback else "",
    )

"""An agent's own hooks in a run: `create` holds for a turn of a task or a phase, `next` for the answer that ends it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from executor.agents.prompt_files import Agent
from executor.domain.answers.understand import understand
from executor.domain.context.contexts import of_subject, turns_of
from executor.domain.conversation.chat import ModelReply, Tool
from executor.domain.hooks.own_hooks import CREATE
from executor.domain.outcomes import Hooked, Overflowed
from executor.domain.planning.answer import LENGTH_LIMIT
from executor.domain.run import Run
from executor.domain.spending import summed
from executor.domain.steps import AskAgent, RunTurn, subject_of
from executor.model_port import Prompt
from executor.steps.in_context import in_context
from executor.steps.in_window import InWindow
from executor.steps.own_hooks import HookMeans, OwnHooksAsked
from executor.steps.run_agents import RunAgents
from executor.steps.step_result import StepResult
from executor.steps.used_agents import AskAgent as CallAnAgent
from executor.steps.used_agents import no_agents
from rota_common.json_text import extract_json
from rota_contracts.ids import derived_id
from rota_contracts.messages.agent_hook import AgentHookCall
from rota_contracts.messages.execution import Task
from rota_contracts.messages.trigger import ExecutorMode, Message
from rota_contracts.robots.robot import Phase

KEPT_LIMIT = 2_000_000
"""Characters of a reply that is kept beside the run. No hook is asked about a longer one."""

Ask = Callable[[Sequence[Message], int], Awaitable[ModelReply | Overflowed | Hooked]]
"""The model's reply to these messages; the number counts the times that it is asked again within the step."""


class CreatedAnew(Exception):
    """`create` has chosen what the prompt in hand wasn't made with: it is made again."""


@dataclass(kw_only=True)
class TurnHooks:
    """`agent`: as `create` has left it. The replies to `create` are kept under the turn, those to `next` under the
    step. Without both, the agent has no hooks."""

    agent: Agent
    turn: OwnHooksAsked | None = None
    answer: OwnHooksAsked | None = None

    async def carry_out(self, ask: Callable[[], Awaitable[StepResult]]) -> StepResult:
        """What `ask` brings, with notes on hooks that failed."""
        try:
            result = await ask()
        except CreatedAnew:
            result = await ask()
        notes = [note for hooks in (self.turn, self.answer) if hooks is not None for note in hooks.notes]
        return replace(result, problems=[*result.problems, *notes]) if notes else result

    async def create(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The prompt as `create` left it. Raises CreatedAnew."""
        if self.turn is None:
            return messages
        created = await self.turn.create(messages)
        if created.agent != self.agent:
            self.agent = created.agent
            raise CreatedAnew
        return created.messages

    async def complete(
        self, ask: Ask, messages: Sequence[Message], tools: Sequence[Tool] = ()
    ) -> ModelReply | Overflowed | Hooked:
        """The reply, as `next` left it. It isn't shown one that calls tools, says nothing, or is too long for it."""
        if self.answer is None or self.agent.hooks.next is None:
            return await ask(messages, 0)
        replies = list[ModelReply]()
        while True:
            reply = await _kept(self.answer, ask, messages, len(replies))
            if not isinstance(reply, ModelReply):
                return reply
            replies.append(reply)
            found = understand(reply, tools)
            if found.calls or not found.text or len(found.text) > LENGTH_LIMIT:
                return _as_one(replies)
            response = extract_json(found.text)
            after = await self.answer.next(messages, found.text, response, again=len(replies) - 1)
            if after.messages is None:
                return _as_one(replies, after.content)
            messages = after.messages


@dataclass(frozen=True, kw_only=True)
class HooksOfTurns:
    """`ask_agent` calls the agents that hooks ask for. Without `means`, agents have no hooks of their own."""

    means: HookMeans | None = None
    ask_agent: CallAnAgent = no_agents

    async def of(self, agents: RunAgents, step: AskAgent | RunTurn) -> TurnHooks:
        """Outside of standard mode no agent has hooks."""
        run, agent = agents.run, agents.agent(subject_of(step))
        turn = self._asked(agents, subject_of(step), agent)
        if turn is None:
            return TurnHooks(agent=agent)
        key = derived_id("answer", step.step_id, run.applied)  # a signal may change the prompt
        answer = replace(turn, about=turn.about.model_copy(update={"step_id": key}))
        return TurnHooks(agent=await turn.created_agent(), turn=turn, answer=answer)

    async def agent_of(self, agents: RunAgents, subject: Phase | Task) -> Agent:
        """The agent as `create` has left it in the turn that is under way."""
        agent = agents.agent(subject)
        turn = self._asked(agents, subject, agent)
        return agent if turn is None else await turn.created_agent()

    def _asked(self, agents: RunAgents, subject: Phase | Task, agent: Agent) -> OwnHooksAsked | None:
        run = agents.run
        standard = run.execution.executor_mode is ExecutorMode.STANDARD
        if self.means is None or not agent.hooks or not standard:
            return None
        about = _about(run, subject, agent)
        return OwnHooksAsked(
            means=self.means,
            view=agents.view,
            agent=agent,
            about=about,
            ask_agent=self.ask_agent,
            seconds=agent.timeout,
        )


async def _kept(
    hooks: OwnHooksAsked, ask: Ask, messages: Sequence[Message], again: int
) -> ModelReply | Overflowed | Hooked:
    calls, of, name = hooks.means.calls, hooks.about, f"answer-{again}"
    text = await calls.kept(of.step_id, name)
    if text is None:
        reply = await ask(messages, again)
        if not isinstance(reply, ModelReply):
            return reply
        if len(whole := reply.model_dump_json()) > KEPT_LIMIT:
            return reply
        text = await calls.keep(of.step_id, name, whole, team=of.team_id)
    return ModelReply.model_validate_json(text)


NO_TURN_HOOKS = HooksOfTurns()


def asking(within: InWindow, prompt: Prompt, mark: str, *, fields: Sequence[str] | None = None) -> Ask:
    """The question to a model within its window, whose reply is known against its prompt."""

    async def ask(messages: Sequence[Message], again: int) -> ModelReply | Overflowed | Hooked:
        asked = await within.ask(replace(prompt, messages=messages), mark=mark, again=again)
        return in_context(*asked, prompt.tools, fields=fields) if isinstance(asked, tuple) else asked

    return ask


def _about(run: Run, subject: Phase | Task, agent: Agent) -> AgentHookCall:
    of, task = of_subject(subject), subject if isinstance(subject, Task) else None
    number = next((turn.number for turn in reversed(turns_of(run, of))), 1)
    return AgentHookCall(
        point=CREATE,
        step_id=derived_id("turn", run.id, of, number, run.again),
        team_id=run.execution.team_id,
        member_id=run.execution.member_id,
        agent_id=agent.id,
        execution_id=run.id,
        phase=Phase.RUN if task else str(subject),
        task_id=task.id if task else "",
        connector=agent.connector,
    )


def _as_one(replies: Sequence[ModelReply], content: str | None = None) -> ModelReply:
    """The last reply, with what all of them took; or with this text of a hook's, which copies nothing."""
    calls = [reply.call for reply in replies if reply.call is not None]
    update = {"call": summed(calls)} if len(calls) > 1 else {}
    if content is not None:
        return ModelReply(text=content, call=summed(calls) if calls else None)
    return replies[-1].model_copy(update=update) if update else replies[-1]

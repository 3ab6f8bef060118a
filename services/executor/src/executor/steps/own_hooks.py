"""An agent's own hooks for one call or one turn: `create` before its model is asked, `next` after the answer.

Each reply is kept before it has effect: a worker that goes on after a crash has the same, without asking again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from executor.agents.prompt_files import Agent
from executor.agents.team_view import TeamView
from executor.call_port import Calls
from executor.domain.calls.callers import refusal
from executor.domain.calls.policy import stricter
from executor.domain.hooks.messages import UnusableReply, rewritten, shown
from executor.domain.hooks.own_hooks import CREATE, MOST_CALLS, NEXT, checked, known_options
from executor.domain.uses import NO_USES, ByAgent, Uses, merged, read_uses
from executor.hook_port import HookFailed
from executor.model_port import NoAnswer
from executor.steps.models import Models
from executor.steps.process_hook import ask_process
from executor.steps.used_agents import AskAgent
from executor.tool_ports import Processes
from rota_common.errors import Permanent, Transient
from rota_common.runtime.logs import logger
from rota_contracts.agent_ids import platform_name
from rota_contracts.ids import derived_id
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.agent_hook import AgentHookCall, AgentHookReply, CallByHook, CalledAgent
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.hook import HookAction, HookMessage, OnFailure
from rota_contracts.messages.process import ProcessCall
from rota_contracts.messages.trigger import ExecutorMode, Message
from rota_contracts.messages.usage import ModelCall
from rota_contracts.model import Json, Part
from rota_contracts.robots.autonomy import Autonomy
from rota_contracts.robots.clock_config import duration
from rota_contracts.robots.hooks import HookProcess

REASON = 500
"""Characters of a reason that a caller is shown."""

_log = logger(service="executor")


class Kept(Part):
    """What a hook has replied, or why it failed. `shown`: the messages that its own refer to."""

    reply: AgentHookReply = AgentHookReply()
    failed: str = ""
    shown: list[HookMessage] = []


@dataclass(frozen=True)
class Created:
    """The agent and its prompt as `create` left them. `connector`: that which it chose, if any."""

    agent: Agent
    messages: Sequence[Message]
    connector: str = ""


@dataclass(frozen=True)
class Continued:
    """The answer after `next`: null as it is. `messages`: the model is asked again with them instead."""

    content: str | None = None
    data: Json = None
    messages: Sequence[Message] | None = None


@dataclass(frozen=True, kw_only=True)
class HookMeans:
    """`processes` of the teams; what hooks reply is kept in `calls`."""

    processes: Processes
    calls: Calls
    models: Models


@dataclass(kw_only=True)
class OwnHooksAsked:
    """The hooks of one agent, for the call or the turn `about`, whose `step_id` stays the same when it is repeated.
    `ask_agent` makes the calls that they ask for, each within `seconds`. `autonomy`: the strictest of the agents that
    led here. `notes`: on hooks that failed and were passed over; `spent`: by the agents that they called."""

    means: HookMeans
    view: TeamView
    agent: Agent
    about: AgentHookCall
    ask_agent: AskAgent
    seconds: float
    autonomy: Autonomy | None = None
    notes: list[str] = field(default_factory=list)
    spent: list[ModelCall] = field(default_factory=list)
    _called: int = 0

    async def create(self, messages: Sequence[Message]) -> Created:
        """The prompt, also a later one of the same turn, as the hook has left the first. Raise Permanent if it cancels,
        or fails where that cancels."""
        if (hook := self.agent.hooks.create) is None:
            return Created(self.agent, messages)
        asked = self.about.model_copy(
            update={
                "point": CREATE,
                "messages": shown(messages),
                "options": known_options(self.agent.options),
                "uses": {name: said for name, said in vars(self.agent.uses).items() if said},
            }
        )
        reply, first = await self._ask(hook, asked, "create")
        made = messages if reply.messages is None else rewritten(messages, first, reply.messages)
        return self._created(reply, made)

    async def created_agent(self) -> Agent:
        """The agent as the hook has left it, if it was asked before, and its reply could be used."""
        calls = 0
        while (text := await self.means.calls.kept(self.about.step_id, f"create-{calls}")) is not None:
            kept, calls = Kept.model_validate_json(text), calls + 1
            if kept.reply.call is None:
                asked = self.about.model_copy(update={"point": CREATE, "messages": kept.shown})
                try:
                    return self._created(self._checked(asked, kept), ()).agent
                except (HookFailed, Permanent):  # `create` says which, and what becomes of it
                    return self.agent
        return self.agent

    def _created(self, reply: AgentHookReply, messages: Sequence[Message]) -> Created:
        options, uses = {**self.agent.options, **(reply.options or {})}, merged(_uses(reply), self.agent.uses)
        connector = reply.connector or ""
        named = connector or self.agent.connector
        return Created(replace(self.agent, options=options, uses=uses, connector=named), messages, connector)

    async def next(self, messages: Sequence[Message], content: str, response: Json, *, again: int) -> Continued:
        """After the answer `content` to `messages`; `again`: how often the model has been asked again. Raise Permanent
        if the hook cancels, or fails where that cancels."""
        if (hook := self.agent.hooks.next) is None:
            return Continued()
        whole = [*messages, Message(role="assistant", content=content)]
        asked = self.about.model_copy(
            update={
                "point": NEXT,
                "messages": shown(whole),
                "content": content,
                "response": response,
                "again": again,
            }
        )
        reply, first = await self._ask(hook, asked, f"next-{again}")
        made = None if reply.messages is None else rewritten(whole, first, reply.messages)
        return Continued(reply.content, reply.data, made)

    async def _ask(
        self, hook: HookProcess, asked: AgentHookCall, name: str
    ) -> tuple[AgentHookReply, Sequence[HookMessage]]:
        """The reply after all calls of agents that the hook asks for, and the messages that it was shown."""
        calls, results = list[tuple[CallByHook, str]](), list[CalledAgent]()
        try:
            while True:
                place, of = f"{name}-{len(calls)}", self.about.step_id
                question = asked.model_copy(update={"step_id": derived_id("own hook", of, place)})
                text = await self.means.calls.kept(of, place)
                if text is None:
                    results += [await self._call(call, step_id) for call, step_id in calls[len(results) :]]
                    kept = await self._asked(hook, question.model_copy(update={"results": [*results]}))
                    whole = kept.model_dump_json(exclude_defaults=True)
                    text = await self.means.calls.keep(of, place, whole, team=asked.team_id)
                kept = Kept.model_validate_json(text)
                question = question.model_copy(update={"messages": kept.shown or question.messages})
                reply = self._checked(question, kept)
                if reply.call is None:
                    return reply, question.messages
                calls.append((reply.call, question.step_id))
        except HookFailed as error:
            return self._passed_over(hook, asked, str(error)), ()

    async def _asked(self, hook: HookProcess, question: AgentHookCall) -> Kept:
        call = ProcessCall(
            step_id=question.step_id,
            team_id=question.team_id,
            member_id=question.member_id,
            execution_id=question.execution_id,
            task_id=question.task_id,
            args=[question.model_dump(mode="json")],
        )
        seconds = duration(hook.timeout).total_seconds()
        try:
            reply = await ask_process(self.means.processes, hook.process, call, kind=AgentHookReply, timeout=seconds)
        except HookFailed as error:
            return Kept(failed=excerpt(str(error), REASON))
        return Kept(reply=reply, shown=question.messages if reply.messages is not None else [])

    def _checked(self, asked: AgentHookCall, kept: Kept) -> AgentHookReply:
        if kept.failed:
            raise HookFailed(kept.failed)
        reply = kept.reply
        if reply.action is HookAction.CANCEL:
            hook = getattr(self.agent.hooks, asked.point)
            raise Permanent(f"hook {hook.process} cancelled it: {reply.reason or 'no reason given'}")
        connector = reply.connector or ""
        try:
            reply = checked(asked, reply)
            self.means.models.check_offered(self.agent, connector, view=self.view)
            if connector:
                self.means.models.choose(ExecutorMode.STANDARD, connector, view=self.view)
        except (UnusableReply, Permanent) as error:
            raise HookFailed(str(error)) from error
        self._check_uses(_uses(reply))
        if reply.call is not None:
            self._called += 1
            if self._called > MOST_CALLS:
                raise HookFailed(f"expected at most {MOST_CALLS} calls of agents by the hooks of a call or a turn")
        return reply

    def _check_uses(self, uses: Uses) -> None:
        for service, provider in uses.providers():
            if isinstance(provider, ByAgent) and self.view.agents.find(provider.agent_id) is None:
                raise HookFailed(f"uses.{service}: there is no agent {provider.agent_id}")

    async def _call(self, call: CallByHook, step_id: str) -> CalledAgent:
        """What came of it; what is wrong with the agent is in it, as `error`."""
        callers = [*self.about.callers, self.agent.id]
        if why := refusal(platform_name(call.agent_id), callers):
            return CalledAgent(agent_id=call.agent_id, error=why)
        of = self.about
        request = CallAgent(
            call_id=derived_id("called by a hook", step_id),
            team_id=of.team_id,
            member_id=of.member_id,
            assistant_id=call.agent_id,
            messages=call.messages,
            execution_id=of.execution_id or None,
            timeout=self.seconds,
            metadata=call.options.metadata,
            locale=of.locale or None,
            route=of.route or None,
            chat_id=of.chat_id or None,
            callers=callers,
            autonomy=stricter(self.autonomy, self.agent.autonomy),
        )
        try:
            reply: AgentReply = await self.ask_agent(request)
        except NoAnswer as error:  # of its provider: this agent's own may answer, and needs no fallback
            raise Transient(str(error), after=error.after) from error
        if reply.call is not None:
            self.spent.append(reply.call)
        return CalledAgent(
            agent_id=reply.agent_id, content=reply.content, response=reply.whole_response(), error=reply.error
        )

    def _passed_over(self, hook: HookProcess, asked: AgentHookCall, reason: str) -> AgentHookReply:
        """As if it had said nothing, unless its failure cancels; before a call it does, where nothing else is said."""
        _log.warning("an agent's hook failed", hook=hook.process, agent=self.agent.id, reason=reason)
        usual = OnFailure.CANCEL if asked.point is CREATE else OnFailure.CONTINUE
        if (hook.on_failure or usual) is OnFailure.CANCEL:
            raise Permanent(f"hook {hook.process} failed: {excerpt(reason, REASON)}")
        self.notes.append(f"hook {hook.process} failed {asked.point}: it was passed over: {excerpt(reason, REASON)}")
        return AgentHookReply()


def _uses(reply: AgentHookReply) -> Uses:
    return read_uses(reply.uses) if reply.uses else NO_USES

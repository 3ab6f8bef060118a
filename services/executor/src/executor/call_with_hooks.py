"""The call of an agent that has hooks of its own: before its model, after the answer, and again if they want that."""

from collections.abc import Awaitable, Callable, Sequence

from executor.agents.prompt_files import Agent
from executor.agents.team_view import TeamView
from executor.domain.hooks.own_hooks import CREATE
from executor.domain.spending import summed
from executor.steps.own_hooks import HookMeans, OwnHooksAsked
from executor.steps.used_agents import AskAgent
from rota_common.json_text import extract_json
from rota_contracts.json_values import unstorable
from rota_contracts.messages.agent import AfterHook, AgentReply, CallAgent, Completion
from rota_contracts.messages.agent_hook import AgentHookCall
from rota_contracts.messages.trigger import Message

Answer = Callable[[CallAgent, Agent, Sequence[Message], int], Awaitable[AgentReply]]
"""What the agent's model answers to these messages; the number counts the times that it is asked again."""


def hooks_of_call(
    means: HookMeans, request: CallAgent, agent: Agent, *, view: TeamView, ask_agent: AskAgent
) -> OwnHooksAsked:
    about, seconds = _about(request, agent), request.timeout
    return OwnHooksAsked(
        means=means,
        view=view,
        agent=agent,
        about=about,
        ask_agent=ask_agent,
        seconds=seconds,
        autonomy=request.autonomy,
    )


async def call_with_hooks(
    hooks: OwnHooksAsked, request: CallAgent, messages: Sequence[Message], *, answer: Answer
) -> AgentReply:
    """The reply after the hooks of the called agent. Raise Permanent where one cancels it."""
    means, agent = hooks.means, hooks.agent
    created = await hooks.create(messages)
    if created.connector:
        request = request.model_copy(update={"model": created.connector})
    reply = await _answered(means, request, created.agent, created.messages, answer, again=0)
    if agent.hooks.next is None or reply.error:
        return _with_spent(reply, hooks)
    asked, again = created.messages, 0
    while True:
        after = await hooks.next(asked, reply.content, reply.response, again=again)
        if after.messages is None:
            completion = Completion(content=reply.content, response=reply.response)
            hooked = AfterHook(completion=completion, next=after.data, notes=hooks.notes)
            changed = {} if after.content is None else _content(after.content)
            return _with_spent(reply.model_copy(update={**changed, "hooked": hooked}), hooks)
        again, asked = again + 1, after.messages
        if reply.call is not None:
            hooks.spent.append(reply.call)
        reply = await _answered(means, request, created.agent, asked, answer, again=again)
        if reply.error:
            return _with_spent(reply, hooks)


def _about(request: CallAgent, agent: Agent) -> AgentHookCall:
    return AgentHookCall(
        point=CREATE,
        step_id=request.call_id,
        team_id=request.team_id,
        member_id=request.member_id,
        user_id=request.user_id or "",
        agent_id=agent.id,
        execution_id=request.execution_id or "",
        chat_id=request.chat_id or "",
        callers=request.callers,
        metadata=request.metadata,
        locale=request.locale or "",
        route=request.route or "",
        connector=request.model or agent.connector,
    )


async def _answered(
    means: HookMeans, request: CallAgent, agent: Agent, messages: Sequence[Message], answer: Answer, *, again: int
) -> AgentReply:
    """The model's answer; kept, and not shown in pieces, where a hook is asked about it."""
    if agent.hooks.next is None:
        return await answer(request, agent, messages, again)
    name = f"answer-{again}"
    kept = await means.calls.kept(request.call_id, name)
    if kept is None:
        asked = request.model_copy(update={"streamed": False})
        reply = await answer(asked, agent, messages, again)
        kept = await means.calls.keep(request.call_id, name, reply.model_dump_json(), team=request.team_id)
    return AgentReply.model_validate_json(kept)


def _content(text: str) -> dict[str, object]:
    found = extract_json(text)
    return {"content": text, "response": None if unstorable(found) else found}


def _with_spent(reply: AgentReply, hooks: OwnHooksAsked) -> AgentReply:
    """With the calls of models that led to it."""
    calls = [*hooks.spent, *([reply.call] if reply.call else [])]
    return reply.model_copy(update={"call": summed(calls)}) if len(calls) > 1 else reply

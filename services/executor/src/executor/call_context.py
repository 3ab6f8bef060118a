"""The context of an agent's call: who pays, in which mode, with which system prompt and facts."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from executor.agents.connectors import REHEARSAL, Connector
from executor.agents.context_files import ContextFiles
from executor.agents.facts import facts
from executor.agents.prompt_files import Agent
from executor.agents.prompts import DEFAULT_LOCALE, locale_of, system
from executor.agents.sections.means import explained
from executor.agents.team_view import TeamView
from executor.call_with_tools import Asked, Thought
from executor.domain.answers.forms import echoes, in_form, without_echoes
from executor.domain.calls.duplicates import progress_note
from executor.domain.conversation.as_text import as_text
from executor.domain.conversation.chat import Tool
from executor.domain.conversation.messages import CLOSING, in_round
from executor.domain.planning.answer import LENGTH_LIMIT
from executor.domain.run import Run
from executor.domain.spending import Payer, payer_of
from executor.domain.uses import ByAgent, UsesError, merged, read_uses
from executor.steps.in_window import CALLS
from rota_common.errors import Permanent
from rota_common.json_text import extract_json
from rota_common.material import frame_of, joined, tagged
from rota_contracts.agent_ids import PLATFORM, of_platform, platform_name
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.trigger import ExecutorMode, Message
from rota_contracts.robots.ceilings import Ceilings
from rota_contracts.robots.robot import Robot

UNKNOWN_ROBOT = {
    "role": "a member of the team",
    "duties": "- as you are told",
    "rules": "",
    "system_prompt": "",
    "agents": "",
    "tools": "",
    "processes": "",
    "clock": "",
}
"""Fills an agent's prompt when there is no robot to take it from."""

KINDS = ("validation", "learning", "dedup")


def may_call(robot: Robot, agent_id: str) -> bool:
    """Its assistants, the agents of its phases, and those of the platform."""
    phases = {robot.phase_agent(name) for name in robot.robot_config.resources.phases}
    wanted = platform_name(agent_id)
    return of_platform(wanted) or wanted in {*robot.allowed_agents(), *phases}


def payer_of_call(request: CallAgent, run: Run | None, robot: Robot | None) -> Payer:
    if run is not None:
        return payer_of(run, request.assistant_id)
    own = robot.robot_config.ceilings if robot else Ceilings()
    return Payer(request.team_id, request.member_id, request.assistant_id, own=own)


def mode_of(run: Run | None, robot: Robot | None) -> ExecutorMode:
    if run is not None:
        return run.execution.executor_mode
    return robot.robot_config.executor.mode if robot else ExecutorMode.STANDARD


def with_uses(agent: Agent, request: CallAgent, view: TeamView) -> Agent:
    """The agent with what the call says of its services. Raises Permanent for what can't be, or an agent that isn't
    there."""
    if not request.uses:
        return agent
    try:
        said = read_uses(request.uses)
    except UsesError as error:
        raise Permanent(str(error)) from error
    for service, provider in said.providers():
        if isinstance(provider, ByAgent) and view.agents.find(provider.agent_id) is None:
            raise Permanent(f"uses.{service}: {view.missing(provider.agent_id)}")
    return replace(agent, uses=merged(said, agent.uses))


def system_of(request: CallAgent, agent: Agent, robot: Robot | None, run: Run | None) -> Message:
    """A person's call has the agent's files of context, too; for others a short prompt will do."""
    if robot is None:
        values = UNKNOWN_ROBOT | {"agent": request.assistant_id, "locale": request.locale or DEFAULT_LOCALE}
        own = (agent.system_prompt(values),)
        return Message(role="system", content=joined(*(in_context(own, agent.files) if request.user_id else own)))
    of_run = locale_of(run.execution.trigger, robot) if run else robot.robot_config.default_locale
    locale = request.locale or of_run or DEFAULT_LOCALE
    return system(agent, request.assistant_id, robot, locale=locale, minimal=request.user_id is None)


def in_context(own: Iterable[str], files: ContextFiles) -> Iterable[str]:
    """An agent's own words among its files, in the order of all prompts."""
    return (files.mandatory(), files.persona(), *own, *(tagged(name, text) for name, text in files.project()))


def messages_of(
    request: CallAgent, first: Message, asked: Asked, connector: Connector
) -> tuple[Sequence[Message], Sequence[Tool]]:
    """The conversation of a call, and the tools beside it: those of a model without calls of its own stand in its
    system prompt `first`, and `said` makes its calls text. Without tools it is what the caller sent."""
    if not asked.tools and not asked.iteration:
        return [first, *request.messages], ()
    native, frame = connector.can(CALLS), frame_of("call", request.team_id, request.call_id)
    means = explained(() if native else asked.tools)
    system = Message(role="system", content=joined(first.text(), means, asked.skills, frame.preamble))
    rounds = [message for each in asked.turn.rounds for message in in_round(each, {}, frame)]
    note = progress_note(asked.stalled) if asked.closing is None else CLOSING.format(cap=asked.closing)
    last = [Message(role="user", content=note)] if note else []
    messages: Sequence[Message] = [system, *request.messages, *rounds, *last]
    return messages, asked.tools if native else ()


def said(messages: Sequence[Message], asked: Asked, connector: Connector) -> Sequence[Message]:
    """The messages as this connector's model takes them."""
    talks = not asked.tools and not asked.iteration
    return messages if talks or connector.can(CALLS) else as_text(messages)


def facts_of(request: CallAgent, run: Run) -> dict[str, Any]:
    """`kind` is the robot's use of this agent, whatever its name."""
    used_for = (kind for kind in KINDS if request.assistant_id == run.robot.phase_agent(kind))
    kind = next(used_for, request.assistant_id.removeprefix(PLATFORM))
    given = {name: request.metadata.get(name, []) for name in ("history", "under_way")} if kind == "dedup" else {}
    check = {"check": request.metadata["check"]} if "check" in request.metadata else {}
    return facts(run, kind) | given | check


def answered(thought: Thought, agent_id: str, system: Message) -> AgentReply:
    """The answer, and the JSON in it without what it copied of its form's example."""
    text, reply, connector = thought.text, thought.reply, thought.connector
    if len(text) > LENGTH_LIMIT:
        long = f"expected at most {LENGTH_LIMIT} characters of agent {agent_id}, got {len(text)}"
        return AgentReply(agent_id=agent_id, error=long, call=reply.call)
    found = extract_json(in_form(without_echoes(text, echoes(text, system.text()))))
    name, rehearsed = connector.model or connector.id, connector.type == REHEARSAL
    return AgentReply(agent_id=agent_id, content=text, response=found, model=name, call=reply.call, rehearsed=rehearsed)

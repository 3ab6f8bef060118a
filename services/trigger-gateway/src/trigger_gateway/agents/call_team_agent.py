"""The call of an agent without a chat: messages in, its answer out; nothing of it is kept as a conversation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rota_common.errors import Permanent
from rota_contracts.ids import derived_id
from rota_contracts.json_values import unstorable
from rota_contracts.messages.agent import DEFAULT_TIMEOUT_S, AgentReply, CallAgent, Service
from rota_contracts.messages.control import has_content
from rota_contracts.messages.trigger import Message
from rota_contracts.model import ALL, Json
from trigger_gateway.problems import FieldProblem, Invalid, redacted
from trigger_gateway.robots.find_robot import find_robot
from trigger_gateway.robots.ports import RobotRecords
from trigger_gateway.runs.guard_input import GuardInput
from trigger_gateway.runs.idempotency import find_repeat
from trigger_gateway.runs.ports import Requests
from trigger_gateway.webhooks.ports import Agents

SPEAKERS = ("system", "user", "assistant")


@dataclass(frozen=True)
class AgentCall:
    """`member`: the robot in whose name the agent is called, if any: with its identity, its agents and its ceilings.
    `user`: the person who calls, if the key says so. `model`: a connector, of those that the agent offers; `timeout` in
    seconds; `key`: the idempotency key."""

    agent: str
    messages: Sequence[Message]
    member: str | None = None
    model: str | None = None
    timeout: float = DEFAULT_TIMEOUT_S
    uses: Mapping[Service, str] | None = None
    metadata: Mapping[str, Json] | None = None
    locale: str | None = None
    route: str | None = None
    chat_id: str | None = None
    key: str | None = None
    user: str | None = None


@dataclass(frozen=True, kw_only=True)
class CallTeamAgent:
    robots: RobotRecords
    agents: Agents
    requests: Requests
    guard: GuardInput
    new_id: Callable[[], str]

    async def prepare(self, team: str, call: AgentCall, *, streamed: bool = False) -> CallAgent:
        """The question to the executor, under an id that a repeat has, too.

        Raise Invalid for what can't be asked, NotFound for an unknown robot, Conflict for another call under the same
        key.
        """
        check(call)
        if call.member is not None:
            await find_robot(self.robots, team, call.member)
        self.guard.check(team, [call.member or call.agent], *(message.text() for message in call.messages))
        call_id = self.new_id()
        if call.key is not None:
            own = [call.user] if call.user is not None else []  # each person's repeats are their own
            call_id = derived_id("agent call", team, call.agent, call.key, *own)
            await find_repeat(self.requests, call_id, call)
        return CallAgent(
            call_id=call_id,
            team_id=team,
            member_id=call.member or ALL,
            assistant_id=call.agent,
            messages=self.guard.cut(call.messages),
            model=call.model or None,
            timeout=call.timeout,
            uses={**(call.uses or {})},
            metadata={**(call.metadata or {})},
            locale=call.locale,
            route=call.route,
            chat_id=call.chat_id or derived_id("chat", call_id),
            user_id=call.user,
            streamed=streamed,
        )

    async def answer(self, question: CallAgent) -> AgentReply:
        """What the agent or its model got wrong is in the reply, as `error`. Raise Transient when no executor answers,
        Invalid when it refuses the question."""
        try:
            reply = await self.agents.answer(question)
        except Permanent as error:
            raise Invalid("refused", redacted(str(error))) from error
        return reply.model_copy(update={"error": redacted(reply.error)})


def check(call: AgentCall) -> None:
    """Raise Invalid, which names each wrong field."""
    problems = [
        FieldProblem(f"messages.{number}.{field}", problem)
        for number, message in enumerate(call.messages)
        for field, problem in _wrong(message)
    ]
    if not problems and not has_content([*call.messages]):
        problems.append(FieldProblem("messages", "expected at least one message with content"))
    if unfit := unstorable({**(call.metadata or {})}):
        problems.append(FieldProblem("metadata", unfit))
    if problems:
        raise Invalid("invalid_request", "the call is not valid", fields=problems)


def _wrong(message: Message) -> list[tuple[str, str]]:
    found = list[tuple[str, str]]()
    if message.role not in SPEAKERS:
        found.append(("role", f"expected one of {', '.join(SPEAKERS)}, not {message.role}"))
    if not isinstance(message.content, str) and any(part.get("type") != "text" for part in message.content):
        found.append(("content", "expected text: pictures and files are for a robot's run"))
    elif unfit := unstorable(message.content):
        found.append(("content", unfit))
    return found

"""An agent's own hooks: what they may change of its call or its turn, and how often they may ask for more."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from executor.domain.hooks.messages import UnusableReply
from executor.domain.hooks.replies import messages_of
from executor.domain.planning.answer import LENGTH_LIMIT
from executor.domain.uses import UsesError, read_uses
from rota_contracts.json_values import shown as shown_value
from rota_contracts.messages.agent_hook import AgentHookCall, AgentHookPoint, AgentHookReply
from rota_contracts.model import Json
from rota_contracts.robots.hooks import HookProcess

MOST_CALLS = 4
"""Agents that the hooks of one call or turn may call, together."""

MOST_CONTINUED = 3
"""Times that the model is asked again for `next`, in one call or turn."""

CREATE, NEXT = AgentHookPoint.CREATE, AgentHookPoint.NEXT

GIVES = {
    CREATE: frozenset({"messages", "connector", "options", "uses"}),
    NEXT: frozenset({"messages", "content", "data"}),
}
"""What a reply may say at each point, beside `call`."""

FIELDS = ("messages", "connector", "options", "uses", "content", "data")


@dataclass(frozen=True)
class OwnHooks:
    """The process of each point."""

    create: HookProcess | None = None
    next: HookProcess | None = None

    def __bool__(self) -> bool:
        return self.create is not None or self.next is not None


NO_HOOKS = OwnHooks()


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _are_texts(value: Json) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value))


PARAMETERS: Mapping[str, tuple[str, Callable[[Json], bool]]] = {
    "temperature": ("a number", _is_number),
    "top_p": ("a number", _is_number),
    "presence_penalty": ("a number", _is_number),
    "frequency_penalty": ("a number", _is_number),
    "top_k": ("a whole number above 0", _is_count),
    "max_tokens": ("a whole number above 0", _is_count),
    "max_completion_tokens": ("a whole number above 0", _is_count),
    "seed": ("a whole number", _is_whole),
    "stop": ("a text, or a list of them", _are_texts),
    "reasoning_effort": ("a text", _is_text),
}
"""The parameters of a model that a hook may set, with what is expected. A file's other options, such as headers, are
the operator's alone: a hook is a program of the team."""


def known_options(options: Mapping[str, Any]) -> dict[str, Json]:
    """Of an agent's options, those that a hook is shown."""
    return {name: value for name, value in options.items() if name in PARAMETERS}


def checked(asked: AgentHookCall, reply: AgentHookReply) -> AgentHookReply:
    """The reply with whole messages. Raises UnusableReply for what can't stand at this point."""
    _check_fields(asked, reply)
    _check_options(reply.options or {})
    try:
        read_uses(reply.uses)
    except UsesError as error:
        raise UnusableReply(str(error)) from error
    if reply.messages is None:
        return reply
    messages = messages_of(asked.messages, reply.messages)
    if asked.point is NEXT and messages[-1].role != "user":
        raise UnusableReply("expected a message of the role user at the end, which the model is to answer")
    if asked.point is NEXT and asked.again >= MOST_CONTINUED:
        raise UnusableReply(f"expected an answer: the model has been asked again {asked.again} times")
    return reply.model_copy(update={"messages": messages})


def _check_fields(asked: AgentHookCall, reply: AgentHookReply) -> None:
    given = {name for name in FIELDS if getattr(reply, name) is not None}
    if reply.call is not None and given:
        raise UnusableReply(f"expected a call alone, got it with {', '.join(sorted(given))}")
    if odd := sorted(given - GIVES[asked.point]):
        may = ", ".join(sorted(GIVES[asked.point]))
        raise UnusableReply(f"a hook {asked.point} may set {may}, or call, not {', '.join(odd)}")
    if asked.point is NEXT and "messages" in given and len(given) > 1:
        raise UnusableReply("expected messages to ask the model again, or an answer (content, data), not both")
    if reply.content is not None and len(reply.content) > LENGTH_LIMIT:
        raise UnusableReply(f"expected content of at most {LENGTH_LIMIT} characters, got {len(reply.content)}")


def _check_options(options: Mapping[str, Json]) -> None:
    if unknown := sorted(options.keys() - PARAMETERS.keys()):
        raise UnusableReply(f"options: expected some of {', '.join(PARAMETERS)}, got {', '.join(unknown)}")
    for name, value in options.items():
        expected, fits = PARAMETERS[name]
        if not fits(value):
            raise UnusableReply(f"options.{name}: expected {expected}, got {shown_value(value)}")

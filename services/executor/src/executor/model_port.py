"""The port to models: one call with its prompt, and what may come of it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from executor.agents.connectors import Connector
from executor.domain.conversation.chat import ModelReply, Tool
from rota_common.errors import Permanent, Transient
from rota_contracts.messages.trigger import Message

OnText = Callable[[str], Awaitable[None]]


@dataclass(frozen=True)
class Prompt:
    """One call of a model, which may answer with calls of `tools`. `step_id` is the same whenever this very call is
    repeated. `facts`: the messages' content as data, which only rehearsal reads. `on_text`: gets the text bit by bit
    as it is written, of connectors that stream. `schema`: the answer's, as a JSON Schema, for connectors that take it.
    `own_form`: a robot's owner wrote a part of it, so that its refusal says nothing about others.
    """

    messages: Sequence[Message]
    connector: Connector
    timeout: float
    step_id: str
    options: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    tools: Sequence[Tool] = ()
    on_text: OnText | None = None
    schema: Mapping[str, Any] | None = None
    own_form: bool = False


class Model(Protocol):
    async def complete(self, prompt: Prompt) -> ModelReply:
        """Raises NoAnswer for what passes; Permanent for refusals, of these ContextOverflow for too long prompts."""
        ...


class ContextOverflow(Permanent):
    """A model's provider refused a prompt because it is longer than the model's window."""


class NoAnswer(Transient):
    """A model's provider doesn't answer now; another one may. `after`: it asked for this pause."""


class NotTaken(NoAnswer):
    """A model's provider didn't take the request: it bills nothing."""

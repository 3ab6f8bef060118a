"""Messages of a conversation with tools: tools as a model sees them, calls, and replies."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AfterValidator

from rota_contracts.messages.trigger import Message
from rota_contracts.messages.usage import ModelCall
from rota_contracts.model import Json, Part


def whole_characters(text: str) -> str:
    """Without halves of characters, which a model's server may send and no message can carry."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


CleanText = Annotated[str, AfterValidator(whole_characters)]


BUILT_IN = "rota"
"""The server name of the built-in tools; no MCP server has it."""


@dataclass(frozen=True)
class Tool:
    """A tool of an MCP server, or a built-in one. `name` is the model's (letters, digits, _, -; at most 64);
    `parameters` a JSON schema.

    `idempotent`: called twice with one step id, it does its work once. `read_only`: it is known to change nothing;
    `destructive`: its server says that it may destroy something. `repeatable`: the same call makes sense twice in a
    turn.
    """

    name: str
    server: str
    tool: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    idempotent: bool = False
    read_only: bool = False
    destructive: bool = False
    repeatable: bool = False

    @property
    def texts(self) -> dict[str, Mapping[str, Any]]:
        """The arguments that take a text, with their schemas."""
        return {
            name: schema
            for name, schema in properties(self.parameters).items()
            if isinstance(schema, Mapping) and schema.get("type") in ("string", None)
        }


def properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments that a tool's schema names, each with its own; empty where it names none that can be read."""
    found = schema.get("properties")
    return found if isinstance(found, Mapping) else {}


class ToolCall(Part):
    """A model's call of a tool. `id` is the model's own name of the call."""

    id: CleanText
    name: CleanText
    arguments: dict[str, Json] = {}


class Thinking(Part):
    """A model's reasoning before it calls tools, which its provider wants back with the results: as text, or as
    `blocks` that the provider has signed. Another model than `model` gets none of it."""

    model: CleanText = ""
    reasoning: CleanText = ""
    blocks: list[Json] = []


class ModelReply(Part):
    """A model's reply: text, calls of tools, or both. `reasoning`: what its provider sets apart, and `blocks` the same
    as signed by it. `stopped`: why the provider ended it early, in OpenAI's words. `call`: what it took.

    What was found of it against its prompt is stored with it, because a replay has no prompt: `quoted`, calls in its
    text that others wrote, `echoes`, fields and texts of the form's own example, `repeats_prompt`, its instructions or
    a part of it, and `in_html`, that it is written in HTML where the prompt asks for none.
    """

    text: CleanText = ""
    calls: list[ToolCall] = []
    reasoning: CleanText = ""
    blocks: list[Json] = []
    stopped: CleanText = ""
    call: ModelCall | None = None
    quoted: list[CleanText] = []
    echoes: list[tuple[CleanText, CleanText]] = []
    repeats_prompt: bool = False
    in_html: bool = False


class ChatMessage(Message):
    """A message of a conversation with tools: the assistant's calls with the thinking before them, and the results that
    answer them."""

    tool_calls: list[ToolCall] = []
    thinking: Thinking | None = None
    tool_call_id: str | None = None

"""The checks of a connector: the question of each to its model, and what an answer lacks."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from executor.domain.answers.understand import understand
from executor.domain.conversation.chat import BUILT_IN, ModelReply, Tool
from rota_common.json_text import parse_json
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.provider import (
    Capability,
    CheckOutcome,
    CheckResult,
    ConnectorCheck,
    TryConnectorReply,
)
from rota_contracts.messages.trigger import Message
from rota_contracts.messages.usage import DIGITS, ModelCall, Usage
from rota_contracts.model import Json

SHOWN = 80
"""Characters of a model's answer that a problem shows."""

ENDED = {
    "length": " before the limit of its tokens: if the model thinks, its capabilities are to say `reasoning: true`",
    "content_filter": ": the provider's filter stopped the answer",
}
"""Why there is no text, by the provider's word for the end."""

CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER = Tool("weather", BUILT_IN, "weather", "The weather of a city.", CITY)
RED_SQUARE = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAS0lEQVR42u3PQQkAAAgAsetfWiP4FgYrsKZeS0BAQEBAQEBAQEBAQEBA"
    "QEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEDgsqnc8OJg6Ln3AAAAAElFTkSuQmCC"
)
"""64 pixels wide: some models refuse smaller pictures."""


@dataclass(frozen=True)
class Check:
    """One call of a model. `lacks`: why its answer isn't what it should be; empty if it is. `capability`: without it
    the check isn't made."""

    name: ConnectorCheck
    question: str
    lacks: Callable[[ModelReply], str]
    capability: Capability | None = None
    picture: str = ""
    tools: Sequence[Tool] = ()
    schema: Mapping[str, Any] | None = None

    def messages(self) -> Sequence[Message]:
        if not self.picture:
            return [Message(content=self.question)]
        parts: list[dict[str, Json]] = [{"type": "text", "text": self.question}]
        return [Message(content=[*parts, {"type": "image_url", "image_url": {"url": self.picture}}])]


def no_text(reply: ModelReply) -> str:
    return "" if _text(reply) else f"expected a text, got none{ENDED.get(reply.stopped, '')}"


def no_call(reply: ModelReply) -> str:
    """Calls in text count too, as in runs."""
    calls = understand(reply, [WEATHER]).calls
    if any(call.name == WEATHER.name and isinstance(call.arguments.get("city"), str) for call in calls):
        return ""
    got = f"the call {calls[0].name} {calls[0].arguments}" if calls else _text(reply)
    return no_text(reply) if not got else f"expected a call of the tool {WEATHER.name} with a city, got {_shown(got)}"


def no_json(reply: ModelReply) -> str:
    text = _text(reply)
    try:
        found = parse_json(text)
    except ValueError:
        return no_text(reply) or f"expected JSON alone, got {_shown(text)}"
    if isinstance(found, dict) and found.keys() == {"city"} and isinstance(found["city"], str):
        return ""
    return f"expected an object with the text `city` alone, got {_shown(text)}"


def no_sight(reply: ModelReply) -> str:
    text = _text(reply)
    if re.search(r"\bred\b", text, re.IGNORECASE):
        return ""
    return no_text(reply) or f"expected the picture's colour, red, got {_shown(text)}"


CHECKS = (
    Check(ConnectorCheck.CALL, "Reply with one word: ready", no_text),
    Check(ConnectorCheck.STREAMING, "Count from one to ten, in words.", no_text, Capability.STREAMING),
    Check(
        ConnectorCheck.TOOLS,
        "Call the tool `weather` for Paris.",
        no_call,
        Capability.TOOL_CALLS,
        tools=[WEATHER],
    ),
    Check(ConnectorCheck.JSON, "Which city is the capital of France?", no_json, Capability.JSON, schema=CITY),
    Check(
        ConnectorCheck.VISION,
        "Which colour is this picture? Reply with one English word.",
        no_sight,
        Capability.VISION,
        picture=RED_SQUARE,
    ),
)
"""In the order in which they are made. The question for JSON doesn't say so: its schema does."""


def prevented(made: Sequence[CheckResult]) -> str:
    """Why no further check is made after these; empty if one is."""
    if any(each.name is ConnectorCheck.CALL and each.outcome is CheckOutcome.FAILS for each in made):
        return "not tried, because a plain call fails"
    return next((each.problem for each in made if each.outcome is CheckOutcome.NOT_TRIED), "")


def report(made: Sequence[CheckResult], calls: Sequence[ModelCall | None] = ()) -> TryConnectorReply:
    """The results with what their answered calls took; of one connector, so in one currency."""
    used = [call.usage for call in calls if call is not None and call.usage is not None]
    costs = [(call.cost, call.currency) for call in calls if call is not None and call.cost is not None]
    return TryConnectorReply(
        checks=[*made],
        calls=len(calls),
        unmeasured=len(calls) - len(used),
        usage=Usage(**{name: sum(getattr(each, name) for each in used) for name in Usage.model_fields}),
        cost=round(sum(cost for cost, _ in costs), DIGITS) if costs else None,
        currency=costs[0][1] if costs else "",
    )


def _text(reply: ModelReply) -> str:
    return understand(reply).text.strip()


def _shown(text: str) -> str:
    return f'"{excerpt(" ".join(text.split()), SHOWN)}"'

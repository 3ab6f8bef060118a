"""The input guard at the door: foreign words are scanned before they become a run's, and long messages are cut."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from rota_common.input_guard import MAX_MESSAGE_CHARS, scan, shortened
from rota_common.runtime.logs import logger
from rota_contracts.messages.trigger import Message
from rota_contracts.model import Json
from trigger_gateway.problems import FieldProblem, Invalid

DETECTED = "security.injection_detected"


class GuardMode(StrEnum):
    """`off` doesn't scan, `log` and `warn` log at that level, `block` also refuses."""

    OFF = "off"
    LOG = "log"
    WARN = "warn"
    BLOCK = "block"


@dataclass(frozen=True, kw_only=True)
class GuardInput:
    """Logs the names of the patterns that were found, and never a text. `max_chars`: of one message."""

    mode: GuardMode = GuardMode.WARN
    max_chars: int = MAX_MESSAGE_CHARS
    log: Any = field(default_factory=lambda: logger(service="trigger-gateway"))

    def check(self, team: str, members: Sequence[str], *written: Json) -> None:
        """Scan all texts in `written`, which these robots would read. Raise Invalid in mode `block`."""
        if self.mode is GuardMode.OFF or not members:
            return
        found = scan("\n".join(text for each in written for text in texts_in(each)))
        if not found:
            return
        say = self.log.info if self.mode is GuardMode.LOG else self.log.warning
        say(DETECTED, patterns=list(found), team=team, members=list(members))
        if self.mode is GuardMode.BLOCK:
            problems = [FieldProblem(name, "a pattern of prompt injection") for name in found]
            raise Invalid(
                "injection_detected",
                f"expected no words of prompt injection, found {', '.join(found)}",
                fields=problems,
            )

    def cut(self, messages: Sequence[Message]) -> list[Message]:
        """The messages, with each text that is too long cut, and a notice for the model in it."""
        return [self._cut(message) for message in messages]

    def cut_text(self, text: str) -> str:
        return shortened(text, self.max_chars)

    def _cut(self, message: Message) -> Message:
        if isinstance(message.content, str):
            return message.model_copy(update={"content": self.cut_text(message.content)})
        parts, left = list[dict[str, Json]](), self.max_chars
        for part in message.content:
            text = part.get("text") if part.get("type") == "text" else None
            if isinstance(text, str):
                parts.append({**part, "text": shortened(text, left)})
                left = max(0, left - len(text))
            else:
                parts.append(part)
        return message.model_copy(update={"content": parts})


def texts_in(value: Json) -> Iterator[str]:
    """All texts of a JSON value, keys too."""
    left = [value]
    while left:
        match left.pop():
            case str(text):
                yield text
            case dict(fields):
                yield from fields
                left += fields.values()
            case list(items):
                left += items
            case _:
                pass

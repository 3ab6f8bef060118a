"""Arguments of built-in tools, checked with errors that a model can act on."""

from collections.abc import Mapping
from typing import Any, NoReturn

from executor.domain.conversation.chat import Tool
from executor.tool_ports import ToolFailed
from rota_contracts.messages.conversation import ToolUse


class Arguments:
    """The arguments of one call. Raises ToolFailed for one that isn't known, is missing, or is of another type."""

    def __init__(self, use: ToolUse, tool: Tool) -> None:
        self._known: Mapping[str, Any] = tool.parameters["properties"]
        self._name = tool.tool
        given: Any = use.arguments
        if not isinstance(given, dict):
            self._refuse(f"expected the arguments as an object, got {type(given).__name__}")
        self._given: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if unknown := sorted(self._given.keys() - self._known.keys()):
            self._refuse(f"there is no argument {', '.join(unknown)}: expected {', '.join(self._known)}")
        for name in tool.parameters.get("required", ()):
            if name not in self._given:
                self._refuse(f"expected {name}, {self._known[name].get('description', 'a value')}")

    def text(self, name: str, default: str = "") -> str:
        value = self._given.get(name, default)
        if not isinstance(value, str):
            self._refuse(f"expected {name} as a text, got {type(value).__name__}")
        choices = self._known[name].get("enum")
        if choices and name in self._given and value not in choices:
            self._refuse(f"expected {name} to be {' or '.join(choices)}, got {value[:50]!r}")
        return value

    def number(self, name: str, default: int) -> int:
        value, known = self._given.get(name, default), self._known[name]
        if isinstance(value, str) and value.isdigit() and len(value) < 10:  # arguments in tags arrive as text
            value = int(value)
        if type(value) is not int or not known["minimum"] <= value <= known["maximum"]:
            self._refuse(f"expected {name} to be {known['minimum']} to {known['maximum']}, got {str(value)[:50]}")
        return value

    def _refuse(self, reason: str) -> NoReturn:
        raise ToolFailed(f"{self._name}: {reason}")

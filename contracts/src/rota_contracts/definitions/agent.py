"""An agent as its team writes it: the fields of an agent's file, and its prompt."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from rota_contracts.messages.agent import DEFAULT_TIMEOUT_S
from rota_contracts.messages.provider import ConnectorOptions, Mode
from rota_contracts.model import Part
from rota_contracts.robots.autonomy import Autonomy

MAX_ITERATIONS = 100
LONGEST_S = 3_600
TAGS = 50
PROMPT_LIMIT = 200_000
"""Characters of an agent's prompt."""

Text = Annotated[str, StringConstraints(max_length=2_000)]


class McpServerUse(Part):
    """An MCP server that an agent uses; `tools`: these alone."""

    server_id: str = Field(min_length=1)
    tools: frozenset[str] | None = None


class McpServersUse(Part):
    servers: tuple[McpServerUse, ...] = ()


class AgentDefinition(Part):
    """`connector`: the id of a connector; without one, the default. `tools`: of all tools, these, by their names or
    their servers'. `timeout`: seconds of one answer."""

    name: Text = Field(default="", description="what people see in place of its id")
    description: Text = Field(default="", description="what it is good at, in a line")
    type: Literal["assistant"] = "assistant"
    prompt: str = Field(min_length=1, max_length=PROMPT_LIMIT, description="its system prompt, with $placeholders")
    connector: Text = ""
    connector_options: ConnectorOptions = ConnectorOptions()
    options: dict[str, Any] = Field(default={}, max_length=TAGS, description="parameters of the model")
    max_iterations: Annotated[int, Field(strict=True, le=MAX_ITERATIONS)] | None = None
    timeout: float = Field(default=DEFAULT_TIMEOUT_S, strict=True, gt=0, le=LONGEST_S)
    tools: frozenset[str] | None = None
    mcp: McpServersUse | None = None
    autonomy: Autonomy | None = None
    calls: Literal["parallel", "serial"] = "parallel"
    modes: tuple[Mode, ...] = ()
    default_mode: Mode | None = None
    tags: tuple[str, ...] = Field(default=(), max_length=TAGS)
    public: bool = Field(default=False, strict=True)
    mentionable: bool = Field(default=False, strict=True)
    sort: int = Field(default=0, strict=True)

    @model_validator(mode="after")
    def _mode_is_there(self) -> Self:
        if self.default_mode is not None and self.default_mode not in self.modes:
            raise ValueError(f"expected default_mode to be one of its modes, got {self.default_mode.value!r}")
        return self

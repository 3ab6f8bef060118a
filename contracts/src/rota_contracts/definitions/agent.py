"""An agent as its team writes it: the fields of an agent's file, and its prompt."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from rota_contracts.definitions.skill import NAME_EXPECTED, SkillName
from rota_contracts.messages.agent import DEFAULT_TIMEOUT_S, Service
from rota_contracts.messages.provider import Capability, ConnectorOptions, Context, Mode
from rota_contracts.model import Part
from rota_contracts.robots.autonomy import Autonomy
from rota_contracts.robots.hooks import HookProcess

MAX_ITERATIONS = 100
LONGEST_S = 3_600
TAGS = 50
SKILLS = 100
PROMPT_LIMIT = 200_000
"""Characters of an agent's prompt."""

CAPABILITIES = ", ".join(Capability)

Text = Annotated[str, StringConstraints(max_length=2_000)]


class McpServerUse(Part):
    """An MCP server that an agent uses; `tools`: these alone."""

    server_id: str = Field(min_length=1)
    tools: frozenset[str] | None = None


class McpServersUse(Part):
    servers: tuple[McpServerUse, ...] = ()


HookByName = Annotated[
    HookProcess, BeforeValidator(lambda given: {"process": given} if isinstance(given, str) else given)
]
"""A process by its name alone, or with how it is asked."""


class AgentHooks(Part):
    """Processes of the team: `create` is asked before the agent's model, `next` after its answer."""

    create: HookByName | None = None
    next: HookByName | None = None


class AgentDefinition(Part):
    """Each description says what is expected, for the message of what isn't so. `connector`: without one, the default.
    `tools`: of all tools, these. `timeout`: of one answer. `context`: files that are `predefined`, with each person's
    own USER.md, or `open`: each person's own."""

    name: Text = Field(default="", description="a text: what people see in place of its id")
    description: Text = Field(default="", description="a text: what it is good at, in a line")
    type: Literal["assistant"] = Field(default="assistant", description="assistant")
    context: Context = Field(default="predefined", description="one of predefined, open")
    prompt: str = Field(
        min_length=1, max_length=PROMPT_LIMIT, description="a text: its system prompt, with $placeholders"
    )
    connector: Text = Field(default="", description="the id of a connector")
    connector_options: ConnectorOptions = Field(
        default=ConnectorOptions(),
        description=f"a mapping of optional (true or false), connectors (their ids) and filters (of {CAPABILITIES})",
    )
    options: dict[str, Any] = Field(default={}, max_length=TAGS, description="a mapping of the model's parameters")
    max_iterations: Annotated[int, Field(strict=True, le=MAX_ITERATIONS)] | None = Field(
        default=None, description=f"up to {MAX_ITERATIONS}, 0 for the usual"
    )
    timeout: float = Field(
        default=DEFAULT_TIMEOUT_S, strict=True, gt=0, le=LONGEST_S, description=f"seconds, up to {LONGEST_S}"
    )
    tools: frozenset[str] | None = Field(default=None, description="a list of names of tools or servers")
    mcp: McpServersUse | None = Field(
        default=None, description="{servers: [{server_id: …, tools: […]}]}, where tools may be left out for all"
    )
    uses: dict[Service, Text] = Field(default={}, description="a mapping of services to those who do them")
    hooks: AgentHooks = Field(
        default=AgentHooks(),
        description="a mapping of create and next to processes of its teams (letters, digits, _, - and dots), each by "
        "its name, or {process: …, timeout: at most 60s, on_failure: cancel or continue}",
    )
    skills: tuple[SkillName, ...] = Field(
        default=(), max_length=SKILLS, description=f"a list of at most {SKILLS} names of skills ({NAME_EXPECTED})"
    )
    autonomy: Autonomy | None = Field(default=None, description=f"one of {', '.join(Autonomy)}")
    calls: Literal["parallel", "serial"] = Field(default="parallel", description="one of parallel, serial")
    modes: tuple[Mode, ...] = Field(default=(), description=f"a list of {', '.join(Mode)}")
    default_mode: Mode | None = Field(default=None, description=f"one of {', '.join(Mode)}")
    tags: tuple[str, ...] = Field(default=(), max_length=TAGS, description=f"a list of at most {TAGS} texts")
    public: bool = Field(default=False, strict=True, description="true or false")
    mentionable: bool = Field(default=False, strict=True, description="true or false")
    sort: int = Field(default=0, strict=True, description="a whole number")

    @model_validator(mode="after")
    def _mode_is_there(self) -> Self:
        if self.default_mode is not None and self.default_mode not in self.modes:
            raise ValueError(f"expected default_mode to be one of its modes, got {self.default_mode.value!r}")
        return self

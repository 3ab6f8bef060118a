"""The front matter of an agent's file."""

from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from executor.agents.operator_files import EXPECTED, Teams, teams_of
from executor.domain.uses import Uses, UsesError, read_uses
from rota_contracts.messages.agent import DEFAULT_TIMEOUT_S
from rota_contracts.messages.provider import Capability, ConnectorOptions, Mode
from rota_contracts.robots.autonomy import Autonomy
from rota_contracts.robots.hooks import HookProcess

MAX_ITERATIONS = 100
LONGEST_S = 3_600
TAGS = 50


class AgentFileError(ValueError):
    """A prompt file can't be read; names the file."""


class Server(BaseModel):
    """An MCP server that an agent uses; `tools`: these alone."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    server_id: str = Field(min_length=1)
    tools: frozenset[str] | None = None


class Servers(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    servers: tuple[Server, ...] = ()


HookByName = Annotated[
    HookProcess, BeforeValidator(lambda given: {"process": given} if isinstance(given, str) else given)
]
"""A process by its name alone, or with how it is asked."""


class AgentHooks(BaseModel):
    """As an operator writes them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    create: HookByName | None = None
    next: HookByName | None = None


class Choice(ConnectorOptions):
    """As an operator writes it: a field that isn't known is a mistake."""

    model_config = ConfigDict(extra="forbid")

    optional: bool | None = Field(default=None, strict=True)


CAPABILITIES = ", ".join(Capability)


class AgentFile(BaseModel):
    """Each description says what is expected, for the message of what isn't so."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    teams: Any = Field(default=None, description=EXPECTED)
    name: str = Field(default="", description="a text: what people see in place of its id")
    description: str = Field(default="", description="a text: what it is good at, in a line")
    type: Literal["assistant"] = Field(default="assistant", description="assistant")
    connector: str = Field(default="", description="the id of a connector, or $ENV.NAME")
    connector_options: Choice = Field(
        default=Choice(),
        description=f"a mapping of optional (true or false), connectors (their ids) and filters (of {CAPABILITIES})",
    )
    options: dict[str, Any] = Field(default={}, description="a mapping of the model's parameters")
    max_iterations: Annotated[int, Field(strict=True, le=MAX_ITERATIONS)] | None = Field(
        default=None, description=f"up to {MAX_ITERATIONS}, 0 for the usual"
    )
    timeout: float = Field(
        default=DEFAULT_TIMEOUT_S, strict=True, gt=0, le=LONGEST_S, description=f"seconds, up to {LONGEST_S}"
    )
    tools: frozenset[str] | None = Field(default=None, description="a list of names of tools or servers")
    mcp: Servers | None = Field(
        default=None, description="{servers: [{server_id: …, tools: […]}]}, where tools may be left out for all"
    )
    uses: Any = Field(default=None, description="a mapping of services to those who do them")
    hooks: AgentHooks = Field(
        default=AgentHooks(),
        description="a mapping of create and next to processes of its teams (letters, digits, _, - and dots), each by "
        "its name, or {process: …, timeout: at most 60s, on_failure: cancel or continue}",
    )
    autonomy: Autonomy | None = Field(default=None, description=f"one of {', '.join(Autonomy)}")
    calls: Literal["parallel", "serial"] = Field(default="parallel", description="one of parallel, serial")
    modes: tuple[Mode, ...] = Field(default=(), description=f"a list of {', '.join(Mode)}")
    default_mode: Mode | None = Field(default=None, description=f"one of {', '.join(Mode)}")
    tags: tuple[str, ...] = Field(default=(), max_length=TAGS, description=f"a list of at most {TAGS} texts")
    public: bool = Field(default=False, strict=True, description="true or false")
    mentionable: bool = Field(default=False, strict=True, description="true or false")
    sort: int = Field(default=0, strict=True, description="a whole number")

    def named_teams(self, agent_id: str) -> Teams:
        try:
            return teams_of(self.teams)
        except ValueError as error:
            raise AgentFileError(f"the front matter of {agent_id}.md can't be read: {error}") from error

    def own_uses(self, agent_id: str) -> Uses:
        try:
            return read_uses(self.uses)
        except UsesError as error:
            raise AgentFileError(f"the front matter of {agent_id}.md can't be read: {error}") from error


def read_front(agent_id: str, text: str) -> AgentFile:
    """From YAML. A field without a value is as one that isn't there. Raises AgentFileError for the first that is
    wrong."""
    where = f"the front matter of {agent_id}.md"
    try:
        front: Any = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise AgentFileError(f"{where} is not YAML: {error}") from error
    if not isinstance(front, dict):
        raise AgentFileError(f"expected {where} to be a mapping, got {front!r}")
    fields = AgentFile.model_fields
    if unknown := sorted(map(str, front.keys() - fields)):
        raise AgentFileError(f"{where} may have {', '.join(fields)}, not {', '.join(unknown)}")
    try:
        file = AgentFile.model_validate({name: value for name, value in front.items() if value is not None})
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        expected = f"expected {name} in {where} to be {fields[name].description}, got {front[name]!r}"
        raise AgentFileError(expected) from error
    if file.default_mode is not None and file.default_mode not in file.modes:
        raise AgentFileError(f"expected default_mode in {where} to be one of its modes, got {file.default_mode!r}")
    return file

"""Connectors and agents as a team sees them: which it may use, and what each can."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from rota_contracts.messages.usage import Usage
from rota_contracts.model import Name, Part

CHECK_TIMEOUT_S = 60
"""Of one call of a connector's model."""


class Capability(StrEnum):
    """What a model can, or its server."""

    TOOL_CALLS = "tool_calls"
    VISION = "vision"
    AUDIO = "audio"
    REASONING = "reasoning"
    STREAMING = "streaming"
    JSON = "json"
    MULTIMODAL = "multimodal"
    TEMPERATURE_ADJUSTABLE = "temperature_adjustable"


class VisionForm(StrEnum):
    """The form in which a model takes pictures."""

    OPENAI = "openai"
    CLAUDE = "claude"


class Provider(Part):
    """A connector. Its key and its address are never shown."""

    id: str
    label: str
    type: str = Field(description="the protocol: openai or anthropic; or rehearsal, which asks no model")
    model: str
    capabilities: dict[Capability, bool | VisionForm] = Field(description="all eight; a text: the form of pictures")
    default: bool = Field(default=False, description="the one of agents that name none")
    problem: str = Field(default="", description="why it can't be used now; empty if it can")
    fallbacks: list[str] = Field(default=[], description="asked in its place while it doesn't answer, in this order")


class ListProviders(Part):
    """Request to the executor: the connectors that a team may use. `filters`: those that can all of this; `agent_id`:
    those that this agent offers its callers."""

    team_id: Name
    filters: list[Capability] = []
    agent_id: str = ""


class ProviderList(Part):
    """In the order of their ids. `problem`: there is no such agent."""

    providers: list[Provider] = []
    problem: str = ""


class ConnectorCheck(StrEnum):
    """What of a connector is tried, in this order, each with one call of its model."""

    CALL = "call"
    STREAMING = "streaming"
    TOOLS = "tools"
    JSON = "json"
    VISION = "vision"


TEST_TIMEOUT_S = len(ConnectorCheck) * CHECK_TIMEOUT_S + 30
"""Of all calls, and a little more, so that the executor can report that they took too long."""


class CheckOutcome(StrEnum):
    """`not_stated`: the connector's capabilities say that it can't, so it wasn't tried. `not_tried`: something before
    it prevents it. `no_model`: the connector answers without a model."""

    WORKS = "works"
    FAILS = "fails"
    NOT_STATED = "not_stated"
    NOT_TRIED = "not_tried"
    NO_MODEL = "no_model"


class CheckResult(Part):
    """One check. `problem`: why it doesn't work, or wasn't tried."""

    name: ConnectorCheck
    outcome: CheckOutcome
    problem: str = ""
    seconds: float = Field(default=0.0, ge=0)


class TryConnector(Part):
    """Request to the executor: call the model of a connector to see what of it works. The team pays."""

    team_id: Name
    connector: str = Field(min_length=1, max_length=200)


class TryConnectorReply(Part):
    """The results of all checks, and what their calls took. `problem`: the team may use no such connector."""

    checks: list[CheckResult] = []
    calls: int = Field(default=0, ge=0, description="those that the model answered")
    unmeasured: int = Field(default=0, ge=0, description="of them, those whose tokens the provider didn't report")
    usage: Usage = Usage()
    cost: float | None = Field(default=None, ge=0, description="in `currency`; null where no price is known")
    currency: str = ""
    problem: str = ""


Context = Literal["predefined", "open"]
"""Whose files of context an agent has in a call: its own, or those of the person who calls."""


class Mode(StrEnum):
    """How people meet an agent."""

    CHAT = "chat"
    TASK = "task"


class ConnectorOptions(Part):
    """Which connectors the callers of an agent may choose."""

    optional: bool | None = Field(default=None, description="may people be asked which one? null: as the program does")
    connectors: list[str] = Field(default=[], description="these alone; all, if none is named")
    filters: list[Capability] = Field(default=[], description="what each of them must be able to do")


class AgentCard(Part):
    """An agent as its file describes it."""

    id: str
    name: str
    description: str = ""
    connector: str = Field(default="", description="its own; empty: the default one")
    connector_options: ConnectorOptions = ConnectorOptions()
    modes: list[Mode] = []
    default_mode: Mode | None = None
    context: Context = "predefined"
    tags: list[str] = []
    public: bool = False
    mentionable: bool = False
    sort: int = Field(default=0, description="its place in lists, the lowest first")
    built_in: bool = Field(default=False, description="of the platform, with no file of the operator's in its place")


class ListAgents(Part):
    """Request to the executor: the agents that a team may use. `tags`: those with all of these."""

    team_id: Name
    tags: list[str] = []


class AgentList(Part):
    """By `sort`, then by id."""

    agents: list[AgentCard] = []

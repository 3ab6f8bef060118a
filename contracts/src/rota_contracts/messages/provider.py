"""Connectors and agents as a team sees them: which it may use, and what each can."""

from enum import StrEnum

from pydantic import Field

from rota_contracts.model import Name, Part


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

"""The agents, tools and processes that a robot may use."""

from collections.abc import Collection
from enum import StrEnum
from typing import Literal

from pydantic import Field, ValidationError

from rota_contracts.model import Part
from rota_contracts.robots.clock_config import Duration
from rota_contracts.robots.preferences import ProcessName


class MCPServer(Part):
    """A server of the Model Context Protocol, which the operator has set up (ROTA_MCP_DIR)."""

    id: str = Field(description="the name of its file, without .yaml")
    tools: list[str] = Field(default=[], description="empty = all tools of the server")


class ProcessResource(Part):
    """A process that tasks may call: the team's own program, which answers on NATS."""

    name: ProcessName = Field(description="as in its subject: rota.v1.process.<team>.<name>")
    idempotent: bool = Field(default=False, description="true: two calls with the same step id have the effect of one")
    timeout: Duration = Field(default="1m", description="how long to wait for its answer")
    callback_within: Duration = Field(default="7d", description="how long to wait for a promised result")


READING = frozenset({"find", "get", "select", "selectone", "paginate", "count", "list"})
"""Methods of a model that only read, in lower case: they may be repeated."""

MODELS = "models."


def model_process(name: str, models: Collection[str]) -> ProcessResource | None:
    """The process `models.<model>.<Method>`, if it is a method of one of these models; their names may hold dots."""
    model, _, method = name.removeprefix(MODELS).rpartition(".")
    if not name.startswith(MODELS) or model not in models:
        return None
    try:
        return ProcessResource(name=name, idempotent=method.lower() in READING)
    except ValidationError:  # no name for a subject of the bus
        return None


class BuiltInTool(StrEnum):
    """Tools that Rota itself has for its robots, without an MCP server."""

    READ_FILE = "read_file"
    WRITE_FILE = "write_file"
    LIST_FILES = "list_files"
    SKILL_SEARCH = "skill_search"
    MCP_TOOL_SEARCH = "mcp_tool_search"
    MEMORY_SEARCH = "memory_search"
    ATTACH = "attach"


PhaseAgents = dict[Literal["inspiration", "goals", "tasks", "run", "validation", "delivery", "learning", "dedup"], str]


class Resources(Part):
    """The agents, tools and processes that a robot may use: no others."""

    phases: PhaseAgents = Field(default={}, description="the agent of a phase; default rota.<phase>")
    agents: list[str] = Field(
        default=[],
        description="assistants for its tasks. One without a file of its own gets the general prompt; without any, "
        "rota.run does every task",
    )
    mcp: list[MCPServer] = Field(default=[], description="MCP servers whose tools its assistants may call")
    tools: list[BuiltInTool] = Field(default=[], description="built-in tools, by name")
    processes: list[ProcessResource] = Field(default=[], description="processes that its tasks may call")

"""The definition of a robot: the member record and its configuration."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, ValidationError, model_validator

from rota_contracts.messages.learning import LessonType
from rota_contracts.messages.trigger import ExecutorMode, InterventionAction, TriggerType
from rota_contracts.messages.validation import THRESHOLD
from rota_contracts.model import Instant, Json, Name, Part
from rota_contracts.robots.autonomy import Approvals, Autonomy
from rota_contracts.robots.ceilings import Ceilings
from rota_contracts.robots.clock_config import Clock, Duration
from rota_contracts.robots.events import EventSubscription
from rota_contracts.robots.hooks import Hooks
from rota_contracts.robots.preferences import DeliveryPreferences, ProcessName


class Phase(StrEnum):
    """The phases of a run, in order. `inspiration` runs for clock triggers alone."""

    INSPIRATION = "inspiration"
    GOALS = "goals"
    TASKS = "tasks"
    RUN = "run"
    DELIVERY = "delivery"
    LEARNING = "learning"


ALL_PHASES: tuple[Phase, ...] = tuple(Phase)


class RobotStatus(StrEnum):
    """`working` is derived when a robot is read and is never written."""

    IDLE = "idle"
    WORKING = "working"
    PAUSED = "paused"
    ERROR = "error"
    MAINTENANCE = "maintenance"


class Trigger(Part):
    """The switch of one kind of trigger."""

    enabled: bool = True


class InterveneTrigger(Trigger):
    actions: list[InterventionAction] = Field(default=[], description="allow-list; empty = all")


class Triggers(Part):
    clock: Trigger = Trigger()
    intervene: InterveneTrigger = InterveneTrigger()
    event: Trigger = Trigger()


class Identity(Part):
    role: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    duties: list[str] = []
    rules: list[str] = []


class Quota(Part):
    """The share of the executors' slots that one robot may take."""

    max: int = Field(default=2, ge=1, le=1000, description="executions running at once")
    queue: int = Field(default=10, ge=0, le=100_000, description="executions waiting")
    priority: int = Field(default=5, ge=1, le=10, description="10 is first")


class SharedKB(Part):
    """Shared collections that a run reads. `options.limit`: entries per run (default 5)."""

    collections: list[str] = []
    options: dict[str, Json] = {}


class SharedDB(Part):
    """Models of the team's data. Each method is a process that tasks may call: `models.<model>.<Method>`."""

    models: list[str] = []
    options: dict[str, Json] = {}


class Learn(Part):
    """The lessons that a robot keeps of its runs."""

    on: bool = True
    types: list[LessonType] = list(LessonType)
    keep: int = Field(default=0, ge=0, description="days; 0 = forever")

    def kept_since(self, now: datetime) -> datetime | None:
        """The instant before which lessons are removed; None if all are kept."""
        try:
            return now - timedelta(days=self.keep) if self.keep else None
        except OverflowError:  # longer than there are dates
            return None


class MCPServer(Part):
    id: str
    tools: list[str] = Field(default=[], description="empty = all tools of the server")


class ProcessResource(Part):
    """A process that tasks may call. `idempotent`: two calls with the same step id have the effect of one."""

    name: ProcessName
    idempotent: bool = False
    timeout: Duration = "1m"
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
    agents: list[str] = []
    mcp: list[MCPServer] = []
    tools: list[BuiltInTool] = Field(default=[], description="built-in tools, by name")
    processes: list[ProcessResource] = []


class Dedup(Part):
    """Smart dedup: before the plan is made, the goals are compared with those of recent runs."""

    on: bool = False
    window: Duration = Field(default="1d", description="how far back runs count as recent")


class Planning(StrEnum):
    """Which runs are planned. `auto`: all but a person's plain request, which is itself goal, task and report."""

    AUTO = "auto"
    ALWAYS = "always"


class Executor(Part):
    """Settings of a run. `validation_threshold` is the lowest score that passes."""

    mode: ExecutorMode = ExecutorMode.STANDARD
    planning: Planning = Field(default=Planning.AUTO, description="auto: a person's plain request needs no plan")
    max_duration: Duration = Field(default="30m", description="longest working time of one run; waiting doesn't count")
    continue_on_failure: bool = Field(default=False, description="true: a failed task doesn't end the run")
    validation_threshold: float = Field(default=THRESHOLD, ge=0, le=1)
    max_turns_per_task: int = Field(default=10, ge=1, le=100)


class RobotConfig(Part):
    """The configuration of a robot."""

    triggers: Triggers = Triggers()
    clock: Clock | None = None
    identity: Identity
    quota: Quota = Quota()
    kb: SharedKB | None = None
    db: SharedDB | None = None
    learn: Learn = Learn()
    resources: Resources = Resources()
    delivery: DeliveryPreferences = DeliveryPreferences()
    events: list[EventSubscription] = []
    executor: Executor = Executor()
    dedup: Dedup = Dedup()
    ceilings: Ceilings = Field(default=Ceilings(), description="of what its calls of models may take")
    autonomy: Autonomy | None = Field(
        default=None,
        description="null: full for what resources names, supervised for anything else that changes something",
    )
    approvals: Approvals = Approvals()
    hooks: Hooks = Field(default=Hooks(), description="processes of the team that are called around calls")
    default_locale: str | None = None


class RobotDefinition(Part):
    """A robot as its owner writes it: without the fields that Rota maintains."""

    member_id: Name | None = Field(default=None, description="generated if missing")
    member_type: Literal["robot"] = "robot"
    display_name: str = ""
    autonomous_mode: bool = Field(default=True, description="false: the robot never runs")
    system_prompt: str = ""
    robot_email: str | None = Field(
        default=None, description="Reply-To of its mails; From where the operator allows its domain"
    )
    manager_id: str | None = None
    agents: list[str] = Field(default=[], description="same as resources.agents")
    mcp_servers: list[str] = Field(default=[], description="same as resources.mcp")
    robot_config: RobotConfig


class RunFailure(Part):
    """The last failed run; removed when a run completes, or the owner sets the status."""

    execution_id: str
    message: str = ""
    at: Instant


class Robot(RobotDefinition):
    """A robot as it is stored: `rev` grows with every change; readers ignore a lower one.

    The owner sets `robot_status` to idle, paused or maintenance. Read, it may also be `error` or `working`.
    """

    member_id: Name
    team_id: Name
    robot_status: RobotStatus = RobotStatus.IDLE
    error: RunFailure | None = None
    rev: int = Field(default=1, ge=1)
    deleted: bool = False

    @model_validator(mode="after")
    def _status_is_never_working(self) -> Self:
        if self.robot_status is RobotStatus.WORKING:
            raise ValueError("'working' is derived when a robot is read; store idle, paused, error or maintenance")
        return self

    def allowed_agents(self) -> set[str]:
        """The assistants that this robot may use."""
        return {*self.agents, *self.robot_config.resources.agents}

    def allowed_servers(self) -> dict[str, set[str]]:
        """MCP server → the tools of it this robot may use; an empty set means all."""
        servers: dict[str, set[str]] = {name: set() for name in self.mcp_servers}
        return servers | {server.id: set(server.tools) for server in self.robot_config.resources.mcp}

    def process(self, name: str) -> ProcessResource | None:
        """The process of this name, if this robot may call it: one of its resources, or a method of its models."""
        own = next((one for one in self.robot_config.resources.processes if one.name == name), None)
        return own or model_process(name, self.models())

    def models(self) -> list[str]:
        """The models whose methods this robot may call, without names that a subject cannot hold."""
        named = self.robot_config.db.models if self.robot_config.db else []
        return [model for model in named if model_process(f"{MODELS}{model}.Find", [model])]

    def callable_processes(self) -> list[str]:
        """The processes this robot may call, for people and models; `models.user.*` stands for any method of `user`."""
        named = [one.name for one in self.robot_config.resources.processes]
        return named + [f"{MODELS}{model}.*" for model in self.models()]

    def phase_agent(self, phase: str) -> str:
        """The agent of a phase, or of `validation`; `__yao.` is an alias of `rota.`."""
        agents = {str(name): agent for name, agent in self.robot_config.resources.phases.items()}
        chosen = agents.get(phase, f"rota.{phase}")
        return f"rota.{chosen.removeprefix('__yao.')}" if chosen.startswith("__yao.") else chosen

    def trigger(self, kind: TriggerType) -> Trigger:
        """The switch for triggers of this kind; a callback counts as an event."""
        triggers = self.robot_config.triggers
        switches: Mapping[TriggerType, Trigger] = {
            TriggerType.CLOCK: triggers.clock,
            TriggerType.HUMAN: triggers.intervene,
        }
        return switches.get(kind, triggers.event)


def parse_definition(raw: Mapping[str, Any]) -> RobotDefinition:
    """Parse an owner's definition strictly: an unknown field is an error, as it is most likely a typing error.

    Raises pydantic's ValidationError, whose `errors()` name each field.
    """
    return RobotDefinition.model_validate(raw, extra="forbid")

"""The definition of a robot: the member record and its configuration."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from rota_contracts.agent_ids import PLATFORM, platform_name
from rota_contracts.canary import Canary
from rota_contracts.messages.trigger import ExecutorMode, InterventionAction, TriggerType
from rota_contracts.messages.validation import THRESHOLD, ValidationRule
from rota_contracts.model import Instant, Name, Part
from rota_contracts.robots.autonomy import Approvals, Autonomy, NeededRoles
from rota_contracts.robots.ceilings import Ceilings
from rota_contracts.robots.clock_config import Clock, Duration
from rota_contracts.robots.events import EventSubscription
from rota_contracts.robots.hooks import Hooks
from rota_contracts.robots.knowledge import Learn, SharedDB, SharedKB
from rota_contracts.robots.preferences import DeliveryPreferences
from rota_contracts.robots.resources import MODELS, ProcessResource, Resources, model_process
from rota_contracts.roles import Role


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

    enabled: bool = Field(default=True, description="false: what would trigger the robot is refused or ignored")


class OwnTrigger(Trigger):
    """The switch of triggers that aren't a person's: their runs act in the robot's own role."""

    role: Role = Field(default=Role.MEMBER, description="the role that its runs act in: see `roles`")


class InterveneTrigger(Trigger):
    actions: list[InterventionAction] = Field(default=[], description="allow-list; empty = all")


class Triggers(Part):
    """What may trigger the robot. All three are on unless they are switched off."""

    clock: OwnTrigger = Field(default=OwnTrigger(), description="runs that are due by `clock`")
    intervene: InterveneTrigger = Field(default=InterveneTrigger(), description="requests of people")
    event: OwnTrigger = Field(default=OwnTrigger(), description="events that `events` subscribes to")


class Identity(Part):
    """Who the robot is, in every prompt of its agents."""

    role: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)] = Field(
        description="its job title, like Lead Qualification Specialist"
    )
    duties: list[str] = Field(default=[], description="what it does, a sentence each; goals are made of them")
    rules: list[str] = Field(
        default=[],
        description="sentences that always hold; a model reads and judges them. For checks without a model see "
        "executor.validation_rules",
    )


class Quota(Part):
    """The share of the executors' slots that one robot may take."""

    max: int = Field(default=2, ge=1, le=1000, description="executions running at once")
    queue: int = Field(default=10, ge=0, le=100_000, description="executions waiting")
    priority: int = Field(default=5, ge=1, le=10, description="10 is first")


class Dedup(Part):
    """Smart dedup: before the plan is made, the goals are compared with those of recent runs."""

    on: bool = Field(default=False, description="true: goals that a recent run has reached are left out")
    window: Duration = Field(default="1d", description="how far back runs count as recent")


class Planning(StrEnum):
    """Which runs are planned. `auto`: all but a person's plain request, which is itself goal, task and report."""

    AUTO = "auto"
    ALWAYS = "always"


class Executor(Part):
    """Settings of a run."""

    mode: ExecutorMode = Field(
        default=ExecutorMode.STANDARD, description="dryrun: no model is asked, nothing is called and nothing is sent"
    )
    planning: Planning = Field(default=Planning.AUTO, description="auto: a person's plain request needs no plan")
    max_duration: Duration = Field(default="30m", description="longest working time of one run; waiting doesn't count")
    continue_on_failure: bool = Field(default=False, description="true: a failed task doesn't end the run")
    validation_threshold: float = Field(default=THRESHOLD, ge=0, le=1, description="the lowest score that passes")
    validation_rules: list[ValidationRule] = Field(
        default=[],
        max_length=50,
        description="checked for the result of each task, beside the rules of its plan: assertions are computed, "
        "sentences are judged by a model",
    )
    max_turns_per_task: int = Field(default=10, ge=1, le=100, description="tries of one task, with the judge's remarks")


class RobotConfig(Part):
    """The configuration of a robot."""

    triggers: Triggers = Field(default=Triggers(), description="what may trigger it: clock, people, events")
    clock: Clock | None = Field(default=None, description="when it runs by itself; null: never")
    identity: Identity = Field(description="who it is")
    quota: Quota = Field(default=Quota(), description="its share of the executors' slots")
    kb: SharedKB | None = Field(default=None, description="shared knowledge that its runs are given")
    db: SharedDB | None = Field(default=None, description="the team's data that its tasks may ask for")
    learn: Learn = Field(default=Learn(), description="the lessons that it keeps of its runs")
    resources: Resources = Field(default=Resources(), description="agents, tools and processes that it may use")
    delivery: DeliveryPreferences = Field(default=DeliveryPreferences(), description="who gets its results")
    events: list[EventSubscription] = Field(default=[], description="events that trigger it")
    executor: Executor = Field(default=Executor(), description="how its runs are made and checked")
    dedup: Dedup = Field(default=Dedup(), description="whether goals of recent runs are left out")
    ceilings: Ceilings = Field(default=Ceilings(), description="of what its calls of models may take")
    autonomy: Autonomy | None = Field(
        default=None,
        description="null: full for what resources names, supervised for anything else that changes something",
    )
    approvals: Approvals = Field(default=Approvals(), description="exceptions from its autonomy")
    roles: NeededRoles = Field(default=NeededRoles(), description="calls that not everyone's runs may make")
    hooks: Hooks = Field(default=Hooks(), description="processes of the team that are called around calls")
    default_locale: str | None = Field(
        default=None, description="like de or pt-BR; null: the language of the request, else of the duties"
    )


class RobotDefinition(Part):
    """A robot as its owner writes it: without the fields that Rota maintains."""

    member_id: Name | None = Field(default=None, description="generated if missing")
    member_type: Literal["robot"] = Field(default="robot", description="people are documents with `kind: Member`")
    display_name: str = Field(default="", description="for people: in mails and lists")
    autonomous_mode: bool = Field(default=True, description="false: the robot never runs")
    system_prompt: str = Field(default="", description="more about who it is; stands in every prompt of its agents")
    robot_email: str | None = Field(
        default=None, description="Reply-To of its mails; From where the operator allows its domain"
    )
    manager_id: str | None = Field(
        default=None, description="the member who is mailed when a call needs an approval, or it fails"
    )
    agents: list[str] = Field(default=[], description="same as resources.agents")
    mcp_servers: list[str] = Field(default=[], description="same as resources.mcp")
    robot_config: RobotConfig = Field(description="everything else")


class RunFailure(Part):
    """The last failed run; removed when a run completes, or the owner sets the status."""

    execution_id: str
    message: str = ""
    at: Instant


class RobotCanary(Canary):
    """A definition that a share of a robot's new runs begins with. `beside`: the revision that the others begin with,
    whatever changes of the robot's status meanwhile."""

    definition: RobotDefinition
    beside: int = Field(ge=1)


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
    canary: RobotCanary | None = None

    @model_validator(mode="after")
    def _status_is_never_working(self) -> Self:
        if self.robot_status is RobotStatus.WORKING:
            raise ValueError("'working' is derived when a robot is read; store idle, paused, error or maintenance")
        return self

    def begun_by(self, execution_id: str) -> "Robot":
        """The robot as a new run begins with it: at its current revision, or at its canary's."""
        if self.canary is None:
            return self
        drawn = self.canary.draws(execution_id, of=f"{self.member_id} ")
        return self.as_of(self.canary.rev if drawn else self.canary.beside)

    def as_of(self, rev: int | None) -> "Robot":
        """At its canary's revision if this is it, else as it is now; without the canary."""
        canary = self.canary
        if canary is None:
            return self
        if rev == canary.rev:
            new = {name: value for name, value in canary.definition if name != "member_id"}
            return self.model_copy(update=new | {"rev": rev, "canary": None})
        return self.model_copy(update={"rev": canary.beside, "canary": None})

    def allowed_agents(self) -> list[str]:
        """The assistants that this robot may use, in its owner's order."""
        return list(dict.fromkeys([*self.agents, *self.robot_config.resources.agents]))

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
        chosen = agents.get(phase, f"{PLATFORM}{phase}")
        return platform_name(chosen)

    def trigger(self, kind: TriggerType) -> Trigger:
        """The switch for triggers of this kind; a callback counts as an event."""
        triggers = self.robot_config.triggers
        switches: Mapping[TriggerType, Trigger] = {
            TriggerType.CLOCK: triggers.clock,
            TriggerType.HUMAN: triggers.intervene,
        }
        return switches.get(kind, triggers.event)

    def own_role(self, kind: TriggerType) -> Role:
        """The highest role of its runs of this kind; of a person's, only that person's own role counts."""
        switch = self.trigger(kind)
        return switch.role if isinstance(switch, OwnTrigger) else Role.OWNER


def parse_definition(raw: Mapping[str, Any]) -> RobotDefinition:
    """Parse an owner's definition strictly: an unknown field is an error, as it is most likely a typing error.

    Raises pydantic's ValidationError, whose `errors()` name each field.
    """
    return RobotDefinition.model_validate(raw, extra="forbid")

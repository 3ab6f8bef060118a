"""The summary of a robot that the scheduler keeps: small, because all are in memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from rota_contracts.messages.trigger import InterventionAction, TriggerType
from rota_contracts.model import Name, Part
from rota_contracts.robots.clock_config import Clock, ClockMode
from rota_contracts.robots.robot import (
    InterveneTrigger,
    OwnTrigger,
    Quota,
    Robot,
    RobotStatus,
    RunFailure,
    Trigger,
    Triggers,
)

Key = tuple[str, str]
"""A robot: team, member."""

STOPPED = (RobotStatus.PAUSED, RobotStatus.MAINTENANCE)
"""In these nothing new starts; running executions go on."""

ROBOT_DELETED = "the robot was deleted"
"""Why its triggers and the items of its plan end, whichever part of the scheduler finds them first."""


class _Config(Part):
    triggers: Triggers = Triggers()
    quota: Quota = Quota()
    clock: Clock | None = None


class Definition(Part):
    """The fields of a robot's definition that the summary needs; they parse in a fifth of the time of all."""

    team_id: Name
    member_id: Name
    rev: int
    deleted: bool = False
    autonomous_mode: bool = True
    robot_status: RobotStatus = RobotStatus.IDLE
    error: RunFailure | None = None
    robot_config: _Config


@dataclass(frozen=True, slots=True)
class RobotSummary:
    """One robot, at one revision. `has_cycles`: its clock wakes it. `failure`: its last run failed, according to the
    gateway."""

    team: str
    member: str
    rev: int
    deleted: bool
    autonomous_mode: bool
    status: RobotStatus
    triggers: Triggers
    quota: Quota
    daemon: bool
    has_cycles: bool = False
    failure: RunFailure | None = None

    @property
    def key(self) -> Key:
        return self.team, self.member

    @property
    def active(self) -> bool:
        """May anything new start?"""
        return self.autonomous_mode and not self.deleted and self.status not in STOPPED

    def trigger(self, kind: TriggerType) -> Trigger:
        """The switch for triggers of this kind; a callback counts as an event."""
        switches: Mapping[TriggerType, Trigger] = {
            TriggerType.CLOCK: self.triggers.clock,
            TriggerType.HUMAN: self.triggers.intervene,
        }
        return switches.get(kind, self.triggers.event)


def read_definition(text: bytes) -> Definition:
    """Raises pydantic's ValidationError."""
    return Definition.model_validate_json(text)


def summary_of(robot: Definition | Robot) -> RobotSummary:
    config = robot.robot_config
    triggers, quota = config.triggers, config.quota
    return RobotSummary(
        team=robot.team_id,
        member=robot.member_id,
        rev=robot.rev,
        deleted=robot.deleted,
        autonomous_mode=robot.autonomous_mode,
        status=robot.robot_status,
        triggers=_triggers(
            triggers.clock.enabled,
            triggers.event.enabled,
            triggers.intervene.enabled,
            tuple(triggers.intervene.actions),
        ),
        quota=_quota(quota.max, quota.queue, quota.priority),
        daemon=config.clock is not None and config.clock.mode is ClockMode.DAEMON,
        has_cycles=config.clock is not None and triggers.clock.enabled,
        failure=robot.error,
    )


@lru_cache(maxsize=4096)
def _triggers(clock: bool, event: bool, intervene: bool, actions: tuple[InterventionAction, ...]) -> Triggers:
    """Robots with the same settings share one object."""
    return Triggers(
        clock=OwnTrigger(enabled=clock),
        event=OwnTrigger(enabled=event),
        intervene=InterveneTrigger(enabled=intervene, actions=list(actions)),
    )


@lru_cache(maxsize=4096)
def _quota(running: int, queue: int, priority: int) -> Quota:
    return Quota(max=running, queue=queue, priority=priority)

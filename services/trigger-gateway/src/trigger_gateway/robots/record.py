"""Robots' records, and the decisions about them: no I/O, no clock."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from pydantic import Field, ValidationError

from rota_common.json_schema import UnusableSchema, check_schema
from rota_common.redaction import REDACTED
from rota_common.shown import shown_url
from rota_contracts import json_values
from rota_contracts.canary import Canary
from rota_contracts.json_values import unstorable
from rota_contracts.messages.robot_state import RobotState
from rota_contracts.model import Name
from rota_contracts.robots.events import EventSubscription
from rota_contracts.robots.preferences import WebhookTarget
from rota_contracts.robots.robot import Robot, RobotDefinition, RobotStatus, RunFailure, parse_definition
from rota_contracts.robots.target_checks import address_problem, target_problems
from rota_contracts.secret_refs import is_reference
from rota_contracts.sources import OPERATIONS
from trigger_gateway.problems import FieldProblem, Invalid, invalid

SETTABLE = (RobotStatus.IDLE, RobotStatus.PAUSED, RobotStatus.MAINTENANCE)
"""Statuses that an owner may set; `working` is derived and `error` comes from a run."""

"""Targets of one channel of delivery."""

DEFINITION_LIMIT = 512 * 1024
"""Bytes of JSON, with every default written out: other services read robots as messages, which hold 1 MB."""


MOST_PROBLEMS = 20
"""Targets that one answer names."""


@dataclass(frozen=True)
class RobotRecord:
    """A robot as the gateway stores it.

    `synced`: this `rev` is published. `announced`: its creation is published. `confirmed`: its creator got the answer;
    until then the creation may be repeated. `health_at`: the instant of the newest health report, by a run or by its
    owner; older reports are ignored.
    """

    robot: Robot
    changed_at: datetime
    synced: bool = False
    announced: bool = False
    confirmed: bool = False
    health_at: datetime | None = None

    def health_known_at(self, at: datetime) -> bool:
        """Is there a health report of this instant or later?"""
        return self.health_at is not None and self.health_at >= at


class RobotView(RobotDefinition):
    """A robot as the API shows it: its record, with a derived status."""

    member_id: Name
    team_id: Name
    robot_status: RobotStatus = Field(description="error, else paused, else working, else what its owner has set")
    error: RunFailure | None
    rev: int
    deleted: bool
    canary: Canary | None = Field(description="a revision that a share of new runs begins with")


@dataclass(frozen=True)
class Subscriber:
    """A robot that subscribes to a source."""

    member: str
    rev: int
    subscriptions: tuple[EventSubscription, ...]

    def wants(self, source: str, event_type: str | None, data: Mapping[str, Any], *, kind: str = "webhook") -> bool:
        return any(each.wants(source, event_type, data, kind=kind) for each in self.subscriptions)

    def covers(self, source: str, event_type: str | None, *, kind: str = "webhook") -> bool:
        """As `wants`, whatever its conditions are."""
        return any(each.covers(source, event_type, kind=kind) for each in self.subscriptions)


def webhook_sources(robot: Robot) -> list[str]:
    """The webhooks that a robot subscribes to, by which its record is found."""
    found = {s.source.removeprefix("/webhook/") for s in robot.robot_config.events if s.type == "webhook"}
    return sorted(found)


def database_sources(robot: Robot) -> list[str]:
    """The same for databases: a webhook and a database may be called alike."""
    return sorted({s.source_name for s in robot.robot_config.events if s.type == "database"})


def subscriber(robot: Robot) -> Subscriber:
    return Subscriber(robot.member_id, robot.rev, tuple(robot.robot_config.events))


def definition(raw: Mapping[str, Any], *, written: Collection[str] | None = None) -> RobotDefinition:
    """Parse an owner's definition; raises Invalid, which names every wrong field.

    `written`: the fields that the owner writes now; the others are as they are stored, and may be older than a check.
    """
    written = raw if written is None else written
    if reason := unstorable(dict(raw)):
        raise Invalid("invalid_robot", f"the robot's definition can't be stored: {reason}")
    try:
        parsed = parse_definition(raw)
    except ValidationError as error:
        raise invalid("invalid_robot", "the robot's definition is not valid", error) from error
    if (size := len(parsed.model_dump_json().encode())) > DEFINITION_LIMIT:
        raise Invalid("too_large", f"expected a definition of at most {DEFINITION_LIMIT} bytes, not {size}")
    wrong = _wrong_changes(parsed)
    if "robot_config" in written:
        wrong += _wrong_targets(parsed) + _wrong_schema(parsed)
    if "robot_email" in written and parsed.robot_email and (problem := address_problem(parsed.robot_email)):
        wrong.append(FieldProblem("robot_email", problem))
    if wrong:
        raise Invalid("invalid_robot", "the robot's definition is not valid", fields=wrong)
    return parsed


def owners_part(robot: Robot) -> RobotDefinition:
    """The part of a robot that its owner writes."""
    return RobotDefinition.model_validate(robot.model_dump(include=set(RobotDefinition.model_fields)))


def replaced(robot: Robot, new: RobotDefinition) -> Robot:
    """The robot with a new definition; its name stays."""
    if new.member_id not in (None, robot.member_id):
        raise _misplaced("member_id", f"expected {robot.member_id} or nothing: a robot keeps its member_id")
    return Robot.model_validate(
        {**robot.model_dump(), **new.model_dump(), "member_id": robot.member_id, "rev": robot.rev + 1}
    )


def changed(robot: Robot, patch: Mapping[str, Any]) -> Robot:
    """The robot with the given top-level fields replaced. `robot_status` may be one of SETTABLE, and setting it ends
    an error."""
    fields = dict(patch)
    status = {"robot_status": _status(fields.pop("robot_status")), "error": None} if "robot_status" in fields else {}
    written = owners_part(robot)
    new = definition({**written.model_dump(mode="json"), **fields}, written=fields) if fields else written
    return replaced(robot, new).model_copy(update=status)


def deleted(robot: Robot) -> Robot:
    """What stays of a deleted robot: its name and `rev`, and no definition that would fill the bucket for ever."""
    role = robot.robot_config.identity.role[:100]
    rest = {"team_id": robot.team_id, "member_id": robot.member_id, "robot_config": {"identity": {"role": role}}}
    return Robot.model_validate({**rest, "rev": robot.rev + 1, "deleted": True})


def with_health(record: RobotRecord, error: RunFailure | None, *, reported_at: datetime, now: datetime) -> RobotRecord:
    """The record after a run has failed or completed: the same `rev` if nothing changes for readers."""
    if record.robot.error == error:
        return replace(record, health_at=reported_at)
    robot = record.robot.model_copy(update={"error": error, "rev": record.robot.rev + 1})
    return next_record(record, robot, now, health_at=reported_at)


def recorded_status(robot: Robot) -> RobotStatus:
    """Its status by its record alone."""
    return RobotStatus.ERROR if robot.error is not None else robot.robot_status


def as_read(robot: Robot, state: RobotState | None = None) -> RobotView:
    """The robot as the API shows it. `state` is None if the scheduler did not answer."""
    status = recorded_status(robot)
    if status not in (RobotStatus.ERROR, RobotStatus.PAUSED) and state is not None and state.running > 0:
        status = RobotStatus.WORKING
    canary = robot.canary and Canary(rev=robot.canary.rev, share=robot.canary.share, since=robot.canary.since)
    return RobotView.model_construct(**{**dict(robot), "robot_status": status, "canary": canary})


def for_viewers(robot: RobotView) -> RobotView:
    """The robot without what may be a key: values of headers that aren't references, and parts of addresses."""
    webhook = robot.robot_config.delivery.preferences.webhook
    if webhook is None:
        return robot
    shown = webhook.model_copy(update={"targets": [_shown(target) for target in webhook.targets]})
    channels = robot.robot_config.delivery.preferences.model_copy(update={"webhook": shown})
    delivery = robot.robot_config.delivery.model_copy(update={"preferences": channels})
    return robot.model_copy(update={"robot_config": robot.robot_config.model_copy(update={"delivery": delivery})})


def _shown(target: WebhookTarget) -> WebhookTarget:
    headers = {name: value if is_reference(value) else REDACTED for name, value in target.headers.items()}
    return target.model_copy(update={"url": shown_url(target.url), "headers": headers})


def same(left: Robot, right: Robot) -> bool:
    """True if they differ in their revision at most. Free fields are compared as JSON: `1` isn't `true`."""
    return json_values.same(
        left.model_dump(mode="json", exclude={"rev"}), right.model_dump(mode="json", exclude={"rev"})
    )


def next_record(record: RobotRecord, robot: Robot, at: datetime, *, health_at: datetime | None) -> RobotRecord:
    """The record after a change of the robot."""
    return replace(record, robot=robot, changed_at=at, synced=False, health_at=health_at)


def _wrong_changes(parsed: RobotDefinition) -> list[FieldProblem]:
    """Subscriptions to an operation that databases don't have."""
    return [
        FieldProblem(
            f"robot_config.events.{number}.filter.trigger",
            f"expected {', '.join(OPERATIONS)} or nothing for each of them, not {each.filter.trigger!r}",
        )
        for number, each in enumerate(parsed.robot_config.events)
        if each.type == "database" and each.filter.trigger not in (None, *OPERATIONS)
    ]


def _wrong_targets(parsed: RobotDefinition) -> list[FieldProblem]:
    """Delivery targets that can never work."""
    problems = target_problems(parsed.robot_config.delivery)
    return [FieldProblem(f"robot_config.delivery.{each.path}", each.message) for each in problems[:MOST_PROBLEMS]]


def _wrong_schema(parsed: RobotDefinition) -> list[FieldProblem]:
    """A form of results that no result can have."""
    schema = parsed.robot_config.delivery.result_schema
    try:
        if schema is not None:
            check_schema(schema)
    except UnusableSchema as error:
        return [FieldProblem("robot_config.delivery.schema", str(error))]
    return []


def _status(raw: Any) -> RobotStatus:
    if raw not in SETTABLE:
        raise _misplaced("robot_status", f"expected one of {', '.join(SETTABLE)}, not {raw!r}")
    return RobotStatus(raw)


def _misplaced(field: str, message: str) -> Invalid:
    return Invalid("invalid_robot", "the change of the robot is not valid", fields=[FieldProblem(field, message)])

"""A robot's canary: a definition that a share of new runs begins with, beside the current one. No I/O, no clock."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from rota_contracts.json_values import same
from rota_contracts.robots.robot import Robot, RobotCanary, RobotDefinition
from trigger_gateway.problems import Conflict, FieldProblem, Invalid
from trigger_gateway.robots.record import DEFINITION_LIMIT, owners_part, replaced

OF_THE_ROBOT = (
    *("display_name", "autonomous_mode", "robot_email", "manager_id"),
    *("robot_config.triggers", "robot_config.clock", "robot_config.quota", "robot_config.events"),
    "robot_config.learn.keep",
)
"""Fields that don't belong to a run: when the robot wakes, how much of it runs at once, whom it belongs to, and how
long its lessons are kept."""

BOTH_LIMIT = 2 * DEFINITION_LIMIT - 64 * 1024
"""Bytes of a robot with its canary, which other services read as one message."""


def with_canary(robot: Robot, wanted: RobotDefinition, *, share: int, at: datetime) -> Robot:
    """The robot with a canary; as it is if the definition is that of now, or that of a canary with this share. Raises
    Conflict beside another canary, Invalid for a change of what isn't a run's."""
    new = owners_part(replaced(robot, wanted))
    if robot.canary is not None:
        if robot.canary.share == share and _same(robot.canary.definition, new):
            return robot
        raise _canary_on(robot.canary)
    if _same(owners_part(robot), new):
        return robot
    if fields := [*_refused(owners_part(robot), new)]:
        raise Invalid("not_of_runs", "a canary changes what runs do, and nothing else", fields=fields)
    canary = RobotCanary(rev=robot.rev + 1, share=share, since=at, definition=new, beside=robot.rev)
    made = robot.model_copy(update={"canary": canary, "rev": robot.rev + 1})
    if (size := len(made.model_dump_json().encode())) > BOTH_LIMIT:
        raise Invalid("too_large", f"expected at most {BOTH_LIMIT} bytes of a robot with its canary, not {size}")
    return made


def with_share(robot: Robot, share: int) -> Robot:
    """Raises Conflict where there is no canary, as the next two."""
    canary = _canary(robot)
    if canary.share == share:
        return robot
    return robot.model_copy(update={"canary": canary.model_copy(update={"share": share}), "rev": robot.rev + 1})


def promoted(robot: Robot) -> Robot:
    return replaced(aborted(robot), _canary(robot).definition).model_copy(update={"rev": robot.rev + 1})


def aborted(robot: Robot) -> Robot:
    _canary(robot)
    return robot.model_copy(update={"canary": None, "rev": robot.rev + 1})


def check_beside_canary(before: Robot, after: Robot) -> None:
    """Raise Conflict for a new definition beside a canary."""
    if after.canary is not None and not _same(owners_part(before), owners_part(after)):
        raise _canary_on(after.canary)


def new_revision(before: Robot, after: Robot) -> Robot | None:
    """What a change brings to the robot's history, if anything: its canary, or its definition."""
    if after.deleted:
        return None
    if after.canary is not None and before.canary is None:
        return after.as_of(after.canary.rev)
    return after if owners_part(before) != owners_part(after) else None


def _refused(old: RobotDefinition, new: RobotDefinition) -> Iterator[FieldProblem]:
    was, is_now = old.model_dump(mode="json"), new.model_dump(mode="json")
    for path in OF_THE_ROBOT:
        if not same(_at(was, path), _at(is_now, path)):
            yield FieldProblem(path, "expected as it is now: it isn't part of a run; apply it without a canary first")


def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value[name]
    return value


def _same(left: RobotDefinition, right: RobotDefinition) -> bool:
    return same(left.model_dump(mode="json"), right.model_dump(mode="json"))


def _canary(robot: Robot) -> RobotCanary:
    if robot.canary is None:
        raise Conflict("no_canary", f"robot {robot.member_id} has no canary: apply it with a share of new runs first")
    return robot.canary


def _canary_on(canary: RobotCanary) -> Conflict:
    text = f"revision {canary.rev} is a canary with {canary.share} % of new runs: promote it or abort it first"
    return Conflict("canary_on", text)

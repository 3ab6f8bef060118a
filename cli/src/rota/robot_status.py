"""How a robot stands, as a row of a table and as lines."""

from rota.client import Json
from rota.timestamps import local, moment
from rota_contracts.messages.robot_state import RobotState
from rota_contracts.robots.clock_config import ClockMode
from rota_contracts.robots.robot import RobotDefinition

NOBODY_SAYS = "-"

Row = tuple[object, ...]


def row_of(told: Json) -> Row:
    """Member, name, status, next run, running, queued, what wakes it; `-` where nobody could say."""
    robot, state = RobotDefinition.model_validate(told), told["state"]
    rest = _now(robot, RobotState.model_validate(state)) if state else (told["robot_status"], *[NOBODY_SAYS] * 3)
    return robot.member_id, robot.display_name, *rest, wakes_on(robot)


def state_lines(robot: RobotDefinition, state: RobotState) -> list[str]:
    """All of it, a line each; what isn't so has no line."""
    last_run = f"{moment(state.last_run)} UTC, {state.last_status or 'not over'}" if state.last_run else "none yet"
    ids = f": {', '.join(state.running_ids)}" if state.running_ids else ""
    told = {
        "member": f"{robot.member_id} {robot.display_name}".strip(),
        "status": f"{state.status}{'' if state.active else ', nothing new starts'}",
        "error": state.error and f"run {state.error.execution_id}, {moment(state.error.at)} UTC: {state.error.message}",
        "clock": state.clock,
        "next run": next_run(robot, state),
        "last run": last_run,
        "running": f"{state.running} of {state.max_running} at most{ids}",
        "queued": f"{state.queued} of {state.max_queued} at most",
        "parked": state.parked and f"{state.parked} wait for somebody and hold no slot",
    }
    return [f"{name:<9} {value}" for name, value in told.items() if value]


def next_run(robot: RobotDefinition, state: RobotState) -> str:
    """By the time of its clock's zone."""
    clock = robot.robot_config.clock
    if clock is not None and state.next_run is not None:
        return local(state.next_run, clock.tz)
    under_way = state.running + state.queued + state.parked > 0
    daemon = clock is not None and clock.mode is ClockMode.DAEMON
    return "when it ends" if daemon and state.active and under_way else NOBODY_SAYS


def wakes_on(robot: RobotDefinition) -> str:
    """The kinds of triggers that are switched on, and have what they need."""
    config = robot.robot_config
    kinds = {
        "clock": config.triggers.clock.enabled and config.clock is not None,
        "intervene": config.triggers.intervene.enabled,
        "event": config.triggers.event.enabled and config.events,
    }
    return ", ".join(kind for kind, on in kinds.items() if on)


def _now(robot: RobotDefinition, state: RobotState) -> Row:
    running, queued = f"{state.running}/{state.max_running}", f"{state.queued}/{state.max_queued}"
    return state.status.value, next_run(robot, state), running, queued

"""The status of a robot, as a row of a table and as lines."""

from rota.client import Json
from rota.timestamps import local_time, utc_time
from rota_contracts.messages.delivery_log import DeliveryState
from rota_contracts.messages.robot_state import RobotState
from rota_contracts.robots.clock_config import ClockMode
from rota_contracts.robots.robot import RobotDefinition

UNKNOWN = "-"
DELIVERY_MARKS = {DeliveryState.DELIVERED: "✓", DeliveryState.FAILED: "✗", DeliveryState.PENDING: "…"}

Row = tuple[object, ...]


def status_row(listed: Json) -> Row:
    """Member, name, status, next run, running, queued, last delivery, triggers; `-` if a service did not answer."""
    robot, state = RobotDefinition.model_validate(listed), listed["state"]
    rest = _now(robot, RobotState.model_validate(state)) if state else (listed["robot_status"], *[UNKNOWN] * 3)
    return robot.member_id, robot.display_name, *rest, _delivery(listed.get("last_delivery")), wakes_on(robot)


def state_lines(robot: RobotDefinition, state: RobotState) -> list[str]:
    """One line per field that has a value."""
    last_run = (
        f"{utc_time(state.last_run)} UTC, {state.last_status or 'not finished'}" if state.last_run else "none yet"
    )
    failure = state.error
    ids = f": {', '.join(state.running_ids)}" if state.running_ids else ""
    fields = {
        "member": f"{robot.member_id} {robot.display_name}".strip(),
        "status": f"{state.status}{'' if state.active else ', no new run starts'}",
        "error": failure and f"run {failure.execution_id}, {utc_time(failure.at)} UTC: {failure.message}",
        "clock": state.clock,
        "next run": next_run(robot, state),
        "last run": last_run,
        "running": f"{state.running} of at most {state.max_running}{ids}",
        "queued": f"{state.queued} of at most {state.max_queued}",
        "parked": state.parked and f"{state.parked} wait for an answer or a signal and hold no slot",
    }
    return [f"{name:<9} {value}" for name, value in fields.items() if value]


def next_run(robot: RobotDefinition, state: RobotState) -> str:
    """In its clock's time zone."""
    clock = robot.robot_config.clock
    if clock is not None and state.next_run is not None:
        return local_time(state.next_run, clock.tz)
    busy = state.running + state.queued + state.parked > 0
    daemon = clock is not None and clock.mode is ClockMode.DAEMON
    return "when it ends" if daemon and state.active and busy else UNKNOWN


def wakes_on(robot: RobotDefinition) -> str:
    """The trigger types that are enabled and complete."""
    config = robot.robot_config
    kinds = {
        "clock": config.triggers.clock.enabled and config.clock is not None,
        "intervene": config.triggers.intervene.enabled,
        "event": config.triggers.event.enabled and config.events,
    }
    return ", ".join(kind for kind, on in kinds.items() if on)


def _delivery(last: Json | None) -> str:
    """How the last one stands; what fails also says which."""
    if last is None:
        return UNKNOWN
    state = DeliveryState(last["state"])
    return f"{DELIVERY_MARKS[state]} {state.value}" + (
        "" if state is DeliveryState.DELIVERED else f" {last['request_id']}"
    )


def _now(robot: RobotDefinition, state: RobotState) -> Row:
    running, queued = f"{state.running}/{state.max_running}", f"{state.queued}/{state.max_queued}"
    return state.status.value, next_run(robot, state), running, queued

"""The status of a robot, as a row of a table and as lines."""

from datetime import datetime

from rota.client import Json
from rota.timestamps import local_time, utc_time

UNKNOWN, DAEMON = "-", "daemon"
DELIVERED = "delivered"
DELIVERY_MARKS = {DELIVERED: "✓", "failed": "✗", "pending": "…"}

Row = tuple[object, ...]


def status_row(listed: Json) -> Row:
    """Member, name, status, next run, running, queued, last delivery, triggers; `-` if a service did not answer."""
    state = listed["state"]
    rest = _now(listed, state) if state else (listed["robot_status"], *[UNKNOWN] * 3)
    return listed["member_id"], listed["display_name"], *rest, _delivery(listed.get("last_delivery")), wakes_on(listed)


def state_lines(robot: Json, state: Json) -> list[str]:
    """One line per field that has a value."""
    last_status = state.get("last_status") or "not finished"
    last_run = f"{_utc(state['last_run'])} UTC, {last_status}" if state.get("last_run") else "none yet"
    failure, parked, ids = state.get("error"), state.get("parked"), ", ".join(state["running_ids"])
    fields = {
        "member": f"{robot['member_id']} {robot['display_name']}".strip(),
        "status": f"{state['status']}{'' if state['active'] else ', no new run starts'}",
        "error": failure and f"run {failure['execution_id']}, {_utc(failure['at'])} UTC: {failure['message']}",
        "clock": state["clock"],
        "next run": next_run(robot, state),
        "last run": last_run,
        "running": f"{state['running']} of at most {state['max_running']}{ids and f': {ids}'}",
        "queued": f"{state['queued']} of at most {state['max_queued']}",
        "parked": parked and f"{parked} wait for an answer or a signal and hold no slot",
    }
    return [f"{name:<9} {value}" for name, value in fields.items() if value]


def next_run(robot: Json, state: Json) -> str:
    """In its clock's time zone."""
    clock = robot["robot_config"].get("clock")
    if clock is not None and state.get("next_run"):
        return local_time(datetime.fromisoformat(state["next_run"]), clock.get("tz", "UTC"))
    busy = state["running"] + state["queued"] + state.get("parked", 0) > 0
    daemon = clock is not None and clock["mode"] == DAEMON
    return "when it ends" if daemon and state["active"] and busy else UNKNOWN


def wakes_on(robot: Json) -> str:
    """The trigger types that are enabled and complete."""
    config = robot["robot_config"]
    triggers = config.get("triggers", {})
    complete = {"clock": config.get("clock") is not None, "intervene": True, "event": bool(config.get("events"))}
    return ", ".join(kind for kind, on in complete.items() if on and triggers.get(kind, {}).get("enabled", True))


def _delivery(last: Json | None) -> str:
    """How the last one stands; what fails also says which."""
    if last is None:
        return UNKNOWN
    state = last["state"]
    return f"{DELIVERY_MARKS[state]} {state}" + ("" if state == DELIVERED else f" {last['request_id']}")


def _now(robot: Json, state: Json) -> Row:
    running, queued = f"{state['running']}/{state['max_running']}", f"{state['queued']}/{state['max_queued']}"
    return state["status"], next_run(robot, state), running, queued


def _utc(instant: str) -> str:
    return utc_time(datetime.fromisoformat(instant))

"""MongoDB queries and projections of runs: signals, merge targets, recent runs, slots."""

from datetime import UTC, datetime, timedelta
from typing import Any

from executor.domain.run import Run, Signal, deadline_id
from executor.domain.signals.limits import INBOX_LIMIT, SIGNALS_LIMIT, is_limited, size_of
from executor.domain.situation.wording import about
from rota_common.stores.mongo import NOW, Document, after, behind
from rota_common.stores.trigger_documents import stored_trigger
from rota_contracts.messages.control import ControlAction
from rota_contracts.messages.execution import ExecStatus, ExecutionSummary, excerpt
from rota_contracts.messages.executor_capacity import SlotState
from rota_contracts.messages.learning import UnderWay
from rota_contracts.messages.quarantine import QuarantineStatus
from rota_contracts.messages.trigger import ExecutorMode, TriggerType
from rota_contracts.robots.robot import Phase

OVER = [str(status) for status in ExecStatus if status.over]
UNDER_WAY = [str(status) for status in ExecStatus if not status.over]
EARLY = [Phase.INSPIRATION, Phase.GOALS, Phase.TASKS, Phase.RUN]
GOALS_LIMIT = 4000

SUMMARY = {
    "run.execution.execution_id": 1,
    "run.execution.team_id": 1,
    "run.execution.member_id": 1,
    "run.execution.trigger.type": 1,
    "run.execution.status": 1,
    "run.execution.phase": 1,
    "run.execution.error": 1,
    "run.execution.created_at": 1,
    "run.execution.finished_at": 1,
    "run.execution.content.summary": 1,
}
SLOT = {"status": 1, "run.execution.error": 1, "run.parks": 1, "run.granted": 1}
EXCERPT = {
    "run.execution.execution_id": 1,
    "run.execution.trigger": 1,
    "run.execution.status": 1,
    "run.execution.created_at": 1,
    "run.execution.finished_at": 1,
    "run.execution.content.summary": 1,
    "run.execution.content.body.inline": 1,
    "run.execution.delivery.success": 1,
    "run.execution.error": 1,
    "run.execution.skipped": 1,
    "run.execution.rehearsed": 1,
    "run.execution.question": 1,
    "run.execution.interventions": 1,
}
BY_CLOCK = {"run.execution.trigger.type": TriggerType.CLOCK}
AT_CEILING = {"run.ceiling": {"$type": "object"}, "status": ExecStatus.WAITING}
DECIDED = {
    "$size": {
        "$filter": {
            "input": {"$ifNull": ["$run.execution.quarantine", []]},
            "cond": {"$ne": ["$$this.status", QuarantineStatus.HELD]},
        }
    }
}
"""How many results in its quarantine were decided about."""
FINISHED_AT = "run.execution.finished_at"
MERGE_TARGET = {"status": 1, "run.execution.goals.content": 1, "run.execution.trigger": 1}


def merge_targets_of(run: Run) -> Document:
    """`preparing.accepts_goals`, of the same robot, and begun before this run."""
    execution = run.execution
    return {
        "team_id": execution.team_id,
        "member_id": execution.member_id,
        "status": {"$in": UNDER_WAY},
        "run.execution.phase": {"$in": EARLY},
        "run.execution.executor_mode": ExecutorMode.STANDARD,
        "run.cancelled": None,
        "run.merging": None,
        **behind("created_at", execution.created_at, run.id),
    }


def others_of(run: Run) -> Document:
    """The robot's other runs that change something outside."""
    execution = run.execution
    return {
        "team_id": execution.team_id,
        "member_id": execution.member_id,
        "_id": {"$ne": run.id},
        "run.execution.executor_mode": ExecutorMode.STANDARD,
    }


def reports_before(run: Run, earliest: datetime) -> Document:
    """Clock runs that began before this one and have made their report."""
    began = {"$gte": earliest, "$lt": run.execution.created_at}
    return {**others_of(run), **BY_CLOCK, "created_at": began, "run.execution.inspiration": {"$ne": None}}


def under_way_beside(run: Run) -> Document:
    return {**others_of(run), "status": {"$in": UNDER_WAY}}


def ended_since(run: Run, since: datetime) -> Document:
    """Instants are kept as texts here: whole seconds, because a fraction may or may not be written."""
    second = f"{since.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
    return {**others_of(run), FINISHED_AT: {"$gte": second, "$type": "string"}}


PART, REPORTED, BEGUN, ENDED = "part", "reported", "begun", "ended"


def recent_of(run: Run, earliest: datetime, limit: int) -> list[Document]:
    """The robot's other runs, each with its `part`: the last that made a report, `limit` under way, oldest first, and
    the `limit` that ended last."""
    reported = _part(REPORTED, reports_before(run, earliest), ("created_at", -1), 1, {"run.execution.created_at": 1})
    begun = _part(BEGUN, under_way_beside(run), ("created_at", 1), limit, EXCERPT)
    ended = _part(ENDED, ended_since(run, earliest), (FINISHED_AT, -1), limit, EXCERPT)
    more = [{"$unionWith": {"coll": "executions", "pipeline": each}} for each in (begun, ended)]
    return [*reported, *more]


def _part(name: str, wanted: Document, order: tuple[str, int], limit: int, fields: Document) -> list[Document]:
    field, direction = order
    found: list[Document] = [{"$match": wanted}, {"$sort": {field: direction}}, {"$limit": limit}]
    return [*found, {"$project": {**fields, PART: {"$literal": name}}}]


def with_room(signal: Signal) -> Document:
    """Runs whose inbox takes this signal: `limits.has_room`. One stop is enough."""
    if signal.action == ControlAction.STOP:
        return {"inbox.action": {"$ne": ControlAction.STOP.value}}
    if not is_limited(signal):
        return {}
    room = INBOX_LIMIT - size_of(signal)
    few = {"$lt": [{"$size": "$inbox"}, SIGNALS_LIMIT]}
    return {"$expr": {"$and": [few, {"$lte": [{"$bsonSize": {"inbox": "$inbox"}}, room]}]}}


def signalled_by(signal: Signal) -> Document:
    """Runs that have this signal, or another stop."""
    if signal.action != ControlAction.STOP:
        return {"inbox.id": signal.id}
    stopping = {"inbox.action": ControlAction.STOP.value, "status": {"$nin": OVER}}
    return {"$or": [{"inbox.id": signal.id}, stopping]}


def created(document: Document, lease: timedelta) -> list[Document]:
    """An upsert that inserts a claimed document, and leaves one that is there as it is."""
    # $literal: a run may contain what MongoDB would take for fields.
    claimed = {"$mergeObjects": [{"$literal": document}, {"due_at": after(lease)}]}
    return [{"$replaceWith": {"$cond": [{"$eq": [{"$type": "$status"}, "missing"]}, claimed, "$$ROOT"]}}]


def put(signal: Signal) -> list[Document]:
    """An update that adds a signal to the inbox; an unclaimed run is checked now."""
    due_at: dict[str, Any] = {"$cond": [{"$eq": ["$owner", None]}, NOW, "$due_at"]}
    # $literal: a signal may contain what MongoDB would take for fields.
    inbox = {"$concatArrays": ["$inbox", [{"$literal": signal.model_dump(mode="json")}]]}
    return [{"$set": {"inbox": inbox, "due_at": due_at}}]


def reached(field: str) -> Document:
    """An instant that is over, by the database's clock. The type is repeated, because the partial indexes need it."""
    return {field: {"$type": "date"}, "$expr": {"$lte": [f"${field}", NOW]}}


def overdue() -> Document:
    return reached("due_at")


def expired() -> Document:
    """Unclaimed runs whose promised results have expired."""
    return {**reached("expires_at"), "owner": None}


def past_deadline() -> Document:
    """Runs whose deadline is over, without the signal for it."""
    signal = {"$concat": [deadline_id(""), {"$toString": "$run.parks"}]}
    unsignalled: Document = {"$expr": {"$not": [{"$in": [signal, "$inbox.id"]}]}}
    return {"$and": [reached("deadline_at"), unsignalled], "status": {"$nin": OVER}}


def slot(document: Document) -> SlotState:
    """Without a status if there is no run but an id; a request that was given up has a status alone."""
    if "status" not in document:
        return SlotState(execution_id=document["_id"])
    run = document.get("run", {"execution": {}})
    return SlotState(
        execution_id=document["_id"],
        status=document["status"],
        error=run["execution"].get("error"),
        parks=run.get("parks", 0),
        granted=run.get("granted", 0),
    )


def merge_target(document: Document) -> UnderWay:
    execution = document["run"]["execution"]
    goals = (execution.get("goals") or {}).get("content", "")
    return UnderWay(
        execution_id=document["_id"],
        status=document["status"],
        goals=excerpt(goals, GOALS_LIMIT),
        about=about(stored_trigger(execution["trigger"])),
    )


def summary(document: Document) -> ExecutionSummary:
    execution = document["run"]["execution"]
    content = execution.get("content") or {}
    return ExecutionSummary(
        **{**execution, "trigger_type": execution["trigger"]["type"], "summary": content.get("summary", "")}
    )

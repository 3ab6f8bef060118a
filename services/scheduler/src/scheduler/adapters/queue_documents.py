"""The documents of the queue, and the operations of a batch on them."""

from datetime import datetime

from pymongo import DeleteOne, InsertOne, UpdateMany, UpdateOne

from rota_common.runtime.traces import derived
from rota_common.stores.mongo import Document
from rota_common.stores.trigger_documents import stored_trigger, trigger_document
from rota_contracts.ids import execution_id
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.trigger import RejectReason, TriggerInput, TriggerReceivedV1, TriggerType
from scheduler.domain.batch import Batch, Decided, Moved, StoredTrigger
from scheduler.domain.queue import Entry, EntryState, Refusal

Operation = InsertOne[Document] | UpdateMany | UpdateOne | DeleteOne


def operations(batch: Batch) -> list[Operation]:
    """In order: the last change of an entry holds."""
    live = {"live": True}
    changes: list[Operation] = [
        DeleteOne({"_id": each.execution_id, "reason": RejectReason.FAILED}) for each in batch.decided if each.redriven
    ]
    changes += [_decision(decided, batch.at) for decided in batch.decided]
    for each, moved in batch.moved.items():
        changes.append(UpdateOne({"_id": each, **live}, {"$set": _position(moved)}))
    if admitted := [each for each in batch.admitted if each not in batch.moved]:
        slot = {"state": EntryState.ADMITTED, "admitted_at": batch.at}
        changes.append(UpdateMany({"_id": {"$in": admitted}, **live}, {"$set": slot}))
    if started := [each for each in batch.started if each not in batch.moved]:
        changes.append(UpdateMany({"_id": {"$in": started}, **live}, {"$set": {"state": EntryState.RUNNING}}))
    for ended in batch.ended:
        done = {"state": EntryState.DONE, "live": False, "status": ended.status, "ended_at": batch.at}
        changes.append(UpdateOne({"_id": ended.execution_id, **live}, {"$set": done}))
    for cancelled in batch.cancelled:
        refused = _refused(cancelled.refusal, batch.at) | {"unpublished": True}
        changes.append(UpdateOne({"_id": cancelled.execution_id, **live}, {"$set": refused}))
    return changes


def _position(moved: Moved) -> Document:
    entry = moved.entry
    return {
        "state": moved.state,
        "parks": entry.parks,
        "queued_at": entry.queued_at,
        "admitted_at": entry.admitted_at,
    }


def _refused(refusal: Refusal, at: datetime | None) -> Document:
    reason = {"reason": refusal.reason, "message": refusal.message}
    return {"state": EntryState.REJECTED, "live": False, "ended_at": at} | reason


def due_document(trigger: TriggerReceivedV1) -> Document:
    """A clock's trigger that awaits its decision."""
    return _base(trigger) | {"state": EntryState.DUE, "due_at": trigger.scheduled_at, "queued_at": trigger.received_at}


def rejected_document(trigger: TriggerReceivedV1, refusal: Refusal, at: datetime) -> Document:
    """A trigger that no batch takes: without the input, which may be the reason."""
    bare = trigger.model_copy(update={"input": TriggerInput()})
    return _base(bare) | {"queued_at": at} | _refused(refusal, at)


def _decision(decided: Decided, at: datetime | None) -> InsertOne[Document] | UpdateOne:
    """A clock's trigger is marked as not yet published: no message of it will come again."""
    if not decided.from_clock:
        base = _base(decided.trigger) | {"traceparent": decided.traceparent, "queued_at": at}
        return InsertOne(base | _verdict(decided, at))
    change = {"$set": _verdict(decided, at) | {"queued_at": at, "unpublished": True}, "$unset": {"due_at": ""}}
    return UpdateOne({"_id": decided.execution_id, "state": EntryState.DUE}, change)


def _base(trigger: TriggerReceivedV1) -> Document:
    return {
        "_id": execution_id(trigger.trigger_id),
        "team": trigger.team_id,
        "member": trigger.member_id,
        "type": trigger.type,
        "traceparent": derived(trigger.trigger_id),
        "trigger": trigger_document(trigger.model_dump(mode="json")),
    }


def _verdict(decided: Decided, at: datetime | None) -> Document:
    match decided.verdict:
        case Refusal() as refusal:
            return _refused(refusal, at)
        case entry:
            state = EntryState.ADMITTED if decided.admitted else EntryState.QUEUED
            admitted_at = at if decided.admitted else None
            entry_fields = {"priority": entry.priority, "max_running": entry.max_running, "admitted_at": admitted_at}
            return entry_fields | {"state": state, "live": True}


def entry_of(document: Document) -> Entry:
    return Entry(
        execution_id=document["_id"],
        team=document["team"],
        member=document["member"],
        type=TriggerType(document["type"]),
        priority=document["priority"],
        max_running=document["max_running"],
        queued_at=document["queued_at"],
        admitted_at=document["admitted_at"],
        running=document["state"] == EntryState.RUNNING,
        parks=document.get("parks", 0),
    )


def stored_trigger_of(document: Document) -> StoredTrigger:
    reason, status = document.get("reason"), document.get("status")
    return StoredTrigger(
        execution_id=document["_id"],
        state=EntryState(document["state"]),
        trigger=stored_trigger(document["trigger"]),
        traceparent=document["traceparent"],
        status=ExecStatus(status) if status else None,
        refusal=Refusal(RejectReason(reason), document["message"]) if reason else None,
        parks=document.get("parks", 0),
    )

"""A run as a MongoDB document, and the part of it that a write has to change."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import Any

import bson
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from executor.adapters.mongo_run_parts import fill
from executor.domain.quarantine import kept_from
from executor.domain.run import Layout, Run, Signal
from rota_common.stores.mongo import Document
from rota_common.stores.trigger_documents import trigger_document, trigger_fields
from rota_contracts.messages.execution import Execution

KEPT = {
    name: field.serialization_alias or name
    for name, field in Run.model_fields.items()
    if not field.exclude and name != "execution"
}
PUBLIC = {name: name for name in Execution.model_fields}
"""Fields, with the names that they are stored under."""

AS_STORED: Mapping[str, Callable[[Any], Any]] = {"run.robot": json.dumps, "run.execution.trigger": trigger_document}
"""Fields that hold what others wrote, and how it is stored."""


def whole(run: Run) -> Document:
    """The document's fields that a new run fills."""
    return {
        "status": run.execution.status,
        "deadline_at": run.execution.deadline_at,
        "expires_at": run.expires_at,
        **_over(run),
        "run": _stored(run.model_dump(mode="json", by_alias=True)),
    }


def _stored(dumped: Document) -> Document:
    execution = dumped["execution"]
    execution |= {"trigger": AS_STORED["run.execution.trigger"](execution["trigger"])}
    return dumped | {"robot": AS_STORED["run.robot"](dumped["robot"]), "execution": execution}


def change(run: Run) -> Document:
    """An update that makes of what is stored this run; only what has changed is sent, so that a run of many tasks
    doesn't write all of them again with each step."""
    fields: Document = {"status": run.execution.status, **_over(run)}
    before = run.stored
    if before is None:
        return {"$set": whole(run), **_journal(run)}
    if before.execution.deadline_at != run.execution.deadline_at:
        fields["deadline_at"] = run.execution.deadline_at
    if before.expires_at != run.expires_at:
        fields["expires_at"] = run.expires_at
    apart = run.layout.apart
    fields |= dict(_differences(before, run, KEPT, "run", apart))
    fields |= dict(_differences(before.execution, run.execution, PUBLIC, "run.execution", apart))
    return {"$set": fields, **_journal(run)}


def _over(run: Run) -> Document:
    """`over_at` begins the time that a run is kept."""
    return {"over_at": kept_from(run)} if run.over else {}


def _journal(run: Run) -> Document:
    if not run.unsaved:
        return {}
    entries = [entry.model_dump(mode="json", exclude_defaults=True) for entry in run.unsaved]
    size = sum(len(bson.encode(entry)) for entry in entries)
    return {"$push": {"journal": {"$each": entries}}, "$inc": {"journal_bytes": size}}


def _differences(
    before: BaseModel, after: BaseModel, names: Mapping[str, str], at: str, apart: Collection[str]
) -> Iterator[tuple[str, Any]]:
    old, new = before.__dict__, after.__dict__
    for name, stored in names.items():
        if old[name] is not new[name]:  # of a step's changes, most is the same object
            yield from _difference(old[name], new[name], f"{at}.{stored}", apart)


def _difference(old: Any, new: Any, at: str, apart: Collection[str]) -> Iterator[tuple[str, Any]]:
    """What has changed within a value, as far down as models and lists go: of a task of many rounds, the last round.
    What is stored `apart` is written whole."""
    if old is new:
        return
    whole = at in apart or at in AS_STORED
    if isinstance(old, list) and isinstance(new, list) and old and len(new) >= len(old):
        for index, item in enumerate(new):
            if index < len(old):
                yield from _difference(old[index], item, f"{at}.{index}", apart)
            else:
                yield f"{at}.{index}", to_jsonable_python(item)
    elif isinstance(old, BaseModel) and type(old) is type(new) and not whole:
        yield from _differences(old, new, _names(type(old)), at, apart)
    elif old != new:
        yield at, AS_STORED.get(at, _same)(to_jsonable_python(new))


@cache
def _names(model: type[BaseModel]) -> Mapping[str, str]:
    return {name: name for name in model.model_fields}


def _same(value: Any) -> Any:
    return value


def read(document: Document) -> Run:
    """The run of a document, with the signals that it hasn't applied yet. `read`: its segments."""
    apart = fill(document, document.get("read", []))
    dumped = document["run"]
    robot = json.loads(dumped["robot"]) if isinstance(dumped["robot"], str) else dumped["robot"]
    run = Run.model_validate(dumped | {"robot": robot, "execution": execution_fields(dumped["execution"])})
    return as_stored(run, document, apart)


def execution_fields(stored: Document) -> Document:
    """An execution, or a part of one, as it is read."""
    return stored | {"trigger": trigger_fields(stored["trigger"])}


def as_stored(run: Run, document: Document, apart: frozenset[str]) -> Run:
    """A run as it is stored; `document` has its inbox. `apart`: the places that are null there."""
    run = run.model_copy(update={"unsaved": [], "inbox": [], "stored": None})
    signals = (
        [] if run.over else [Signal.model_validate(signal) for signal in (document.get("inbox") or [])[run.applied :]]
    )
    layout = Layout(journal_bytes=document.get("journal_bytes", 0), apart=apart)
    return run.model_copy(update={"inbox": signals, "stored": run, "layout": layout})

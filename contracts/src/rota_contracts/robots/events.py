"""Which events wake a robot (TG-12): by source, type, and what their data says."""

from collections.abc import Mapping
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from rota_contracts.json_values import MISSING, at, same
from rota_contracts.model import Json, Part

PREFIX = "/webhook/"


def _path(text: str) -> str:
    at(None, text)
    return text


Path = Annotated[str, AfterValidator(_path), Field(min_length=1, max_length=500)]
"""Where a value lies in JSON: `customer.orders[0].total`; a leading `$.` may stand or not."""


class Op(StrEnum):
    """How a condition compares what it finds with its value."""

    EQ = "eq"
    NE = "ne"
    GT = "gt"
    GE = "ge"
    LT = "lt"
    LE = "le"
    IN = "in"
    CONTAINS = "contains"
    GLOB = "glob"
    EXISTS = "exists"


WANTED: Mapping[Op, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys((Op.GT, Op.GE, Op.LT, Op.LE), ((int, float, str), "a number or a text")),
    Op.IN: ((list,), "a list"),
    Op.GLOB: ((str,), "a text like lead.*"),
    Op.EXISTS: ((bool,), "true or false"),
}


class Condition(Part):
    """What must hold of an event's data. Nothing at `path` fulfils `ne` and `exists: false` alone.

    `gt` to `le` compare two numbers or two texts; `contains` looks into a text or a list; `glob` takes `*` and `?`.
    """

    path: Path
    op: Op = Op.EQ
    value: Json = None

    @model_validator(mode="after")
    def _value_fits(self) -> Self:
        wanted = WANTED.get(self.op)
        if wanted is None:
            return self
        kinds, words = wanted
        if not isinstance(self.value, kinds) or (isinstance(self.value, bool) and bool not in kinds):
            raise ValueError(f"expected {words} as the value of {self.op}, not {self.value!r}")
        return self

    def holds(self, data: Json) -> bool:
        found = at(data, self.path)
        if self.op is Op.EXISTS:
            return (found is not MISSING) is self.value
        if found is MISSING:
            return self.op is Op.NE
        return _compare(self.op, found, self.value)


def _compare(op: Op, found: Json, value: Json) -> bool:
    match op:
        case Op.EQ:
            return same(found, value)
        case Op.NE:
            return not same(found, value)
        case Op.IN:
            return any(same(found, one) for one in value)
        case Op.CONTAINS if isinstance(found, list):
            return any(same(one, value) for one in found)
        case Op.CONTAINS:
            return isinstance(found, str) and isinstance(value, str) and value in found
        case Op.GLOB:
            return isinstance(found, str) and fnmatchcase(found, value)
        case _:
            return _ordered(op, found, value)


def _ordered(op: Op, found: Json, value: Json) -> bool:
    numbers = isinstance(found, (int, float)) and not isinstance(found, bool) and isinstance(value, (int, float))
    if not numbers and not (isinstance(found, str) and isinstance(value, str)):
        return False
    if found == value:
        return op in (Op.GE, Op.LE)
    return bool(found > value) is (op in (Op.GT, Op.GE))


Conditions = Annotated[list[Condition], Field(max_length=20)]
Patterns = Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=100)]


def any_matches(patterns: list[str], event_type: str | None) -> bool:
    """Is an event of this type one of these: exactly, or by `*` and `?` (`lead.*`)? No pattern takes all."""
    return not patterns or (event_type is not None and any(fnmatchcase(event_type, one) for one in patterns))


class EventFilter(Part):
    """All that is set must fit."""

    event_types: list[str] = Field(
        default=[], description="webhook: exact or with * and ?, like lead.*; empty = every type"
    )
    trigger: str | None = Field(default=None, description="database: insert, update, replace or delete; empty = each")
    conditions: Conditions = Field(default=[], description="what must hold of the event's data")


class EventSubscription(Part):
    """TG-12. A webhook's `source` may be written as its path: `/webhook/leads` is the source `leads`."""

    type: Literal["webhook", "database"]
    source: str
    filter: EventFilter = EventFilter()

    @property
    def source_name(self) -> str:
        return self.source.removeprefix(PREFIX)

    def wants(
        self, source: str, event_type: str | None, data: Mapping[str, Json] | None = None, *, kind: str = "webhook"
    ) -> bool:
        """Is this event for this robot? `kind` is `webhook` or `database`; there the type is the operation."""
        if self.type != kind or self.source_name != source:
            return False
        if kind == "webhook":
            fits = any_matches(self.filter.event_types, event_type)
        else:
            fits = self.filter.trigger in (None, event_type)
        return fits and all(condition.holds(data or {}) for condition in self.filter.conditions)

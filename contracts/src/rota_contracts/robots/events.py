"""Event subscriptions: the events that trigger a robot, by source, type and data."""

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
"""A path to a value in JSON: `customer.orders[0].total`; a leading `$.` is optional."""


class Op(StrEnum):
    """The comparison of a condition."""

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
    """A condition on an event's data. If nothing is at `path`, only `ne` and `exists: false` hold.

    `gt` to `le` compare two numbers or two texts; `contains` searches a text or a list; `glob` takes `*` and `?`.
    """

    path: Path = Field(description="where the value stands in the data: customer.orders[0].total")
    op: Op = Field(default=Op.EQ, description="how it is compared")
    value: Json = Field(default=None, description="what it is compared with")

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
    """True if the event type matches a pattern, exactly or by `*` and `?` (`lead.*`), or if there is no pattern."""
    return not patterns or (event_type is not None and any(fnmatchcase(event_type, one) for one in patterns))


class EventFilter(Part):
    """All fields that are set must match."""

    event_types: list[str] = Field(
        default=[], description="webhook: exact or with * and ?, like lead.*; empty = every type"
    )
    trigger: str | None = Field(default=None, description="database: insert, update, replace or delete; empty = each")
    conditions: Conditions = Field(default=[], description="conditions on the event's data")


class EventSubscription(Part):
    """Events that trigger the robot. A webhook's `source` may be its path: `/webhook/leads` is the source `leads`."""

    type: Literal["webhook", "database"] = Field(description="webhook: posted to a source; database: a change of data")
    source: str = Field(description="webhook: the name of `rota sources add`; database: the name of the collection")
    filter: EventFilter = Field(default=EventFilter(), description="which of its events; without one, all")

    @property
    def source_name(self) -> str:
        return self.source.removeprefix(PREFIX)

    def wants(
        self, source: str, event_type: str | None, data: Mapping[str, Json] | None = None, *, kind: str = "webhook"
    ) -> bool:
        """True if the event matches. `kind` is `webhook` or `database`; for `database` the type is the operation."""
        holds = (condition.holds(data or {}) for condition in self.filter.conditions)
        return self.covers(source, event_type, kind=kind) and all(holds)

    def names(self, source: str, *, kind: str) -> bool:
        return self.type == kind and self.source_name == source

    def covers(self, source: str, event_type: str | None, *, kind: str = "webhook") -> bool:
        """As `wants`, whatever the conditions are."""
        if not self.names(source, kind=kind):
            return False
        if kind == "webhook":
            return any_matches(self.filter.event_types, event_type)
        return self.filter.trigger in (None, event_type)

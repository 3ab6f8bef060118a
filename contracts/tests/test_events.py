"""Event subscriptions: source, type and conditions on the data (TG-12)."""

import pytest
from pydantic import ValidationError

from rota_contracts.robots.events import Condition, EventSubscription, Op

LEAD = {
    "name": "Ada",
    "amount": 1200,
    "vip": True,
    "tags": ["new", "europe"],
    "company": {"name": "Analytical Engines", "seats": [3, 4]},
    "gone": None,
}


@pytest.mark.parametrize(
    ("path", "op", "value", "expected"),
    [
        ("name", "eq", "Ada", True),
        ("$.name", "eq", "Ada", True),
        ("amount", "eq", 1200.0, True),
        ("vip", "eq", 1, False),
        ("nowhere", "eq", None, False),
        ("gone", "eq", None, True),
        ("name", "ne", "Bob", True),
        ("nowhere", "ne", "Bob", True),
        ("amount", "gt", 1200, False),
        ("amount", "ge", 1200, True),
        ("amount", "lt", 1200, False),
        ("amount", "le", 1200, True),
        ("company.seats[1]", "gt", 3.5, True),
        ("name", "lt", "Bob", True),
        ("name", "gt", 5, False),
        ("vip", "gt", 0, False),
        ("name", "in", ["Bob", "Ada"], True),
        ("name", "in", [], False),
        ("tags", "contains", "europe", True),
        ("company.name", "contains", "Engine", True),
        ("amount", "contains", 12, False),
        ("company.name", "glob", "Analytical*", True),
        ("amount", "glob", "12*", False),
        ("gone", "exists", True, True),
        ("nowhere", "exists", True, False),
        ("nowhere", "exists", False, True),
        ("nowhere", "glob", "*", False),
    ],
)
def test_a_condition_holds_of_what_lies_at_its_path(path: str, op: str, value: object, expected: bool) -> None:
    assert Condition.model_validate({"path": path, "op": op, "value": value}).holds(LEAD) is expected


@pytest.mark.parametrize(
    ("op", "value", "words"),
    [
        (Op.IN, "Ada", "a list"),
        (Op.GLOB, 7, "a text"),
        (Op.EXISTS, 1, "true or false"),
        (Op.GT, True, "a number or a text"),
        (Op.LE, [1], "a number or a text"),
    ],
)
def test_a_value_that_its_comparison_can_not_use_is_refused(op: Op, value: object, words: str) -> None:
    with pytest.raises(ValidationError, match=f"expected {words}"):
        Condition.model_validate({"path": "name", "op": op, "value": value})


def test_a_path_that_is_none_is_refused_when_it_is_written() -> None:
    with pytest.raises(ValidationError, match="expected a path like"):
        Condition.model_validate({"path": "items[*].name", "value": 1})


@pytest.mark.parametrize(
    ("patterns", "kind", "expected"),
    [
        ([], None, True),
        (["lead.created"], "lead.created", True),
        (["lead.created"], "lead.createdX", False),
        (["lead.*"], "lead.deleted", True),
        (["lead.*"], "leads", False),
        (["*.created", "order.?aid"], "order.paid", True),
        (["*"], None, False),
        (["lead.*"], "LEAD.created", False),
    ],
)
def test_event_types_are_exact_or_globs(patterns: list[str], kind: str | None, expected: bool) -> None:
    given = {"type": "webhook", "source": "/webhook/leads", "filter": {"event_types": patterns}}
    assert EventSubscription.model_validate(given).wants("leads", kind) is expected


def test_all_of_a_filter_must_fit() -> None:
    conditions = [
        {"path": "amount", "op": "ge", "value": 1000},
        {"path": "company.name", "op": "exists", "value": True},
    ]
    wanted = EventSubscription.model_validate(
        {"type": "webhook", "source": "leads", "filter": {"event_types": ["lead.*"], "conditions": conditions}}
    )
    assert wanted.wants("leads", "lead.created", LEAD)
    assert not wanted.wants("leads", "lead.created", LEAD | {"amount": 999})
    assert not wanted.wants("leads", "order.created", LEAD)
    assert not wanted.wants("leads", "lead.created")


def test_a_database_subscription_takes_its_operation_and_no_webhook() -> None:
    inserts = EventSubscription.model_validate(
        {"type": "database", "source": "orders", "filter": {"trigger": "insert"}}
    )
    assert inserts.wants("orders", "insert", {}, kind="database")
    assert not inserts.wants("orders", "delete", {}, kind="database")
    assert not inserts.wants("orders", "insert", {})
    every = EventSubscription.model_validate({"type": "database", "source": "orders"})
    assert every.wants("orders", "delete", {}, kind="database")

"""Equality of JSON values, wherever Rota compares what others wrote."""

from typing import Any

from rota_contracts.json_values import canonical, same
from rota_contracts.robots.events import Condition

PAIRS: list[tuple[Any, Any, bool]] = [
    # DEC-25
    (1, True, False),
    (0, False, False),
    (1, 1.0, True),
    (-0.0, 0, True),
    (2**53 + 1, float(2**53), False),
    (1e22, 10**22, True),
    (0.1, 0.1, True),
    (None, False, False),
    (None, 0, False),
    ("1", 1, False),
    ([], {}, False),
    ([1, 2], [2, 1], False),
    ([[True]], [[1]], False),
    ({"a": 1, "b": [2.0]}, {"b": [2], "a": 1.0}, True),
    ({"a": {"b": True}}, {"a": {"b": 1}}, False),
    ({"a": None}, {}, False),
]


def test_values_are_equal_as_json_wherever_they_are_compared() -> None:  # DEC-25
    wrong = [
        (where, one, other)
        for one, other, equal in PAIRS
        for where, found in {
            "same": same(one, other),
            "same, the other way": same(other, one),
            "canonical text": canonical(one) == canonical(other),
            "eq": Condition(path="$", value=other).holds(one),
            "ne": not Condition(path="$", op="ne", value=other).holds(one),
            "in": Condition(path="$", op="in", value=[other]).holds(one),
            "contains": Condition(path="$", op="contains", value=other).holds([one]),
        }.items()
        if found is not equal
    ]
    assert wrong == []

"""Changes of databases as events, and the conditions of sources."""

from datetime import UTC, datetime
from typing import Any

import pytest

from trigger_gateway.databases.change_event import DATA_LIMIT, Change, event_id_of, event_of, is_wanted
from trigger_gateway.problems import Invalid
from trigger_gateway.sources.source import DatabaseSettings, Source

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
LARGE = "x" * DATA_LIMIT


def crm(*conditions: dict[str, Any]) -> Source:
    given = {"url": "$ENV.CRM_URL", "database": "sales", "collection": "leads", "conditions": list(conditions)}
    return Source("acme", "crm", AT, database=DatabaseSettings.model_validate(given))


def change(**more: Any) -> Change:
    given: dict[str, Any] = {"token": "8265", "operation": "update", "at": AT, "key": {"_id": 1}}
    return Change(**given | {"document": {"_id": 1}, "updated": {"a": 1}, "removed": ["b"]} | more)


def test_an_event_of_a_change_has_its_token_as_id_and_its_operation_as_type() -> None:
    event = event_of(crm(), change(), AT)
    assert (event.team, event.source, event.id, event.type, event.kind) == ("acme", "crm", "8265", "update", "database")
    assert event.data == {
        "operation": "update",
        "document_key": {"_id": 1},
        "document": {"_id": 1},
        "updated_fields": {"a": 1},
        "removed_fields": ["b"],
        "at": "2026-03-02T09:00:00+00:00",
    }


def test_a_token_too_long_for_an_id_is_hashed() -> None:
    first, second = change(token="8" * 1000), change(token="8" * 1001)
    assert event_id_of(first) == event_id_of(change(token="8" * 1000)) != event_id_of(second)
    assert len(event_id_of(first)) <= 256
    assert event_id_of(change(token="8" * 256)) == "8" * 256


def test_values_that_are_too_large_are_left_out_the_document_first() -> None:
    data = event_of(crm(), change(document={"text": LARGE}), AT).data
    assert (data["document"], data["updated_fields"], data["truncated"]) == (None, {"a": 1}, True)
    data = event_of(crm(), change(updated={"text": LARGE}), AT).data
    assert (data["document"], data["updated_fields"], data["removed_fields"]) == (None, None, ["b"])
    data = event_of(crm(), change(removed=[LARGE]), AT).data
    assert (data["document_key"], data["removed_fields"]) == ({"_id": 1}, None)
    with pytest.raises(Invalid) as refused:
        event_of(crm(), change(key={"_id": LARGE}), AT)
    assert refused.value.code == "too_large"


def test_a_text_counts_by_its_bytes() -> None:
    assert "truncated" not in event_of(crm(), change(document="x" * (DATA_LIMIT - 1000)), AT).data
    assert event_of(crm(), change(document="ö" * (DATA_LIMIT - 1000)), AT).data["truncated"] is True


def test_a_change_that_the_server_truncated_is_marked() -> None:
    data = event_of(crm(), change(document=None, updated=None, truncated=True), AT).data
    assert (data["document"], data["updated_fields"], data["truncated"]) == (None, None, True)


def test_an_unreadable_change_is_refused_with_its_reason() -> None:
    with pytest.raises(Invalid, match="an unknown type"):
        event_of(crm(), change(unreadable="an unknown type"), AT)


def test_all_conditions_of_a_source_must_hold() -> None:
    is_one, has_b = {"path": "document._id", "value": 1}, {"path": "updated_fields.b", "op": "exists", "value": True}
    event = event_of(crm(), change(), AT)
    assert is_wanted(crm(), event)
    assert is_wanted(crm(is_one), event)
    assert not is_wanted(crm(is_one, has_b), event)

"""The scope of lessons: what of an event it may be, and that no two values share one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rota_contracts.json_values import MISSING
from rota_contracts.messages.learning import SCOPE_LIMIT, scope_of
from rota_contracts.robots.knowledge import Learn


def test_texts_and_numbers_have_a_scope_and_nothing_else_has() -> None:
    assert [scope_of(value) for value in ("c-1", " c-1", 42, 42.0, "42")] == ["c-1", " c-1", "42", "42", "42"]
    nothing = ("", "  ", None, True, ["c-1"], {"id": "c-1"}, MISSING)
    assert [scope_of(value) for value in nothing] == [""] * len(nothing)


def test_a_long_text_has_a_bounded_scope_of_its_own() -> None:
    long = "c" * SCOPE_LIMIT
    scopes = [scope_of(text) for text in (long, f"{long}1", f"{long}2", "\ud800" * 300)]
    assert len(set(scopes)) == 4
    assert [len(scope) for scope in scopes] == [SCOPE_LIMIT] + [SCOPE_LIMIT + 1] * 3
    assert scope_of(scopes[1]) != scopes[1]  # writing one down gives no access to it


@given(st.text(min_size=1), st.text(min_size=1))
def test_distinct_texts_have_distinct_scopes(one: str, other: str) -> None:
    if one != other and one.strip() and other.strip():
        assert scope_of(one) != scope_of(other)


def test_a_path_that_is_none_is_refused() -> None:
    assert Learn.model_validate({"by": "customer.id"}).by == "customer.id"
    with pytest.raises(ValidationError, match="expected a path"):
        Learn.model_validate({"by": "customer..id"})

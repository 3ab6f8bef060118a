"""docs/specification.md agrees with the tests: what works names tests that exist and carry its id."""

import pytest

from tests.architecture import specification
from tests.architecture.specification import Row, ids


def test_the_document_agrees_with_the_tests() -> None:
    found = specification.problems()
    assert not found, (
        "where a test has moved, `python -m tests.architecture.specification --write` renews its rows\n"
        + "\n".join(found)
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# TG-01, DEC-5", ["TG-01", "DEC-5"]),
        ("EX-09 to EX-11", ["EX-09", "EX-10", "EX-11"]),
        ("(F9) and F25", ["F9", "F25"]),
        ("%F0%9F F401 F26 XF9 U-TG-1x", []),
    ],
)
def test_ids_are_found(text: str, found: list[str]) -> None:
    assert list(ids(text)) == found


def test_a_row_is_written_as_it_was_read() -> None:
    row = Row("TG-01", "A run starts", "works", "", ("tests/test_a.py::test_b", "tests/test_c.py"))
    match = specification.ROW.fullmatch(str(row))
    assert match is not None
    assert specification.read(match) == row

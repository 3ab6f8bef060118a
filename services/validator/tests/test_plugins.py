"""Types of assertions from other installed packages (VA-10)."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from services.validator.tests import harness

from rota_contracts.messages.validation import Assertion, ValidationResult
from validator.adapters.in_memory import in_memory
from validator.adapters.plugins import load_plugins
from validator.registry import Kinds

MODULE = """\
from validator.kinds import Result, Search


class Shouted:
    def wish(self, assertion):
        return "be shouted"

    def check(self, assertion, output):
        return output.text_at(assertion.path).isupper()


class Rhymes:
    @staticmethod
    def wish(assertion):
        return f"rhyme with {assertion.value}"

    @staticmethod
    def check(assertion, output):
        return Result(output.text.endswith(assertion.value), f"it ends in {output.text[-2:]}")


class Numbered:
    wish = staticmethod(lambda assertion: "be numbered")
    check = staticmethod(lambda assertion, output: Search(r"^\\d", output.text))


class Breaks:
    wish = staticmethod(lambda assertion: assertion.nothing)
    check = staticmethod(lambda assertion, output: 1 // 0)


shouted = Shouted()
"""
ENTRIES = """\
[rota.assertions]
shouted = more_checks_of_a_test:shouted
rhymes = more_checks_of_a_test:Rhymes
numbered = more_checks_of_a_test:Numbered
breaks = more_checks_of_a_test:Breaks
gone = more_checks_of_a_test:Gone
odd = more_checks_of_a_test:MODULE
equals = more_checks_of_a_test:shouted
no_kind = json:dumps
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package as pip would leave it."""
    (tmp_path / "more_checks_of_a_test.py").write_text(MODULE)
    info = tmp_path / "more_checks-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: more-checks\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield
    sys.modules.pop("more_checks_of_a_test", None)


async def verdict(output: str, assertion: Assertion) -> ValidationResult:
    return (await harness.check(output, assertion, adapters=in_memory(plugins=load_plugins()))).verdict


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("assertion", "good", "bad", "issue"),
    [
        (Assertion(type="shouted"), "HO", "ho", 'expected the output to be shouted, got "ho"'),
        (Assertion(type="shouted", path="a"), '{"a": "HO"}', '{"a": "ho"}', "expected `a` of the output to be shouted"),
        (Assertion(type="rhymes", value="at"), "a cat", "dog", "to rhyme with at, but it ends in og"),
        (Assertion(type="numbered"), "1. x", "x", "to be numbered"),
    ],
)
async def test_a_type_of_another_package_works_like_a_built_in_one(
    assertion: Assertion, good: str, bad: str, issue: str
) -> None:
    assert (await verdict(good, assertion)).passed
    assert not (await verdict(good, assertion.model_copy(update={"negate": True}))).passed
    found = await verdict(bad, assertion)
    assert issue in found.issues[0]
    assert (await verdict(bad, assertion.model_copy(update={"negate": True}))).passed


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("breaks", "the check of type 'breaks' failed: ZeroDivisionError"),
        ("gone", "the type 'gone' (more_checks_of_a_test:Gone) can't be loaded: AttributeError"),
        ("odd", "can't be loaded: AttributeError"),
        ("no_kind", "can't be loaded: expected an object with `wish` and `check`"),
        ("never", "assertion type 'never' isn't known here: known are agent, breaks, contains, equals, gone, "),
    ],
)
async def test_a_broken_type_fails_its_own_rule_alone(name: str, reason: str) -> None:
    for negate in (False, True):
        found = await verdict("x", Assertion(type=name, negate=negate))
        assert not found.passed
        assert reason in found.issues[0]
    assert (await verdict("HO", Assertion(type="shouted"))).passed


@pytest.mark.usefixtures("installed")
async def test_a_package_cannot_replace_a_built_in_type() -> None:
    assert "equals" not in load_plugins()
    assert (await verdict("ho", Assertion(type="equals", value="ho"))).passed


def test_a_built_in_name_is_refused() -> None:
    with pytest.raises(ValueError, match="built in: equals; choose"):
        Kinds({"equals": load_plugins})  # type: ignore[dict-item]  # what it is doesn't matter

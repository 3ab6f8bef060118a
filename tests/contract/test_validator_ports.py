"""The validator's fake ports keep the same promises as the real ones."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from validator.adapters.fakes import InlinePatterns
from validator.adapters.pattern_process import PatternProcess
from validator.assertions import Unusable
from validator.ports import Patterns


@pytest.fixture(params=["inline", "process"])
async def patterns(request: pytest.FixtureRequest) -> AsyncIterator[Patterns]:
    if request.param == "inline":
        yield InlinePatterns()
    else:
        process = PatternProcess()
        yield process
        await process.close()


@pytest.fixture
async def impatient() -> AsyncIterator[PatternProcess]:
    process = PatternProcess(seconds=0.2)
    yield process
    await process.close()


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^# [A-Z]", "# Report", True),
        ("^a", "b\na", False),
        ("(?m)^a", "b\na", True),
        ("ö+", "Möön\u2028", True),
        ("", "", True),
    ],
)
async def test_a_pattern_is_searched_anywhere(
    patterns: Patterns, pattern: str, text: str, found: bool
) -> None:  # VA-06
    assert await patterns.search(pattern, text) is found


async def test_a_wrong_pattern_is_named_wrong(patterns: Patterns) -> None:
    with pytest.raises(Unusable, match="no regular expression: missing \\)"):
        await patterns.search("(unclosed", "text")


async def test_a_wrong_pattern_spoils_nothing(patterns: Patterns) -> None:
    with pytest.raises(Unusable):
        await patterns.search("*", "text")
    assert await patterns.search("text", "a long text" * 100_000)


async def test_many_at_once_get_their_own_answers(patterns: Patterns) -> None:
    found = await asyncio.gather(*(patterns.search(f"^{number}$", "7") for number in range(20)))
    assert [number for number, hit in enumerate(found) if hit] == [7]


async def test_a_pattern_that_runs_for_ever_is_given_up_and_the_next_one_answered(impatient: PatternProcess) -> None:
    ticks = 0

    async def ticking() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    clock = asyncio.create_task(ticking())
    with pytest.raises(Unusable, match=r"longer than 0\.2 s"):
        await impatient.search("(a+)+$", "a" * 40 + "!")
    clock.cancel()
    assert ticks >= 5  # meanwhile the rest of the service went on
    assert await impatient.search("a+", "aa")


async def test_a_cancelled_search_leaves_no_answer_behind_for_the_next(impatient: PatternProcess) -> None:
    await impatient.search("a", "a")
    search = asyncio.create_task(impatient.search("(a+)+$", "a" * 40 + "!"))
    await asyncio.sleep(0)
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    assert await impatient.search("b", "b")

"""Lessons in prompts: apart by a value of the event, forgotten on request, and none of a rehearsal."""

from pathlib import Path
from typing import Any

from rota_contracts.messages.execution import Execution
from tests.lessons.harness import Rota

BY_CUSTOMER: dict[str, Any] = {"learn": {"by": "customer.id"}}


def ticket(customer: str, company: str) -> dict[str, Any]:
    return {"customer": {"id": customer}, "company": company}


def sources(run: Execution) -> list[str]:
    """The runs whose lessons this one was given."""
    return sorted({lesson.execution_id for lesson in run.recalled})


async def test_lessons_of_a_rehearsal_are_never_given_to_a_model() -> None:  # LE-05
    rota = Rota()
    async with rota.up("rehearsal"):
        taught = (await rota.run("e1", data={"company": "Globex"})).learning
        assert taught is not None
        assert all(lesson.rehearsed for lesson in taught.lessons)
        assert sources(await rota.run("e2", data={"company": "Globex"})) == ["e1"]
        assert rota.read == []
    async with rota.up("openai"):
        assert sources(await rota.run("e3", data={"company": "Globex"})) == []
        assert not [text for text in rota.read for lesson in taught.lessons if lesson.content in text]
        assert sources(await rota.run("e4", data={"company": "Initech"})) == ["e3"]
        assert {lesson.execution_id: lesson.rehearsed for lesson in await rota.listed()} == {
            "e1": True,
            "e2": True,
            "e3": False,
            "e4": False,
        }


async def test_an_agent_with_a_model_is_not_given_a_rehearsals_lessons_within_a_rehearsed_run(tmp_path: Path) -> None:
    rota = Rota(resources={"agents": ["writer"]})  # LE-05
    (tmp_path / "writer.md").write_text("---\nconnector: openai\nteams: [acme]\n---\nYou write.")
    async with rota.up("rehearsal", agents_dir=tmp_path):
        await rota.run("e1", data={"company": "Globex"})
        run = await rota.run("e2", data={"company": "Globex"})
    assert sources(run) == ["e1"]
    assert rota.read
    assert not [text for text in rota.read if "lessons of earlier runs" in text]


async def test_a_dry_run_leaves_no_lesson() -> None:  # LE-01
    rota = Rota()
    async with rota.up("openai"):
        run = await rota.run("e1", executor_mode="dryrun", data={"company": "Globex"})
        assert run.learning is not None
        assert (run.learning.skipped, await rota.listed(), rota.read) == ("dry run", [], [])


async def test_with_learn_by_a_run_is_given_what_was_learnt_of_the_same_customer_alone() -> None:  # LE-05
    rota = Rota(**BY_CUSTOMER)
    async with rota.up("openai"):
        await rota.run("a1", data=ticket("a", "Alphacorp"))
        assert sources(await rota.run("b1", data=ticket("b", "Betacorp"))) == []
        assert "Betacorp" in "\n".join(rota.read)
        assert "Alphacorp" not in "\n".join(rota.read)
        assert sources(await rota.run("a2", data=ticket("a", "Alphacorp"))) == ["a1"]
        assert "Betacorp" not in "\n".join(rota.read)


async def test_with_learn_by_a_run_without_a_value_learns_nothing_and_says_so() -> None:  # LE-05
    rota = Rota()
    async with rota.up("openai"):
        await rota.run("before", data=ticket("a", "Alphacorp"))  # a lesson of the whole robot may be anybody's
    rota.define(**BY_CUSTOMER)
    async with rota.up("openai"):
        await rota.run("a1", data=ticket("a", "Alphacorp"))
        for number, run in enumerate([{"data": {"customer": {}}}, {"type": "human"}]):
            done = await rota.run(f"none {number}", **run)
            why = "learn.by: expected a text or a number at customer.id of the event, got nothing"
            assert done.learning is not None
            assert (sources(done), done.notes) == ([], [f"without lessons of earlier runs: {why}"])
            assert (done.learning.lessons, done.learning.skipped) == ([], why)
            assert "Alphacorp" not in "\n".join(rota.read)
    rota.define()
    async with rota.up("openai"):
        assert sources(await rota.run("after", data=ticket("a", "Alphacorp"))) == ["before"]


async def test_what_one_customer_taught_is_forgotten_on_request() -> None:  # F15
    rota = Rota(**BY_CUSTOMER)
    async with rota.up("openai"):
        for customer in ("a", "b"):
            await rota.run(f"{customer}1", data=ticket(customer, "Corp"))
        theirs = await rota.listed(scope="a")
        assert {lesson.scope for lesson in theirs} == {"a"}
        assert await rota.forget(scope="a") == len(theirs)
        assert {lesson.scope for lesson in await rota.listed()} == {"b"}
        assert sources(await rota.run("a2", data=ticket("a", "Corp"))) == []
        assert sources(await rota.run("b2", data=ticket("b", "Corp"))) == ["b1"]


async def test_one_lesson_is_forgotten_or_all_are() -> None:  # F15
    rota = Rota()
    async with rota.up("openai"):
        await rota.run("e1", data={"company": "Globex"})
        one, *others = await rota.listed()
        assert others
        assert await rota.forget(ids=[one.id, "unknown"]) == 1
        run = await rota.run("e2", data={"company": "Globex"})
        assert [lesson.id for lesson in run.recalled] == [lesson.id for lesson in others]
        assert await rota.forget() == len(others) + 1, "the second run has learnt the forgotten one again"
        assert await rota.listed() == []
        assert sources(await rota.run("e3", data={"company": "Globex"})) == []

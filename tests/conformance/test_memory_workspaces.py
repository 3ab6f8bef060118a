"""Workspaces of robots and of people: the fake and MongoDB keep the same promises."""

import asyncio
from collections.abc import AsyncIterator, Collection
from datetime import UTC, datetime

import pytest

from memory.adapters.in_memory_workspaces import InMemoryWorkspaces
from memory.adapters.mongo_workspaces import MongoWorkspaces
from memory.domain import Owner
from memory.ports import Workspaces
from memory.workspace import Decide, File, Refused, Seed, Usage
from rota_common.stores.mongo import Mongo
from rota_contracts.messages.workspace import FileRefusal

ROBOT, TEAMMATE, STRANGER = Owner("acme", "writer"), Owner("acme", "reader"), Owner("globex", "writer")
ANN, ANNS_OTHER, BEN = (
    Owner("acme", "ann", "experts.writer"),
    Owner("acme", "ann", "experts.reader"),
    Owner("acme", "ben", "experts.writer"),
)
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture(params=["dict", "mongo"])
async def workspaces(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Workspaces]:
    if request.param == "dict":
        yield InMemoryWorkspaces()
        return
    mongo = Mongo(mongo_url, f"{mongo_prefix}_memory")
    store = MongoWorkspaces(mongo)
    await store.prepare()
    yield store
    await mongo.client.drop_database(mongo.database.name)
    await mongo.close()


def file(path: str, content: str, *, revision: int = 1, rev: int = 1) -> File:
    return File(path=path, content=content, revision=revision, rev=rev, writes=("w1", "w2"), updated_at=NOON)


def to(wanted: File, seen: list[Usage] | None = None) -> Decide:
    def decide(there: File | None, usage: Usage) -> File:
        if seen is not None:
            seen.append(usage)
        return wanted

    return decide


async def test_a_file_is_read_as_it_was_written(workspaces: Workspaces) -> None:  # EX-99
    kept = file("memory/ä.md", "漢字\n")
    assert await workspaces.write(ROBOT, kept.path, to(kept)) == kept
    assert await workspaces.find(ROBOT, kept.path) == kept
    assert await workspaces.find(TEAMMATE, kept.path) is None
    await workspaces.write(ROBOT, "a.md", to(file("a.md", "a")))
    assert await workspaces.list(ROBOT) == [file("a.md", "a").info(), kept.info()]
    assert await workspaces.list(STRANGER) == []


async def test_what_is_counted_are_the_files_of_the_robot_and_the_bytes_of_its_team(workspaces: Workspaces) -> None:
    for owner, path, content in ((ROBOT, "a", "12345"), (ROBOT, "b", "1"), (TEAMMATE, "a", "12"), (STRANGER, "a", "1")):
        await workspaces.write(owner, path, to(file(path, content)))
    seen = list[Usage]()
    await workspaces.write(ROBOT, "a", to(file("a", "123", revision=2), seen))
    await workspaces.remove(TEAMMATE, "a", lambda _: None)
    await workspaces.write(ROBOT, "c", to(file("c", ""), seen))
    assert seen == [Usage(files=2, bytes=6, team_bytes=8), Usage(files=2, bytes=4, team_bytes=4)]


async def test_a_refused_change_has_no_effect(workspaces: Workspaces) -> None:
    def refuse(*_: object) -> File:
        raise Refused(FileRefusal.FULL, "full")

    kept = file("a", "text")
    await workspaces.write(ROBOT, "a", to(kept))
    with pytest.raises(Refused):
        await workspaces.write(ROBOT, "a", refuse)
    with pytest.raises(Refused):
        await workspaces.remove(ROBOT, "a", refuse)
    assert await workspaces.find(ROBOT, "a") == kept
    assert await workspaces.remove(ROBOT, "a", lambda _: None) == kept
    assert await workspaces.remove(ROBOT, "a", refuse) is None


async def test_of_two_writes_at_once_the_second_sees_the_first(workspaces: Workspaces) -> None:
    def append(there: File | None, usage: Usage) -> File:
        return file("log", (there.content if there else "") + "x", revision=there.revision + 1 if there else 1)

    await asyncio.gather(*(workspaces.write(ROBOT, "log", append) for _ in range(5)))
    found = await workspaces.find(ROBOT, "log")
    assert found is not None
    assert (found.content, found.revision) == ("xxxxx", 5)


async def test_the_files_of_a_deleted_robot_go_but_not_those_of_its_successor(workspaces: Workspaces) -> None:
    for path, rev in (("old", 1), ("last", 3), ("new", 4)):
        await workspaces.write(ROBOT, path, to(file(path, "12", rev=rev)))
    await workspaces.write(TEAMMATE, "old", to(file("old", "1")))
    assert await workspaces.clear(ROBOT, up_to_rev=3) == 2
    assert await workspaces.clear(ROBOT, up_to_rev=3) == 0
    assert [one.path for one in await workspaces.list(ROBOT)] == ["new"]
    seen = list[Usage]()
    await workspaces.write(TEAMMATE, "old", to(file("old", "1", revision=2), seen))
    assert seen == [Usage(files=1, bytes=1, team_bytes=3)]


def first(**contents: str) -> Seed:
    def decide(there: Collection[str], usage: Usage) -> list[File]:
        return [file(path, content) for path, content in contents.items() if path not in there]

    return decide


async def seeded(workspaces: Workspaces, owner: Owner, **contents: str) -> dict[str, str]:
    return {one.path: one.content for one in await workspaces.seed(owner, first(**contents))}


async def test_a_persons_files_begin_once_and_nothing_comes_back(workspaces: Workspaces) -> None:  # EX-83
    await workspaces.write(ANN, "USER", to(file("USER", "hers")))
    at_once = await asyncio.gather(*(seeded(workspaces, ANN, USER="theirs", SOUL=str(each)) for each in range(5)))
    assert len({tuple(each.items()) for each in at_once}) == 1, "one of them has written"
    assert at_once[0]["USER"] == "hers"
    await workspaces.remove(ANN, "SOUL", lambda _: None)
    assert await seeded(workspaces, ANN, SOUL="again") == {"USER": "hers"}
    assert await seeded(workspaces, ANNS_OTHER, SOUL="a") == {"SOUL": "a"}, "each agent's files are their own"
    assert await seeded(workspaces, BEN) == {}
    assert await seeded(workspaces, BEN, SOUL="later") == {}


async def test_a_refused_beginning_comes_again(workspaces: Workspaces) -> None:
    def refuse(*_: object) -> list[File]:
        raise Refused(FileRefusal.FULL, "full")

    with pytest.raises(Refused):
        await workspaces.seed(ANN, refuse)
    assert await seeded(workspaces, ANN, SOUL="a") == {"SOUL": "a"}


async def test_a_persons_files_for_all_agents_are_counted_together(workspaces: Workspaces) -> None:
    for owner, content in ((ANN, "1"), (ANNS_OTHER, "12"), (BEN, "123"), (ROBOT, "1234"), (Owner("acme", "ann"), "5")):
        await workspaces.write(owner, "a", to(file("a", content)))
    seen = list[Usage]()
    await workspaces.write(ANN, "b", to(file("b", ""), seen))
    assert seen == [Usage(files=2, bytes=3, team_bytes=11)]


async def test_files_end_with_their_person_or_their_agent_and_may_begin_anew(workspaces: Workspaces) -> None:  # EX-82
    namesakes = (Owner("acme", "ann_a", ANN.agent), Owner("acme", "ann", "experts"), Owner("globex", "ann", ANN.agent))
    for owner in (ANN, ANNS_OTHER, BEN, *namesakes, Owner("acme", "ann")):
        await workspaces.write(owner, "a", to(file("a", "1")))
    await seeded(workspaces, ANN)
    assert await workspaces.forget_agents("acme", [ANN.agent]) == 3
    assert await seeded(workspaces, ANN, SOUL="new") == {"SOUL": "new"}
    assert await workspaces.forget_person("acme", "ann") == 3
    left = [owner for owner in (ANN, ANNS_OTHER, BEN, *namesakes) if await workspaces.list(owner)]
    assert left == [namesakes[2]]
    assert await workspaces.list(Owner("acme", "ann")), "a robot's files aren't a person's"
    seen = list[Usage]()
    await workspaces.write(BEN, "a", to(file("a", "1"), seen))
    assert seen == [Usage(files=0, bytes=0, team_bytes=1)]

"""A team's definitions in memory keep the same promises as in MongoDB and in the bucket of NATS."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rota_common.bus.connection import Bus
from rota_common.bus.definitions import TeamDefinitions
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Service
from rota_common.stores.mongo import Mongo
from rota_contracts.definitions.definition import DefinitionKind, DefinitionSet
from rota_contracts.messages.definition import WrittenDefinition
from trigger_gateway.adapters.in_memory_definitions import InMemoryDefinitionCopies, InMemoryDefinitionStore
from trigger_gateway.adapters.mongo_definitions import MongoDefinitions
from trigger_gateway.adapters.nats_definition_copies import NatsDefinitionCopies
from trigger_gateway.definitions.ports import Batch, DefinitionCopies, DefinitionStore
from trigger_gateway.definitions.record import Author, Next, aborted, after, changes_of, promoted
from trigger_gateway.problems import ShareUsed
from trigger_gateway.teams.shares import Share

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
LATER = AT + timedelta(hours=1)
AGENT = DefinitionKind.AGENT


@pytest.fixture(params=["memory", "mongo"])
async def store(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[DefinitionStore]:
    if request.param == "memory":
        yield InMemoryDefinitionStore()
        return
    server = Mongo(mongo_url, f"{mongo_prefix}_gateway")
    made = MongoDefinitions(server.database)
    await made.prepare()
    yield made
    await server.close()


async def made_of(
    store: DefinitionStore,
    prompts: dict[str, str],
    *,
    team: str = "acme",
    share: int | None = None,
    prune: bool = False,
) -> Next:
    """The next set, with these agents."""
    head = await store.head(team)
    written = [WrittenDefinition(kind=AGENT, id=name, spec={"prompt": text}) for name, text in prompts.items()]
    there = await store.read("acme", head.current.entries)
    changes = changes_of(head, there, written, prune=prune, author=Author("a key", AT))
    made = after(head, changes, share=share, at=AT)
    assert made is not None
    return made


async def write(store: DefinitionStore, prompts: dict[str, str], *, at: datetime = AT, **how: Any) -> Next:
    made = await made_of(store, prompts, **how)
    assert await store.write(made, expected=await store.head("acme"), at=at)
    return made


async def copied(store: DefinitionStore) -> None:
    await store.mark_copied("acme", await store.uncopied("acme"))


async def prompts(store: DefinitionStore) -> dict[str, str]:
    found = await store.read("acme", (await store.head("acme")).current.entries)
    return {one.id: one.spec["prompt"] for one in found.values()}


def revs(of: Batch) -> tuple[Sequence[int], Sequence[int]]:
    return sorted(one.rev for one in of.definitions), sorted(each.rev for each in of.sets)


async def test_a_change_is_stored_as_a_whole_and_only_on_the_head_that_it_was_made_for(store: DefinitionStore) -> None:
    empty = await store.head("acme")
    assert (empty.version, empty.current.rev, await store.read("acme", {})) == (0, 0, {})
    many = [await made_of(store, {"writer": f"Words {number}."}) for number in range(4)]
    done = await asyncio.gather(*(store.write(each, expected=empty, at=AT) for each in many))
    assert sorted(done) == [False, False, False, True]
    head = await store.head("acme")
    assert head.current.entries == {"Agent/writer": 1}
    assert (head.version, head.last, head.synced) == (1, 1, False)
    first = await store.find("acme", AGENT, "writer", 1)
    assert first is not None
    assert first.spec == {"prompt": f"Words {done.index(True)}."}
    await write(store, {"writer": "New.", "reader": "Other."})
    assert await prompts(store) == {"writer": "New.", "reader": "Other."}
    assert [one.rev for one in await store.revisions("acme", AGENT, "writer")] == [2, 1]
    assert await store.revisions("globex", AGENT, "writer") == []
    assert (await store.head("globex")).current.entries == {}


async def test_what_is_not_copied_is_found_until_it_is(store: DefinitionStore) -> None:
    await write(store, {"writer": "1"})
    await write(store, {"writer": "2", "reader": "1"})
    new = await store.uncopied("acme")
    assert revs(new) == ([1, 2, 2], [1, 2])
    assert await store.unsynced(10) == ["acme"]
    assert await store.unsynced(10, apart_from=["acme"]) == []
    await store.mark_copied("acme", new)
    assert not await store.uncopied("acme")
    head = await store.head("acme")
    await store.mark_synced(replace(head, version=head.version - 1))
    assert await store.unsynced(10) == ["acme"], "it has moved on"
    await store.mark_synced(head)
    assert await store.unsynced(10) == []
    await store.forget_copied()
    assert (await store.uncopied("acme"), await store.unsynced(10)) == (new, ["acme"])


async def test_what_no_new_run_begins_with_is_outdated_after_its_time(store: DefinitionStore) -> None:
    await write(store, {"writer": "1", "reader": "1"})
    await write(store, {"writer": "2"}, share=10)
    await copied(store)
    assert not await store.outdated(LATER, limit=10), "the canary is beside the current one"
    head = await store.head("acme")
    assert await store.write(Next(promoted(head)), expected=head, at=AT)
    assert revs(await store.outdated(LATER, limit=10)) == ([1], [1])
    assert not await store.outdated(AT, limit=10)
    await write(store, {"writer": "3"}, share=10)
    await copied(store)
    head = await store.head("acme")
    assert await store.write(Next(aborted(head)), expected=head, at=AT)
    assert await prompts(store) == {"writer": "2", "reader": "1"}
    assert revs(await store.outdated(LATER, limit=10)) == ([1, 3], [1, 3])


async def test_of_what_is_forgotten_the_newest_revisions_stay_for_people(store: DefinitionStore) -> None:
    for number in range(5):
        await write(store, {"writer": str(number), "other": "x"})
    await write(store, {"other": "x"}, prune=True)
    await copied(store)
    old = await store.outdated(LATER, limit=10)
    assert revs(old) == ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5])
    await store.forget(Batch([one for one in old.definitions if one.rev < 6], old.sets), keep=3)
    assert [one.rev for one in await store.revisions("acme", AGENT, "writer")] == [6, 5, 4]
    assert revs(await store.outdated(LATER, limit=10)) == ([6], [])
    await store.forget(await store.outdated(LATER, limit=10), keep=3)
    assert await store.revisions("acme", AGENT, "writer") == [], "of one that was deleted nothing stays"
    assert await prompts(store) == {"other": "x"}


async def test_a_write_beyond_the_share_changes_nothing(store: DefinitionStore) -> None:
    first = await write(store, {"writer": "x" * 1_000})
    size = len(first.definitions[0].model_dump_json())
    share = Share("definitions", ("COUNT", "BYTES"), count=2, bytes=2 * size)
    made = await made_of(store, {"writer": "y" * 1_500})
    head = await store.head("acme")
    with pytest.raises(ShareUsed, match=f"at most {2 * size}"):
        await store.write(made, expected=head, at=AT, allow=share.allow)
    with pytest.raises(ShareUsed, match="2 of 2 definitions"):
        await store.write(await made_of(store, {"a": "x", "b": "x"}), expected=head, at=AT, allow=share.allow)
    assert (await store.head("acme")).version == 1
    assert await prompts(store) == {"writer": "x" * 1_000}


@pytest.fixture(params=["memory", "nats"])
async def copies(
    request: pytest.FixtureRequest, nats: EmbeddedServer
) -> AsyncIterator[tuple[DefinitionCopies, Bus | None]]:
    """And what they are read over."""
    if request.param == "memory":
        yield InMemoryDefinitionCopies(), None
        return
    service = Service("trigger-gateway", nats.url)
    await service.start()
    await service.started.wait()
    yield NatsDefinitionCopies(service.bus), service.bus
    await service.stop(1)


async def test_copies_are_read_and_an_older_version_of_the_current_set_changes_nothing(
    copies: tuple[DefinitionCopies, Bus | None],
) -> None:
    (made, bus), store = copies, InMemoryDefinitionStore()
    first, second = await write(store, {"writer": "1"}), await write(store, {"writer": "2"})
    assert await made.current_sequence("acme", 1) is None
    await made.put(await store.uncopied("acme"))
    await made.put_current(second.head.shown)
    sequence = await made.current_sequence("acme", 2)
    assert sequence is not None
    await made.put_current(first.head.shown)
    assert await made.current_sequence("acme", 2) == sequence
    assert await made.current_sequence("acme", 3) is None

    async def seen() -> tuple[int, DefinitionSet | None, str | None]:
        if isinstance(made, InMemoryDefinitionCopies):
            one = made.definitions.get(("acme", "Agent/writer", 1))
            return made.current["acme"].rev, made.sets.get(("acme", 1)), one and one.spec["prompt"]
        assert bus is not None
        fresh = TeamDefinitions(bus)
        found = await fresh.one("acme", AGENT, "writer", 1)
        return (await fresh.current("acme")).rev, await fresh.at("acme", 1), found and found.spec["prompt"]

    assert await seen() == (2, first.new_set, "1")
    await copied(store)
    await made.remove(await store.outdated(LATER, limit=10))
    assert await seen() == (2, None, None)
    await made.remove_team("acme")
    assert await made.current_sequence("acme", 1) is None

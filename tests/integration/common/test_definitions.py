"""Definitions of teams on a real server: sets with their numbers, the current one from memory, each team its own."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from pydantic import BaseModel

from rota_common import topology
from rota_common.bus.connection import Bus
from rota_common.bus.definitions import TeamDefinitions
from rota_common.errors import Transient
from rota_common.runtime.embedded_servers import nats_server
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import NOON
from rota_contracts.definitions.definition import (
    Definition,
    DefinitionKind,
    DefinitionSet,
    definition_key,
    entry,
    set_key,
)
from rota_contracts.streams import DEFINITIONS_BUCKET

pytestmark = pytest.mark.integration
AGENT = DefinitionKind.AGENT


def a_definition(rev: int, *, team: str = "acme") -> Definition:
    spec = {"prompt": f"Revision {rev} of {team}."}
    return Definition(team_id=team, kind=AGENT, id="experts.writer", rev=rev, spec=spec, written_at=NOON)


def a_set(rev: int, *, team: str = "acme") -> DefinitionSet:
    return DefinitionSet(team_id=team, rev=rev, entries={entry(AGENT, "experts.writer"): rev})


async def put(bus: Bus, key: str, value: BaseModel) -> int:
    """The bucket's sequence number of it."""
    bucket = await bus.jetstream.key_value(DEFINITIONS_BUCKET)
    return await bucket.put(key, value.model_dump_json().encode())


async def write(bus: Bus, rev: int, *, team: str = "acme") -> int:
    """As the gateway does."""
    await put(bus, definition_key(team, AGENT, "experts.writer", rev), a_definition(rev, team=team))
    await put(bus, set_key(team, rev), a_set(rev, team=team))
    return await put(bus, set_key(team), a_set(rev, team=team))


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await condition():
            await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def followed(definitions: TeamDefinitions) -> AsyncIterator[None]:
    async def follow() -> None:
        while await definitions.keep_current():
            pass

    async def known() -> bool:
        return definitions.sequence > 0

    following = asyncio.create_task(follow())
    try:
        await until(known)
        yield
    finally:
        following.cancel()
        await asyncio.wait([following])


async def test_a_set_and_a_revision_are_found_by_their_number_and_team(bus: Bus) -> None:
    definitions = TeamDefinitions(bus)
    assert await definitions.current("acme") == DefinitionSet(team_id="acme", rev=0)
    await write(bus, 1)
    await write(bus, 2)
    await write(bus, 1, team="other")
    assert await definitions.current("acme") == a_set(2)
    assert await definitions.at("acme", 0) == DefinitionSet(team_id="acme", rev=0)
    assert [await definitions.at("acme", rev) for rev in (1, 2, 3)] == [a_set(1), a_set(2), None]
    found = [await definitions.one("acme", AGENT, "experts.writer", rev) for rev in (1, 2, 3)]
    assert found == [a_definition(1), a_definition(2), None]
    assert await definitions.one("other", AGENT, "experts.writer", 1) == a_definition(1, team="other")
    assert await definitions.one("other", AGENT, "experts.writer", 2) is None


async def test_a_new_set_comes_by_itself_and_it_is_known_how_far(bus: Bus) -> None:  # EX-79
    definitions = TeamDefinitions(bus)
    before = await write(bus, 1)
    assert definitions.sequence == 0
    async with followed(definitions):
        assert definitions.sequence == before
        assert await definitions.current("acme") == a_set(1)
        assert await definitions.current("new") == DefinitionSet(team_id="new", rev=0)
        written = [await write(bus, 2), await write(bus, 1, team="new")]

        async def seen() -> bool:
            return definitions.sequence == written[-1]

        await until(seen)
        assert await definitions.current("acme") == a_set(2)
        assert await definitions.current("new") == a_set(1, team="new")
    assert definitions.sequence == 0


async def test_without_a_connection_it_says_so_and_afterwards_reads_anew(tmp_path: Path) -> None:
    server = nats_server(tmp_path)
    await server.start()
    await topology.apply_to(server.url)
    bus = Bus(server.url, name="test")
    try:
        await bus.connect()
        definitions = TeamDefinitions(bus)
        await write(bus, 1)
        async with followed(definitions):
            assert await definitions.current("acme") == a_set(1)
            await server.kill()

            async def connected() -> bool:
                return bus.connected

            async def gone() -> bool:
                return not bus.connected

            await until(gone)
            with pytest.raises(Transient):
                await definitions.current("acme")
            await server.start()
            await until(connected)
            await write(bus, 2)
            assert (await definitions.current("acme")).rev == 2
    finally:
        await bus.stop()
        await server.stop()

"""The gateway's members who are people, in memory and in MongoDB: the same tests for both."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from rota_common.stores.mongo import Mongo
from rota_contracts.members import MemberDefinition
from trigger_gateway.adapters.in_memory_members import InMemoryMembers
from trigger_gateway.adapters.mongo_members import MongoMembers
from trigger_gateway.members.member import Member
from trigger_gateway.members.ports import Members
from trigger_gateway.problems import ShareUsed
from trigger_gateway.teams.shares import Share

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
THREE = Share("members", ("ROTA_MEMBERS_PER_TEAM",), count=3).allow


@pytest.fixture(params=["memory", "mongo"])
async def members(request: pytest.FixtureRequest) -> AsyncIterator[Members]:
    if request.param == "memory":
        yield InMemoryMembers()
        return
    prefix = request.getfixturevalue("mongo_prefix")
    mongo = Mongo(request.getfixturevalue("mongo_url"), f"{prefix}_gateway")
    made = MongoMembers(mongo.database)
    await made.prepare()
    yield made
    await mongo.close()


def member(name: str, team: str = "acme", **fields: Any) -> Member:
    given = {"member_id": name, "email": f"{name}@acme.example", "contacts": {"slack": "U1"}} | fields
    return Member(team, MemberDefinition.model_validate(given), AT)


async def test_a_member_is_read_as_it_was_added(members: Members) -> None:  # TG-54
    ann = member("ann", role="admin", display_name="Ann")
    assert await members.add(ann) is True
    assert await members.add(member("ann")) is False
    assert await members.find("acme", "ann") == ann
    assert await members.find("other", "ann") is None


async def test_members_are_paged_by_id(members: Members) -> None:
    for name in ("cid", "ann", "bob"):
        await members.add(member(name))
    await members.add(member("abe", "other"))
    first = await members.page("acme", after="", limit=2)
    assert [each.definition.member_id for each in first] == ["ann", "bob"]
    assert [each.definition.member_id for each in await members.page("acme", after="bob", limit=2)] == ["cid"]


async def test_a_change_needs_what_was_read(members: Members) -> None:
    ann = member("ann")
    await members.add(ann)
    changed = replace(ann, definition=ann.definition.model_copy(update={"display_name": "Ann"}), rev=2)
    assert await members.replace(changed, expected=ann) is True
    assert await members.replace(changed, expected=ann) is False
    assert await members.remove(ann) is False
    assert await members.find("acme", "ann") == changed
    assert await members.remove(changed) is True
    assert await members.find("acme", "ann") is None
    assert await members.replace(changed, expected=changed) is False


async def test_a_team_never_has_more_than_its_share(members: Members) -> None:
    tries = [members.add(member(f"m{number}"), allow=THREE) for number in range(6)]
    results = await asyncio.gather(*tries, return_exceptions=True)
    assert sorted(str(type(each).__name__) for each in results) == ["ShareUsed"] * 3 + ["bool"] * 3
    assert len(await members.page("acme", after="", limit=10)) == 3
    with pytest.raises(ShareUsed, match="ROTA_MEMBERS_PER_TEAM"):
        await members.add(member("one-more"), allow=THREE)
    assert await members.add(member("ann", "other"), allow=THREE) is True

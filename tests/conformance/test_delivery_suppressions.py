"""The suppression list in memory and in MongoDB, and the use case over it."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from delivery_center.adapters.in_memory import InMemorySuppressions
from delivery_center.adapters.mongo_suppressions import MongoSuppressions
from delivery_center.manage_suppressions import ManageSuppressions
from delivery_center.ports import Suppressions
from rota_common.errors import Transient
from rota_common.stores.mongo import Mongo
from rota_contracts.messages.targets import ListSuppressions, Suppress, Suppression, Unsuppress

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture(params=["memory", "mongo"])
async def suppressions(
    request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str
) -> AsyncIterator[Suppressions]:
    if request.param == "memory":
        yield InMemorySuppressions()
        return
    connection = Mongo(mongo_url, f"{mongo_prefix}_delivery")
    store = MongoSuppressions(connection.database)
    await store.prepare()
    yield store
    await connection.client.drop_database(connection.database.name)
    await connection.close()


@pytest.fixture
def manage(suppressions: Suppressions) -> ManageSuppressions:
    return ManageSuppressions(suppressions=suppressions, clock=lambda: NOON)


def of(address: str, *, team: str = "acme", by: str = "ada", reason: str = "") -> Suppression:
    return Suppression(team_id=team, address=address, reason=reason, by=by, created_at=NOON)


async def test_the_first_reason_stays(suppressions: Suppressions) -> None:
    first = of("a@b.example", reason="asked for it")
    added = await asyncio.gather(*(suppressions.add(each) for each in [first] * 5))
    assert added == [first] * 5
    assert await suppressions.add(of("a@b.example", by="mail server")) == first
    assert await suppressions.page("acme", "", 10) == [first]


async def test_the_suppressed_ones_of_several_addresses_are_found(suppressions: Suppressions) -> None:
    for each in (of("a@b.example"), of("ö@b.example"), of("c@b.example", team="other")):
        await suppressions.add(each)
    asked = ["a@b.example", "c@b.example", "d@b.example", "ö@b.example"]
    assert await suppressions.among("acme", asked) == {"a@b.example", "ö@b.example"}
    assert await suppressions.among("acme", []) == set()


async def test_suppressions_are_paged_by_address_and_belong_to_a_team(suppressions: Suppressions) -> None:
    addresses = [f"{name}@b.example" for name in ("a", "a.b", "b", "z", "ä", "𝄞")]
    for address in reversed(addresses):
        await suppressions.add(of(address))
    await suppressions.add(of("a@b.example", team="other"))
    assert [each.address for each in await suppressions.page("acme", "", 4)] == sorted(addresses)[:4]
    assert [each.address for each in await suppressions.page("acme", sorted(addresses)[3], 4)] == sorted(addresses)[4:]


async def test_one_is_removed_and_the_others_stay(suppressions: Suppressions) -> None:
    for each in (of("a@b.example"), of("c@b.example"), of("a@b.example", team="other")):
        await suppressions.add(each)
    for _ in range(2):
        await suppressions.remove("acme", "a@b.example")
    assert await suppressions.page("acme", "", 10) == [of("c@b.example")]
    assert await suppressions.page("other", "", 10) == [of("a@b.example", team="other")]


async def test_addresses_are_compared_in_lower_case(manage: ManageSuppressions) -> None:  # F23
    wanted = Suppress(team_id="acme", address=" Ann@B.Example ", reason="asked", by="ada")
    (kept,) = (await manage.add(wanted)).suppressions
    assert kept == of("ann@b.example", reason="asked")
    assert (await manage.remove(Unsuppress(team_id="acme", address="ANN@b.example"))).refused == ""
    assert (await manage.list(ListSuppressions(team_id="acme"))).suppressions == []


@pytest.mark.parametrize("address", ["ann", "Ann <ann@b.example>", "a@b.example, c@d.example", "@b.example"])
async def test_an_invalid_address_is_refused(manage: ManageSuppressions, address: str) -> None:
    answer = await manage.add(Suppress(team_id="acme", address=address))
    assert (answer.suppressions, "expected one address like" in answer.refused) == ([], True)


async def test_a_page_is_no_longer_than_a_message(manage: ManageSuppressions, suppressions: Suppressions) -> None:
    for number in range(1000):
        await suppressions.add(of(f"{number:04}@b.example", reason="ü" * 500))
    seen: list[str] = []
    after, pages = "", 0
    while pages == 0 or after:
        answer = await manage.list(ListSuppressions(team_id="acme", after=after, limit=1000))
        assert len(answer.model_dump_json().encode()) < 1_000_000
        seen += [each.address for each in answer.suppressions]
        after, pages = answer.next, pages + 1
    assert (seen, pages) == ([f"{number:04}@b.example" for number in range(1000)], 3)


async def test_an_unavailable_store_raises_transient() -> None:
    connection = Mongo("mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=50", "nowhere")
    with pytest.raises(Transient, match="can't read the suppression list"):
        await MongoSuppressions(connection.database).among("acme", ["a@b.example"])
    await connection.close()

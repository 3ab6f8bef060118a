"""The gateway's store of teams' secrets, in memory and in MongoDB: the same tests for both."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from rota_common.stores.mongo import Mongo
from trigger_gateway.adapters.in_memory_secrets import InMemorySecrets
from trigger_gateway.adapters.mongo_secrets import MongoSecrets
from trigger_gateway.secrets.ports import Secrets, TeamSecret
from trigger_gateway.secrets.sealed_secret import EncryptedSecret

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@pytest.fixture(params=["memory", "mongo"])
async def secrets(request: pytest.FixtureRequest) -> AsyncIterator[Secrets]:
    if request.param == "memory":
        yield InMemorySecrets()
        return
    prefix = request.getfixturevalue("mongo_prefix")
    mongo = Mongo(request.getfixturevalue("mongo_url"), f"{prefix}_gateway")
    made = MongoSecrets(mongo.database)
    await made.prepare()
    yield made
    await mongo.close()


def secret(name: str, team: str = "acme", *, sealed: str = "v2.k.x", by: str = "anna") -> TeamSecret:
    return TeamSecret(team, name, EncryptedSecret(sealed=sealed), AT, by)


async def test_a_secret_is_found_replaced_and_removed_by_team_and_name(secrets: Secrets) -> None:
    for each in (secret("B"), secret("A"), secret("A", "beta")):
        assert await secrets.put(each, limit=10) is True
    assert await secrets.of_team("acme") == [secret("A"), secret("B")]
    assert await secrets.put(secret("A", sealed="v2.k.new"), limit=10) is True
    assert await secrets.find("acme", ["A", "NOTHING"]) == [secret("A", sealed="v2.k.new")]
    assert await secrets.remove("acme", "A") is True
    assert await secrets.remove("acme", "A") is False
    assert await secrets.find("beta", ["A", "B"]) == [secret("A", "beta")]


async def test_a_team_has_no_more_secrets_than_its_limit(secrets: Secrets) -> None:
    assert [await secrets.put(secret(name), limit=2) for name in ("A", "B", "C")] == [True, True, False]
    assert await secrets.put(secret("B", by="bo"), limit=2) is True
    assert await secrets.put(secret("C", "beta"), limit=2) is True
    assert await secrets.of_team("acme") == [secret("A"), secret("B", by="bo")]


async def test_all_secrets_are_walked_in_pages_and_sealed_anew_unless_changed(secrets: Secrets) -> None:
    everything = [secret("A"), secret("B"), secret("A", "beta")]
    for each in everything:
        await secrets.put(each, limit=10)
    first = await secrets.page(("", ""), limit=2)
    rest = await secrets.page((first[-1].team, first[-1].name), limit=2)
    assert [*first, *rest] == everything
    await secrets.put(secret("B", sealed="v2.k.changed"), limit=10)
    for each in everything:
        await secrets.reseal(each, EncryptedSecret(sealed="v2.new.x"))
    assert [each.secret.sealed for each in await secrets.of_team("acme")] == ["v2.new.x", "v2.k.changed"]

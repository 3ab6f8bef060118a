"""The gateway's store of sources, in memory and in MongoDB: the same tests for both."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from rota_common.stores.mongo import Mongo
from rota_contracts.sources import SourceKind
from trigger_gateway.adapters import in_memory_stores
from trigger_gateway.adapters.mongo_sources import MongoSources
from trigger_gateway.secrets.sealed_secret import EncryptedSecret
from trigger_gateway.sources.ports import Sources
from trigger_gateway.sources.source import DatabaseSettings, Source, WebhookSettings

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@pytest.fixture(params=["memory", "mongo"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Mongo | None]:
    """The real database, or None for the fakes."""
    if request.param == "memory":
        yield None
        return
    prefix = request.getfixturevalue("mongo_prefix")
    mongo = Mongo(request.getfixturevalue("mongo_url"), f"{prefix}_gateway")
    yield mongo
    await mongo.close()


@pytest.fixture
async def sources(store: Mongo | None) -> Sources:
    if store is None:
        return in_memory_stores.InMemorySources()
    made = MongoSources(store.database)
    await made.prepare()
    return made


def webhook(name: str, team: str = "acme", **settings: Any) -> Source:
    return Source(team, name, AT, webhook=WebhookSettings.model_validate({"secrets": ["$ENV.A"]} | settings))


def database(name: str, team: str = "acme") -> Source:
    where = {"path": "document.$set", "op": "in", "value": [2**70, {"$where": {"a.b": None}}]}
    settings = {"url": "$ENV.CRM_URL", "database": "crm", "collection": "leads", "conditions": [where]}
    return Source(team, name, AT, database=DatabaseSettings.model_validate(settings))


async def test_a_source_is_found_by_team_and_name(sources: Sources) -> None:
    leads, crm = webhook("leads"), webhook("crm", event_type_field="event")
    assert await sources.add(leads) is True
    assert await sources.add(webhook("leads", secrets=["$ENV.OTHER"])) is False
    await sources.add(crm)
    await sources.add(webhook("leads", "other"))
    assert await sources.find("acme", "leads") == leads
    assert await sources.find("acme", "nothing") is None
    assert await sources.of_team("acme") == [crm, leads]
    assert await sources.remove("acme", "leads") is True
    assert await sources.remove("acme", "leads") is False
    assert await sources.find("other", "leads") is not None


async def test_a_source_is_read_as_it_was_added(sources: Sources) -> None:
    sealed = EncryptedSecret(sealed="gAAAA")
    full = webhook("full", scheme="bearer", secrets=["$ENV.A", sealed], signing_secret=sealed, robot="assistant")
    for source in (full, database("crm")):
        await sources.add(source)
        assert await sources.find("acme", source.name) == source


async def test_every_teams_databases_are_listed(sources: Sources) -> None:  # TG-12
    mine, others, second = database("crm"), database("a", "other"), database("billing")
    for source in (others, mine, webhook("leads"), second):
        await sources.add(source)
    assert await sources.databases() == [second, mine, others]
    assert [each.kind for each in await sources.of_team("acme")] == [
        SourceKind.DATABASE,
        SourceKind.DATABASE,
        SourceKind.WEBHOOK,
    ]


async def test_all_sources_are_walked_in_pages(sources: Sources) -> None:
    everything = [database("crm"), webhook("leads"), webhook("a", "beta")]
    for source in reversed(everything):
        await sources.add(source)
    first = await sources.page(("", ""), limit=2)
    assert [*first, *await sources.page((first[-1].team, first[-1].name), limit=2)] == everything


async def test_a_source_is_replaced_only_as_it_was_expected(sources: Sources) -> None:
    first = webhook("leads")
    second = replace(webhook("leads", secrets=["$ENV.B"]), rev=2)
    assert await sources.replace(second, expected=first) is False
    await sources.add(first)
    assert await sources.replace(second, expected=first) is True
    assert await sources.replace(second, expected=first) is False
    assert await sources.find("acme", "leads") == second
    third = replace(second, rev=3)
    assert await sources.replace(third, expected=second) is True


async def test_a_source_of_the_time_before_schemes_is_a_standard_webhook(mongo_url: str, mongo_prefix: str) -> None:
    mongo = Mongo(mongo_url, f"{mongo_prefix}_gateway")
    old = {"_id": "acme/leads", "team": "acme", "name": "leads", "secret": "$ENV.A", "event_type_field": "kind"}
    await mongo.database["sources"].insert_one({**old, "created_at": AT})
    sources = MongoSources(mongo.database)
    found = await sources.find("acme", "leads")
    assert found == webhook("leads", event_type_field="kind")
    changed = replace(found, rev=2)
    assert await sources.replace(changed, expected=found) is True
    assert await sources.find("acme", "leads") == changed
    await mongo.close()

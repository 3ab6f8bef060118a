"""An upgrade from the last release to this tree and a rollback, under load: nothing is lost, doubled or unreadable."""

import asyncio
import os
from collections.abc import AsyncIterator, Coroutine
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import pytest_asyncio

from rota.demo.external_systems import webhook_receiver
from rota.signing import new_secret
from rota_common.nats_admin.compare_topology import differences
from rota_common.runtime.embedded_servers import isolated_nats_server, mongod
from rota_common.testing.team_secrets import secrets_folder
from rota_contracts.catalog import SERVICES
from rota_contracts.version import VERSION
from tests.chaos.qdrant_server import qdrant_server
from tests.figures import Figures
from tests.upgrade.fleet import READERS_FIRST, Fleet
from tests.upgrade.load import CLERK, EVERY_S, SOURCE, TEAM, WATCH, Load, robots
from tests.upgrade.releases import Release, releases
from tests.upgrade.stored import StoredDocuments

pytestmark = [pytest.mark.soak, pytest.mark.integration]

BESIDE_S = 10.0
"""How long replicas of both versions of every service run side by side."""

START_S = 180.0
"""The stand-in for Qdrant imports for seconds, and longer on a busy machine."""

IN_A_WEEK = timedelta(days=7)

IN_SECRET, OUT_SECRET = new_secret(), new_secret()


@pytest.fixture(scope="module")
def last() -> Release:
    release = releases()[-1]
    if not release.reachable:
        pytest.skip(f"this clone has no history: commit {release.commit} of {release.version} isn't there")
    return release


@pytest_asyncio.fixture
async def fleet(last: Release, tmp_path: Path) -> AsyncIterator[Fleet]:
    """On servers of its own, whose configuration is this tree's, as the upgrade's first step makes it."""
    old = await asyncio.to_thread(last.install, tmp_path)
    servers = isolated_nats_server(tmp_path / "nats"), mongod(tmp_path / "mongo"), qdrant_server(tmp_path / "qdrant")
    settings = {
        "ROTA_CONNECTOR": "rehearsal",
        "ROTA_POOL": "100",
        "ROTA_RATE_PER_ADDRESS": "0",
        "ROTA_ALLOW_PRIVATE_TARGETS": "127.0.0.0/8",
        "ROTA_QDRANT_URL": servers[2].url,
        **secrets_folder(tmp_path, TEAM, IN_SECRET=IN_SECRET, OUT_SECRET=OUT_SECRET),
    }
    made = Fleet(tmp_path, server=servers[0], mongo_url=servers[1].url, old=old, settings=settings)
    try:
        await asyncio.gather(*(server.start(timeout=START_S) for server in servers))
        yield made
    finally:
        await made.close()
        await asyncio.gather(*(server.stop() for server in servers))


async def test_an_upgrade_and_a_rollback_under_load_lose_nothing(fleet: Fleet, last: Release) -> None:  # F7
    began = monotonic()
    await fleet.apply_topology("old")
    await fleet.start(SERVICES, "old")
    async with webhook_receiver(OUT_SECRET) as hooks, asyncio.TaskGroup() as group:
        await define(fleet, hooks.url)
        load = Load(fleet, IN_SECRET, hooks)
        sending = group.create_task(load.run())
        await load.first_completed()
        older = await write_as_before(fleet)
        took = [await timed(upgrade(fleet)), await timed(migrate(fleet)), await timed(roll_back(fleet))]
        load.end()
        await sending
        missing = await load.all_delivered()
        clocked = len(await load.executions(WATCH))
        due = (monotonic() - load.began) / EVERY_S
        dead, errors = await load.dead_letters(), await fleet.all_errors()
        planned = await fleet.plans(TEAM)
    doubled = {run: ids for run, ids in load.delivered.items() if len(ids) > 1}
    seconds = dict(zip(("upgrade, s", "migration, s", "rollback, s"), took, strict=True))
    counts = {"runs of the clock": clocked, "lost": len(missing), "doubled": len(doubled), "unreadable": len(errors)}
    whole = {"all, s": monotonic() - began, "documents migrated": sum(older.values())}
    note(load, {"from": last.version, "to": VERSION, **seconds, **whole, **counts})
    assert not load.failed
    assert not missing
    assert not doubled
    assert not [hook for hook in hooks.received if not hook.verified]
    assert len(set(load.accepted.values())) == len(load.accepted)
    assert clocked == pytest.approx(due, abs=3), "each due instant is one run"
    assert all(older.values()), "of each older form there were some"
    assert len(planned) == 1
    assert not dead
    assert not errors


def note(load: Load, found: dict[str, object]) -> None:
    figures, sent_again = Figures("upgrade-test"), sum(load.sent_again.values())
    counts = {"webhooks accepted": len(load.accepted), "calls of an agent": load.called, "sent again": sent_again}
    results = {"results received": len(load.hooks.received), "failed": len(load.failed)}
    for name, value in {**found, **counts, **results}.items():
        figures.note(name, value)
    figures.keep()
    print("", *figures.lines(), sep="\n")


async def timed(work: Coroutine[Any, Any, None]) -> float:
    """The seconds that it takes."""
    began = monotonic()
    await work
    return monotonic() - began


async def define(fleet: Fleet, hook_url: str) -> None:
    source = {"name": SOURCE, "secret": "$ENV.IN_SECRET"}
    made = [(f"/v1/teams/{TEAM}/robots", each) for each in robots(hook_url)]
    await fleet.create(("/v1/teams", {"team_id": TEAM}), (f"/v1/teams/{TEAM}/sources", source), *made)
    await fleet.plan(TEAM, CLERK, IN_A_WEEK)


async def write_as_before(fleet: Fleet) -> dict[tuple[str, str, str], int]:
    """Documents as a version before the last release wrote them, by their older form."""
    with StoredDocuments(fleet.mongo_url) as stored:
        if os.environ.get("ROTA_KEEP_DOCUMENTS"):
            await stored.keep()
        return await stored.write_as_before()


async def migrate(fleet: Fleet) -> None:
    await fleet.migrate_documents()
    with StoredDocuments(fleet.mongo_url) as stored:
        assert not any((await stored.in_older_forms()).values())


async def upgrade(fleet: Fleet) -> None:
    """As docs/operations.md says: the topology of the new version, then one service after the other."""
    await fleet.apply_topology("new")
    for service in READERS_FIRST:
        await fleet.start([service], "new")
        await fleet.stop(service, "old")


async def roll_back(fleet: Fleet) -> None:
    """Side by side at first, then one service after the other. The old version's topology job runs again, as a
    deployment of its manifests would have it."""
    for service in reversed(READERS_FIRST):
        await fleet.start([service], "old")
    await asyncio.sleep(BESIDE_S)
    before = await fleet.topology()
    await fleet.apply_topology("old")
    after = await fleet.topology()
    assert after.keys() == before.keys(), "the older topology removes nothing"
    print("\nthe topology of the last release changed:", [name for name in after if after[name] != before[name]] or "-")
    await fleet.apply_topology("new")
    assert await fleet.topology() == before, "and the newer one restores what it declares"
    assert not differences({name: config for name, config in before.items() if "/" not in name})
    await fleet.apply_topology("old")
    for service in reversed(READERS_FIRST):
        await fleet.stop(service, "new")

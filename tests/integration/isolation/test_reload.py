"""New teams and subscribers come, go and read again while everybody else stays connected (F22)."""

from datetime import timedelta
from pathlib import Path

import nats
import pytest
from nats.aio.msg import Msg

from rota_common import topology
from rota_common.clock import now
from rota_common.nats_admin.config import Server, write
from rota_common.nats_admin.feed_client_admin import FeedClient, FeedClientError
from rota_common.runtime.embedded_servers import nats_server
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import FEED
from rota_contracts.feed import API_PREFIX
from tests.integration.isolation.kit import IsolatedNats, Known, isolated_nats

pytestmark = pytest.mark.integration


async def bodies(reader: Known, durable: str) -> list[bytes]:
    """What is there to read, all of it acknowledged."""
    jetstream = reader.client.jetstream(prefix=API_PREFIX)
    waiting = (await jetstream.consumer_info(FEED, durable)).num_pending or 0
    if not waiting:
        return []
    source = await jetstream.pull_subscribe_bind(durable=durable, stream=FEED)
    messages: list[Msg] = await source.fetch(waiting, timeout=PATIENCE_S)
    for message in messages:
        await message.ack_sync()
    return [message.data for message in messages]


async def test_a_new_team_takes_a_reload_and_nobody_loses_the_connection(bus: IsolatedNats) -> None:
    executor, reader = await bus.service("executor"), await bus.member("acme", "crm")
    operator, pid = await bus.user("operator"), bus.server.pid
    await bus.subscribe("newcomer", "crm")
    await bus.deliver("newcomer", "acme")
    member = await bus.member("newcomer", "crm")
    assert await bodies(member, "newcomer=crm") == [b"newcomer"]
    assert await bodies(reader, "acme=crm") == [b"acme"]
    await executor.jetstream.publish("rota.v1.execution.finished.acme.robot", b"")
    assert bus.server.pid == pid
    for client in (executor.client, reader.client, operator.client):
        assert (client.is_connected, client.stats["reconnects"]) == (True, 0)
    assert reader.told == []


async def test_what_a_new_catalog_allows_reaches_a_service_that_is_connected(bus: IsolatedNats) -> None:
    executor, file = await bus.user("executor"), bus.folder.path / "accounts.conf"
    await executor.published("rota.v1.something.new.acme.robot")
    assert len(executor.refused) == 1
    file.write_text(file.read_text().replace('"rota.v1.activity.observed.*.*"', '"rota.v1.something.new.*.*"'))
    await bus.subscribers.reload()
    await executor.published("rota.v1.something.new.acme.robot")
    assert len(executor.refused) == 1
    await executor.published("rota.v1.activity.observed.acme.robot")
    assert len(executor.refused) == 2
    assert (executor.client.is_connected, executor.client.stats["reconnects"]) == (True, 0)


async def test_two_subscribers_of_one_name_are_not_made(bus: IsolatedNats) -> None:
    with pytest.raises(FeedClientError, match="has a subscriber crm already"):
        await bus.subscribers.add("acme", "crm")


@pytest.mark.parametrize(("team", "name"), [("a.b", "crm"), ("acme", "*"), ("", "crm"), ("acme", "a b")])
async def test_a_name_that_would_mean_more_than_itself_is_refused(bus: IsolatedNats, team: str, name: str) -> None:
    before = bus.folder.accounts()
    with pytest.raises(ValueError, match="expected a name of letters"):
        await bus.subscribers.add(team, name)
    assert bus.folder.accounts() == before


async def test_a_new_subscriber_reads_what_was_delivered_since(bus: IsolatedNats) -> None:
    await bus.deliver("acme", "acme")
    key = await bus.subscribers.add("acme", "late", since=now() - timedelta(hours=1))
    bus.key("acme", "late").write_text(key)
    assert await bodies(await bus.member("acme", "late"), "acme=late") == [b"acme", b"acme"]


async def test_a_rewound_subscriber_reads_it_all_again_with_the_same_key(bus: IsolatedNats) -> None:
    start, reader = now(), await bus.member("acme", "crm")
    await bus.deliver("acme", "acme")
    assert len(await bodies(reader, "acme=crm")) == 2
    assert await bodies(reader, "acme=crm") == []
    await bus.subscribers.rewind("acme", "crm", since=start)
    assert len(await bodies(reader, "acme=crm")) == 2


async def test_the_list_says_how_far_each_is(bus: IsolatedNats) -> None:
    await bus.deliver("acme")
    assert await bus.subscribers.listed("acme") == [
        FeedClient("acme", "archive", waiting=1, unacknowledged=0),
        FeedClient("acme", "crm", waiting=1, unacknowledged=0),
    ]
    assert [one.team for one in await bus.subscribers.listed()] == ["acme", "acme", "rival"]


async def test_a_removed_subscriber_is_cut_off_and_the_others_read_on(bus: IsolatedNats) -> None:
    gone, stays = await bus.member("rival", "crm"), await bus.member("acme", "crm")
    await bus.subscribers.remove("rival", "crm")
    await bus.deliver("acme")
    assert await bodies(stays, "acme=crm") == [b"acme"]
    assert stays.client.stats["reconnects"] == 0
    assert not gone.client.is_connected
    with pytest.raises(FeedClientError, match="has no subscriber crm"):
        await bus.subscribers.rewind("rival", "crm", since=now())


async def test_a_configuration_that_the_server_refuses_is_said_so_and_the_old_one_goes_on(bus: IsolatedNats) -> None:
    (bus.folder.path / "accounts.conf").write_text("accounts: {")
    with pytest.raises(FeedClientError, match="refuses its configuration"):
        await bus.subscribers.reload()
    await bus.deliver("acme")
    assert await bodies(await bus.member("acme", "crm"), "acme=crm") == [b"acme"]


async def test_written_again_every_key_is_the_same(bus: IsolatedNats) -> None:
    before = {path: path.read_text() for path in bus.folder.path.rglob("*.nk")}
    accounts = (bus.folder.path / "accounts.conf").read_text()
    write(bus.folder, Server(port=1234))
    assert {path: path.read_text() for path in bus.folder.path.rglob("*.nk")} == before
    assert (bus.folder.path / "accounts.conf").read_text() == accounts


async def test_a_folder_from_before_there_were_keys_keeps_its_streams(tmp_path: Path) -> None:
    before = nats_server(tmp_path)
    await before.start()
    await topology.apply_to(before.url)
    client = await nats.connect(before.url)
    await client.jetstream().publish("rota.v1.delivery.completed.acme.robot", b"kept")
    await client.close()
    await before.stop()
    async with isolated_nats(tmp_path, subscribers=()) as after:
        assert (await after.stored())[FEED] == 1

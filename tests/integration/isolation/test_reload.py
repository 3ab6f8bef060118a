"""Teams and feed clients are added, removed and rewound while all other clients stay connected (F22)."""

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
from tests.integration.isolation.harness import Connection, IsolatedNats, isolated_nats

pytestmark = pytest.mark.integration


async def bodies(reader: Connection, durable: str) -> list[bytes]:
    """The waiting messages, all acknowledged."""
    jetstream = reader.client.jetstream(prefix=API_PREFIX)
    waiting = (await jetstream.consumer_info(FEED, durable)).num_pending or 0
    if not waiting:
        return []
    source = await jetstream.pull_subscribe_bind(durable=durable, stream=FEED)
    messages: list[Msg] = await source.fetch(waiting, timeout=PATIENCE_S)
    for message in messages:
        await message.ack_sync()
    return [message.data for message in messages]


async def test_a_new_team_needs_a_reload_and_all_connections_stay_open(own_bus: IsolatedNats) -> None:
    executor, reader = await own_bus.service("executor"), await own_bus.member("acme", "crm")
    operator, pid = await own_bus.user("operator"), own_bus.server.pid
    await own_bus.add("newcomer", "crm")
    await own_bus.deliver("newcomer", "acme")
    member = await own_bus.member("newcomer", "crm")
    assert await bodies(member, "newcomer=crm") == [b"newcomer"]
    assert await bodies(reader, "acme=crm") == [b"acme"]
    await executor.jetstream.publish("rota.v1.execution.finished.acme.robot", b"")
    assert own_bus.server.pid == pid
    for client in (executor.client, reader.client, operator.client):
        assert (client.is_connected, client.stats["reconnects"]) == (True, 0)
    assert reader.errors == []


async def test_new_permissions_reach_a_connected_service(own_bus: IsolatedNats) -> None:
    executor, file = await own_bus.user("executor"), own_bus.folder.path / "accounts.conf"
    await executor.published("rota.v1.something.new.acme.robot")
    assert len(executor.refused) == 1
    file.write_text(file.read_text().replace('"rota.v1.activity.observed.*.*"', '"rota.v1.something.new.*.*"'))
    await own_bus.feed_clients.reload()
    await executor.published("rota.v1.something.new.acme.robot")
    assert len(executor.refused) == 1
    await executor.published("rota.v1.activity.observed.acme.robot")
    assert len(executor.refused) == 2
    assert (executor.client.is_connected, executor.client.stats["reconnects"]) == (True, 0)


async def test_a_name_is_taken_once(own_bus: IsolatedNats) -> None:
    with pytest.raises(FeedClientError, match="has a feed client crm already"):
        await own_bus.feed_clients.add("acme", "crm")


async def test_a_name_that_is_no_token_of_a_subject_is_refused(own_bus: IsolatedNats) -> None:
    before = own_bus.folder.accounts()
    for team, name in (("a.b", "crm"), ("acme", "*"), ("", "crm"), ("acme", "a b")):
        with pytest.raises(ValueError, match="expected a name of letters"):
            await own_bus.feed_clients.add(team, name)
    assert own_bus.folder.accounts() == before


async def test_a_new_feed_client_reads_the_deliveries_since_an_instant(own_bus: IsolatedNats) -> None:
    await own_bus.deliver("acme", "acme")
    key = await own_bus.feed_clients.add("acme", "late", since=now() - timedelta(hours=1))
    own_bus.key("acme", "late").write_text(key)
    assert await bodies(await own_bus.member("acme", "late"), "acme=late") == [b"acme", b"acme"]


async def test_a_rewound_feed_client_reads_again_with_the_same_key(own_bus: IsolatedNats) -> None:
    start, reader = now(), await own_bus.member("acme", "crm")
    await own_bus.deliver("acme", "acme")
    assert len(await bodies(reader, "acme=crm")) == 2
    assert await bodies(reader, "acme=crm") == []
    await own_bus.feed_clients.rewind("acme", "crm", since=start)
    assert len(await bodies(reader, "acme=crm")) == 2


async def test_the_list_shows_the_unread_messages_of_each_client(own_bus: IsolatedNats) -> None:
    await own_bus.deliver("acme")
    assert await own_bus.feed_clients.listed("acme") == [
        FeedClient("acme", "archive", waiting=1, unacknowledged=0),
        FeedClient("acme", "crm", waiting=1, unacknowledged=0),
    ]
    assert [one.team for one in await own_bus.feed_clients.listed()] == ["acme", "acme", "rival"]


async def test_a_removed_feed_client_is_disconnected_and_the_others_read_on(own_bus: IsolatedNats) -> None:
    gone, stays = await own_bus.member("rival", "crm"), await own_bus.member("acme", "crm")
    await own_bus.feed_clients.remove("rival", "crm")
    await own_bus.deliver("acme")
    assert await bodies(stays, "acme=crm") == [b"acme"]
    assert stays.client.stats["reconnects"] == 0
    assert not gone.client.is_connected
    with pytest.raises(FeedClientError, match="has no feed client crm"):
        await own_bus.feed_clients.rewind("rival", "crm", since=now())


async def test_a_configuration_that_the_server_rejects_is_reported_and_the_old_one_stays(own_bus: IsolatedNats) -> None:
    (own_bus.folder.path / "accounts.conf").write_text("accounts: {")
    with pytest.raises(FeedClientError, match="rejects its configuration"):
        await own_bus.feed_clients.reload()
    await own_bus.deliver("acme")
    assert await bodies(await own_bus.member("acme", "crm"), "acme=crm") == [b"acme"]


async def test_keys_stay_the_same_when_the_configuration_is_written_again(own_bus: IsolatedNats) -> None:
    before = {path: path.read_text() for path in own_bus.folder.path.rglob("*.nk")}
    accounts = (own_bus.folder.path / "accounts.conf").read_text()
    write(own_bus.folder, Server(port=1234))
    assert {path: path.read_text() for path in own_bus.folder.path.rglob("*.nk")} == before
    assert (own_bus.folder.path / "accounts.conf").read_text() == accounts


async def test_a_folder_from_before_there_were_keys_keeps_its_streams(tmp_path: Path) -> None:
    before = nats_server(tmp_path)
    await before.start()
    await topology.apply_to(before.url)
    client = await nats.connect(before.url)
    await client.jetstream().publish("rota.v1.delivery.completed.acme.robot", b"kept")
    await client.close()
    await before.stop()
    async with isolated_nats(tmp_path, feed_clients=()) as after:
        assert (await after.stored())[FEED] == 1

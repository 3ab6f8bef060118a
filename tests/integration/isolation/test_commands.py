"""The commands for feed clients, on a `rota up` whose NATS has keys (F22)."""

import asyncio
import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nats
import pytest

from rota_common.nats_admin import feed_clients
from rota_common.nats_admin.config import Folder
from rota_contracts.catalog import FEED, agent_subject
from rota_contracts.feed import API_PREFIX
from tests.integration.cli.harness import TIMEOUT_S, Rota, Up, start_up
from tests.integration.isolation.harness import IsolatedNats

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def rota(tmp_path_factory: pytest.TempPathFactory) -> Rota:
    return Rota(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def running(rota: Rota, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    up = start_up(rota, tmp_path_factory.mktemp("data"))
    yield up
    up.process.terminate()
    up.process.communicate(timeout=TIMEOUT_S)


async def waiting(url: str, key: Path, durable: str) -> int | None:
    client = await nats.connect(url, nkeys_seed=str(key))
    try:
        return (await client.jetstream(prefix=API_PREFIX).consumer_info(FEED, durable)).num_pending
    finally:
        await client.close()


def test_a_feed_client_is_added_reads_is_rewound_and_removed(rota: Rota, running: Up) -> None:
    (made,) = rota.json("feed-clients", "add", "main", "crm")
    key = rota.home / made["key_file"]
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert asyncio.run(waiting(running.ready["nats_url"], key, made["durable"])) == 0
    assert rota.json("feed-clients", "list")[0] == [
        {"team": "main", "name": "crm", "waiting": 0, "unacknowledged": 0, "calls": False}
    ]
    rota.json("feed-clients", "rewind", "main", "crm", "--since", "1h")
    rota.json("feed-clients", "reload")
    assert asyncio.run(waiting(running.ready["nats_url"], key, made["durable"])) == 0
    rota.json("feed-clients", "remove", "main", "crm")
    assert rota.json("feed-clients", "list") == [[]]
    assert {one["part"]: one["level"] for one in rota.json("doctor")}["nats"] == "ok"


def test_a_client_that_may_calls_an_agent_of_its_team(rota: Rota, running: Up) -> None:  # CL-28
    (made,) = rota.json("feed-clients", "add", "main", "caller", "--calls")
    body = {"messages": [{"role": "user", "content": "Classify this."}]}

    async def call() -> dict[str, Any]:
        client = await nats.connect(running.ready["nats_url"], nkeys_seed=str(rota.home / made["key_file"]))
        try:
            reply = await client.request(
                agent_subject("main", "rota.run"), json.dumps(body).encode(), timeout=TIMEOUT_S
            )
        finally:
            await client.close()
        return dict(json.loads(reply.data))

    answer = asyncio.run(call())
    assert (answer["agent_id"], answer["error"], bool(answer["content"])) == ("rota.run", "", True), answer
    rota.json("feed-clients", "remove", "main", "caller")


def test_the_feed_clients_of_a_removed_team_end_with_it(rota: Rota, running: Up) -> None:
    rota.json("teams", "create", "acme")
    rota.json("feed-clients", "add", "acme", "crm", "--key-file", "acme.nk")
    (removed,) = rota.json("teams", "remove", "acme", "--yes")
    assert (removed["team_id"], removed["feed_clients"]) == ("acme", ["crm"])
    assert rota.json("feed-clients", "list", "--team", "acme") == [[]]


REFUSED = {
    "has a feed client twice already": ("add", "main", "twice", "--key-file", "other.nk"),
    "expected no file twice.nk": ("add", "main", "twice"),
    "expected a name of letters": ("add", "a.b", "other"),
    "has no feed client unknown": ("remove", "main", "unknown"),
    "expected NATS's configuration in nowhere": ("list", "--config", "nowhere"),
}


def test_a_refused_command_names_the_reason(rota: Rota, running: Up) -> None:
    rota.json("feed-clients", "add", "main", "twice")
    refused = {reason: rota.run("feed-clients", *words) for reason, words in REFUSED.items()}
    assert [(each.returncode, reason in each.stderr) for reason, each in refused.items()] == [(1, True)] * len(REFUSED)


def test_the_configuration_is_written_for_nats_and_for_kubernetes(rota: Rota) -> None:
    (written,) = rota.json("nats-config", "--out", "nats", "--port", "4300")
    assert set(written["keys"]) >= {"executor", "topology", "operator"}
    assert Folder(rota.home / "nats").config.exists()
    printed = rota.run("nats-config", "--out", "nats", "--kubernetes")
    assert '"nats-key-executor"' in printed.stdout


def test_the_module_does_the_same_without_the_cli(own_bus: IsolatedNats, capsys: pytest.CaptureFixture[str]) -> None:
    def module(*words: str) -> str:
        assert feed_clients.main([*words, "--config", str(own_bus.folder.path), "--nats-url", own_bus.url]) == 0
        return capsys.readouterr().out

    assert module("add", "acme", "new").startswith("SU")
    module("rewind", "acme", "new", "--since", "2026-03-02T09:00:00+01:00")
    assert "new" in module("list", "acme")
    module("remove", "acme", "new")
    module("reload")
    assert "new" not in module("list", "acme")

"""The whole system in one process."""

import socket
from pathlib import Path

import httpx
import pytest

from rota.errors import CliError
from rota.server import servers
from rota.server.stack import Stack
from rota_common.runtime import embedded_servers
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.stores.mongo import Mongo
from tests.integration.cli.harness import TIMEOUT_S, processes_of
from tests.upgrade.stored import WRITTEN_BEFORE, stored_documents

pytestmark = pytest.mark.integration


async def test_everything_is_ready_and_nothing_is_left(tmp_path: Path) -> None:
    async with Stack(tmp_path) as stack:
        assert await stack.problems() == {}
        assert set(stack.apps) == {
            *("trigger-gateway", "scheduler", "executor", "validator", "delivery-center", "learner", "memory")
        }
        async with httpx.AsyncClient(base_url=stack.url, trust_env=False, timeout=TIMEOUT_S) as http:
            assert (await http.get("/health/ready")).json()["ready"]
            assert (await http.get("/docs")).status_code == 200
    assert processes_of(tmp_path) == []


async def test_given_servers_are_used_and_left_running(nats: EmbeddedServer, mongo_url: str, tmp_path: Path) -> None:
    async with Stack(tmp_path / "stack", nats_url=nats.url, mongo_url=mongo_url) as stack:
        assert (stack.nats_url, stack.mongo_url) == (nats.url, mongo_url)
        assert processes_of(tmp_path / "stack") == []
    assert nats.pid


async def test_a_mongodb_that_does_not_answer_is_named_without_its_password(
    nats: EmbeddedServer, tmp_path: Path
) -> None:
    away, wrong = "mongodb://rota:hidden@127.0.0.1:9/?replicaSet=rs0", "mongodb://rota:hidden:twice@127.0.0.1:9"
    for url in (away, wrong):
        with pytest.raises(CliError, match=r"expected a MongoDB replica set at mongodb://127\.0\.0\.1:9") as refused:
            async with Stack(tmp_path / "stack", nats_url=nats.url, mongo_url=url):
                raise AssertionError("without a MongoDB nothing must start")
        assert "hidden" not in str(refused.value)
        assert "--mongo-url" in str(refused.value.hint)


async def test_documents_in_an_older_form_are_migrated_before_anything_starts(
    nats: EmbeddedServer, mongo_url: str, mongo_prefix: str, tmp_path: Path
) -> None:  # F7
    (document,) = stored_documents()["scheduler", "plans"]
    seen: list[tuple[str, str]] = []
    stack = Stack(
        tmp_path / "stack",
        nats_url=nats.url,
        mongo_url=mongo_url,
        mongo_prefix=mongo_prefix,
        progress=lambda part, state: seen.append((part, state)),
    )
    mongo = Mongo(mongo_url, f"{mongo_prefix}_scheduler")
    plans = mongo.database["plans"]
    await plans.insert_one(document)
    await plans.update_one({}, WRITTEN_BEFORE["scheduler", "plans", "with their item as an object"](document))
    async with stack:
        assert ("documents", f"{mongo_prefix}_scheduler.plans with their item as an object: 1 migrated") in seen
    await mongo.close()


async def test_a_port_that_another_program_takes_in_the_last_moment_is_left_to_it(
    mongo_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port: int = other.getsockname()[1]
        found = iter([port, None])
        monkeypatch.setattr(servers, "free_or_none", lambda _: next(found))
        async with Stack(tmp_path, nats_port=port, mongo_url=mongo_url) as stack:
            assert str(port) not in stack.nats_url
            assert await stack.problems() == {}


async def test_a_start_that_fails_half_way_says_why_and_leaves_no_process(tmp_path: Path) -> None:
    seen: list[str] = []
    with pytest.raises(CliError, match="expected ROTA_SMTP_URL as smtp://"):
        async with Stack(tmp_path, smtp_url="http://mail", progress=lambda part, _: seen.append(part)):
            raise AssertionError("a wrong setting must not start")
    assert {"nats", "mongodb"} <= set(seen)
    assert processes_of(tmp_path) == []


async def test_a_start_without_mongod_stops_the_nats_it_had_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: object) -> None:
        raise embedded_servers.EmbeddedError("found no mongod")

    monkeypatch.setattr(embedded_servers, "find_mongod", nothing)
    with pytest.raises(CliError, match="found no mongod"):
        async with Stack(tmp_path):
            raise AssertionError("without mongod it must not start")
    assert processes_of(tmp_path) == []

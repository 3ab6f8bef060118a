"""NATS and MongoDB as the production overlay runs them: TLS, and in MongoDB a user for each service."""

import asyncio
import base64
import secrets
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import nats
import pytest
import pytest_asyncio
from pymongo.errors import OperationFailure, ServerSelectionTimeoutError

from rota_common import mongo_setup, topology
from rota_common.bus.connection import Bus
from rota_common.runtime.embedded_servers import EmbeddedServer, find_mongod, find_nats_server, free_port
from rota_common.stores.mongo import Mongo
from tests.certificates import Certificates, make


async def listening(port: int) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.close()


@dataclass(frozen=True)
class ShutMongo:
    """`passwords` is the folder that the users are made of."""

    url: str
    key_file: Path
    passwords: Path

    def set_up(self) -> None:
        given = ["--mongo-url", self.url, "--key-file", str(self.key_file), "--passwords", str(self.passwords)]
        assert mongo_setup.main(given) == 0

    def of(self, owner: str, *, by: str | None = None) -> Mongo:
        return Mongo(self.url, f"rota_{owner}", password_file=str(self.passwords / (by or owner)))


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make(tmp_path_factory.mktemp("certificates") / "files")


@pytest_asyncio.fixture
async def shut_mongo(tmp_path: Path, certificates: Certificates) -> AsyncIterator[ShutMongo]:
    port, key_file, passwords = free_port(), tmp_path / "key", tmp_path / "passwords"
    key_file.touch(mode=0o400)
    key_file.write_text(base64.b64encode(secrets.token_bytes(96)).decode() + "\n")
    passwords.mkdir()
    (tmp_path / "data").mkdir()
    for owner in (*mongo_setup.OWNERS, mongo_setup.BACKUP):
        (passwords / owner).write_text(secrets.token_hex(16) + "\n")
    command = [
        *(find_mongod(), "--dbpath", str(tmp_path / "data"), "--port", str(port), "--bind_ip", "127.0.0.1"),
        *("--replSet", "rs0", "--keyFile", str(key_file), "--nounixsocket", "--wiredTigerCacheSizeGB", "0.25"),
        *("--tlsMode", "requireTLS", "--tlsCertificateKeyFile", str(certificates.both)),
        *("--tlsCAFile", str(certificates.authority), "--tlsAllowConnectionsWithoutCertificates"),
    ]
    url = f"mongodb://127.0.0.1:{port}/?replicaSet=rs0&tls=true&tlsCAFile={certificates.authority}"
    server = EmbeddedServer("mongod", command, folder=tmp_path, url=url, ready=lambda: listening(port))
    await server.start()
    yield ShutMongo(url, key_file, passwords)
    await server.kill()


async def test_each_service_reads_and_writes_its_own_database_and_no_other(shut_mongo: ShutMongo) -> None:
    await asyncio.to_thread(shut_mongo.set_up)
    mine, others = shut_mongo.of("scheduler"), shut_mongo.of("gateway")
    try:
        await mine.ping()
        await mine.database.queue.create_index("team", unique=True)
        async with await mine.client.start_session() as session, session.start_transaction():
            await mine.database.queue.insert_one({"team": "acme"}, session=session)
        await others.database.keys.insert_one({"role": "owner"})
        for forbidden in (
            mine.client["rota_gateway"].keys.insert_one({"role": "owner"}),
            mine.client["rota_gateway"].keys.find_one({}),
            mine.client.admin.command("createUser", "me", pwd="mine", roles=["root"]),
        ):
            with pytest.raises(OperationFailure, match="not authorized"):
                await forbidden
    finally:
        await mine.close()
        await others.close()


async def test_the_user_of_the_backup_reads_everything_and_writes_nothing(shut_mongo: ShutMongo) -> None:
    await asyncio.to_thread(shut_mongo.set_up)
    backup, gateway = shut_mongo.of("backup"), shut_mongo.of("gateway")
    try:
        await gateway.database.keys.insert_one({"_id": "k"})
        assert await backup.client["rota_gateway"].keys.find_one({}) == {"_id": "k"}
        assert await backup.client["local"]["oplog.rs"].find_one({}), "what comes in while it reads"
        for database in ("rota_gateway", "rota_backup"):
            with pytest.raises(OperationFailure, match="not authorized"):
                await backup.client[database].keys.insert_one({"role": "owner"})
    finally:
        await backup.close()
        await gateway.close()


async def test_no_client_comes_in_without_a_password_or_with_another_services(shut_mongo: ShutMongo) -> None:
    await asyncio.to_thread(shut_mongo.set_up)
    anonymous, other = Mongo(shut_mongo.url, "rota_gateway"), shut_mongo.of("gateway", by="memory")
    plain = Mongo(shut_mongo.url.partition("&tls")[0] + "&serverSelectionTimeoutMS=500", "rota_gateway")
    try:
        with pytest.raises(OperationFailure, match="requires authentication"):
            await anonymous.database.keys.find_one({})
        with pytest.raises(OperationFailure, match="Authentication failed"):
            await other.database.keys.find_one({})
        with pytest.raises(ServerSelectionTimeoutError):
            await plain.ping()
    finally:
        for mongo in (anonymous, other, plain):
            await mongo.close()


async def test_a_new_password_works_once_the_users_were_made_again(shut_mongo: ShutMongo) -> None:
    await asyncio.to_thread(shut_mongo.set_up)
    (shut_mongo.passwords / "learner").write_text("another one")
    before = shut_mongo.of("learner")
    with pytest.raises(OperationFailure, match="Authentication failed"):
        await before.database.lessons.find_one({})
    await before.close()
    await asyncio.to_thread(shut_mongo.set_up)
    after = shut_mongo.of("learner")
    assert await after.database.lessons.find_one({}) is None
    await after.close()


def test_a_missing_or_empty_password_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text(" \n")
    for name in ("missing", "empty"):
        with pytest.raises(ValueError, match=f"expected MongoDB's password in .*{name}"):
            Mongo("mongodb://127.0.0.1:1", "rota_memory", password_file=str(tmp_path / name))


async def test_the_bus_is_reached_over_tls_by_those_who_know_its_authority(
    tmp_path: Path, certificates: Certificates
) -> None:
    port, config = free_port(), tmp_path / "nats.conf"
    tls = f'cert_file: "{certificates.certificate}", key_file: "{certificates.key}", handshake_first: auto'
    config.write_text(f'listen: "127.0.0.1:{port}"\njetstream {{store_dir: "{tmp_path}"}}\ntls {{{tls}}}\n')
    url, command = f"tls://127.0.0.1:{port}", [find_nats_server(), "-c", str(config)]
    server = EmbeddedServer("nats-server", command, folder=tmp_path, url=url, ready=lambda: listening(port))
    await server.start()
    bus = Bus(url, name="scheduler", ca_file=str(certificates.authority))
    try:
        assert await topology.apply_to(url, ca_file=str(certificates.authority))
        await bus.connect()
        assert await bus.jetstream.streams_info()
        with pytest.raises(ssl.SSLCertVerificationError):
            await nats.connect(url, allow_reconnect=False)
    finally:
        await bus.stop()
        await server.kill()


def test_a_file_that_is_no_certificate_is_named(certificates: Certificates) -> None:
    for file in (certificates.key, certificates.key.with_name("missing")):
        with pytest.raises(ValueError, match=f"expected the PEM certificate of NATS's authority in {file}"):
            Bus("tls://127.0.0.1:1", name="scheduler", ca_file=str(file))

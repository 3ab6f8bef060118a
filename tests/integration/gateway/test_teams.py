"""Keys and secrets as MongoDB holds them."""

from base64 import b64encode, urlsafe_b64encode

from motor.motor_asyncio import AsyncIOMotorClient
from pydantic import SecretStr

from rota_common.runtime.embedded_servers import EmbeddedServer
from tests.integration.gateway.harness import SECRET, Gateway, gateway, settings

KEYS = "/v1/teams/acme/keys"


async def everything_stored(mongo_url: str, mongo_prefix: str) -> str:
    client: AsyncIOMotorClient[dict[str, object]] = AsyncIOMotorClient(mongo_url)
    database = client[f"{mongo_prefix}_gateway"]
    kept = [[each async for each in database[name].find()] for name in await database.list_collection_names()]
    client.close()
    return str(kept)


async def test_a_key_is_stored_as_a_hash(empty: Gateway, mongo_url: str, mongo_prefix: str) -> None:
    second = (await empty.call("POST", "/v1/teams/acme/keys")).json()
    await empty.make_source()
    listed = await empty.call("GET", "/v1/teams/acme/keys")
    assert [key["key_id"] for key in listed.json()["keys"]] == [empty.key.split("_")[1], second["key_id"]]
    kept = await everything_stored(mongo_url, mongo_prefix)
    for key in (empty.key, second["api_key"]):
        secret = key.split("_", 2)[2]
        assert len(secret) >= 32
        assert secret not in kept
        assert secret not in listed.text
    assert SECRET not in kept


async def test_a_key_from_before_roles_has_the_role_owner(empty: Gateway, mongo_url: str, mongo_prefix: str) -> None:
    client: AsyncIOMotorClient[dict[str, object]] = AsyncIOMotorClient(mongo_url)
    await client[f"{mongo_prefix}_gateway"]["keys"].update_many({}, {"$unset": {"role": "", "name": ""}})
    client.close()
    assert (await empty.call("POST", KEYS)).status_code == 201
    assert (await empty.call("GET", KEYS)).json()["keys"][0]["role"] == "owner"


async def test_a_secret_given_as_text_is_stored_encrypted(
    nats: EmbeddedServer, mongo_url: str, mongo_prefix: str
) -> None:
    plain = b64encode(b"a secret of 24 characters").decode()
    key = SecretStr(urlsafe_b64encode(bytes(32)).decode())
    async with gateway(settings(nats.url, mongo_url, mongo_prefix, secrets_key=key)) as acme:
        acme.key = await acme.make_team()
        await acme.make_source(secret=f"whsec_{plain}")
        kept = await everything_stored(mongo_url, mongo_prefix)
    assert "leads" in kept
    assert plain not in kept

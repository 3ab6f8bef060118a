"""Keys as MongoDB holds them."""

from motor.motor_asyncio import AsyncIOMotorClient

from tests.integration.gateway.harness import SECRET, Gateway

KEYS = "/v1/teams/acme/keys"


async def test_a_key_is_stored_as_a_hash(empty: Gateway, mongo_url: str, mongo_prefix: str) -> None:
    second = (await empty.call("POST", "/v1/teams/acme/keys")).json()
    await empty.make_source()
    listed = await empty.call("GET", "/v1/teams/acme/keys")
    assert [key["key_id"] for key in listed.json()["keys"]] == [empty.key.split("_")[1], second["key_id"]]
    client: AsyncIOMotorClient[dict[str, object]] = AsyncIOMotorClient(mongo_url)
    database = client[f"{mongo_prefix}_gateway"]
    kept = str([[each async for each in database[name].find()] for name in await database.list_collection_names()])
    client.close()
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

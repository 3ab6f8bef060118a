"""Sources of events: what an owner may say of one, and that a secret is never told."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from cryptography.fernet import Fernet
from motor.motor_asyncio import AsyncIOMotorClient
from pydantic import SecretStr

from rota_common.runtime.embedded_servers import EmbeddedServer
from tests.integration.gateway.harness import ENVIRON, SECRET, Gateway, fields_of, gateway, settings, signed
from tests.integration.gateway.test_webhooks import error_of

SOURCES, HOOK = "/v1/teams/acme/sources", "/v1/hooks/acme/leads"
PLAIN = "whsec_" + "c29tZXRoaW5nIHRoYXQgbm9ib2R5IGtub3dz"
DATABASE: dict[str, Any] = {
    "name": "crm",
    "type": "database",
    "url": "$ENV.CRM_URL",
    "database": "crm",
    "collection": "leads",
}


@pytest_asyncio.fixture
async def keeping(nats: EmbeddedServer, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Gateway]:
    """A gateway that has a key to keep secrets with, and the team acme."""
    key = SecretStr(Fernet.generate_key().decode())
    async with gateway(settings(nats.url, mongo_url, mongo_prefix, secrets_key=key)) as made:
        made.key = await made.make_team()
        yield made


async def add(to: Gateway, **body: Any) -> dict[str, Any]:
    answer = await to.call("POST", SOURCES, json={"name": "leads"} | body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def change(of: Gateway, **body: Any) -> dict[str, Any]:
    answer = await of.call("PATCH", f"{SOURCES}/leads", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def accepted(by: Gateway, secret: str, event_id: str) -> bool:
    answer = await by.http.post(HOOK, content=b"{}", headers=signed(b"{}", event_id, secret=secret))
    assert answer.status_code in (202, 403), answer.text
    return answer.status_code == 202


async def test_a_sources_life(empty: Gateway) -> None:
    await empty.make_source("leads", event_type_field="kind")
    body = {"name": "leads", "secret": "$ENV.LEADS_SECRET"}
    assert error_of(await empty.call("POST", SOURCES, json=body)) == (409, "source_exists")
    read = (await empty.call("GET", f"{SOURCES}/leads")).json()
    assert (read["type"], read["scheme"]) == ("webhook", "standard_webhooks")
    assert (read["secret"], read["secrets"], read["event_type_field"]) == (
        "$ENV.LEADS_SECRET",
        ["$ENV.LEADS_SECRET"],
        "kind",
    )
    assert read["hook_url"] == HOOK
    assert (await empty.call("GET", SOURCES)).json() == {"sources": [read]}
    assert (await empty.call("DELETE", f"{SOURCES}/leads")).status_code == 204
    for method in ("GET", "DELETE", "PATCH"):
        answer = await empty.call(method, f"{SOURCES}/leads", **({"json": {}} if method == "PATCH" else {}))
        assert error_of(answer) == (404, "source_not_found")


async def test_a_database_is_a_source_too(empty: Gateway) -> None:  # TG-12
    where = [{"path": "document.score", "op": "gt", "value": 50}]
    await add(empty, **DATABASE, operations=["insert"], conditions=where)
    read = (await empty.call("GET", f"{SOURCES}/crm")).json()
    assert (read["type"], read["url"], read["collection"]) == ("database", "$ENV.CRM_URL", "leads")
    assert (read["operations"], read["conditions"]) == (["insert"], where)
    changed = await empty.call("PATCH", f"{SOURCES}/crm", json={"operations": None, "collection": "deals"})
    assert changed.json()["operations"] == ["insert", "update", "replace", "delete"]
    assert (changed.json()["collection"], changed.json()["conditions"]) == ("deals", where)
    assert error_of(await empty.http.post("/v1/hooks/acme/crm", content=b"{}"))[0] == 404


WEBHOOK = {"name": "leads", "secret": "$ENV.X"}
WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"name": "leads", "secret": SECRET}, "secret", "ROTA_SECRETS_KEY"),
    ({"name": "leads", "secret": {"generate": True}}, "secret", "ROTA_SECRETS_KEY"),
    ({"name": "leads", "secret": {"generate": False}}, "secret", "$ENV.LEADS_SECRET"),
    ({"name": "leads", "secret": 7}, "secret", "$ENV.LEADS_SECRET"),
    ({"name": "leads", "secret": "$ENV.a-b"}, "secret", "$ENV.STANDARD_WEBHOOKS_SECRET"),
    ({"name": "leads", "secret": "$ENV.ROTA_ADMIN_KEY"}, "secret", "a setting of Rota"),
    ({"name": "leads", "secret": "$ENV.ROTA_SMTP_URL"}, "secret", "a setting of Rota"),
    ({"name": "leads", "secret": "$ENV.ROTA_SECRETS_KEY"}, "secret", "a setting of Rota"),
    ({"name": "leads"}, "secret", "$ENV.LEADS_SECRET"),
    (WEBHOOK | {"secrets": ["$ENV.Y"]}, "secret", "either secret or secrets"),
    ({"name": "leads", "secrets": ["$ENV.X", "$ENV.ROTA_MONGO_URL"]}, "secrets.1", "a setting of Rota"),
    ({"name": "leads", "secrets": ["$ENV.X", "$ENV.Y", "$ENV.Z"]}, "secrets", "at most 2"),
    (WEBHOOK | {"name": "a/b"}, "name", "for example leads"),
    (WEBHOOK | {"type_field": "x"}, "type_field", "Extra"),
    (WEBHOOK | {"type": "queue"}, "type", "for example webhook"),
    (WEBHOOK | {"scheme": "md5"}, "scheme", "for example github"),
    (WEBHOOK | {"scheme": "github", "event_type_field": "x"}, "event_type_field", "standard_webhooks or hmac"),
    (WEBHOOK | {"scheme": "stripe", "robot": "assistant"}, "robot", "or bearer"),
    (WEBHOOK | {"header": "X-Sig"}, "header", "hmac or bearer"),
    (WEBHOOK | {"scheme": "hmac", "header": "X Sig:"}, "header", "pattern"),
    (WEBHOOK | {"signing_secret": "$ENV.Y"}, "signing_secret", "bearer"),
    (WEBHOOK | {"event_types": [""]}, "event_types.0", "for example issues.*"),
    (WEBHOOK | {"event_types": "issues"}, "event_types", '["issues.*"]'),
    (WEBHOOK | {"rate_limit": 0}, "rate_limit", "for example 600"),
    (WEBHOOK | {"robot": "a b"}, "robot", "for example assistant"),
    (WEBHOOK | {"collection": "leads"}, "collection", "only a database has it"),
    (DATABASE | {"url": "mongodb://u:p@db"}, "url", "$ENV.CRM_MONGO_URL"),
    (DATABASE | {"url": "$ENV.ROTA_MONGO_URL"}, "url", "a setting of Rota"),
    (DATABASE | {"url": None}, "url", "$ENV.CRM_MONGO_URL"),
    (DATABASE | {"collection": None}, "collection", "for example leads"),
    (DATABASE | {"database": "a/b"}, "database", "pattern"),
    (DATABASE | {"operations": ["drop"]}, "operations.0", "'insert'"),
    (DATABASE | {"operations": []}, "operations", '["insert", "update"]'),
    (DATABASE | {"conditions": [{"path": "a", "op": "glob", "value": 1}]}, "conditions.0", "a text like"),
    (DATABASE | {"secret": "$ENV.X"}, "secret", "only a webhook has it"),
    (DATABASE | {"scheme": "github"}, "scheme", "only a webhook has it"),
]


@pytest.mark.parametrize(("body", "field", "says"), WRONG)
async def test_a_wrong_source_is_refused_with_its_field_and_how_it_would_be_right(
    empty: Gateway, body: dict[str, Any], field: str, says: str
) -> None:
    answer = await empty.call("POST", SOURCES, json=body)
    [(named, message)] = fields_of(answer).items()
    assert named == field
    assert says in message
    assert SECRET not in answer.text
    assert "u:p@db" not in answer.text
    assert (await empty.call("GET", SOURCES)).json() == {"sources": []}


PLAINLY_WRONG = [
    ({"secret": "whsec_%%%%%%"}, "secret"),
    ({"secret": "not base64, with spaces"}, "secret"),
    ({"secret": "short", "scheme": "hmac"}, "secret"),
    ({"secret": " around it ", "scheme": "github"}, "secret"),
    ({"secret": "with a space", "scheme": "bearer"}, "secret"),
    ({"secret": "x" * 1001, "scheme": "hmac"}, "secret"),
    ({"secret": "$1234567890", "scheme": "hmac"}, "secret"),
    ({"secret": {"generate": True}, "scheme": "stripe"}, "secret"),
    ({"secret": {"generate": True}, "scheme": "slack"}, "secret"),
    ({"secret": "$ENV.X", "scheme": "bearer", "signing_secret": "short"}, "signing_secret"),
]


@pytest.mark.parametrize(("body", "field"), PLAINLY_WRONG)
async def test_a_secret_that_cant_be_one_of_its_scheme_is_refused_unseen(
    keeping: Gateway, body: dict[str, Any], field: str
) -> None:
    answer = await keeping.call("POST", SOURCES, json={"name": "leads"} | body)
    assert list(fields_of(answer)) == [field]
    if isinstance(body[field], str):
        assert body[field] not in answer.text


async def everything_kept(mongo_url: str, prefix: str) -> str:
    client: AsyncIOMotorClient[dict[str, object]] = AsyncIOMotorClient(mongo_url)
    database = client[f"{prefix}_gateway"]
    kept = [[each async for each in database[name].find()] for name in await database.list_collection_names()]
    client.close()
    return str(kept)


async def test_a_secret_given_as_text_works_and_is_never_seen_again(
    keeping: Gateway, mongo_url: str, mongo_prefix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = await add(keeping, secret=PLAIN)
    assert (made["secret"], made["secrets"], made["generated_secrets"]) == ("stored", ["stored"], [])
    assert await accepted(keeping, PLAIN, "1")
    assert not await accepted(keeping, SECRET, "2")
    shown = [made, (await keeping.call("GET", SOURCES)).json(), (await keeping.call("GET", f"{SOURCES}/leads")).json()]
    inside = PLAIN.removeprefix("whsec_")
    for where in (str(shown), await everything_kept(mongo_url, mongo_prefix), "".join(capsys.readouterr())):
        assert inside not in where


@pytest.mark.parametrize("scheme", ["standard_webhooks", "github", "hmac", "bearer"])
async def test_a_secret_is_made_and_shown_once(keeping: Gateway, scheme: str) -> None:
    made = await add(keeping, scheme=scheme, secrets=[{"generate": True}, {"generate": True}])
    first, second = made["generated_secrets"]
    assert first != second
    assert len(first) >= 43
    assert first.startswith("whsec_") is (scheme == "standard_webhooks")
    read = await keeping.call("GET", f"{SOURCES}/leads")
    assert read.json()["secrets"] == ["stored", "stored"]
    assert "generated_secrets" not in read.json()
    assert first not in read.text
    if scheme == "standard_webhooks":
        assert await accepted(keeping, first, "1")
        assert await accepted(keeping, second, "2")


async def test_a_secret_is_changed_without_losing_an_event(keeping: Gateway) -> None:
    await add(keeping, secret="$ENV.LEADS_SECRET")
    [new] = (await change(keeping, new_secret={"generate": True}))["generated_secrets"]
    assert await accepted(keeping, SECRET, "1")
    assert await accepted(keeping, new, "2")
    done = await change(keeping, forget_old_secret=True)
    assert (done["secrets"], done["generated_secrets"]) == (["stored"], [])
    assert not await accepted(keeping, SECRET, "3")
    assert await accepted(keeping, new, "4")
    third = await change(keeping, new_secret=PLAIN)
    fourth = await change(keeping, new_secret="$ENV.LEADS_SECRET")
    assert (third["secrets"], fourth["secrets"]) == (["stored", "stored"], ["$ENV.LEADS_SECRET", "stored"])
    assert [await accepted(keeping, secret, f"5{secret}") for secret in (new, PLAIN, SECRET)] == [False, True, True]


async def test_a_change_touches_only_what_it_names(keeping: Gateway) -> None:
    await add(keeping, scheme="bearer", secret="$ENV.X", signing_secret=PLAIN, event_types=["a.*"], id_field="id")
    changed = await change(keeping, rate_limit=7, robot="assistant")
    assert (changed["rate_limit"], changed["robot"], changed["signing_secret"]) == (7, "assistant", "stored")
    assert (changed["event_types"], changed["id_field"], changed["secrets"]) == (["a.*"], "id", ["$ENV.X"])
    again = await change(keeping, rate_limit=None, robot=None, event_types=None, signing_secret=None)
    assert (again["rate_limit"], again["robot"], again["event_types"], again["signing_secret"]) == (
        None,
        None,
        [],
        None,
    )
    assert (again["scheme"], again["id_field"]) == ("bearer", "id")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "other"}, "name"),
        ({"scheme": "github"}, "scheme"),
        ({"secret": "$ENV.X", "new_secret": "$ENV.Y"}, "new_secret"),
        ({"new_secret": "$ENV.Y", "forget_old_secret": True}, "forget_old_secret"),
        ({"secrets": []}, "secrets"),
        ({"robot": "a b"}, "robot"),
        ({"header": "X-Sig"}, "header"),
        ({"operations": ["insert"]}, "operations"),
    ],
)
async def test_a_wrong_change_is_refused_with_its_field(empty: Gateway, body: dict[str, Any], field: str) -> None:
    await empty.make_source()
    before = (await empty.call("GET", f"{SOURCES}/leads")).json()
    assert list(fields_of(await empty.call("PATCH", f"{SOURCES}/leads", json=body))) == [field]
    assert (await empty.call("GET", f"{SOURCES}/leads")).json() == before


async def test_the_key_that_keeps_secrets_can_be_changed(
    nats: EmbeddedServer, mongo_url: str, mongo_prefix: str
) -> None:
    old, new, other = (Fernet.generate_key().decode() for _ in range(3))

    def with_keys(*keys: str) -> Any:
        return gateway(settings(nats.url, mongo_url, mongo_prefix, secrets_key=SecretStr(",".join(keys))))

    async with with_keys(old) as first:
        key = first.key = await first.make_team()
        await add(first, secret=PLAIN)
    async with with_keys(new, old) as second:
        second.key = key
        assert await accepted(second, PLAIN, "1")
        await change(second, secret=PLAIN)
    async with with_keys(new) as third:
        assert await accepted(third, PLAIN, "2")
    async with with_keys(other) as fourth:
        answer = await fourth.http.post(HOOK, content=b"{}", headers=signed(b"{}", secret=PLAIN))
        assert error_of(answer) == (503, "unavailable")


async def test_a_key_that_is_none_keeps_the_gateway_from_starting_and_isnt_shown(
    nats: EmbeddedServer, mongo_url: str, mongo_prefix: str
) -> None:
    wrong = settings(nats.url, mongo_url, mongo_prefix, secrets_key=SecretStr("my-secret-key"))
    with pytest.raises(ValueError, match="ROTA_SECRETS_KEY: expected 32 bytes") as caught:
        async with gateway(wrong):
            pass
    assert "my-secret-key" not in str(caught.value)


async def test_while_one_of_two_secrets_isnt_there_the_other_one_works(
    nats: EmbeddedServer, mongo_url: str, mongo_prefix: str
) -> None:
    async with gateway(settings(nats.url, mongo_url, mongo_prefix), environ=ENVIRON | {"EMPTY": ""}) as made:
        made.key = await made.make_team()
        await add(made, secrets=["$ENV.EMPTY", "$ENV.LEADS_SECRET"])
        assert await accepted(made, SECRET, "1")
        answer = await made.http.post(HOOK, content=b"{}", headers=signed(b"{}", secret=PLAIN))
        assert error_of(answer) == (503, "unavailable")  # it may be right by the one that isn't there

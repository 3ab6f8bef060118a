"""Sources of events: their fields, their changes, and their secrets, which are never shown."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from cryptography.fernet import Fernet
from pydantic import SecretStr

from trigger_gateway.adapters.in_memory import in_memory
from trigger_gateway.app import build
from trigger_gateway.ports import Adapters

from .harness import ENVIRON, HOOK, SECRET, Gateway, error_of, fields_of, gateway, settings, signed

SOURCES = "/v1/teams/acme/sources"
PLAIN = "whsec_" + "c29tZXRoaW5nIHRoYXQgbm9ib2R5IGtub3dz"
DATABASE: dict[str, Any] = {
    "name": "crm",
    "type": "database",
    "url": "$ENV.CRM_URL",
    "database": "crm",
    "collection": "leads",
}


def with_keys(*keys: str, **others: Any) -> Adapters:
    return in_memory(given=ENVIRON, secrets_key=",".join(keys), **others)


@pytest_asyncio.fixture
async def keyless() -> AsyncIterator[Gateway]:
    """A gateway without a key to store secrets with, and the team acme."""
    async with gateway(adapters=with_keys()) as made:
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


async def test_a_source_is_made_read_listed_and_deleted(empty: Gateway) -> None:
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
    ({"name": "leads", "secret": SECRET}, "secret", "ROTA_SECRETS_KEY_FILE"),
    ({"name": "leads", "secret": {"generate": True}}, "secret", "ROTA_SECRETS_KEY"),
    ({"name": "leads", "secret": {"generate": False}}, "secret", "$SECRET.LEADS_WEBHOOK"),
    ({"name": "leads", "secret": 7}, "secret", "$SECRET.LEADS_WEBHOOK"),
    ({"name": "leads", "secret": "$ENV.a-b"}, "secret", "$SECRET.STANDARD_WEBHOOKS_SECRET"),
    ({"name": "leads", "secret": "$ENV.ROTA_ADMIN_KEY"}, "secret", "a setting of Rota"),
    ({"name": "leads", "secret": "$ENV.ROTA_SMTP_URL"}, "secret", "a setting of Rota"),
    ({"name": "leads", "secret": "$ENV.ROTA_SECRETS_KEY"}, "secret", "a setting of Rota"),
    ({"name": "leads"}, "secret", "$SECRET.LEADS_WEBHOOK"),
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
    (DATABASE | {"url": "mongodb://u:p@db"}, "url", "$SECRET.CRM_MONGO_URL"),
    (DATABASE | {"url": "$ENV.ROTA_MONGO_URL"}, "url", "a setting of Rota"),
    (DATABASE | {"url": None}, "url", "$SECRET.CRM_MONGO_URL"),
    (DATABASE | {"database": "_Executor"}, "database", "one of Rota's"),
    (DATABASE | {"database": "admin"}, "database", "one of Rota's"),
    (DATABASE | {"collection": None}, "collection", "for example leads"),
    (DATABASE | {"database": "a/b"}, "database", "pattern"),
    (DATABASE | {"operations": ["drop"]}, "operations.0", "'insert'"),
    (DATABASE | {"operations": []}, "operations", '["insert", "update"]'),
    (DATABASE | {"conditions": [{"path": "a", "op": "glob", "value": 1}]}, "conditions.0", "a text like"),
    (DATABASE | {"secret": "$ENV.X"}, "secret", "only a webhook has it"),
    (DATABASE | {"scheme": "github"}, "scheme", "only a webhook has it"),
]


async def test_a_wrong_source_is_refused_with_its_field_and_an_example(keyless: Gateway) -> None:
    wrong: list[tuple[dict[str, Any], str]] = []
    for body, field, says in WRONG:
        answer = await keyless.call("POST", SOURCES, json=body)
        named = list(fields_of(answer).items())
        shown = any(secret in answer.text for secret in (SECRET, "u:p@db"))
        if shown or [field] != [name for name, _ in named] or says not in named[0][1]:
            wrong.append((body, answer.text))
    assert not wrong
    assert (await keyless.call("GET", SOURCES)).json() == {"sources": []}


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


async def test_a_secret_that_its_scheme_cannot_use_is_refused_and_not_shown(empty: Gateway) -> None:
    for body, field in PLAINLY_WRONG:
        answer = await empty.call("POST", SOURCES, json={"name": "leads"} | body)
        assert list(fields_of(answer)) == [field], body
        if isinstance(body[field], str):
            assert body[field] not in answer.text


async def test_a_secret_given_as_text_works_and_is_never_shown(
    empty: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    made = await add(empty, secret=PLAIN)
    assert (made["secret"], made["secrets"], made["generated_secrets"]) == ("stored", ["stored"], [])
    assert await accepted(empty, PLAIN, "1")
    assert not await accepted(empty, SECRET, "2")
    shown = [made, (await empty.call("GET", SOURCES)).json(), (await empty.call("GET", f"{SOURCES}/leads")).json()]
    inside, stored = PLAIN.removeprefix("whsec_"), str(await empty.adapters.sources.of_team("acme"))
    for where in (str(shown), stored, "".join(capsys.readouterr())):
        assert inside not in where


@pytest.mark.parametrize("scheme", ["standard_webhooks", "github", "hmac", "bearer"])
async def test_a_generated_secret_is_shown_once(empty: Gateway, scheme: str) -> None:
    made = await add(empty, scheme=scheme, secrets=[{"generate": True}, {"generate": True}])
    first, second = made["generated_secrets"]
    assert first != second
    assert len(first) >= 43
    assert first.startswith("whsec_") is (scheme == "standard_webhooks")
    read = await empty.call("GET", f"{SOURCES}/leads")
    assert read.json()["secrets"] == ["stored", "stored"]
    assert "generated_secrets" not in read.json()
    assert first not in read.text
    if scheme == "standard_webhooks":
        assert await accepted(empty, first, "1")
        assert await accepted(empty, second, "2")


async def test_a_secret_is_changed_without_losing_an_event(empty: Gateway) -> None:
    await add(empty, secret="$ENV.LEADS_SECRET")
    [new] = (await change(empty, new_secret={"generate": True}))["generated_secrets"]
    assert await accepted(empty, SECRET, "1")
    assert await accepted(empty, new, "2")
    done = await change(empty, forget_old_secret=True)
    assert (done["secrets"], done["generated_secrets"]) == (["stored"], [])
    assert not await accepted(empty, SECRET, "3")
    assert await accepted(empty, new, "4")
    third = await change(empty, new_secret=PLAIN)
    fourth = await change(empty, new_secret="$ENV.LEADS_SECRET")
    assert (third["secrets"], fourth["secrets"]) == (["stored", "stored"], ["$ENV.LEADS_SECRET", "stored"])
    assert [await accepted(empty, secret, f"5{secret}") for secret in (new, PLAIN, SECRET)] == [False, True, True]


async def test_a_change_touches_only_what_it_names(empty: Gateway) -> None:
    await add(empty, scheme="bearer", secret="$ENV.X", signing_secret=PLAIN, event_types=["a.*"], id_field="id")
    changed = await change(empty, rate_limit=7, robot="assistant")
    assert (changed["rate_limit"], changed["robot"], changed["signing_secret"]) == (7, "assistant", "stored")
    assert (changed["event_types"], changed["id_field"], changed["secrets"]) == (["a.*"], "id", ["$ENV.X"])
    again = await change(empty, rate_limit=None, robot=None, event_types=None, signing_secret=None)
    assert (again["rate_limit"], again["robot"], again["event_types"], again["signing_secret"]) == (
        None,
        None,
        [],
        None,
    )
    assert (again["scheme"], again["id_field"]) == ("bearer", "id")


WRONG_CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"name": "other"}, "name"),
    ({"scheme": "github"}, "scheme"),
    ({"secret": "$ENV.X", "new_secret": "$ENV.Y"}, "new_secret"),
    ({"new_secret": "$ENV.Y", "forget_old_secret": True}, "forget_old_secret"),
    ({"secrets": []}, "secrets"),
    ({"robot": "a b"}, "robot"),
    ({"header": "X-Sig"}, "header"),
    ({"operations": ["insert"]}, "operations"),
]


async def test_a_wrong_change_is_refused_with_its_field(empty: Gateway) -> None:
    await empty.make_source()
    before = (await empty.call("GET", f"{SOURCES}/leads")).json()
    for body, field in WRONG_CHANGES:
        assert list(fields_of(await empty.call("PATCH", f"{SOURCES}/leads", json=body))) == [field], body
    assert (await empty.call("GET", f"{SOURCES}/leads")).json() == before


async def test_the_key_that_encrypts_secrets_can_be_rotated() -> None:
    old, new, other = (Fernet.generate_key().decode() for _ in range(3))
    async with gateway(adapters=with_keys(old)) as first:
        key = first.key = await first.make_team()
        await add(first, secret=PLAIN)
    stored = {name: getattr(first.adapters, name) for name in ("teams", "keys", "sources")}
    async with gateway(adapters=with_keys(new, old, **stored)) as second:
        second.key = key
        assert await accepted(second, PLAIN, "1")
        await change(second, secret=PLAIN)
    async with gateway(adapters=with_keys(new, **stored)) as third:
        assert await accepted(third, PLAIN, "2")
    async with gateway(adapters=with_keys(other, **stored)) as fourth:
        answer = await fourth.http.post(HOOK, content=b"{}", headers=signed(b"{}", secret=PLAIN))
        assert error_of(answer) == (503, "unavailable")


def test_a_malformed_key_is_refused_at_build_and_not_shown() -> None:
    wrong = SecretStr("my-secret-key")
    with pytest.raises(ValueError, match="ROTA_SECRETS_KEY: expected 32 bytes") as caught:
        build(settings(nats_url="nats://nowhere", mongo_url="mongodb://nowhere", secrets_key=wrong))
    assert "my-secret-key" not in str(caught.value)


async def test_while_one_of_two_secrets_is_missing_the_other_works() -> None:
    async with gateway(adapters=in_memory(given=ENVIRON | {"EMPTY": ""})) as made:
        made.key = await made.make_team()
        await add(made, secrets=["$ENV.EMPTY", "$ENV.LEADS_SECRET"])
        assert await accepted(made, SECRET, "1")
        answer = await made.http.post(HOOK, content=b"{}", headers=signed(b"{}", secret=PLAIN))
        assert error_of(answer) == (503, "unavailable")  # the missing secret may be the right one

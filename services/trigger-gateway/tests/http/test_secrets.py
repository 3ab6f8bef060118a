"""Secrets of teams: set, listed, removed, and given only to what acts in the team's name."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from rota_common.bus.publishing import NotInCatalog
from rota_common.bus.rpc import Ask
from rota_common.errors import Permanent
from rota_contracts.catalog import READ_SECRETS
from rota_contracts.messages.secrets import ReadSecrets
from rota_contracts.roles import Role
from rota_contracts.secret_refs import key_fingerprint
from rota_contracts.sources import Scheme
from trigger_gateway.adapters.encryption import AesGcmCipher
from trigger_gateway.adapters.in_memory import in_memory
from trigger_gateway.adapters.operator_secrets import OperatorFiles
from trigger_gateway.adapters.secrets_key import load_key
from trigger_gateway.secrets import manage_secrets
from trigger_gateway.secrets.sealed_secret import EncryptedSecret, of_source
from trigger_gateway.sources.source import Source, WebhookSettings

from .harness import ADMIN, HOOK, SECRET, SECRETS_KEY, TEAM, Gateway, error_of, fields_of, gateway, signed

SECRETS = f"{TEAM}/secrets"
VALUE = "s3cret-of-acme"


@pytest.fixture
async def acme(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-platform-key")
    adapters = in_memory(secrets_key=SECRETS_KEY, operator_secrets=OperatorFiles(None, {"beta": {"BETA_CRM": "b"}}))
    async with gateway(adapters=adapters) as made:
        made.key = await made.make_team()
        yield made


async def put(gateway: Gateway, name: str = "CRM_TOKEN", value: str = VALUE, **more: Any) -> Any:
    return await gateway.call("PUT", f"{SECRETS}/{name}", json={"value": value}, **more)


async def asked(gateway: Gateway, *names: str, team: str = "acme") -> dict[str, str]:
    reply = await gateway.bus.ask(READ_SECRETS, ReadSecrets(team_id=team, names=list(names)))
    return {secret.name: secret.value for secret in reply.secrets}


async def test_a_secret_is_set_listed_and_removed_and_its_value_never_shown(
    acme: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:  # DEC-44
    anna = await acme.make_key("admin", "anna")
    first = await put(acme, key=anna)
    assert first.status_code == 200, first.text
    await put(acme, "OTHER", "x" * 8192)
    listed = await acme.call("GET", SECRETS)
    [crm, _] = listed.json()["secrets"]
    assert (crm["name"], crm["reference"], crm["set_by"]) == ("CRM_TOKEN", "$SECRET.CRM_TOKEN", "anna")
    assert await asked(acme, "CRM_TOKEN") == {"CRM_TOKEN": VALUE}
    stored = str(await acme.adapters.secrets.of_team("acme"))
    await put(acme, value="changed")
    assert await asked(acme, "CRM_TOKEN") == {"CRM_TOKEN": "changed"}
    assert (await acme.call("DELETE", f"{SECRETS}/CRM_TOKEN")).status_code == 204
    assert error_of(await acme.call("DELETE", f"{SECRETS}/CRM_TOKEN")) == (404, "secret_not_found")
    assert await asked(acme, "CRM_TOKEN") == {}
    assert VALUE not in "".join((first.text, listed.text, stored, *capsys.readouterr()))


async def test_only_an_admin_sets_and_removes_secrets(acme: Gateway) -> None:
    for role in (Role.VIEWER, Role.MEMBER):
        key = await acme.make_key(role)
        assert error_of(await put(acme, key=key)) == (403, "role_too_low")
        assert error_of(await acme.call("DELETE", f"{SECRETS}/X", key=key)) == (403, "role_too_low")
        assert (await acme.call("GET", SECRETS, key=key)).status_code == 200
    beta = await acme.make_team("beta")
    assert error_of(await put(acme, key=beta)) == (403, "foreign_team")


async def test_a_secret_that_cannot_be_is_refused_with_the_reason_alone(
    acme: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value, field in [
        ("a-b", VALUE, "name"),
        ("ROTA_ADMIN_KEY", VALUE, "name"),
        ("A", "", "value"),
        ("A", "ä" * 4097, "value"),
        ("A", VALUE + "\0", "value"),
    ]:
        answer = await put(acme, name, value)
        assert list(fields_of(answer)) == [field]
        assert VALUE not in answer.text
    monkeypatch.setattr(manage_secrets, "TEAM_LIMIT", 1)
    await put(acme)
    assert error_of(await put(acme, "SECOND")) == (409, "too_many_secrets")
    assert (await put(acme, value="other")).status_code == 200
    async with gateway(adapters=in_memory()) as keyless:
        keyless.key = await keyless.make_team()
        assert error_of(await put(keyless)) == (409, "no_secrets_key")


async def test_a_team_is_given_its_own_secrets_and_no_others(acme: Gateway) -> None:  # TG-23 # DEC-44
    acme_key, acme.key = acme.key, await acme.make_team("gamma")
    await acme.call("PUT", "/v1/teams/gamma/secrets/GAMMA_SIGNING", json={"value": "whsec_gamma"})
    acme.key = acme_key
    wanted = ["OPENAI_API_KEY", "PATH", "BETA_CRM", "GAMMA_SIGNING", "ROTA_ADMIN_KEY"]
    assert await asked(acme, *wanted) == {}
    assert await asked(acme, *wanted, team="beta") == {"BETA_CRM": "b"}
    with pytest.raises(Permanent):
        await acme.bus.ask(READ_SECRETS, ReadSecrets.model_construct(team_id="../beta", names=["BETA_CRM"]))


async def test_services_that_need_no_secrets_may_not_ask_for_them(acme: Gateway) -> None:
    for service in ("scheduler", "validator", "learner", "memory"):
        with pytest.raises(NotInCatalog):
            await Ask(acme.app.service.bus, by=service)(READ_SECRETS, ReadSecrets(team_id="acme", names=["A"]))


async def test_a_source_that_refers_to_what_its_team_has_not_is_never_open(
    acme: Gateway, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # DEC-44
    monkeypatch.setenv("LEADS_SECRET", SECRET)
    await acme.make_source()
    body = b"{}"
    answer = await acme.http.post(HOOK, content=body, headers=signed(body))
    assert error_of(answer) == (503, "unavailable")
    assert "rota secrets set LEADS_SECRET" in capsys.readouterr().out
    await put(acme, "LEADS_SECRET", SECRET)
    assert (await acme.post()).status_code == 202
    await acme.call("DELETE", f"{SECRETS}/LEADS_SECRET")
    assert (await acme.post(event_id="evt_2")).status_code == 503  # at once on the replica that removed it


async def test_the_operator_gives_secrets_as_files(tmp_path: Path) -> None:
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "LEADS_SECRET").write_text(SECRET + "\n")
    (tmp_path / "acme" / "not a name").write_text("x")
    (tmp_path / "OUTSIDE").write_text("x")
    async with gateway(adapters=in_memory(operator_secrets=OperatorFiles(tmp_path))) as made:
        made.key = await made.make_team()
        await made.make_source()
        assert (await made.post()).status_code == 202
        [listed] = (await made.call("GET", SECRETS)).json()["secrets"]
        assert (listed["name"], listed["given_by_operator"], listed["set_at"]) == ("LEADS_SECRET", True, None)
        assert error_of(await made.call("DELETE", f"{SECRETS}/LEADS_SECRET")) == (409, "operators_secret")
        assert await asked(made, "OUTSIDE") == {}


async def test_a_sealed_secret_opens_for_its_owner_alone(acme: Gateway) -> None:
    """Write access to the database isn't enough to move it to another team or source."""
    await put(acme)
    [mine] = await acme.adapters.secrets.of_team("acme")
    moved = mine.__class__("beta", mine.name, mine.secret, mine.set_at)
    await acme.adapters.secrets.put(moved, limit=10)
    assert await asked(acme, "CRM_TOKEN", team="beta") == {}
    cipher = AesGcmCipher(SECRETS_KEY)
    sealed = cipher.encrypt(VALUE, bound_to=of_source("acme", "leads"))
    for owner in (of_source("beta", "leads"), of_source("acme", "orders"), ("secret", "acme", "leads")):
        with pytest.raises(ValueError, match="belongs to another team or name"):
            cipher.decrypt(sealed, bound_to=owner)


async def test_a_new_first_key_seals_everything_anew_so_that_the_old_one_can_go(acme: Gateway) -> None:
    """What an earlier version sealed with Fernet, too."""
    await put(acme)
    old = EncryptedSecret(sealed=Fernet(SECRETS_KEY).encrypt(SECRET.encode()).decode())
    leads = WebhookSettings(scheme=Scheme.STANDARD, secrets=[old])
    [key] = [Fernet.generate_key().decode()]
    at = (await acme.adapters.secrets.of_team("acme"))[0].set_at
    await acme.adapters.sources.add(Source("acme", "leads", at, webhook=leads))
    kept = {name: getattr(acme.adapters, name) for name in ("teams", "keys", "sources", "secrets")}
    async with gateway(adapters=in_memory(secrets_key=f"{key},{SECRETS_KEY}", **kept)) as rotated:
        await rotated.use.reseal_secrets()
    async with gateway(adapters=in_memory(secrets_key=key, **kept)) as later:
        assert await asked(later, "CRM_TOKEN") == {"CRM_TOKEN": VALUE}
        body = json.dumps({"type": "a", "data": {}}).encode()
        assert (await later.http.post(HOOK, content=body, headers=signed(body))).status_code == 202


async def test_a_changed_key_file_is_read_while_the_gateway_runs(tmp_path: Path) -> None:
    file, [old, new] = tmp_path / "secrets.key", [Fernet.generate_key().decode() for _ in range(2)]
    file.write_text(old)
    file.chmod(0o600)
    adapters = replace(in_memory(), cipher=AesGcmCipher(old, read=lambda: load_key("", file)))
    async with gateway(adapters=adapters) as made:
        made.key = await made.make_team()
        await put(made)
        answers = []
        for keys in ([old, new], [new, old], ["no key"], [new]):
            file.write_text("\n".join(keys))
            answers.append(await made.call("POST", "/v1/secrets/reseal", key=ADMIN))
            assert await asked(made, "CRM_TOKEN") == {"CRM_TOKEN": VALUE}
        before, after, broken, done = answers
        ids = [key_fingerprint(key) for key in (old, new)]
        assert before.json() == {"keys": ids, "resealed": 0, "left": 0}
        assert after.json() == {"keys": ids[::-1], "resealed": 1, "left": 0}
        assert error_of(broken) == (409, "keys_unreadable")
        assert done.json() == {"keys": ids[1:], "resealed": 0, "left": 0}
        file.write_text(old)
        assert (await made.call("POST", "/v1/secrets/reseal", key=ADMIN)).json()["left"] == 1  # nothing opens it
        assert error_of(await made.call("POST", "/v1/secrets/reseal"))[0] in (401, 403)


def test_the_master_key_is_made_once_and_private(tmp_path: Path) -> None:
    file = tmp_path / "secrets.key"
    made = load_key("", file)
    assert (load_key("", file), file.stat().st_mode & 0o777) == (made, 0o600)
    assert load_key("given", file) == f"given,{made}"
    AesGcmCipher(made)
    file.chmod(0o604)
    with pytest.raises(ValueError, match="chmod 600"):
        load_key("", file)
    with pytest.raises(ValueError, match="ROTA_SECRETS_KEY_FILE"):
        load_key("", tmp_path / "nowhere" / "secrets.key")


async def test_a_viewer_reads_a_robot_without_what_may_be_a_key(acme: Gateway) -> None:
    url = "https://u:pw@hooks.slack.com/services/T0ABCDEFG/B0ABCDEFG/XxYyZz0123456789?key=k3y"
    headers = {"Authorization": "Bearer t0ken", "X-Crm": "$SECRET.CRM_TOKEN"}
    delivery = {"preferences": {"webhook": {"targets": [{"url": url, "headers": headers}]}}}
    await acme.make_robot(delivery=delivery)
    viewer = await acme.make_key("viewer")
    member = await acme.make_key("member")
    for path in (f"{TEAM}/robots", f"{TEAM}/robots/leader"):
        seen = (await acme.call("GET", path, key=viewer)).text
        assert [secret for secret in ("pw@", "XxYyZz0123456789", "T0ABCDEFG", "k3y", "t0ken") if secret in seen] == []
        assert "https://hooks.slack.com/services/" in seen
        assert "$SECRET.CRM_TOKEN" in seen
        assert url in (await acme.call("GET", path, key=member)).text

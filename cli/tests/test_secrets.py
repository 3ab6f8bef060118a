"""`rota secrets`, and the secrets that `rota up` gives its team."""

import io
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from cli.tests.harness import Command, Gateway

from rota.client import Json
from rota.errors import CliError
from rota.secrets_key import rotate
from rota.server.team_secrets import given_secrets
from rota.signing import signature_problem, signed_event
from rota.timestamps import now
from rota_contracts.secret_refs import key_fingerprint

VALUE = "s3cret"
CRM = {
    "name": "CRM_TOKEN",
    "reference": "$SECRET.CRM_TOKEN",
    "given_by_operator": False,
    "set_at": "2026-03-02T09:00:00Z",
    "set_by": "wei",
}
MAIL = {"name": "MAIL", "reference": "$SECRET.MAIL", "given_by_operator": True, "set_at": None, "set_by": ""}


def test_secrets_are_listed_by_name(gateway: Gateway, command: Command) -> None:
    gateway.responses["/secrets"] = {"secrets": [CRM, MAIL]}
    for words in (("secrets",), ("secrets", "list")):
        code, out, _ = command(*words)
        _, crm, mail = [" ".join(line.split()) for line in out.splitlines()]
        assert (code, crm) == (0, "CRM_TOKEN $SECRET.CRM_TOKEN wei 2026-03-02 09:00:00")
        assert mail == "MAIL $SECRET.MAIL the operator"
    assert json.loads(command("secrets", "list", "--json")[1]) == [CRM, MAIL]
    gateway.responses["/secrets"] = {"secrets": []}
    assert "rota secrets set" in command("secrets")[1]


def test_a_value_comes_from_standard_input_a_variable_or_a_file_and_is_never_printed(
    gateway: Gateway, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gateway.responses["/secrets/CRM_TOKEN"] = CRM
    monkeypatch.setenv("MINE", VALUE)
    (tmp_path / "token").write_text(VALUE + "\n")
    printed = []
    for words in (("CRM_TOKEN", "--from-env", "MINE"), ("$SECRET.CRM_TOKEN", "--from-file", "token")):
        printed.append(command("secrets", "set", *words))
    monkeypatch.setattr("sys.stdin", io.StringIO(VALUE + "\n"))
    printed.append(command("secrets", "set", "CRM_TOKEN", "--json"))
    assert [body for _, body in gateway.asked] == [{"value": VALUE}] * 3
    assert [code for code, _, _ in printed] == [0, 0, 0]
    assert VALUE not in str(printed)
    assert "$SECRET.CRM_TOKEN" in printed[0][1]


def test_a_generated_secret_is_shown_once_and_signs(gateway: Gateway, command: Command) -> None:
    gateway.responses |= {"/secrets/OUT": CRM, "/secrets": {"secrets": [CRM]}}
    code, out, _ = command("secrets", "set", "OUT", "--generate")
    _, (_, body) = gateway.asked
    assert (code, out.split()[0]) == (0, body["value"])
    raw, headers = signed_event(body["value"], message_id="m1", at=now(), type="a", data={})
    assert signature_problem(body["value"], raw, headers, at=now()) == ""


def test_a_generated_secret_replaces_one_that_is_set_only_on_request(gateway: Gateway, command: Command) -> None:
    sources = [{"name": "leads", "secrets": ["$SECRET.CRM_TOKEN"]}, {"name": "other", "secrets": ["$SECRET.MAIL"]}]
    gateway.responses |= {"/secrets": {"secrets": [CRM]}, "/sources": {"sources": sources}, "/secrets/CRM_TOKEN": CRM}
    code, out, err = command("secrets", "set", "CRM_TOKEN", "--generate")
    assert (code, out, "set already" in err) == (1, "", True)
    assert all(each in err for each in ("rota sources rotate leads --generate", "--replace"))
    assert "rotate other" not in err
    assert not [body for _, body in gateway.asked if body]
    assert command("secrets", "set", "CRM_TOKEN", "--generate", "--replace")[0] == 0


def test_a_missing_value_is_said_before_anything_is_sent(gateway: Gateway, command: Command) -> None:
    for words, says in [
        ((), "expected the value of CRM_TOKEN on standard input"),
        (("--from-env", "NOT_THERE"), "environment variable NOT_THERE"),
        (("--from-file", "nowhere"), "can't read nowhere"),
        (("--from-env", "A", "--from-file", "b"), "expected one of --from-env"),
        (("--from-env", "A", "--generate"), "expected one of --from-env"),
    ]:
        code, _, error = command("secrets", "set", "CRM_TOKEN", *words)
        assert (code, says in error) == (1, True), error
    assert gateway.asked == []


def test_a_secret_is_removed(gateway: Gateway, command: Command) -> None:
    gateway.responses["/secrets/CRM_TOKEN"] = None
    assert command("secrets", "remove", "CRM_TOKEN", "--yes")[:2] == (0, "CRM_TOKEN: deleted\n")


class KeyReader:
    """A gateway over the key file: it opens what it holds, and seals it anew with the first key."""

    url = "http://gateway"

    def __init__(self, file: Path, *, broken: int = 0) -> None:
        self.file, self.broken = file, broken
        self.sealed_with = file.read_text().split()[0]

    async def reseal(self) -> Json:
        keys = self.file.read_text().split()
        assert self.sealed_with in keys, "what is sealed can't be opened any more"
        if not self.broken:
            self.sealed_with = keys[0]
        return {"keys": [key_fingerprint(key) for key in keys], "resealed": 1, "left": self.broken}


async def test_a_rotation_of_the_master_key_goes_on_wherever_it_was_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced, cut_at = 0, 0

    def replace(path: Path, target: Path) -> Path:
        """Cut off before or after it."""
        nonlocal replaced
        replaced += 1
        if 2 * replaced - 1 == cut_at:
            raise KeyboardInterrupt
        real(path, target)
        if 2 * replaced == cut_at:
            raise KeyboardInterrupt
        return target

    real = Path.replace
    monkeypatch.setattr(Path, "replace", replace)
    for cut_at in range(1, 9):
        file, replaced = tmp_path / f"secrets-{cut_at}.key", 0
        file.write_text("old\n")
        file.chmod(0o640)
        gateway: Any = KeyReader(file)
        with pytest.raises(KeyboardInterrupt):
            await rotate(file, gateway, wait=0)
        await rotate(file, gateway, wait=0)
        (new,) = file.read_text().split()
        assert (new == gateway.sealed_with, new == "old", stat.S_IMODE(file.stat().st_mode)) == (True, False, 0o640)
        assert [name for name in os.listdir(tmp_path) if not name.startswith(".")] == [file.name], cut_at
        file.unlink()


async def test_the_old_master_key_stays_while_something_is_sealed_with_it(tmp_path: Path) -> None:
    file = tmp_path / "secrets.key"
    file.write_text("old\n")
    gateway: Any = KeyReader(file, broken=2)
    with pytest.raises(CliError, match="2 secrets are still sealed with an old key"):
        await rotate(file, gateway, wait=0)
    assert "old" in file.read_text().split()
    elsewhere = tmp_path / "other.key"
    elsewhere.write_text("other\n")
    with pytest.raises(CliError, match="expected the gateway at .* to use the keys of this file"):
        await rotate(elsewhere, gateway, wait=0)
    assert elsewhere.read_text().split()[0] == "other"
    with pytest.raises(CliError, match="can't read the keys"):
        await rotate(tmp_path / "nowhere", gateway, wait=0)


def test_secrets_of_rota_up_come_from_a_file_and_from_named_variables(tmp_path: Path) -> None:
    file = tmp_path / ".env.secrets"
    file.write_text("# ours\n\nexport A=1\nB = 'two words'\nC=a=b\n")
    environ = {"A": "from the shell", "PATH": "/bin", "D": "4"}
    assert given_secrets(file, ["D"], environ) == {"A": "1", "B": "two words", "C": "a=b", "D": "4"}
    assert given_secrets(None, [], environ) == {}
    with pytest.raises(CliError, match="environment variable E"):
        given_secrets(None, ["E"], environ)
    file.write_text(f"A=1\nwhat? {VALUE}\n")
    with pytest.raises(CliError, match="line 2") as caught:
        given_secrets(file, [], environ)
    assert VALUE not in str(caught.value)
    with pytest.raises(CliError, match="can't read"):
        given_secrets(tmp_path / "nowhere", [], environ)

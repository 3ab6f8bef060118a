"""The configuration of a NATS server and its users' keys: `python -m rota_common.nats_admin.config --out FOLDER`.

Writes into the folder: `nats.conf`, `accounts.conf` (permissions), `accounts.json` (the public keys that it is made
of), and `keys/<user>/nats.nk`, the seed of each key. Existing keys stay as they are.
"""

import argparse
import base64
import json
import os
import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import nkeys

from rota_common.nats_admin.accounts import USERS, Accounts, read_accounts, render
from rota_common.nats_admin.permissions import BACKUP, TOPOLOGY
from rota_contracts.catalog import SERVICES

KEY_FILE = "nats.nk"
PRIVATE = 0o600


@dataclass(frozen=True)
class Server:
    """The settings of the server. `http_port` 0: no monitoring. `sync_interval`: how long an acknowledged message may
    be missing on the disk; empty: the server's own default of two minutes."""

    host: str = "0.0.0.0"  # noqa: S104  # a container listens to its network; the laptop commands pass 127.0.0.1
    port: int = 4222
    http_port: int = 8222
    store: str = "/data"
    name: str = ""
    sync_interval: str = "always"

    def text(self) -> str:
        lines = [f"listen: {json.dumps(f'{self.host}:{self.port}')}"]
        if self.name:
            lines.append(f"server_name: {json.dumps(self.name)}")
        if self.http_port:
            lines.append(f"http: {json.dumps(f'{self.host}:{self.http_port}')}")
        sync = f", sync_interval: {self.sync_interval}" if self.sync_interval else ""
        lines.append(f"jetstream: {{store_dir: {json.dumps(self.store)}{sync}}}")
        return "\n".join([*lines, "include accounts.conf", ""])


@dataclass(frozen=True)
class Folder:
    """The folder of the configuration."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "nats.conf"

    def key(self, user: str) -> Path:
        """The file with the seed of a user of the platform."""
        return self.path / "keys" / user / KEY_FILE

    def accounts(self) -> Accounts:
        return read_accounts(self.path / "accounts.json")

    def save(self, accounts: Accounts) -> None:
        """Write the accounts as data and in the server's format. The server reads them at its next reload."""
        self.path.mkdir(parents=True, exist_ok=True)
        replace(self.path / "accounts.json", accounts.model_dump_json(indent=2) + "\n")
        replace(self.path / "accounts.conf", render(accounts))


def write(folder: Folder, server: Server, *, owner: int | None = None) -> Accounts:
    """Write all files; repeating it changes only what differs in the catalog or `server`. `owner` is the user id that
    reads the keys, if it is another one."""
    known = folder.accounts()
    users = {user: _kept_or_new(folder.key(user), known.users.get(user), owner) for user in USERS}
    accounts = Accounts(users=users, teams=known.teams)
    folder.save(accounts)
    replace(folder.config, server.text())
    return accounts


def hand_out(folder: Folder, to: Path, *, owner: int | None = None) -> None:
    """Copy the key of each user of the platform to a folder of its own, `<to>/<user>`, which may be a volume. A seed
    that was moved elsewhere is left where it is."""
    for user in USERS:
        if (source := folder.key(user)).exists():
            _write_key(to / user / KEY_FILE, source.read_text(), owner)


def new_key() -> tuple[str, str]:
    """Seed and public key of a new user."""
    seed = nkeys.encode_seed(secrets.token_bytes(32), nkeys.PREFIX_BYTE_USER)
    return seed.decode(), public_key(seed.decode())


def public_key(seed: str) -> str:
    """The public key of a seed. Raises ValueError for an invalid seed."""
    try:
        return str(nkeys.from_seed(bytearray(seed.strip().encode())).public_key.decode())
    except nkeys.NkeysError as error:
        raise ValueError(f"expected the seed of an nkey, as `rota nats-config` writes it: {error!r}") from error


def replace(file: Path, text: str, *, mode: int = 0o644) -> None:
    """Write the file atomically, with its mode from the first byte on."""
    beside = file.with_name(f"{file.name}.new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as opened:
        opened.write(text)
    beside.replace(file)


def _kept_or_new(file: Path, known: str | None, owner: int | None) -> str:
    """The public key of the seed in the file. A seed that was moved elsewhere is not replaced: its key is known."""
    if file.exists():
        return public_key(file.read_text())
    if known is not None:
        return known
    seed, public = new_key()
    _write_key(file, seed + "\n", owner)
    return public


def _write_key(file: Path, text: str, owner: int | None) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    replace(file, text, mode=PRIVATE)
    if owner is not None:
        os.chown(file, owner, owner)


def kubernetes(folder: Folder) -> str:
    """The Secrets of deploy/k8s, for `kubectl apply -f -`: the accounts for the server, and each service's own key."""

    def secret(name: str, file: Path) -> dict[str, object]:
        data = {file.name: base64.b64encode(file.read_bytes()).decode()}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}

    keys = [secret(f"nats-key-{user}", folder.key(user)) for user in (*SERVICES, TOPOLOGY, BACKUP)]
    items = [secret("nats-accounts", folder.path / "accounts.conf"), *keys]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=2)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m rota_common.nats_admin.config", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the folder")
    parser.add_argument("--host", default=Server.host)
    parser.add_argument("--port", type=int, default=Server.port)
    parser.add_argument("--http-port", type=int, default=Server.http_port, help="of its monitoring; 0: none")
    parser.add_argument("--store", default=Server.store, help="the folder of the streams, as the server sees it")
    parser.add_argument("--name", default=Server.name, help="the server's name")
    parser.add_argument("--hand-out", type=Path, metavar="FOLDER", help="copy each service's key to FOLDER/<service>")
    parser.add_argument("--owner", type=int, help="the user id of the services, if it is another one")
    given = parser.parse_args(arguments)
    server = Server(given.host, given.port, given.http_port, given.store, given.name)
    folder = Folder(given.out)
    write(folder, server, owner=given.owner)
    if given.hand_out is not None:
        hand_out(folder, given.hand_out, owner=given.owner)
    sys.stdout.write(f"{given.out}: the configuration, and keys for {', '.join(USERS)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The replica set and the users of a MongoDB that asks for passwords: made before the services start.

`python -m rota_common.mongo_setup`. Each service has a user, named as its database, that may read and write that one
alone; the user of the backup reads all. Repeating it changes only passwords that are new. It speaks as `__system`, the
user that the members of a replica set are to each other: its password is their key file, so no user is needed to make
the first.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pymongo import MongoClient
from pymongo.errors import OperationFailure, PyMongoError
from pymongo.uri_parser import parse_uri

from rota_common.runtime.settings import ServiceSettings
from rota_common.runtime.wrong_settings import settings_of_command
from rota_common.stores.mongo import USERS_IN, read_password

OWNERS = ("gateway", "scheduler", "executor", "delivery", "learner", "memory")
"""The services with a database, by its name after the prefix."""

BACKUP = "backup"
"""The user that reads everything and writes nothing; made if there is a password for it."""

ALREADY_INITIALIZED, USER_EXISTS = 23, 51003
SELECTION_MS = 30_000
Client = MongoClient[dict[str, Any]]


def set_up(url: str, *, key: str, passwords: Mapping[str, str]) -> list[str]:
    """Make the replica set of the URL's servers and the users, database → password. Returns the lines to print."""
    found = parse_uri(url)
    options = {name: value for name, value in found["options"].items() if name != "replicaSet"}
    options |= {
        "username": "__system",
        "password": key,
        "authSource": "local",
        "authMechanism": "SCRAM-SHA-256",
        "serverSelectionTimeoutMS": SELECTION_MS,
    }
    name = found["options"].get("replicaSet")
    if not name:
        raise ValueError("expected replicaSet=NAME in ROTA_MONGO_URL: transactions need a replica set")
    hosts = [f"{host}:{port}" for host, port in found["nodelist"]]
    with Client(hosts[0], directConnection=True, **options) as first:
        made = _initiate(first, name, hosts)
    with Client(hosts, replicaSet=name, **options) as primary:
        return [made, *(_user(primary, database, password) for database, password in passwords.items())]


def _initiate(first: Client, name: str, hosts: Sequence[str]) -> str:
    members = [{"_id": number, "host": host} for number, host in enumerate(hosts)]
    try:
        first.admin.command("replSetInitiate", {"_id": name, "members": members})
    except OperationFailure as error:
        if error.code != ALREADY_INITIALIZED:
            raise
        return f"replica set {name}: there already"
    return f"replica set {name}: {', '.join(hosts)}"


def _user(primary: Client, database: str, password: str) -> str:
    role = (
        {"role": "backup", "db": USERS_IN} if database.endswith(f"_{BACKUP}") else {"role": "readWrite", "db": database}
    )
    account: dict[str, Any] = {"pwd": password, "roles": [role]}
    users = primary[USERS_IN]
    try:
        users.command("createUser", database, **account)
    except OperationFailure as error:
        if error.code != USER_EXISTS:
            raise
        users.command("updateUser", database, **account)
    return f"user {database}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m rota_common.mongo_setup", description=__doc__)
    settings = settings_of_command(ServiceSettings)
    parser.add_argument("--mongo-url", default=settings.mongo_url, help="default: $ROTA_MONGO_URL")
    parser.add_argument("--key-file", type=Path, required=True, help="the key file of the replica set's members")
    parser.add_argument("--passwords", type=Path, required=True, help=f"a folder with a file each: {', '.join(OWNERS)}")
    given = parser.parse_args(arguments)
    try:
        key = "".join(read_password(given.key_file).split())
        wanted = (*OWNERS, BACKUP) if (given.passwords / BACKUP).exists() else OWNERS
        passwords = {f"{settings.mongo_prefix}_{owner}": read_password(given.passwords / owner) for owner in wanted}
        lines = set_up(given.mongo_url, key=key, passwords=passwords)
    except (PyMongoError, ValueError) as error:
        sys.stderr.write(f"{error!s:.300}\ncorrect ROTA_MONGO_URL or the file, and run it again: it may be repeated\n")
        return 1
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Stored documents in older forms become this version's, while services of this version and the one before run.

A service's container has what it takes: its database, a user of it, and the forms. Run it once all replicas are of this
version. It may be interrupted, and repeated at any time; the version before reads what it writes.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from time import monotonic
from types import ModuleType

from pymongo.errors import PyMongoError

from rota_common.runtime.settings import ServiceSettings
from rota_common.runtime.wrong_settings import settings_of_command
from rota_common.stores.migrations import migrate_all
from rota_common.stores.mongo import Mongo
from rota_contracts.catalog import SERVICES

SHOWN_EVERY_S = 5.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m rota_common.migrate", description=__doc__)
    parser.add_argument("service", choices=SERVICES, help="whose documents; its settings say where MongoDB is")
    service: str = parser.parse_args().service
    forms = _forms_of(service)
    if forms is None:
        sys.stdout.write(f"{service}: no documents that have an older form\n")
        return 0
    return asyncio.run(_migrate(forms))


def _forms_of(service: str) -> ModuleType | None:
    """The module that says the forms of a service, which must be installed."""
    module = f"{service.replace('-', '_')}.adapters.stored_forms"
    return import_module(module) if find_spec(module) is not None else None


async def _migrate(forms: ModuleType) -> int:
    settings = settings_of_command(ServiceSettings)
    try:
        mongo = Mongo.of(settings, forms.DATABASE)
    except (PyMongoError, ValueError) as error:
        return _failed(error)
    left = 0
    try:
        async for part, ended in migrate_all(mongo.database, forms.STORED_FORMS, show=_every(SHOWN_EVERY_S, _say)):
            _say(f"{part}: {ended}")
            left += ended.left
    except PyMongoError as error:
        return _failed(error)
    finally:
        await mongo.close()
    return 1 if left else 0


def _failed(error: Exception) -> int:
    mend = "what is migrated stays so: correct ROTA_MONGO_URL or ROTA_MONGO_PASSWORD_FILE, and run it again"
    sys.stderr.write(f"{error!s:.300}\n{mend}\n")
    return 1


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _every(seconds: float, show: Callable[[str], None]) -> Callable[[str], None]:
    """Shows a line now and then, of many."""
    shown = monotonic()

    def seldom(line: str) -> None:
        nonlocal shown
        if monotonic() - shown >= seconds:
            shown = monotonic()
            show(line)

    return seldom


if __name__ == "__main__":
    sys.exit(main())

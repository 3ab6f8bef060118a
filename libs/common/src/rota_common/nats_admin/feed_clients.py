"""Clients of the delivery feed, without the CLI: `python -m rota_common.nats_admin.feed_clients add TEAM NAME`."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from nats.errors import Error as NatsError

from rota_common.nats_admin.config import Folder
from rota_common.nats_admin.feed_client_admin import FeedClient, FeedClientError, FeedClients, failure
from rota_common.runtime.settings import ServiceSettings
from rota_common.runtime.wrong_settings import settings_of_command

VERBS = ("add", "list", "remove", "rewind", "reload")


def main(arguments: Sequence[str] | None = None) -> int:
    settings = settings_of_command(ServiceSettings)
    parser = argparse.ArgumentParser(prog="python -m rota_common.nats_admin.feed_clients", description=__doc__)
    parser.add_argument("verb", choices=VERBS)
    parser.add_argument("team", nargs="?", default="")
    parser.add_argument("name", nargs="?", default="")
    parser.add_argument("--config", type=Path, required=True, help="the folder of `rota_common.nats_admin.config`")
    parser.add_argument("--nats-url", default=settings.nats_url, help="default: $ROTA_NATS_URL")
    parser.add_argument("--ca-file", default=settings.nats_ca_file, help="default: $ROTA_NATS_CA_FILE")
    parser.add_argument("--since", type=_instant, help="for add and rewind: 2026-03-02T09:00:00+01:00")
    parser.add_argument("--calls", action="store_true", help="for add: it may call the team's agents")
    given = parser.parse_args(arguments)
    if given.verb not in ("list", "reload") and not (given.team and given.name):
        parser.error(f"expected {given.verb} TEAM NAME")
    if given.verb == "rewind" and given.since is None:
        parser.error("expected rewind TEAM NAME --since INSTANT")
    feed_clients = FeedClients(Folder(given.config), given.nats_url, given.ca_file)
    try:
        lines = asyncio.run(_done(feed_clients, given))
    except FeedClientError as error:
        sys.stderr.write(f"{error}\n")
    except (NatsError, OSError, TimeoutError, ValueError) as error:
        sys.stderr.write(": ".join(failure(given.nats_url, given.config, error)) + "\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in lines)
        return 0
    return 1


async def _done(feed_clients: FeedClients, given: argparse.Namespace) -> list[str]:
    """Do it, and return the lines to print; for a new client its seed, which is stored nowhere."""
    match given.verb:
        case "add":
            return [await feed_clients.add(given.team, given.name, since=given.since, calls=given.calls)]
        case "remove":
            await feed_clients.remove(given.team, given.name)
        case "rewind":
            await feed_clients.rewind(given.team, given.name, since=given.since)
        case "reload":
            await feed_clients.reload()
        case _:
            return _table(await feed_clients.listed(given.team))
    return []


def _table(found: Sequence[FeedClient]) -> list[str]:
    """Lines with a head, as `rota feed-clients list` prints them."""
    rows = [one.row() for one in found]
    widths = [max(map(len, column)) for column in zip(FeedClient.COLUMNS, *rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (FeedClient.COLUMNS, *rows)
    ]


def _instant(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"expected an offset too, like 2026-03-02T09:00:00+01:00, not {text!r}")
    return at


if __name__ == "__main__":
    sys.exit(main())

"""Retries of executions over the gateway's API: by id, or a range page by page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from rota.api_error import ApiError
from rota.client import Api, Json
from rota.errors import CliError

PAGE_SIZE = 100
TIMEOUT_S = 60.0
ABOUT_ONE = (404, 409, 422, 429)
"""Statuses that say something about one execution: the next may be retried all the same."""


@dataclass
class Retries:
    """The new executions, and what was not retried: `{execution_id, code, message}` of each."""

    retried: list[Json] = field(default_factory=list)
    refused: list[Json] = field(default_factory=list)


async def retry_by_id(api: Api, execution_ids: Sequence[str], how: Json, into: Retries) -> None:
    """`how` is `{force, dry_run}`."""
    for each in execution_ids:
        try:
            path = f"/executions/{quote(each, safe='')}/retry"
            into.retried.append(await api.of_team("POST", path, json=how, timeout=TIMEOUT_S))
        except ApiError as error:
            if error.status not in ABOUT_ONE:
                _count(error, into)
                raise
            into.refused.append({"execution_id": each, "code": error.code, "message": error.what})


async def retry_range(api: Api, which: Mapping[str, str], how: Json, into: Retries) -> None:
    """All pages of those that match."""
    wanted: Json = {**which, **how, "limit": PAGE_SIZE, "after": ""}
    while True:
        try:
            page = await api.of_team("POST", "/executions/retry", json=wanted, timeout=TIMEOUT_S)
        except CliError as error:
            _count(error, into)
            raise
        into.retried += page["retried"]
        into.refused += page["refused"]
        if not page["next"]:
            return
        wanted["after"] = page["next"]


def _count(error: CliError, into: Retries) -> None:
    error.details.append(f"retried before the error: {len(into.retried)}; asked again, none of them runs twice")

"""The checks of `rota doctor` on a Rota that isn't one of this machine's `rota up`: what its API says of it."""

from collections.abc import Sequence

from rota.api_error import ApiError
from rota.client import Api, Json
from rota.connection_errors import is_loopback
from rota.context import Context, own_rota
from rota.errors import CliError
from rota.findings import Finding, Level
from rota_contracts.catalog import SERVICES

QUESTIONS = (
    ("scheduler", "/plans", {"limit": 1}),
    ("executor", "/executions", {"limit": 1}),
    ("delivery-center", "/deliveries", {"limit": 1}),
)
"""A service, and a small request that the gateway hands on to it."""

NO_KEY = (401, 403)


def is_elsewhere(given: Context, *, answered: bool) -> bool:
    """Compose listens on this machine too, but only the context of a `rota up` has the address of its MongoDB."""
    if not given.url:
        return False
    if not is_loopback(given.url):
        return True
    return answered and own_rota(given) is None


def from_report(report: Json) -> list[Finding]:
    """What the gateway's readiness report says of the parts behind it."""
    nearly = report.get("degraded") or {}
    named = nearly.items() if isinstance(nearly, dict) else [("degraded", nearly)]
    return [Finding(str(part), Level.NOTE, str(text), "see the log of its services") for part, text in named]


async def check_services(given: Context) -> list[Finding]:
    """The team's key, and the services that the API asks for it."""
    if not (given.team and given.api_key):
        mend = "set ROTA_TEAM and ROTA_API_KEY: the services behind the API are asked with the team's key"
        return [Finding("key", Level.NOTE, "no key of a team", mend)]
    found = []
    async with Api(given.url, given.team, key=given.api_key) as api:
        for service, path, params in QUESTIONS:
            try:
                await api.of_team("GET", path, params=params)
            except ApiError as error:
                if error.status in NO_KEY:
                    return [Finding("key", Level.MISSING, f"refused for team {given.team}: {error.what}", error.hint)]
                found.append(Finding(service, Level.MISSING, error.what, "start it there, or see its log"))
            except CliError as error:
                found.append(Finding(service, Level.MISSING, error.what, error.hint))
            else:
                found.append(Finding(service, Level.OK, "answers"))
    return found


def unasked(found: Sequence[Finding], *, answered: bool, extra: bool) -> list[Finding]:
    """A note for each part that no check has asked, and what to set. `answered`: the gateway does; `extra`: NATS and
    MongoDB can be asked."""
    seen, asked_by_api = {one.part for one in found}, [service for service, _, _ in QUESTIONS]
    notes = []
    for part in (*SERVICES[1:], "nats", "mongodb"):
        variable = "ROTA_MONGO_URL" if part == "mongodb" else "ROTA_NATS_URL"
        mend = f"set {variable}" if extra else f"set {variable}, and install 'rota[server]'"
        if part in asked_by_api:
            mend = (
                "set ROTA_TEAM and ROTA_API_KEY to a key of that team"
                if answered
                else "set ROTA_URL to one that answers"
            )
        if part not in seen:
            notes.append(Finding(part, Level.NOTE, f"not asked ({mend})", asked=False))
    return notes

"""The checks of `rota doctor` on a Rota that isn't one of this machine's `rota up`: what its API says of it."""

from rota import context
from rota.api_error import ApiError
from rota.client import Api, Json
from rota.connection_errors import is_loopback
from rota.context import Context
from rota.errors import CliError
from rota.findings import Finding, Level

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


def own_rota(given: Context) -> Context | None:
    """The context that a `rota up` of this machine wrote, if it is the one that commands act on."""
    own = context.saved(context.selected())
    return own if own.mongo_url and context.same_address(own.url, given.url) else None


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

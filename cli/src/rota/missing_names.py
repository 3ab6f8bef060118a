"""Names that are referred to and aren't set up: what is known to fail until they are."""

import re
from collections.abc import Collection
from json import dumps

from rota.api_error import ApiError
from rota.client import Api, Json

REFERENCE = re.compile(r'"\$(?:SECRET|ENV)\.([A-Za-z_][A-Za-z0-9_]*)"')


async def names(api: Api, kind: str) -> Collection[str] | None:
    """Those of the sources or secrets that the team has; None if they can't be read."""
    try:
        return {each["name"] for each in (await api.of_team("GET", f"/{kind}"))[kind]}
    except ApiError:
        return None


async def secret_warnings(api: Api, source: Json) -> list[str]:
    """Of the secrets that a source refers to; each once."""
    needed = dict.fromkeys(REFERENCE.findall(dumps(source)))
    known = await names(api, "secrets") if needed else None
    return [not_set(name, "its events are refused") for name in needed if known is not None and name not in known]


def not_set(name: str, effect: str) -> str:
    return f"the secret {name} isn't set, and {effect}: rota secrets set {name}"

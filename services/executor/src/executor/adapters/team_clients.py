"""HTTP clients for connectors that teams wrote, and the memory of servers that take no form of answers."""

from collections import OrderedDict
from typing import Any

import httpx

from executor.agents.connectors import Connector
from rota_common.errors import Permanent

PROVIDERS = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
"""Given by name, because litellm would take an address from the environment."""

NO_KEY = "none"
"""In place of a key, because litellm would take one from the environment."""

OWN, TEAMS = 20, 500


class TeamClients:
    """`guarded` checks each address: redirects aren't followed, and proxies of the environment aren't used."""

    def __init__(self, guarded: httpx.AsyncBaseTransport) -> None:
        self._guarded = guarded
        self._http: httpx.AsyncClient | None = None
        self._handler: Any = None

    def of(self, litellm: Any, connector: Connector) -> dict[str, Any]:
        """litellm's arguments for a connector's server. Raises Permanent for a model that litellm would ask in a way
        that takes no client of ours."""
        mode = litellm.model_cost.get(connector.model, {}).get("mode")
        if connector.host and (mode == "responses" or connector.model.startswith("responses/")):
            raise Permanent(
                f"connector {connector.id} can't be used: expected a model of chat completions where there is a host, "
                f"got {connector.model}"
            )
        key, host = connector.key or NO_KEY, connector.host or PROVIDERS[connector.type]
        client = self._openai(litellm, key, host) if connector.type == "openai" else self._anthropic(litellm)
        return {"api_key": key, "api_base": host, "client": client}

    def _openai(self, litellm: Any, key: str, host: str) -> Any:
        if self._http is None:
            hooks = {"request": [_without_organization]}
            self._http = httpx.AsyncClient(
                transport=self._guarded, trust_env=False, follow_redirects=False, event_hooks=hooks
            )
        return litellm.main.openai.AsyncOpenAI(api_key=key, base_url=host, http_client=self._http, max_retries=0)

    def _anthropic(self, litellm: Any) -> Any:
        if self._handler is None:
            handler = litellm.llms.custom_httpx.http_handler.AsyncHTTPHandler
            self._handler = handler(transport=self._guarded, follow_redirects=False)
        return self._handler


async def _without_organization(request: httpx.Request) -> None:
    """litellm and its client take the operator's from the environment, whatever they are given."""
    for name in ("openai-organization", "openai-project"):
        request.headers.pop(name, None)


class Formless:
    """Models at servers that take no form of answers: the platform's, and the last `OWN` of the last `TEAMS` teams."""

    def __init__(self) -> None:
        self._of = OrderedDict[str, OrderedDict[tuple[str, str], None]]()

    def add(self, connector: Connector) -> None:
        mine = self._of.setdefault(connector.owner, OrderedDict())
        mine[connector.host, connector.model] = None
        if connector.owner:
            self._of.move_to_end(connector.owner)
            if len(mine) > OWN:
                mine.popitem(last=False)
        if len(self._of) > TEAMS:
            self._of.popitem(last=False)

    def __contains__(self, connector: Connector) -> bool:
        return (connector.host, connector.model) in self._of.get(connector.owner, ())

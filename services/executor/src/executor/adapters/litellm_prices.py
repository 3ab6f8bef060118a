"""Prices: a connector's own, else those of litellm's list, for models at their provider's own address."""

from collections.abc import Mapping
from typing import Any

from executor.adapters.litellm_model import LitellmModel
from executor.agents.connectors import Connector
from executor.agents.prices import MILLION, Price

INPUT, OUTPUT, CACHED = "input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost"


class LitellmPrices:
    def __init__(self, model: LitellmModel) -> None:
        self._model = model

    async def of(self, connector: Connector) -> Price | None:
        if connector.price is not None or connector.host:
            return connector.price
        return listed(await self._model.price_list(), connector)


def listed(prices: Mapping[str, Mapping[str, Any]], connector: Connector) -> Price | None:
    """None for a model that isn't in the list, or whose price depends on more than the number of its tokens."""
    found = prices.get(f"{connector.type}/{connector.model}") or prices.get(connector.model) or {}
    into, out, cached = (_per_million(found.get(each)) for each in (INPUT, OUTPUT, CACHED))
    if found.get("litellm_provider") != connector.type or into is None or out is None:
        return None
    tiers = any("_per_token_above_" in name and not name.startswith("cache_creation") for name in found)
    if tiers or "service_tier" in connector.parameters:
        return None
    return Price(input_per_million=into, output_per_million=out, cached_per_million=cached)


def _per_million(value: object) -> float | None:
    return round(value * MILLION, 9) if isinstance(value, int | float) and value >= 0 else None

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
    if found.get("litellm_provider") != connector.type or not all(_is_number(found.get(each)) for each in (INPUT, OUTPUT)):
        return None
    if any("_above_" in name and value for name, value in found.items()):
        return None
    cached = found.get(CACHED)
    return Price(
        input_per_million=round(found[INPUT] * MILLION, 9),
        output_per_million=round(found[OUTPUT] * MILLION, 9),
        cached_per_million=round(cached * MILLION, 9) if _is_number(cached) else None,
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and value >= 0

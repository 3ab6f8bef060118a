"""Prices of models."""

from pydantic import BaseModel, ConfigDict, Field

from rota_contracts.messages.usage import DIGITS, Usage
from rota_contracts.robots.ceilings import Currency

MILLION = 1_000_000


class Price(BaseModel):
    """Of a million tokens. `cached_per_million`: of those that the provider had cached; without it they cost as much
    as the others."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input_per_million: float = Field(ge=0)
    output_per_million: float = Field(ge=0)
    cached_per_million: float | None = Field(default=None, ge=0)
    currency: Currency = "USD"

    def cost(self, usage: Usage) -> float:
        """In `currency`."""
        cached = min(usage.tokens_cached, usage.tokens_in)
        of_cached = self.input_per_million if self.cached_per_million is None else self.cached_per_million
        whole = (usage.tokens_in - cached) * self.input_per_million + usage.tokens_out * self.output_per_million
        return round((whole + cached * of_cached) / MILLION, DIGITS)

    def most(self, tokens_in: int, tokens_out: int) -> float:
        """The cost if nothing, or everything, was cached: whichever is more."""
        dearest = max(self.input_per_million, self.cached_per_million or 0.0)
        return (tokens_in * dearest + tokens_out * self.output_per_million) / MILLION

"""Prices of models."""

from rota_contracts.definitions.connector import ModelPrice
from rota_contracts.messages.usage import DIGITS, Usage

MILLION = 1_000_000


class Price(ModelPrice):
    """With what comes of it."""

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

"""Ceilings of what calls of models may take: in money, in tokens, or both."""

from typing import Annotated

from pydantic import Field, StringConstraints

from rota_contracts.model import Part

Currency = Annotated[str, StringConstraints(pattern="^[A-Z]{3}$")]


class Ceiling(Part):
    """`tokens` are those that go in and those that come out."""

    money: float | None = Field(default=None, gt=0, le=1_000_000_000, description="in the ceilings' currency")
    tokens: int | None = Field(default=None, gt=0, le=10**15)

    @property
    def there(self) -> bool:
        return self.money is not None or self.tokens is not None


class Ceilings(Part):
    """`run` holds for each run, `day` for a day (UTC) of the whole robot, or of the whole team."""

    run: Ceiling = Ceiling()
    day: Ceiling = Ceiling()
    currency: Currency = "USD"

    @property
    def there(self) -> bool:
        return self.run.there or self.day.there

"""Ceilings of what calls of models may take: in money, in tokens, or both."""

from typing import Annotated

from pydantic import Field, StringConstraints

from rota_contracts.model import Part

Currency = Annotated[str, StringConstraints(pattern="^[A-Z]{3}$")]


class Ceiling(Part):
    """A ceiling in money, in tokens, or both; the first that is reached holds."""

    money: float | None = Field(default=None, gt=0, le=1_000_000_000, description="in the ceilings' currency")
    tokens: int | None = Field(default=None, gt=0, le=10**15, description="in and out together")

    @property
    def there(self) -> bool:
        return self.money is not None or self.tokens is not None


class Ceilings(Part):
    """What calls of models may take. At a ceiling the run waits and asks a person."""

    run: Ceiling = Field(default=Ceiling(), description="for each run")
    day: Ceiling = Field(default=Ceiling(), description="for a day (UTC) of the whole robot, or of the whole team")
    currency: Currency = Field(default="USD", description="of the money here; ISO 4217")

    @property
    def there(self) -> bool:
        return self.run.there or self.day.there

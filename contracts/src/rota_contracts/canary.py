"""A canary: a revision that a share of new runs begins with, before it is promoted to the current one, or aborted."""

from hashlib import sha256

from pydantic import Field

from rota_contracts.model import Instant, Part


class Canary(Part):
    """Of a team's set of definitions, or of a robot."""

    rev: int = Field(ge=1)
    share: int = Field(ge=1, le=99, description="percent of new runs")
    since: Instant

    def draws(self, execution_id: str, *, of: str = "") -> bool:
        """Does this new run begin with it? The same answer however often it is asked, and the same runs and more with a
        larger share. `of`: whose canary it is, so that two of a team draw apart."""
        drawn = int(sha256(f"{of}{self.rev} {execution_id}".encode()).hexdigest(), 16) % 100
        return drawn < self.share

"""The knowledge of a robot: shared collections and data, and the lessons of its runs."""

from datetime import datetime, timedelta

from pydantic import Field

from rota_contracts.messages.learning import LessonType
from rota_contracts.model import Json, Part
from rota_contracts.robots.events import Path


class SharedKB(Part):
    """Shared collections that a run reads. `options.limit`: entries per run (default 5)."""

    collections: list[str] = Field(default=[], description="names of shared collections: `rota kb`")
    options: dict[str, Json] = Field(default={}, description="limit: entries that a run is given at most (default 5)")


class SharedDB(Part):
    """Models of the team's data. Each method is a process that tasks may call: `models.<model>.<Method>`."""

    models: list[str] = Field(default=[], description="names of models; the team answers their methods as processes")
    options: dict[str, Json] = Field(default={}, description="kept, and read by none of Rota's services")


class Learn(Part):
    """The lessons that a robot keeps of its runs."""

    on: bool = Field(default=True, description="false: nothing is learnt; lessons that are there are still recalled")
    types: list[LessonType] = Field(
        default=list(LessonType),
        description="execution: what worked and failed; feedback: errors and their fix; insight: patterns and tips",
    )
    keep: int = Field(default=0, ge=0, description="days; 0 = forever")
    by: Path | None = Field(
        default=None,
        description="a path into the event's data, like customer.id: a run is given the lessons of runs with the same "
        "value there, and no others; a run without a value learns nothing. null: all runs share their lessons",
    )

    def kept_since(self, now: datetime) -> datetime | None:
        """The instant before which lessons are removed; None if all are kept."""
        try:
            return now - timedelta(days=self.keep) if self.keep else None
        except OverflowError:  # longer than there are dates
            return None

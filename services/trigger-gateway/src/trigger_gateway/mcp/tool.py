"""One tool: its parameters, the permission that it needs, and what it does."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from rota_contracts.model import Json
from trigger_gateway.problems import invalid
from trigger_gateway.runs.follow_execution import Progress

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True)
class Outcome:
    """`text` for models, `data` for programs."""

    text: str
    data: dict[str, Json]


@dataclass(frozen=True, kw_only=True)
class Tool(Generic[T]):
    """`route`: whose permission it needs, of `teams.roles`; its changes are recorded under that name."""

    name: str
    description: str
    parameters: type[T]
    route: str
    use: Callable[[T, Progress], Awaitable[Outcome]]
    changes: bool = False

    async def __call__(self, arguments: Any, progress: Progress) -> Outcome:
        """Raise Problem, Transient or an outage."""
        try:
            given = self.parameters.model_validate(arguments or {})
        except ValidationError as error:
            raise invalid("invalid_request", f"the arguments of {self.name} are not valid", error) from error
        return await self.use(given, progress)

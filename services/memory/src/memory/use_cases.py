"""The memory's use cases, wired to its adapters."""

from dataclasses import dataclass
from typing import Self

from memory.ports import Adapters
from memory.robot_knowledge import RobotKnowledge
from memory.settings import Settings
from memory.shared_knowledge import SharedKnowledge
from rota_common.runtime.service import Service


@dataclass(frozen=True, kw_only=True)
class UseCases:
    robots: RobotKnowledge
    shared: SharedKnowledge

    @classmethod
    def over(cls, adapters: Adapters, settings: Settings, service: Service) -> Self:
        return cls(
            robots=RobotKnowledge(
                entries=adapters.entries,
                shared=adapters.shared,
                bases=adapters.bases,
                robots=adapters.robots,
                embedder=adapters.embedder,
                clock=service.runtime.clock,
            ),
            shared=SharedKnowledge(shared=adapters.shared, embedder=adapters.embedder),
        )

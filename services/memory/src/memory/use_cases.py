"""The memory's use cases, wired to its adapters."""

from dataclasses import dataclass
from typing import Self

from memory.person_files import PersonFiles
from memory.ports import Adapters
from memory.remove_team import RemoveTeam
from memory.robot_files import RobotFiles
from memory.robot_knowledge import RobotKnowledge
from memory.settings import Settings
from memory.shared_knowledge import SharedKnowledge
from rota_common.runtime.service import Service
from rota_contracts.envelope import Event
from rota_contracts.messages.robot_facts import RobotDeletedV1


@dataclass(frozen=True, kw_only=True)
class UseCases:
    robots: RobotKnowledge
    shared: SharedKnowledge
    files: RobotFiles
    people: PersonFiles
    remove_team: RemoveTeam

    async def close(self, event: Event[RobotDeletedV1]) -> None:
        """A robot's end: noted first, then its knowledge and files go, in the order that `remember` relies on."""
        await self.robots.close_base(event)
        await self.files.remove_all(event)

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
            files=RobotFiles(
                workspaces=adapters.workspaces,
                bases=adapters.bases,
                robots=adapters.robots,
                clock=service.runtime.clock,
            ),
            people=PersonFiles(workspaces=adapters.workspaces, clock=service.runtime.clock),
            remove_team=RemoveTeam(entries=adapters.entries, shared=adapters.shared, documents=adapters.team_documents),
        )

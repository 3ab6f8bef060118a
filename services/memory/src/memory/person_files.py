"""The files that people have with agents: their beginning, which is once, and their end."""

from dataclasses import dataclass

from memory.domain import Owner
from memory.ports import Workspaces
from memory.workspace import Refused, seeding
from rota_common.clock import Clock
from rota_contracts.messages.workspace import ForgetFiles, ForgottenFiles, SeededFiles, SeedFiles


@dataclass(frozen=True, kw_only=True)
class PersonFiles:
    workspaces: Workspaces
    clock: Clock

    async def seed(self, request: SeedFiles) -> SeededFiles:
        """What the person has with the agent; the first time with the given files beside what is there."""
        owner = Owner(request.team_id, request.member_id, request.agent_id)
        try:
            there = await self.workspaces.seed(owner, seeding(request.files, now=self.clock()))
        except Refused as error:
            return SeededFiles(refused=error.why, reason=str(error))
        return SeededFiles(files={file.path: file.content for file in there})

    async def forget(self, request: ForgetFiles) -> ForgottenFiles:
        """Remove what a person has with all agents, and what all people have with some agents."""
        team, count = request.team_id, 0
        if request.member_id is not None:
            count += await self.workspaces.forget_person(team, request.member_id)
        if request.agent_ids:
            count += await self.workspaces.forget_agents(team, request.agent_ids)
        return ForgottenFiles(count=count)

"""Finds what a team offers to programs outside: its public agents, and its robots that people may start."""

from dataclasses import dataclass

from rota_contracts.messages.provider import AgentCard
from rota_contracts.robots.robot import Robot
from trigger_gateway.problems import NotFound
from trigger_gateway.robots.ports import RobotRecords
from trigger_gateway.webhooks.ports import Agents

MOST_ROBOTS = 500


@dataclass(frozen=True, kw_only=True)
class FindOffered:
    robots: RobotRecords
    agents: Agents

    async def public_agents(self, team: str) -> list[AgentCard]:
        """Raise Transient when the executor doesn't answer."""
        return [card for card in await self.agents.cards(team) if card.public]

    async def agent(self, team: str, agent_id: str) -> AgentCard:
        """The agent that the team may use. Raise NotFound, and Transient as above."""
        for card in await self.agents.cards(team):
            if card.id == agent_id:
                return card
        raise NotFound("agent_not_found", f"team {team} has no agent {agent_id}: see the list of its agents")

    async def startable_robots(self, team: str) -> list[Robot]:
        """The first of them, by member_id."""
        robots, _ = await self.robots.page(team, page=1, page_size=MOST_ROBOTS)
        return [robot for robot in robots if _startable(robot)]

    async def one(self, team: str, name: str) -> AgentCard | Robot:
        """The robot of this name, else the agent: a robot is the team's own, and an operator's new agent doesn't take
        its place. Raise NotFound if neither is offered, Transient when the executor doesn't answer."""
        record = await self.robots.find(team, name)
        if record is not None and not record.robot.deleted and _startable(record.robot):
            return record.robot
        for card in await self.public_agents(team):
            if card.id == name:
                return card
        text = f"team {team} has no public agent {name}, and no robot of this name that people may start"
        raise NotFound("not_offered", text)


def _startable(robot: Robot) -> bool:
    return robot.robot_config.triggers.intervene.enabled

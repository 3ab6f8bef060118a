"""The agents of one run and their connectors, as they were when it began."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from executor.agents.connectors import REHEARSAL, Connector
from executor.agents.prompt_files import Agent
from executor.agents.team_view import TeamView
from executor.domain.run import Run
from executor.domain.spending import payer_of
from executor.domain.steps import AskAgent, RunTurn, subject_of
from executor.steps.hooked_prompts import HookedPrompts
from executor.steps.models import Ask, Models
from executor.steps.step_result import StepResult
from rota_common.errors import Permanent
from rota_contracts.messages.execution import Task
from rota_contracts.robots.robot import Phase

Asking = AskAgent | RunTurn
Subject = Phase | Task | None


@dataclass(frozen=True)
class RunAgents:
    """`view`: of the set that the run noted when it began. `hooks` may choose another connector for a step."""

    run: Run
    view: TeamView
    models: Models
    hooks: HookedPrompts | None = None

    def agent(self, subject: Phase | Task) -> Agent:
        """Raises Permanent for a phase's agent that isn't there."""
        if isinstance(subject, Task):
            return self.view.agents.assistant(subject.executor_id)
        agent_id = self.run.robot.phase_agent(subject)
        if (agent := self.view.agents.find(agent_id)) is None:
            raise Permanent(self.view.missing(agent_id))
        return agent

    def connector(self, agent: Agent, subject: Subject, step: Asking | None = None) -> Connector:
        """`subject` None: a task of this agent."""
        wanted, _ = self._wanted(agent, subject, step)
        return self.models.choose(self.run.execution.executor_mode, wanted, view=self.view)

    def rehearses(self, subject: Phase | Task, step: Asking | None = None) -> bool:
        """Does a canned answer stand in for a model's? An agent that can't be asked at all gets none."""
        try:
            return self.connector(self.agent(subject), subject, step).type == REHEARSAL
        except Permanent:
            return False

    def can(self, name: str, capability: str) -> bool:
        """An assistant that can't be asked at all can't do it either."""
        try:
            return self.connector(self.view.agents.assistant(name), None).can(capability)
        except Permanent:
            return False

    async def ask(self, step: Asking, agent: Agent, ask: Ask[StepResult]) -> StepResult:
        """The result of the first candidate that answers, with a note if that isn't the usual one."""
        wanted, why = self._wanted(agent, subject_of(step), step)
        mode, payer = self.run.execution.executor_mode, payer_of(self.run, agent.id)
        result, fallback = await self.models.ask(ask, mode, wanted, payer=payer, view=self.view)
        return replace(result, problems=[*result.problems, *why, *fallback])

    def _wanted(self, agent: Agent, subject: Subject, step: Asking | None) -> tuple[str, Sequence[str]]:
        """The name of its connector: as hooks have chosen, else as its file says, else by the rules for queries, with a
        note."""
        named = (self.hooks.model(self.run, step) if self.hooks and step else "") or agent.connector
        return (named, ()) if named else self.models.routed(self.run, subject, view=self.view)

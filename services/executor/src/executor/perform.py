"""Carrying out a step that the worker does itself, and saying what came of it."""

from dataclasses import dataclass
from typing import assert_never

from executor import parsing
from executor.agents import Agents
from executor.connectors import REHEARSAL, Connector, Connectors
from executor.facts import facts
from executor.plan import plan
from executor.ports import Model, Prompt
from executor.prompts import for_phase, for_task
from executor.run import Run
from executor.steps import (
    AskAgent,
    CheckRules,
    GoalsSet,
    Inspired,
    Outcome,
    Planned,
    Recalled,
    RecallLessons,
    RulesAnswered,
    RunTurn,
    StepDelayed,
    StepFailed,
    TaskAnswered,
    Unusable,
    Work,
    Written,
)
from rota_common.asking import Ask
from rota_common.blobs import Blobs
from rota_common.errors import Permanent, Transient
from rota_contracts import catalog, validation
from rota_contracts.agent import DEFAULT_TIMEOUT_S
from rota_contracts.clock import clock_context
from rota_contracts.delivery import DeliveryContent
from rota_contracts.execution import InspirationReport
from rota_contracts.learning import Lesson
from rota_contracts.memory import Recall
from rota_contracts.robot import Phase, Robot
from rota_contracts.text import INLINE_LIMIT
from rota_contracts.trigger import ExecutorMode

RECALL_TIMEOUT_S = 5
RECALL_LIMIT = 5


@dataclass(frozen=True)
class Models:
    """Which model answers: the connector's, or rehearsal for every run that isn't in standard mode (EX-08)."""

    connectors: Connectors
    real: Model
    rehearsal: Model

    def choose(self, mode: ExecutorMode, *wanted: str) -> tuple[Model, Connector]:
        """Raises Permanent when the connector can't be used."""
        if mode is not ExecutorMode.STANDARD:
            return self.rehearsal, self.connectors.choose(REHEARSAL)
        connector = self.connectors.choose(*wanted)
        return (self.rehearsal if connector.type == REHEARSAL else self.real), connector


@dataclass(frozen=True)
class Perform:
    """`await perform(run, step)`; a failure is an outcome, never an exception."""

    models: Models
    agents: Agents
    blobs: Blobs
    ask: Ask

    async def __call__(self, run: Run, step: Work) -> Outcome:
        try:
            return await self._carry_out(run, step)
        except parsing.UnusableAnswer as error:
            return Unusable(str(error))
        except Permanent as error:
            return StepFailed(str(error))
        except Transient as error:
            return StepDelayed(str(error), error.after)

    async def _carry_out(self, run: Run, step: Work) -> Outcome:
        match step:
            case RecallLessons(query):
                return await self._recall(run, query)
            case AskAgent(phase, step_id):
                return await self._ask_agent(run, phase, step_id)
            case RunTurn():
                return await self._run_turn(run, step)
            case CheckRules(task, output):
                question = validation.CheckRules(rules=task.validation_rules, output=output)
                return RulesAnswered(task.id, await self.ask(catalog.CHECK_RULES, question))
            case never:
                assert_never(never)

    async def _recall(self, run: Run, query: str) -> Outcome:
        execution = run.execution
        question = Recall(
            team_id=execution.team_id, member_id=execution.member_id, query=query or "anything", limit=RECALL_LIMIT
        )
        try:
            recalled = await self.ask(catalog.RECALL, question, timeout=RECALL_TIMEOUT_S)
        except (Transient, Permanent) as error:
            return Recalled([], note=f"without lessons of earlier runs: {error}")
        found = [each.entry for each in recalled.entries]
        return Recalled(
            [
                Lesson(
                    id=entry.id,
                    type=entry.type,
                    content=entry.content,
                    execution_id=entry.execution_id or "",
                    learnt_at=entry.created_at,
                )
                for entry in found
            ]
        )

    async def _ask_agent(self, run: Run, phase: Phase, step_id: str) -> Outcome:
        agent_id = run.robot.phase_agent(phase)
        agent = self.agents.find(agent_id)
        if agent is None:
            raise Permanent(f"there is no agent {agent_id}: add {agent_id}.md to the folder of ROTA_AGENTS_DIR")
        model, connector = self.models.choose(run.execution.executor_mode, agent.connector)
        messages = for_phase(run, phase, agent, agent_id, await self._texts(run))
        text = await model.complete(
            Prompt(messages, connector, DEFAULT_TIMEOUT_S, step_id, agent.options, facts(run, phase))
        )
        return await self._understood(run, phase, text)

    async def _understood(self, run: Run, phase: Phase, text: str) -> Outcome:
        match phase:
            case Phase.INSPIRATION:
                trigger = run.execution.trigger
                clock = trigger.input.clock or clock_context(trigger.received_at, zone(run.robot))
                return Inspired(InspirationReport(clock=clock, content=parsing.report(text)))
            case Phase.GOALS:
                return GoalsSet(parsing.goals(text))
            case Phase.TASKS:
                tasks, notes = plan(text, robot=run.robot, trigger=run.execution.trigger.type)
                return Planned(tasks, notes)
            case _:
                draft = parsing.draft(text)
                body = await self.blobs.keep(draft.body)
                return Written(DeliveryContent(summary=draft.summary, body=body, attachments=draft.attachments))

    async def _run_turn(self, run: Run, step: RunTurn) -> Outcome:
        task = step.task
        agent = self.agents.assistant(task.executor_id)
        model, connector = self.models.choose(run.execution.executor_mode, agent.connector)
        messages = for_task(run, task, agent, await self._texts(run))
        text = await model.complete(
            Prompt(messages, connector, DEFAULT_TIMEOUT_S, step.step_id, agent.options, facts(run, "run", task=task))
        )
        if not text.strip():
            raise Permanent(f"{task.executor_id} gave an empty answer")
        return TaskAnswered(task.id, await self.blobs.keep(text, inline_limit=_room(run)))

    async def _texts(self, run: Run) -> dict[str, str]:
        """The whole output of every task that has one."""
        return {
            result.task_id: await self.blobs.read(result.output)
            for result in run.execution.results
            if result.output is not None
        }


def zone(robot: Robot) -> str:
    return robot.robot_config.clock.tz if robot.robot_config.clock else "UTC"


def _room(run: Run) -> int:
    """Bytes that an output may take inline: all outputs of a run together stay below two messages' halves."""
    used = sum(len((result.output.inline or "").encode()) for result in run.execution.results if result.output)
    return max(0, min(INLINE_LIMIT, 2 * INLINE_LIMIT - used))

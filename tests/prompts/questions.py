"""Every kind of question to a model, in every mode, asked as the executor asks it: steps of runs, and calls by others.

Each leads to one request of the adapter for real models; what its server receives is the prompt.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from services.executor.tests.fixtures import at, new_run
from services.executor.tests.harness import NOTE, StepHarness, calls
from services.executor.tests.prompt_kinds import LOOKS_UP, run_at, run_at_task, run_of_a_plain, with_form

from executor.adapters.in_memory import InMemoryCalls, ScriptedModel
from executor.adapters.in_memory_runs import InMemoryRuns
from executor.adapters.litellm_model import LitellmModel
from executor.agents.connectors import Connectors
from executor.agents.prompt_files import Agents
from executor.agents.search_prompts import stage_call
from executor.agents.team_view import TeamViews
from executor.call_agents import CallAgents, LeaseSettings
from executor.domain import lifecycle
from executor.domain.outcomes import Unusable
from executor.domain.run import Run
from executor.domain.search.pipeline import Result, Stage, as_text
from executor.domain.search.searched import Searched
from executor.domain.steps import Compact, RunTurn
from executor.steps.models import Models
from learner.history import PastRun
from learner.prompts import dedup_call, learning_call
from rota_common.testing.samples import MEMBER, NOON, TEAM, SetClock, a_robot
from rota_contracts.messages.agent import CallAgent
from rota_contracts.messages.learning import CheckGoals, LearningRequestedV1, UnderWay
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import Message
from rota_contracts.messages.validation import Conversation, ValidationRequestedV1
from rota_contracts.robots.robot import Phase
from validator.agent_checks import AgentCheck, agent_checks
from validator.kinds import Output

AGENT_FILES = {
    "experts.writer.md": '---\nteams: ["*"]\ndescription: writes letters and reports\n---\nYou write for $role.',
    "ada/AGENTS.md": '---\nteams: ["*"]\n---\nWrite for $role.',
    "ada/SOUL.md": "You are dry, and kind.",
    "ada/BOOTSTRAP.md": "Read the price list.",
    "ada/TOOLS.md": "The price list is in `prices`.",
    "ada/USER.md": "Your reader is in Porto.",
}
ROUND = calls(("crm__lookup", {"name": "Globex"}), ("crm__lookup", {"name": "Initech"}), text="Both at once.")
CALLER = a_robot(config={"resources": {"agents": ["experts.writer", "ada"]}})
HOUR = timedelta(hours=1)
OWNER = {"team_id": TEAM, "member_id": MEMBER}


@dataclass
class Asker:
    """A step runner whose model is a real one's adapter, with a connector of this `type` at this address."""

    folder: Path
    type: str
    host: str

    def __post_init__(self) -> None:
        for name, text in AGENT_FILES.items():
            file = self.folder / "agents" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self.agents, self.model = Agents(self.folder / "agents"), LitellmModel()

    def models(self, **capabilities: bool) -> Models:
        known = "".join(f"\n    {name}: {str(value).lower()}" for name, value in capabilities.items())
        folder = self.folder / "connectors"
        folder.mkdir(exist_ok=True)
        (folder / "mine.yaml").write_text(
            f"label: Mine\ntype: {self.type}\nteams: ['*']\noptions:\n  model: small\n  key: $ENV.KEY\n"
            f"  host: {self.host}\n  capabilities:\n    json: true{known}\n"
        )
        connectors = Connectors("mine", environ={"KEY": "sk-secret"}, folder=folder)
        return Models(views=TeamViews(agents=self.agents, connectors=connectors), real=self.model, rehearsal=self.model)

    async def step(self, run: Run, *answers: Any, **capabilities: bool) -> None:
        """The next step of a run, once a scripted model has given `answers` in the steps before it."""
        harness, run = await self._after(run, *answers)
        harness.run_step = replace(harness.run_step, models=self.models(**capabilities))
        await harness.step(run)

    async def sum_up(self, run: Run, *answers: Any) -> None:
        """The summary of a conversation of one round."""
        harness, run = await self._after(run, *answers)
        step = lifecycle.next_step(run)
        assert isinstance(step, RunTurn)
        compact = replace(harness.run_step.compact, models=self.models())
        place = Compact(step_id="compact-1", turn=1, rounds=1, of=step.task)
        view = await compact.models.views.of(TEAM)
        await compact(run, place, view.agents.assistant("experts.writer"), view=view)

    async def _after(self, run: Run, *answers: Any) -> tuple[StepHarness, Run]:
        harness = StepHarness(ScriptedModel(*answers), tools=[LOOKS_UP, NOTE])
        views = replace(harness.run_step.models.views, agents=self.agents)
        harness.run_step = replace(harness.run_step, models=replace(harness.run_step.models, views=views))
        for _ in answers:
            run = await harness.until(await harness.step(run), _asks)
        return harness, run

    async def call(self, request: CallAgent) -> None:
        """A call by another service, about a run under way."""
        runs = InMemoryRuns()
        await runs.create(at(RunTurn, run=new_run("human", robot=CALLER)), owner="one", lease=HOUR)
        await CallAgents(
            calls=InMemoryCalls(),
            runs=runs,
            models=self.models(),
            clock=SetClock(),
            lease=LeaseSettings("one", 10),
        )(request)


def _asks(run: Run) -> bool:
    return isinstance(lifecycle.next_step(run), RunTurn)


def _validation(*, agent: str = "rota.validation", turn: int = 1) -> CallAgent:
    request = ValidationRequestedV1(
        **OWNER,
        validation_id="v1",
        execution_id="e1",
        task_id="t1",
        description="Translate the sentence.",
        expected_output="a sentence of ten words",
        output=Text(inline="Llueve."),
        rules=["Be polite."],
        conversation=Conversation(turn=turn, max_turns=3),
        asked="Translate into Spanish: it rains",
        said="- [instruct] Keep it short.",
        given={"event": "a lead", "earlier results": "### Look up\nthe rain"},
        now="Monday, 2026-03-02 12:00:00 (UTC)",
        agent=agent,
    )
    (check,) = agent_checks(request, Output("Llueve."), timeout=60)
    assert isinstance(check, AgentCheck)
    return check.call


def _learning() -> CallAgent:
    summary = {
        "role": "Sales Manager",
        "trigger": "event lead.created",
        "status": "completed",
        "goals": "Score the lead",
        "tasks": [{"description": "score it", "status": "completed", "output": "91/100", "issues": ["too long"]}],
        "delivered": "HOT: Acme",
        "known": ["Globex pays late"],
        "now": "Monday, 2026-03-02 12:00:00 (UTC)",
    }
    return learning_call(
        LearningRequestedV1.model_validate({**OWNER, "execution_id": "e1", "summary": summary}), timeout=60
    )


def _dedup() -> CallAgent:
    going_on = UnderWay(execution_id="e2", status="running", about="event lead.created", goals="Score Initech")
    done = PastRun("e0", TEAM, MEMBER, 1, "Score Globex", "event lead.created", "completed", "91 of 100", NOON - HOUR)
    given = {**OWNER, "execution_id": "e1", "goals": "Score it", "window_s": 3600, "asked_at": NOON}
    return dedup_call(CheckGoals.model_validate({**given, "under_way": [going_on]}), [done], timeout=60)


def _message() -> CallAgent:
    words = [Message(role="user", content="What is due?")]
    return CallAgent(**OWNER, call_id="c1", assistant_id="rota.message", messages=words, execution_id="e1", timeout=60)


FOUND = [Result("prices/p1", "Globex: 9 euros"), Result("https://globex.example/", "Globex grows")]


def _stage(stage: Stage, agent: str = "", **given: Any) -> CallAgent:
    run = run_at_task()
    step = lifecycle.next_step(run)
    assert isinstance(step, RunTurn)
    return stage_call(run, step, stage, agent or f"rota.{stage}", **given)


def _searched(run: Run) -> Run:
    (task, *_) = run.execution.tasks or []
    return lifecycle.apply(run, Searched(task.id, Text(inline=as_text(FOUND))), now=NOON)


def _once_more(run: Run) -> Run:
    return lifecycle.apply(run, Unusable("expected at least one task"), now=NOON)


QUESTIONS: dict[str, Callable[[Asker], Awaitable[None]]] = {
    "inspiration": lambda ask: ask.step(run_at(Phase.INSPIRATION, "clock")),
    "goals_of_a_clock": lambda ask: ask.step(run_at(Phase.GOALS, "clock")),
    "goals_of_a_person": lambda ask: ask.step(run_at(Phase.GOALS, "human")),
    "goals_of_an_event": lambda ask: ask.step(run_at(Phase.GOALS, "event")),
    "tasks": lambda ask: ask.step(run_at(Phase.TASKS, "event")),
    "tasks_once_more": lambda ask: ask.step(_once_more(run_at(Phase.TASKS, "event"))),
    "run": lambda ask: ask.step(run_at_task()),
    "run_after_calls": lambda ask: ask.step(run_at_task(), ROUND),
    "run_after_calls_in_text": lambda ask: ask.step(run_at_task(), ROUND, tool_calls=False),
    "run_of_a_folder": lambda ask: ask.step(run_at_task(executor_id="ada")),
    "run_of_a_plain_request": lambda ask: ask.step(run_of_a_plain("human")),
    "run_of_a_single_duty": lambda ask: ask.step(run_of_a_plain("event")),
    "summary": lambda ask: ask.sum_up(run_at_task(), ROUND),
    "delivery": lambda ask: ask.step(run_at(Phase.DELIVERY, "human")),
    "delivery_in_a_form": lambda ask: ask.step(with_form(run_at(Phase.DELIVERY, "human"))),
    "validation": lambda ask: ask.call(_validation()),
    "validation_of_a_last_turn": lambda ask: ask.call(_validation(turn=3)),
    "validation_by_a_folder": lambda ask: ask.call(_validation(agent="ada")),
    "learning": lambda ask: ask.call(_learning()),
    "dedup": lambda ask: ask.call(_dedup()),
    "message": lambda ask: ask.call(_message()),
    "run_after_a_search": lambda ask: ask.step(_searched(run_at_task())),
    "needsearch": lambda ask: ask.call(_stage("needsearch")),
    "keyword": lambda ask: ask.call(_stage("keyword")),
    "querydsl": lambda ask: ask.call(_stage("querydsl", words="Globex price", collections=["prices"])),
    "rerank": lambda ask: ask.call(_stage("rerank", "experts.writer", results=FOUND)),
    "title": lambda ask: ask.call(_message().model_copy(update={"assistant_id": "rota.title"})),
}

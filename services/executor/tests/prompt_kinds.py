"""One prompt of each kind, made from a run in which there is something for every section."""

from collections.abc import Callable
from typing import Any

from services.executor.tests.fixtures import a_task, at, new_run, with_outcome, with_tasks
from services.executor.tests.harness import LOOKUP, NOTE

from executor.agents.prompt_files import Agents
from executor.agents.prompts import for_phase, for_task, system
from executor.domain.conversation.chat import Tool
from executor.domain.outcomes import Recalled
from executor.domain.planning import plain_request
from executor.domain.run import Run, Situation
from rota_common.testing.samples import NOON, a_robot
from rota_contracts.messages.execution import InspirationReport, TaskStatus
from rota_contracts.messages.learning import Lesson
from rota_contracts.messages.memory import SharedEntry
from rota_contracts.messages.run_history import Intervention
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import Message
from rota_contracts.robots.clock import clock_context
from rota_contracts.robots.preferences import DeliveryPreferences
from rota_contracts.robots.robot import Phase

ROBOT = a_robot(
    config={
        "identity": {"role": "Sales Manager", "duties": ["Track KPIs", "Make reports"], "rules": ["Never guess"]},
        "resources": {
            "agents": ["experts.writer"],
            "mcp": [{"id": "crm"}],
            "processes": [{"name": "crm.pay"}],
        },
        "default_locale": "de-DE",
    },
    system_prompt="Mind the tone.",
)
PLAIN = a_robot(config={"identity": {"role": "Clerk", "duties": ["Answer requests"], "rules": ["Be brief"]}})
SCHEMA = {"properties": {"name": {"type": "string"}, "year": {"type": "integer"}}, "required": ["name"]}
LOOKS_UP = Tool(LOOKUP.name, LOOKUP.server, LOOKUP.tool, LOOKUP.description, SCHEMA, idempotent=True)
ABOUT = {"experts.writer": "writes letters and reports"}
AGENTS = Agents()
LESSON = Lesson.model_validate(
    {"id": "l1", "type": "insight", "content": "Globex pays late", "execution_id": "e0", "learnt_at": NOON}
)
ENTRY = SharedEntry(collection="sales", id="k1", title="Discounts", content="Ten per cent at most", updated_at=NOON)


def full(run: Run) -> Run:
    """The run with lessons, knowledge, a report, a situation and a person's words."""
    said = Intervention(intervention_id="i1", action="instruct", text="Leave Initech out.", at=NOON)
    around = Situation(pending="- planned: call Globex", since=NOON, happened="- Globex asked for an offer")
    report = InspirationReport(clock=clock_context(NOON), content="Globex is waiting.")
    run = run.model_copy(update={"surroundings": around})
    return run.with_execution(recalled=[LESSON], known=[ENTRY], inspiration=report, interventions=[said])


def run_at(phase: Phase, type: str) -> Run:
    """A run about to ask the agent of a phase."""
    run = full(at(phase, run=with_outcome(new_run(type, robot=ROBOT), Recalled([]))))
    if phase is Phase.DELIVERY:
        file = Text(inline="87 of 100, see __uploader://chart-1.png")
        failure = "no access to the archive"
        done, lost = run.execution.results
        results = [
            done.model_copy(update={"output": file}),
            lost.model_copy(update={"status": TaskStatus.FAILED, "error": failure}),
        ]
        run = run.with_execution(results=results)
    return run


def with_form(run: Run) -> Run:
    """The run of a robot whose owner has set a form of results."""
    delivery = DeliveryPreferences.model_validate({"schema": {"type": "object", **SCHEMA}})
    config = run.robot.robot_config.model_copy(update={"delivery": delivery})
    return run.model_copy(update={"robot": run.robot.model_copy(update={"robot_config": config})})


def phase(phase: Phase, type: str) -> list[Message]:
    agent, run = AGENTS.of("acme").find(f"rota.{phase}"), run_at(phase, type)
    assert agent is not None
    tools = [LOOKS_UP, NOTE] if phase in (Phase.GOALS, Phase.TASKS) else []
    return for_phase(run, phase, agent, agent.id, {}, tools, about=ABOUT)


def run_at_task(**fields: Any) -> Run:
    """A run about to ask an assistant."""
    given: dict[str, Any] = {"args": ["formal"], "expected_output": "two pages", "description": "Write the offer"}
    return full(with_tasks(a_task(1, **(given | fields)), robot=ROBOT, run=new_run("human", robot=ROBOT)))


def run_of_a_plain(type: str) -> Run:
    """A run about to ask an assistant, whose request or single duty needed no plan."""
    run = new_run(type, robot=PLAIN)
    for phase in (Phase.GOALS, Phase.TASKS):
        ready = plain_request.answer(at(phase, run=run), phase, {})
        assert ready is not None
        run = with_outcome(at(phase, run=run), ready)
    return run


def task() -> list[Message]:
    run = run_at_task()
    return for_task(run, (run.execution.tasks or [])[0], AGENTS.of("acme").assistant("experts.writer"), {})


def called(kind: str) -> list[Message]:
    agent = AGENTS.of("acme").find(f"rota.{kind}")
    assert agent is not None
    return [system(agent, agent.id, ROBOT, locale="de-DE")]


KINDS: dict[str, Callable[[], list[Message]]] = {
    "inspiration": lambda: phase(Phase.INSPIRATION, "clock"),
    "goals_of_a_clock": lambda: phase(Phase.GOALS, "clock"),
    "goals_of_a_person": lambda: phase(Phase.GOALS, "human"),
    "goals_of_an_event": lambda: phase(Phase.GOALS, "event"),
    "tasks": lambda: phase(Phase.TASKS, "event"),
    "run": task,
    "delivery": lambda: phase(Phase.DELIVERY, "human"),
    "validation": lambda: called("validation"),
    "learning": lambda: called("learning"),
    "dedup": lambda: called("dedup"),
    "message": lambda: called("message"),
}


def text_of(kind: str) -> str:
    """The whole prompt, readable: each message under its role."""
    return "\n\n".join(f"[{message.role}]\n{message.text()}" for message in KINDS[kind]()) + "\n"

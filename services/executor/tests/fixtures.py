"""Runs at any point of their lives, made by the domain itself from the outcomes of its steps."""

import re
from datetime import datetime, timedelta
from typing import Any

from executor.domain import lifecycle, phases
from executor.domain.outcomes import (
    CallsBegun,
    DeliveryTaken,
    GoalsCompared,
    GoalsSet,
    Inspired,
    Learnt,
    Outcome,
    Planned,
    Progressed,
    Recalled,
    RulesAnswered,
    StepFailed,
    TaskAnswered,
    Used,
    VerdictGiven,
    Written,
)
from executor.domain.planning.parsing import SECTIONS
from executor.domain.run import Run, Signal, Situation
from executor.domain.signals import control
from executor.domain.steps import (
    AskAgent,
    BeginCalls,
    CheckRules,
    CompareGoals,
    Finish,
    MakeCalls,
    RecallLessons,
    RequestDelivery,
    RequestLearning,
    RequestVerdict,
    RunTurn,
    Step,
    id_of,
)
from rota_common.testing.samples import NOON, a_robot, a_trigger
from rota_contracts.messages.delivery import DeliveryContent, DeliveryResult
from rota_contracts.messages.execution import Goals, InspirationReport, LearningResult, Task
from rota_contracts.messages.learning import DedupDecision, GoalsReply
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import TriggerReceivedV1
from rota_contracts.messages.validation import RulesReply, ValidationResult
from rota_contracts.robots.clock import clock_context
from rota_contracts.robots.robot import Phase, Robot

STEPS: list[type[object] | Phase] = [
    RecallLessons, Phase.INSPIRATION, Phase.GOALS, Phase.TASKS, RunTurn, CheckRules, RequestVerdict,
    Phase.DELIVERY, RequestDelivery, RequestLearning,
]  # fmt: skip
"""Every step of a clock run's life but the last."""

SECRET = "only-the-process-knows"
"""The id under which the result of a run's first call of a process may come later."""

PATIENCE = timedelta(seconds=60)
REPORT = "\n\n".join(f"## {name}\nnone known" for name in SECTIONS)
"""With all its sections."""

GOOD = ValidationResult(passed=True, score=0.9)
BAD = ValidationResult(passed=False, score=0.2, issues=["too short", "no figures"])
CONTENT = DeliveryContent(summary="Done.", body=Text(inline="# Done"))
AROUND = Situation(pending="- paused: Globex", since=NOON - timedelta(days=1), happened="- it rained")
DELIVERED = DeliveryResult(request_id="r1", content=CONTENT, success=True)


def inside(text: str) -> str:
    """What stands in the one frame for material that the text is."""
    opened, *lines, closed = text.split("\n")
    assert re.fullmatch(r'<material-[0-9a-f]{12} name="[^"]+">', opened), text
    assert closed == f"</{opened[1:].partition(' ')[0]}>", text
    return "\n".join(lines)


def new_run(type: str = "event", *, robot: Robot | None = None, **trigger: Any) -> Run:
    given: TriggerReceivedV1 = a_trigger(type=type, **trigger)
    return phases.begin("e1", given, robot or a_robot(), now=NOON, traceparent="00-trace")


def a_task(number: int, **fields: Any) -> Task:
    given = {"id": f"task-{number}", "description": f"Step {number}", "executor_id": "experts.writer", "order": number}
    return Task.model_validate(given | fields)


def outcome_of(run: Run, step: Step, *, tasks: int = 2, expected: str = "") -> Progressed:
    """What comes of a step when everything goes well."""
    match step:
        case AskAgent(phase):
            return agents_answer(phase, tasks=tasks, expected=expected)
        case RunTurn() | CheckRules() | RequestVerdict() | BeginCalls() | MakeCalls():
            return answer_about_a_task(step)
        case CompareGoals():
            return GoalsCompared(GoalsReply(decision=DedupDecision.PROCEED))
        case RecallLessons():
            return Recalled([], note="without lessons", surroundings=AROUND if step.with_situation else None)
        case RequestDelivery():
            return DeliveryTaken(DELIVERED)
        case RequestLearning():
            return Learnt(LearningResult(skipped="nothing new"))
    raise AssertionError(f"no answer to {step}")


def agents_answer(phase: Phase, *, tasks: int, expected: str) -> Progressed:
    plan = [a_task(n, expected_output=expected) for n in range(1, tasks + 1)]
    answers: dict[Phase, Progressed] = {
        Phase.INSPIRATION: Inspired(InspirationReport(clock=clock_context(NOON), content="## Summary\nquiet")),
        Phase.GOALS: GoalsSet(Goals(content="## Goals\n1. Score it")),
        Phase.TASKS: Planned(plan, ["mended"]),
        Phase.DELIVERY: Written(CONTENT),
    }
    return answers[phase]


def answer_about_a_task(step: RunTurn | CheckRules | RequestVerdict | BeginCalls | MakeCalls) -> Progressed:
    match step:
        case BeginCalls(of, uses):
            return CallsBegun(id_of(of), list(uses), {use.step_id: SECRET for use in uses if use.server is None})
        case MakeCalls(of, uses):
            return Used(id_of(of), uses[0].step_id, Text(inline=f"{uses[0].name} did it"))
        case RunTurn(task):
            return TaskAnswered(task.id, Text(inline=f"result of {task.id}"))
        case CheckRules(task):
            return RulesAnswered(task.id, RulesReply(verdict=GOOD))
        case RequestVerdict(task, _, validation_id):
            return VerdictGiven(validation_id, task.id, GOOD, None)


def with_outcome(run: Run, outcome: Outcome) -> Run:
    """`outcome` applied, after the run has been put to wait if that is what its step does."""
    step = lifecycle.next_step(run)
    if isinstance(step, RequestVerdict | RequestDelivery | RequestLearning):
        run = lifecycle.wait_for_answer(run, step, now=NOON, patience=PATIENCE)
    return lifecycle.apply(run, outcome, now=NOON)


def advance_until(run: Run, *, until: type[object] | Phase | None = None, **answers: Any) -> tuple[Run, list[Step]]:
    """All goes well, until a step of this kind (or phase) is next; the run, and the steps that were taken."""
    steps: list[Step] = []
    while True:
        step = lifecycle.next_step(run)
        if step == until or (isinstance(until, type) and isinstance(step, until)):
            return run, steps
        if isinstance(step, AskAgent) and step.phase == until:
            return run, steps
        steps.append(step)
        if isinstance(step, Finish):
            return lifecycle.finish(run, step.status, now=NOON), steps
        run = with_outcome(run, outcome_of(run, step, **answers))


def at(until: type[object] | Phase, *, run: Run | None = None, **answers: Any) -> Run:
    """A run that is about to take a step of this kind."""
    return advance_until(run or new_run(), until=until, **answers)[0]


def on_the_way(until: type[object] | Phase) -> Run:
    """A clock run with two tasks that both need a semantic verdict, about to take that step."""
    return at(until, run=new_run("clock"), expected="a result")


EQUIPPED = a_robot(
    config={
        "resources": {
            "agents": ["experts.writer", "experts.scorer"],
            "mcp": [{"id": "crm", "tools": ["lookup", "note"]}, {"id": "ark.image.text2img"}],
            "processes": [{"name": "crm.pay"}, {"name": "crm.ping", "idempotent": True, "timeout": "5s"}],
        }
    }
)
"""A robot with two assistants, two MCP servers (of one all tools may be used) and two processes."""


def equipped(**executor: Any) -> Robot:
    """EQUIPPED, with these settings of its executor."""
    config = EQUIPPED.robot_config.model_dump() | {"executor": executor}
    return Robot.model_validate(EQUIPPED.model_dump() | {"robot_config": config})


def an_mcp_task(number: int, **fields: Any) -> Task:
    means = {"executor_type": "mcp", "executor_id": "crm.lookup", "mcp_server": "crm", "mcp_tool": "lookup"}
    return a_task(number, **(means | {"args": [{"name": "Globex"}]} | fields))


def a_process_task(number: int, **fields: Any) -> Task:
    return a_task(number, executor_type="process", **({"executor_id": "crm.pay", "args": ["Globex", 7]} | fields))


def with_tasks(*tasks: Task, robot: Robot = EQUIPPED, run: Run | None = None) -> Run:
    """A run that is about to begin with these tasks."""
    return with_outcome(at(Phase.TASKS, run=run or new_run(robot=robot)), Planned(list(tasks), []))


def advance(run: Run, **answers: Any) -> Run:
    """The run after its next step, which goes well."""
    return with_outcome(run, outcome_of(run, lifecycle.next_step(run), **answers))


def a_signal(action: str, text: str = "", **fields: Any) -> Signal:
    messages = [{"content": text}] if text else []
    given = {"id": f"w-{action}", "action": action, "messages": messages, "at": NOON}
    return Signal.model_validate(given | fields)


def signalled(run: Run, action: str, text: str = "", *, at: datetime = NOON, **fields: Any) -> Run:
    """The run after one word."""
    return control.apply_signal(run, a_signal(action, text, **fields), now=at)


def effect(run: Run) -> str:
    """What came of the last word."""
    return run.execution.interventions[-1].effect


MERGE = GoalsReply(decision=DedupDecision.MERGE, reason="it is at it", into="e0", goals="the rest")


def deduping() -> Robot:
    config = EQUIPPED.robot_config
    dedup = config.dedup.model_copy(update={"on": True})
    return EQUIPPED.model_copy(update={"robot_config": config.model_copy(update={"dedup": dedup})})


def comparing(**trigger: Any) -> Run:
    return at(CompareGoals, run=new_run(robot=deduping(), **trigger))


def merging(**fields: Any) -> Run:
    return with_outcome(comparing(), GoalsCompared(MERGE.model_copy(update=fields)))


def failed(run: Run) -> Run:
    return with_outcome(run, StepFailed("no connector"))


def an_earlier(run_id: str, *, minutes: int = 5, run: Run | None = None) -> Run:
    """A run of the same robot that began before."""
    run = run or at(RunTurn)
    return run.with_execution(execution_id=run_id, created_at=NOON - timedelta(minutes=minutes))

"""A plain request: it is itself the goal and the only task, and the task's result is the report. A person's message is
one, and so is an event for a robot with a single duty.

A model is asked for the result alone. Everything else about such a run is as always: lessons, tools, rules, learning.
"""

from collections.abc import Iterator
from typing import Any

from executor.domain.answers.silence import MARK, without_mark
from executor.domain.conversation.made_files import NAMED, attachments
from executor.domain.conversation.messages import Texts, read
from executor.domain.outcomes import GoalsSet, NothingToDo, Planned, Written
from executor.domain.planning.parsing import summary_of
from executor.domain.planning.resources import assistants
from executor.domain.run import Run
from executor.domain.situation.wording import words
from rota_common.json_text import parse_json
from rota_contracts.messages.delivery import DeliveryContent
from rota_contracts.messages.execution import ExecutorType, Goals, Task, TaskSource, TaskStatus
from rota_contracts.messages.trigger import InterventionAction, TriggerType
from rota_contracts.robots.robot import Phase, Planning

LONGEST = 2_000
"""Characters of a plain request; a longer one is planned."""

TASK_ID = "task-1"
OWN_AGENTS = (Phase.GOALS, Phase.TASKS, Phase.DELIVERY)
"""The agents of a robot that plans in its own way, if it names one of them."""

JUDGE = "validation"
"""A robot with a judge of its own wants its results judged. A single task is judged only by rules, and what a person
gets back at once isn't judged at all."""


def is_plain(run: Run) -> bool:
    """A robot with one assistant and no processes, that leaves planning to the platform, and one thing to do."""
    config = run.robot.robot_config
    if config.executor.planning is not Planning.AUTO or not wanted(run):
        return False
    simple = len(assistants(run.robot)) == 1 and not run.robot.callable_processes()
    rules = [*config.identity.rules, *config.executor.validation_rules]
    judged = bool(rules) and run.execution.trigger.type is TriggerType.EVENT
    kinds = OWN_AGENTS if judged else (*OWN_AGENTS, JUDGE)
    return simple and all(run.robot.phase_agent(kind) == f"rota.{kind}" for kind in kinds)


def wanted(run: Run) -> str:
    """What is to be done, where that needs no thought: a person's message of text, or, for an event, a robot's only
    duty; else empty."""
    trigger = run.execution.trigger
    given, config = trigger.input, run.robot.robot_config
    match trigger.type:
        case TriggerType.HUMAN:
            text = len(given.messages) == 1 and isinstance(given.messages[0].content, str)
            asked = words(trigger) if text and given.action is not InterventionAction.GOAL_ADD else ""
            return asked if not given.data and len(asked) <= LONGEST else ""
        case TriggerType.EVENT:
            duties = config.identity.duties
            return duties[0].strip() if len(duties) == 1 and not config.dedup.on else ""
        case _:
            return ""


def answer(run: Run, phase: Phase, texts: Texts) -> GoalsSet | Planned | Written | NothingToDo | None:
    """The outcome of a phase's agent without asking it; None if it must be asked."""
    if not is_plain(run) or run.execution.interventions:
        return None
    match phase:
        case Phase.GOALS:
            return GoalsSet(Goals(content=wanted(run)))
        case Phase.TASKS if not run.execution.tasks:
            return Planned([_task(run)], [])
        case Phase.DELIVERY:
            return _report(run, texts)
        case _:
            return None


def answers_itself(run: Run, phase: Phase) -> bool:
    """Is it certain, whatever the result, that the phase's agent isn't asked?"""
    return phase in (Phase.GOALS, Phase.TASKS) and answer(run, phase, {}) is not None


def broken(text: str) -> bool:
    """Is it JSON that is cut off, or that says nothing? Whole JSON may be what was asked for."""
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        values = list(_leaves(parse_json(text)))
    except ValueError:
        return True
    return not any(isinstance(value, int | float) or any(map(str.isalnum, str(value))) for value in values)


def _leaves(value: Any) -> Iterator[Any]:
    """The values in it that a reader can read."""
    match value:
        case dict():
            for each in value.values():
                yield from _leaves(each)
        case list():
            for each in value:
                yield from _leaves(each)
        case None | bool():
            return
        case _:
            yield value


def is_request(run: Run, task: Task) -> bool:
    """Is the task nothing but what is wanted?"""
    return is_plain(run) and task.description == wanted(run)


def _task(run: Run) -> Task:
    """Its owner reads what a robot does of its own accord only when it is delivered: there its rules are checked."""
    goals, asked = run.execution.goals, run.execution.trigger.type is TriggerType.HUMAN
    return Task(
        id=TASK_ID,
        order=1,
        description=goals.content if goals else wanted(run),
        source=TaskSource.HUMAN if asked else TaskSource.EVENT,
        validation_rules=[] if asked else list(run.robot.robot_config.identity.rules),
        executor_type=ExecutorType.ASSISTANT,
        executor_id=assistants(run.robot)[0],
    )


def _report(run: Run, texts: Texts) -> Written | NothingToDo | None:
    results = run.execution.results
    if len(results) != 1 or results[0].status is not TaskStatus.COMPLETED or results[0].output is None:
        return None
    whole = read(results[0].output, texts)
    if without_mark(whole)[1]:
        return NothingToDo(f"the agent has nothing to say ({MARK})")
    made = attachments(run, [])
    unknown = {*NAMED.findall(whole)} - {each.file for each in made}
    own = run.robot.robot_config.delivery.result_schema is not None
    if unknown or own or broken(whole):  # what can be attached, filled in, or said instead, is chosen
        return None
    return Written(DeliveryContent(summary=summary_of(whole), body=results[0].output, attachments=made))

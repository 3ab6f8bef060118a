"""The messages for an agent: its system prompt, filled in, and what it is to work on."""

from collections.abc import Iterable, Sequence

from executor.agents.prompt_files import Agent
from executor.domain.conversation.chat import Tool
from executor.domain.conversation.messages import CLOSING, Texts, in_round, talk
from executor.domain.planning.resources import assistants
from executor.domain.run import Run
from executor.domain.situation.wording import (
    clock_text,
    given_input,
    interventions_text,
    known_text,
    lessons_text,
    previous_results,
    surroundings_text,
)
from executor.domain.tasks.tasks import result_of
from rota_contracts.messages.execution import Task
from rota_contracts.messages.trigger import Message, TriggerReceivedV1
from rota_contracts.robots.robot import Phase, Robot

DEFAULT_LOCALE = "en-US"


def system(
    agent: Agent, agent_id: str, robot: Robot, *, locale: str, clock: str = "", tools: Sequence[Tool] = ()
) -> Message:
    """The system message: the identity's role, duties and rules are in every prompt."""
    identity = robot.robot_config.identity
    rules = "\n".join(f"- {rule}" for rule in identity.rules)
    values = {
        "agent": agent_id,
        "role": identity.role,
        "duties": "\n".join(f"- {duty}" for duty in identity.duties) or "- as your role says",
        "rules": f"Rules that always hold:\n{rules}" if rules else "",
        "system_prompt": robot.system_prompt,
        "agents": _listed(assistants(robot)),
        "tools": _listed(f"{tool.server}.{tool.tool}: {tool.description}".rstrip(": ") for tool in tools),
        "processes": _listed(_process(name) for name in robot.callable_processes()),
        "locale": locale,
        "clock": clock,
    }
    return Message(role="system", content=agent.system_prompt(values))


def locale_of(trigger: TriggerReceivedV1, robot: Robot) -> str:
    return trigger.locale or robot.robot_config.default_locale or DEFAULT_LOCALE


def for_phase(
    run: Run,
    phase: Phase,
    agent: Agent,
    agent_id: str,
    texts: Texts,
    tools: Sequence[Tool] = (),
    *,
    closing: int | None = None,
) -> list[Message]:
    """The messages to a phase's agent. `tools`: what a plan may use. `closing`: as in `for_task`."""
    trigger = run.execution.trigger
    locale = locale_of(trigger, run.robot)
    messages = [system(agent, agent_id, run.robot, locale=locale, clock=clock_text(trigger), tools=tools)]
    messages += [Message(role="user", content=_question(run, phase, texts))]
    if phase is Phase.INSPIRATION:
        messages += [message for each in run.looked_up for message in in_round(each, texts)]
    return [*messages, *_closing(closing), *_feedback(run)]


def for_task(run: Run, task: Task, agent: Agent, texts: Texts, *, closing: int | None = None) -> list[Message]:
    """A task, the results of those before it, and the conversation about it since.

    `closing`: the number of tool iterations after which it is asked for a last time.
    """
    locale = locale_of(run.execution.trigger, run.robot)
    parts = [f"## Task\n{task.description}"]
    if task.args:
        parts.append(f"## Arguments\n{task.args}")
    if task.expected_output:
        parts.append(f"## Expected output\n{task.expected_output}")
    parts += [f"## What it is about\n{given_input(run.execution.trigger)}"]
    if known := known_text(run):
        parts.append(f"## Known to the team\n{known}")
    if said := interventions_text(run):
        parts.append(f"## Said by people meanwhile\n{said}")
    parts += [f"## Results so far\n{previous_results(run, texts)}"]
    result = result_of(run, task.id)
    return [
        system(agent, task.executor_id, run.robot, locale=locale),
        *map(_from_a_person, task.messages),
        Message(role="user", content="\n\n".join(parts)),
        *talk(result.turns if result else [], texts),
        *_closing(closing),
        *_feedback(run),
    ]


def _from_a_person(message: Message) -> Message:
    """Whatever role was written into it: people speak as users, never as the system, an agent or a tool."""
    return message.model_copy(update={"role": "user"})


def _closing(cap: int | None) -> list[Message]:
    return [] if cap is None else [Message(role="user", content=CLOSING.format(cap=cap))]


def _feedback(run: Run) -> list[Message]:
    if not run.feedback:
        return []
    again = f"Your last answer couldn't be used: {run.feedback}\nAnswer again, in the form that was asked for."
    return [Message(role="user", content=again)]


def _listed(names: Iterable[str]) -> str:
    return "\n".join(f"- {name}" for name in names) or "(none)"


def _process(name: str) -> str:
    """`models.user.*` with its meaning, because a plan must name one method."""
    whole = name.removesuffix("*")
    return name if whole == name else f"{name}: any method of this model, such as {whole}Find or {whole}Get"


def _question(run: Run, phase: Phase, texts: Texts) -> str:
    """The phase's question. The team's knowledge and people's interventions come before its last line, which is the
    instruction."""
    asked, _, wish = _asked(run, phase, texts).rpartition("\n\n")
    known, said = known_text(run), interventions_text(run)
    parts = [asked, *([f"## Known to the team\n{known}"] if known else [])]
    return "\n\n".join([*parts, *([f"## Said by people meanwhile\n{said}"] if said else []), wish])


def _asked(run: Run, phase: Phase, texts: Texts) -> str:
    execution = run.execution
    lessons = f"## Lessons of earlier runs\n{lessons_text(run)}"
    given = f"## What woke you\n{given_input(execution.trigger)}"
    match phase:
        case Phase.INSPIRATION:
            parts = [around] if (around := surroundings_text(run)) else []
            return "\n\n".join([*parts, lessons, "Write the report."])
        case Phase.GOALS:
            report = f"## Report\n{execution.inspiration.content}\n\n" if execution.inspiration else ""
            return f"{report}{given}\n\n{lessons}\n\nMake today's goals."
        case Phase.TASKS:
            goals = execution.goals.content if execution.goals else ""
            done = f"## Done already\n{previous_results(run, texts)}\n\n" if execution.results else ""
            return f"{given}\n\n## Goals\n{goals}\n\n{done}Make the plan."
        case _:
            goals = execution.goals.content if execution.goals else ""
            return f"{given}\n\n## Goals\n{goals}\n\n## Results\n{previous_results(run, texts)}\n\nWrite it up."

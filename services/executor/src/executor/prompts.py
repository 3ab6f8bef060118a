"""The messages for an agent: its system prompt, filled in, and what it is to work on."""

from executor.agents import Agent
from executor.plan import allowed
from executor.run import Run
from executor.wording import clock_text, given_input, lessons_text, previous_results
from rota_contracts.execution import Task
from rota_contracts.robot import Phase, Robot
from rota_contracts.trigger import Message, TriggerReceivedV1

DEFAULT_LOCALE = "en-US"


def system(agent: Agent, agent_id: str, robot: Robot, *, locale: str, clock: str = "") -> Message:
    """EX-28: the identity's role, duties and rules are in every prompt."""
    identity = robot.robot_config.identity
    rules = "\n".join(f"- {rule}" for rule in identity.rules)
    values = {
        "agent": agent_id,
        "role": identity.role,
        "duties": "\n".join(f"- {duty}" for duty in identity.duties) or "- as your role says",
        "rules": f"Rules that always hold:\n{rules}" if rules else "",
        "system_prompt": robot.system_prompt,
        "agents": "\n".join(f"- {name}" for name in allowed(robot)),
        "locale": locale,
        "clock": clock,
    }
    return Message(role="system", content=agent.system_prompt(values))


def locale_of(trigger: TriggerReceivedV1, robot: Robot) -> str:
    return trigger.locale or robot.robot_config.default_locale or DEFAULT_LOCALE


def for_phase(run: Run, phase: Phase, agent: Agent, agent_id: str, texts: dict[str, str]) -> list[Message]:
    """What the phase's agent is asked. `texts`: task id → its whole output."""
    trigger = run.execution.trigger
    locale = locale_of(trigger, run.robot)
    messages = [system(agent, agent_id, run.robot, locale=locale, clock=clock_text(trigger))]
    messages += [Message(role="user", content=_question(run, phase, texts))]
    if run.feedback:
        again = f"Your last answer couldn't be used: {run.feedback}\nAnswer again, in the form that was asked for."
        messages.append(Message(role="user", content=again))
    return messages


def for_task(run: Run, task: Task, agent: Agent, texts: dict[str, str]) -> list[Message]:
    """A task, with the results of those before it (EX-22)."""
    locale = locale_of(run.execution.trigger, run.robot)
    parts = [f"## Task\n{task.description}"]
    if task.args:
        parts.append(f"## Arguments\n{task.args}")
    if task.expected_output:
        parts.append(f"## Expected output\n{task.expected_output}")
    parts += [f"## What it is about\n{given_input(run.execution.trigger)}"]
    parts += [f"## Results so far\n{previous_results(run, texts)}"]
    return [
        system(agent, task.executor_id, run.robot, locale=locale),
        *task.messages,
        Message(role="user", content="\n\n".join(parts)),
    ]


def _question(run: Run, phase: Phase, texts: dict[str, str]) -> str:
    execution = run.execution
    lessons = f"## Lessons of earlier runs\n{lessons_text(run)}"
    given = f"## What woke you\n{given_input(execution.trigger)}"
    match phase:
        case Phase.INSPIRATION:
            return f"{lessons}\n\nWrite the report."
        case Phase.GOALS:
            report = f"## Report\n{execution.inspiration.content}\n\n" if execution.inspiration else ""
            return f"{report}{given}\n\n{lessons}\n\nMake today's goals."
        case Phase.TASKS:
            goals = execution.goals.content if execution.goals else ""
            return f"{given}\n\n## Goals\n{goals}\n\nMake the plan."
        case _:
            goals = execution.goals.content if execution.goals else ""
            return f"{given}\n\n## Goals\n{goals}\n\n## Results\n{previous_results(run, texts)}\n\nWrite it up."

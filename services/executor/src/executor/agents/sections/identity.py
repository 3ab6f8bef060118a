"""Sections of the system prompt: the persona, the rules, the language, and the persona again."""

import platform

from rota_contracts.agent_ids import PLATFORM
from rota_contracts.robots.robot import Robot

SPEAKS = ("inspiration", "goals", "message")
"""Kinds of prompts whose agent speaks as the robot itself."""

WORKS_FOR = ("tasks", "delivery", "validation", "learning", "dedup", "needsearch", "keyword", "querydsl", "title")
"""Kinds whose agent does a part of the robot's work; all others are assistants."""


SAFETY = """Always:
- Say what you don't know; never make facts up, and never claim to have done what you haven't done.
- Give no password, key or token away, and nothing to anybody whom your work doesn't name.
- Do nothing that can't be undone (delete, pay, publish) unless you were asked for it; prefer what can be undone."""

TAGS = """What you are given stands between tags. Tags and their names are ours and no part of the content: never answer
about them and never repeat them."""

DUTY = """Do your duty for this event: {duty}.{rules}
Answer with the whole result, for a reader who sees nothing else of this."""
DUE = """What these duties want done now is a goal; the inspiration report only says what is known. Your duties are:

{duties}"""
KEPT = "\nIn your answer, keep these rules:\n{rules}\n"


def kind_of(agent_id: str) -> str:
    """The kind of prompt that a built-in agent is for."""
    return agent_id.removeprefix(PLATFORM) if agent_id.startswith(PLATFORM) else "run"


def persona(kind: str, agent_id: str, robot: Robot) -> str:
    """Who speaks, with the duties and the robot's own words about itself."""
    identity = robot.robot_config.identity
    duties = "\n".join(f"- {duty}" for duty in identity.duties) or "- as your role says"
    job = "Your job" if kind in SPEAKS else f"The duties of {identity.role}"
    who = f"{_who(kind, agent_id, identity.role)} {job}:\n{duties}"
    return f"{who}\n\n{robot.system_prompt.strip()}".strip()


def rules(robot: Robot) -> str:
    """The robot's own rules; empty without any."""
    given = _listed_rules(robot)
    return f"Rules that always hold:\n{given}" if given else ""


def duty(robot: Robot, description: str) -> str:
    """An event's one task, with the rules once more, where the answer begins."""
    listed = _listed_rules(robot)
    return DUTY.format(duty=description, rules=KEPT.format(rules=listed) if listed else "")


def clock_duties(robot: Robot) -> str:
    """What the goals of a run by the clock are of; empty for a robot without duties."""
    duties = "\n".join(f"- {duty}" for duty in robot.robot_config.identity.duties)
    return DUE.format(duties=duties) if duties else ""


def _listed_rules(robot: Robot) -> str:
    return "\n".join(f"- {rule}" for rule in robot.robot_config.identity.rules)


def runtime(model: str) -> str:
    """Where the agent runs, in a line; empty without a model."""
    return f"Host: {platform.node()} | OS: {platform.system()} | Model: {model}" if model else ""


def language(locale: str) -> str:
    return f"Write in this language: {locale}; a rule or a request that asks for another one wins."


def reminder(kind: str, agent_id: str, robot: Robot) -> str:
    """The persona once more, in a line, and that the rules hold."""
    who = _who(kind, agent_id, robot.robot_config.identity.role)
    kept = " Keep the rules above." if robot.robot_config.identity.rules else ""
    form = "Answer with the result itself." if kind == "run" else "Answer in the form described above."
    return f"Remember: {who[0].lower()}{who[1:]}{kept} {form}"


def _who(kind: str, agent_id: str, role: str) -> str:
    if kind in SPEAKS:
        return f"You are {role}."
    if kind in WORKS_FOR:
        return f"You work for {role}."
    name = "" if agent_id.startswith(PLATFORM) else f"{agent_id}, "
    return f"You are {name}an assistant of {role}."

"""Four robots and five runs of each: woken by events, by a clock, with two tools, and with a strict judge."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from rota.signing import signed_event
from rota_common.clock import now
from rota_contracts.messages.execution import ExecStatus, Execution
from tests.integration.path.harness import SOURCE, System
from tests.real_model.clerk import ALIEN, over_or_waiting
from tests.real_model.requests import holds

RUNS = 5
LEADS = [
    {"company": company, "seats": seats, "message": message}
    for company, seats, message in (
        ("Globex", 400, "We want to buy this month."),
        ("Initech", 3, "Just looking."),
        ("Umbrella", 120, "Please send prices for the whole team."),
        ("Hooli", 15, "Do you have a free plan?"),
        ("Stark", 900, "We need a contract by Friday."),
    )
]
INVOICES = [{"number": 4711 + n, "net_euros": 100 + 13 * n, "tax_euros": 19 + 2 * n} for n in range(RUNS)]
QUESTIONS = [
    {"question": question}
    for question in (
        "What is the capital of France?",
        "How many days has a leap year?",
        "Which planet is the largest of the solar system?",
        "What is the chemical formula of water?",
        "In which year did the second world war end?",
    )
]
EVENTS: dict[str, Sequence[dict[str, Any]]] = {"lead.new": LEADS, "invoice.new": INVOICES, "question.new": QUESTIONS}
ANSWERS = ("paris", "366", "jupiter", "h2o|h₂o", "1945")
KEPT: dict[str, list[Callable[[str], bool]]] = {
    "scorer": [holds(str(lead["company"]), r"\d") for lead in LEADS],
    "bookkeeper": [holds(str(bill["net_euros"] + bill["tax_euros"])) for bill in INVOICES],
    "librarian": [holds(right) for right in ANSWERS],
    "reporter": [lambda text: len(text.split()) >= 3] * RUNS,
}
"""What each delivery must hold, by robot and number of the run."""

NAMES = tuple(KEPT)


@dataclass(frozen=True)
class Row:
    robot: str
    status: str
    kept: bool
    alien: bool
    seconds: float
    text: str


def definitions(hook_url: str) -> list[dict[str, Any]]:
    """The robot of the clock is the last."""
    scorer = _robot(hook_url, "scorer", "Lead Scorer", "Score each lead from 0 to 100", "Name the company")
    bookkeeper = _robot(hook_url, "bookkeeper", "Bookkeeper", "Add net and tax of each invoice up", "Name the total")
    librarian = _robot(hook_url, "librarian", "Librarian", "Answer each question", "At most 40 words")
    reporter = _robot(hook_url, "reporter", "Reporter", "Write a short greeting for this hour", "At most 60 words")
    scorer["robot_config"] |= {"events": _on("lead.new")}
    bookkeeper["robot_config"] |= {"events": _on("invoice.new"), "resources": {"mcp": [{"id": "calculator"}]}}
    strict = {"resources": {"phases": {"validation": "strict"}}, "executor": {"validation_threshold": 0.8}}
    librarian["robot_config"] |= {"events": _on("question.new"), **strict}
    reporter["robot_config"] |= {"clock": {"mode": "daemon"}}
    return [scorer, bookkeeper, librarian, reporter]


def _robot(hook_url: str, name: str, role: str, duty: str, rule: str) -> dict[str, Any]:
    identity = {"role": role, "duties": [duty], "rules": [rule]}
    delivery = {"type": "webhook", "opts": {"url": hook_url, "secret": "$ENV.OUT_SECRET"}}
    return {"member_id": name, "robot_config": {"identity": identity, "delivery": delivery}}


def _on(kind: str) -> list[dict[str, Any]]:
    return [{"type": "webhook", "source": SOURCE, "filter": {"event_types": [kind]}}]


async def rows(system: System, wanted: Sequence[str], shown: Callable[[Row], None]) -> list[Row]:
    """All runs of these robots, one robot after the other."""
    made: list[Row] = []
    *of_events, of_clock = definitions(system.hooks.url)
    for definition in of_events:
        if definition["member_id"] not in wanted:
            continue
        await system.api.create_robot(definition)
        kind = definition["robot_config"]["events"][0]["filter"]["event_types"][0]
        for number, each in enumerate(EVENTS[kind]):
            made.append(await _of_event(system, definition["member_id"], number, kind, each))
            shown(made[-1])
    for row in await _of_clock(system, of_clock) if of_clock["member_id"] in wanted else []:
        made.append(row)
        shown(row)
    return made


async def _of_event(system: System, robot: str, number: int, kind: str, data: dict[str, Any]) -> Row:
    began, name = monotonic(), f"msg_{robot}_{number}"
    body, headers = signed_event(system.environ["IN_SECRET"], message_id=name, at=now(), type=kind, data=data)
    started = (await system.api.hook(system.team, SOURCE, body, headers))["triggers"][0]
    over = Execution.model_validate(await over_or_waiting(system, started))
    if not over.status.over:
        await system.api.control(f"/executions/{over.execution_id}", "stop", "a person has nothing to add")
    return _row(robot, number, over, monotonic() - began)


async def _of_clock(system: System, definition: dict[str, Any]) -> list[Row]:
    """A daemon's runs follow each other; after so many it is deleted."""
    robot, began, made = definition["member_id"], monotonic(), list[Row]()
    await system.api.create_robot(definition)
    seen: set[str] = set()
    while len(made) < RUNS:
        await asyncio.sleep(1)
        page = await system.api.executions({"member_id": robot})
        for found in reversed(page["executions"]):
            if found["execution_id"] in seen or len(made) == RUNS:
                continue
            over = Execution.model_validate(await system.api.execution(found["execution_id"]))
            if over.status.over or over.status is ExecStatus.WAITING:
                seen.add(found["execution_id"])
                if not over.status.over:
                    await system.api.control(f"/executions/{over.execution_id}", "stop", "a person has nothing to add")
                made.append(_row(robot, len(made), over, monotonic() - began))
                began = monotonic()
    await system.api.delete_robot(robot)
    return made


def _row(robot: str, number: int, over: Execution, seconds: float) -> Row:
    said = over.content.body.inline or "" if over.content is not None else ""
    alien = any(mark in said for mark in ALIEN)
    done = over.status is ExecStatus.COMPLETED
    kept = done and (bool(over.skipped) or (KEPT[robot][number](said) and not alien))
    question = over.question.question if over.question is not None else ""
    text = said or over.error or over.skipped or question
    return Row(robot, str(over.status), kept, alien, seconds, text)


def line(row: Row) -> str:
    mark = "kept" if row.kept else "NOT KEPT"
    return f"{row.robot:<11} {row.status:<10} {mark:<8} {row.seconds:6.1f} s | {' '.join(row.text.split())[:140]}"


def figures(made: Sequence[Row]) -> dict[str, int]:
    return {
        "runs": len(made),
        "completed": sum(row.status == ExecStatus.COMPLETED for row in made),
        "kept": sum(row.kept for row in made),
        "alien": sum(row.alien for row in made),
    }


def good(found: dict[str, int]) -> bool:
    return found["completed"] >= 16 and found["alien"] == 0

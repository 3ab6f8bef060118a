"""A model's stand-in: the same prompt gets the same answer, in the form asked for. Nothing else is pretended."""

import asyncio
import hashlib
import json
from typing import Any

from executor.ports import Prompt

REPORT = """## Summary
{about}

## Highlights
- [High] {role} is awake

## Opportunities
none known

## Risks
none known

## World News
none known

## Pending
none known"""


class RehearsalModel:
    """Answers for every agent; the answers depend on the prompt's facts alone.

    A connector's parameter `seconds` makes each answer take as long as a model's may.
    """

    async def complete(self, prompt: Prompt) -> str:
        facts = prompt.facts
        await asyncio.sleep(float(prompt.connector.parameters.get("seconds", 0)))
        match facts.get("kind"):
            case "inspiration":
                return REPORT.format(**facts)
            case "goals":
                return json.dumps({"content": _goals(facts)})
            case "tasks":
                return json.dumps({"tasks": _tasks(facts)})
            case "run":
                return json.dumps(_result(facts))
            case "validation":
                return json.dumps({"passed": True, "score": 0.9, "issues": [], "details": "Rehearsed: it holds."})
            case "delivery":
                return json.dumps({"content": _content(facts)})
            case "learning":
                return json.dumps({"lessons": _lessons(facts)})
            case _:
                return f"Rehearsed answer to: {prompt.messages[-1].text()[:200]}"


def _goals(facts: dict[str, Any]) -> str:
    lines = ["## Goals", f"1. Deal with {facts['about']}"]
    if facts["lessons"]:
        lines += ["", "Lessons kept in mind:", *(f"- {lesson}" for lesson in facts["lessons"])]
    return "\n".join(lines)


def _tasks(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """One task for each of the robot's assistants, at most three; the last result gets the second, semantic look."""
    agents = facts["agents"][:3]
    tasks: list[dict[str, Any]] = [
        {
            "id": f"task-{number}",
            "description": f"{agent}: {facts['about']}",
            "goal_ref": "Goal 1",
            "executor_type": "assistant",
            "executor_id": agent,
            "validation_rules": [{"type": "json_path", "path": "status", "value": "done"}],
        }
        for number, agent in enumerate(agents, start=1)
    ]
    if len(tasks) > 1:
        tasks[-1]["expected_output"] = "a result with a status and a score"
    return tasks


def _result(facts: dict[str, Any]) -> dict[str, Any]:
    return {"status": "done", "by": facts["agent"], "task": facts["task"], "score": _score(facts)}


def _content(facts: dict[str, Any]) -> dict[str, Any]:
    score = _score(facts)
    heat = "HOT" if score >= 80 else "WARM"
    lines = [f"- {task['description']}: {task['status']}" for task in facts["tasks"]]
    known = [f"- {lesson}" for lesson in facts["lessons"]]
    body = [f"## {facts['role']}", "", f"**{facts['about']}** scored {score}/100.", "", "### Tasks", *lines]
    if known:
        body += ["", "### Known from earlier runs", *known]
    return {"summary": f"{heat} ({score}/100): {facts['about']}", "body": "\n".join(body), "attachments": []}


def _lessons(facts: dict[str, Any]) -> list[dict[str, str]]:
    if facts["failed"]:
        return [{"type": "feedback", "content": f"{facts['about']} failed: {facts['failed']}"}]
    done = len(facts["tasks"])
    lessons = [{"type": "execution", "content": f"{done} tasks worked for {facts['about']}"}]
    company = facts["data"].get("company")
    if company:
        lessons.append({"type": "insight", "content": f"{company} was scored {_score(facts)}/100 before"})
    return lessons


def _score(facts: dict[str, Any]) -> int:
    """60 to 99, from what the run is about: a guess that is always the same."""
    return 60 + hashlib.sha256(facts["about"].encode()).digest()[0] % 40

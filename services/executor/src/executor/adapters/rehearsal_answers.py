"""Rehearsed answers: a pure function of a prompt's facts."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from executor.adapters.schema_examples import example
from executor.domain.conversation.chat import ModelReply, ToolCall

FIXED = {"needsearch": {"search": False, "reason": "Rehearsed: nothing is searched for."}}
"""Answers that are the same whatever was asked."""

MAX_AGENTS, MAX_TOOLS, MAX_PROCESSES = 3, 2, 2
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
{pending}"""


def rehearse(facts: dict[str, Any], *, tools: Sequence[str] = (), rounds: int = 0) -> ModelReply:
    """The answer to a prompt with these facts, which offers `tools`, after `rounds` answers that called some."""
    kind = facts.get("kind")
    if kind == "run" and tools and rounds == 0:
        calls = [ToolCall(id=f"call-{number}", name=name) for number, name in enumerate(tools[:MAX_TOOLS], start=1)]
        return ModelReply(calls=calls)
    if kind == "inspiration":
        return ModelReply(text=REPORT.format(**{**facts, "pending": facts.get("pending") or "none known"}))
    answer = _answer(str(kind), facts)
    return ModelReply(text=answer if isinstance(answer, str) else json.dumps(answer))


def _answer(kind: str, facts: dict[str, Any]) -> dict[str, Any] | str:
    match kind:
        case "goals":
            return {"content": _goals(facts)}
        case "dedup":
            return _dedup(facts)
        case "tasks":
            return {"tasks": _tasks(facts)}
        case "run":
            return {"status": "done", "by": facts["agent"], "task": facts["task"], "score": _score(facts)}
        case "validation":
            verdict = {"passed": True, "score": 0.9, "issues": [], "details": "Rehearsed: it holds."}
            return {"check": facts["check"], **verdict} if facts.get("check") else verdict
        case "delivery":
            return {"content": _content(facts)}
        case "learning":
            return {"lessons": _lessons(facts)}
        case _:
            return FIXED.get(kind) or f"Rehearsed answer to: {facts.get('words', '')[:200]}"


def _goals(facts: dict[str, Any]) -> str:
    lines = ["## Goals", f"1. Deal with {facts['about']}"]
    if facts["lessons"]:
        lines += ["", "Lessons kept in mind:", *(f"- {lesson}" for lesson in facts["lessons"])]
    return "\n".join(lines)


def _dedup(facts: dict[str, Any]) -> dict[str, Any]:
    """Whatever was done before is taken to be the same; else whatever is under way can do it as well."""
    if facts.get("history"):
        return {"decision": "skip", "reason": "Rehearsed: it was done lately."}
    if under_way := facts.get("under_way"):
        into = under_way[0]["execution_id"]
        return {"decision": "merge", "reason": "Rehearsed: it is at it.", "goals": facts["goals"], "into": into}
    return {"decision": "proceed", "reason": "Rehearsed: nothing like it was done lately."}


def _tasks(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """One task for each of the robot's assistants, tools and processes, up to a few of each.

    The last of several assistants' results gets the second, semantic look.
    """
    tasks: list[dict[str, Any]] = [
        {
            "description": f"{agent}: {facts['about']}",
            "executor_type": "assistant",
            "executor_id": agent,
            "validation_rules": [{"type": "json_path", "path": "status", "value": "done"}],
        }
        for agent in facts["agents"][:MAX_AGENTS]
    ]
    if len(tasks) > 1:
        tasks[-1]["expected_output"] = "a result with a status and a score"
    for tool in facts.get("tools", [])[:MAX_TOOLS]:
        executor_id = f"{tool['server']}.{tool['tool']}"
        where = {"mcp_server": tool["server"], "mcp_tool": tool["tool"], "args": []}
        tasks.append(_other("mcp", executor_id, facts) | where)
    for name in facts.get("processes", [])[:MAX_PROCESSES]:
        tasks.append(_other("process", name, facts) | {"args": [{"about": facts["about"]}]})
    return [{"id": f"task-{number}", "goal_ref": "Goal 1", **task} for number, task in enumerate(tasks, start=1)]


def _other(kind: str, executor_id: str, facts: dict[str, Any]) -> dict[str, Any]:
    return {"description": f"{executor_id}: {facts['about']}", "executor_type": kind, "executor_id": executor_id}


def _content(facts: dict[str, Any]) -> dict[str, Any]:
    tasks, done = len(facts["tasks"]), sum(task["status"] == "completed" for task in facts["tasks"])
    lines = [f"- {task['description']}: {task['status']}" for task in facts["tasks"]]
    known = [f"- {lesson}" for lesson in facts["lessons"]]
    body = [f"## {facts['role']}", "", f"**{facts['about']}**", "", "### Tasks", *lines]
    if known:
        body += ["", "### Known from earlier runs", *known]
    summary = f"{facts['about']}: {done} of {tasks} tasks done"
    content = {"summary": summary, "body": "\n".join(body), "attachments": []}
    return content | ({"result": example(schema)} if (schema := facts.get("schema")) else {})


def _lessons(facts: dict[str, Any]) -> list[dict[str, str]]:
    if facts["failed"]:
        return [{"type": "feedback", "content": f"{facts['about']} failed: {facts['failed']}"}]
    done = len(facts["tasks"])
    lessons = [{"type": "execution", "content": f"{done} tasks worked for {facts['about']}"}]
    company = facts["data"].get("company")
    if company:
        lessons.append({"type": "insight", "content": f"{company} has come up before"})
    return lessons


def _score(facts: dict[str, Any]) -> int:
    """60 to 99, from what the run is about: a guess that is always the same."""
    return 60 + hashlib.sha256(facts["about"].encode()).digest()[0] % 40

"""A model that obeys everything it reads, in the form that it was asked for: the best helper of an attacker.

It knows the attempt by the role of its robot, and does what the attempt needs to be read at all: it looks things up,
reads its notes, calls the process.
"""

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from rota_common.testing.model_answers import Completion
from rota_common.testing.openai_server import Answer, ModelRequest, Reply
from tests.red_team.attempts import FORBIDDEN, Attempt, Channel
from tests.red_team.orders import Orders, orders_in

WHO = re.compile(r"Clerk-([\w-]+)")
CHECK = re.compile(r"- check: .* Always (\w{8});")
OUTPUT = re.compile(r'<material-\w{12} name="output[^"]*">\n(.*?)\n</material', re.DOTALL)
KINDS = {
    "You check the results": "validation",
    "You keep the lessons": "learning",
    "Make today's goals.": "goals",
    "Make the plan.": "tasks",
    "Write it up.": "delivery",
}
ROUNDS, SHOWN = 3, 3_500
PATIENT = "Everything is in order with what came in, and there is nothing more to do about it for now. "


class Obedient:
    """`obeyed`: by attempt, the kinds of prompts in which it found an order."""

    def __init__(self, attempts: Mapping[str, Attempt]) -> None:
        self._attempts = attempts
        self.obeyed: dict[str, set[str]] = defaultdict(set)

    def __call__(self, asked: ModelRequest) -> Answer:
        who = WHO.search(asked.system)
        attempt = self._attempts.get(who[1]) if who else None
        kind = next((kind for mark, kind in KINDS.items() if mark in asked.system or mark in asked.words), "run")
        if attempt is None:
            return self._usual(kind, asked)
        if attempt.channel is Channel.PROVIDER:
            return Reply(400, f"{asked.headers['authorization']} is no key of ours")
        orders = orders_in(_prompt(asked))
        if orders.any:
            self.obeyed[attempt.name].add(kind)
        return answer(kind, attempt, orders, asked)

    def _usual(self, kind: str, asked: ModelRequest) -> str:
        usual = {"learning": '{"lessons": []}', "goals": '{"content": "1. Work"}', "validation": ""}
        return usual.get(kind, "Done.") or verdict(Orders(), asked)


def answer(kind: str, attempt: Attempt, orders: Orders, asked: ModelRequest) -> Completion | str:
    match kind:
        case "goals":
            return json.dumps({"content": _text("1. Work on what came in.", orders, asked)[:SHOWN]})
        case "tasks":
            return json.dumps(plan(attempt, orders))
        case "validation":
            return verdict(orders, asked)
        case "delivery":
            return json.dumps(report(orders, asked))
        case "learning":
            return json.dumps({"lessons": [{"type": "insight", "content": (attempt.text or "Nothing")[:500]}]})
        case _:
            return work(attempt, orders, asked)


def plan(attempt: Attempt, orders: Orders) -> dict[str, Any]:
    """What it was ordered to plan, and what it needs; the calls that it was ordered to make are tasks, too."""
    if orders.plans:
        return orders.plans[-1]
    rules = [] if orders.no_rules else [{"type": "not_contains", "value": FORBIDDEN}]
    tasks: list[dict[str, Any]] = []
    if attempt.channel is Channel.PROCESS:
        tasks.append({"description": "Find it", "executor_type": "process", "executor_id": "crm.find"})
        tasks[-1]["args"] = [attempt.name]
    for name, given in orders.calls:
        for kind in ("mcp", "process"):
            wanted = name.replace("__", ".") if kind == "mcp" else name
            tasks.append({"description": name, "executor_type": kind, "executor_id": wanted, "args": [given]})
    work = {"description": "Answer", "executor_id": attempt.agent, "expected_output": "an answer"}
    return {"tasks": [*tasks, work | {"validation_rules": rules}]}


def work(attempt: Attempt, orders: Orders, asked: ModelRequest) -> Completion | str:
    """Rounds of calls: first its own, then each that it was ordered to make; then the answer."""
    made = [
        json.loads(call["function"]["arguments"] or "{}") | {"": call["function"]["name"]}
        for message in asked.body["messages"]
        for call in message.get("tool_calls") or []
    ]
    own = {
        Channel.TOOL: [("desk__lookup", {"q": attempt.name})],
        Channel.FILE: [("read_file", {"path": "notes.md"})],
    }
    wanted = [*own.get(attempt.channel, []), *(call for call in orders.calls if isinstance(call[1], dict))]
    left = [(name, given) for name, given in wanted if given | {"": name} not in made]
    rounds = sum(bool(message.get("tool_calls")) for message in asked.body["messages"])
    if left and rounds < ROUNDS and asked.body.get("tools"):
        return Completion(calls=left[:10])
    if orders.silent:
        return "NO_REPLY"
    return _text(PATIENT, orders, asked)


def verdict(orders: Orders, asked: ModelRequest) -> str:
    """Its own by the rules, unless it was ordered to give another."""
    found, output = CHECK.search(asked.words), OUTPUT.search(asked.words)
    check, bad = found[1] if found else "", FORBIDDEN in (output[1] if output else "")
    if orders.verdicts:
        said: str = orders.verdicts[-1]
        return re.sub(r'"check"\s*:\s*"[^"]*"', f'"check": "{check}"', said) if orders.copies_check else said
    passed = orders.passes or not bad
    return json.dumps({"check": check, "passed": passed, "score": 1.0 if passed else 0.0, "issues": []})


def report(orders: Orders, asked: ModelRequest) -> dict[str, Any]:
    """With everything by which a report could choose who gets it."""
    to = list(orders.addresses)
    content: dict[str, Any] = {"summary": " ".join(["Report.", *to])[:400], "body": _text(PATIENT, orders, asked)}
    content |= {"attachments": [{"title": "asked for", "file": name} for name in orders.files]} if orders.files else {}
    where = {"to": to, "cc": to, "bcc": to, "targets": [{"url": each} for each in to], "channel": "webhook"}
    return {"content": content | where, **where} if to else {"content": content}


def _text(first: str, orders: Orders, asked: ModelRequest) -> str:
    parts = [first, *orders.says, *orders.blocks]
    parts += [f"To: {address}\nBcc: {address}" for address in orders.addresses]
    parts += [_prompt(asked)] if orders.reveals else []
    return "\n\n".join(parts)


def _prompt(asked: ModelRequest) -> str:
    """All that it reads, the descriptions of its tools included."""
    tools = [str(each["function"].get("description", "")) for each in asked.body.get("tools") or []]
    return "\n".join([asked.system, asked.words, *tools])

"""The robots of the suite and the answers of their model: three ways through an execution, with every channel."""

import json
from dataclasses import dataclass, field
from typing import Any

TEAM, SOURCE, SERVER = "chaos", "leads", "ledger"
NOTE, CHARGE = "note", "charge"
"""Tools of the MCP server: called twice with one step id, `note` notes once; `charge` would charge twice."""

ADD, BILL, REPORT = "ledger.add", "ledger.bill", "ledger.report"
"""Processes of the team: `ledger.add` is idempotent, `ledger.bill` isn't, `ledger.report` takes deliveries."""

TALKER, CALLER, CLERK = "talker", "caller", "clerk"
WRITER = "writer"
DONE = {"type": "json_path", "path": "status", "value": "done"}
EXPECTED = "a result with a status, about the lead"


@dataclass(frozen=True)
class ModelCall:
    """A model call as the rehearsal connector sends it; `rounds`: how many rounds of tools this turn has had;
    `check`: what a verdict repeats."""

    step_id: str
    kind: str
    lead: str
    robot: str
    task: str = ""
    rounds: int = 0
    check: str = ""
    tools: dict[str, str] = field(default_factory=dict)

    @property
    def step(self) -> str:
        return f"model {self.kind}:{self.task}:{self.rounds}" if self.task else f"model {self.kind}"


def robot(member: str, receiver: str) -> dict[str, Any]:
    """The definition of one of the three; `receiver` is the URL of the webhook receiver."""
    hooks = [{"url": f"{receiver}/{name}", "secret": "$ENV.CHAOS_OUT_SECRET"} for name in ("first", "second")]
    resources: dict[str, Any] = {"agents": [member, WRITER]}
    if member != TALKER:
        resources["mcp"] = [{"id": SERVER}]
    if member == CLERK:
        resources["processes"] = [{"name": ADD, "idempotent": True}, {"name": BILL}]
    return {
        "member_id": member,
        "robot_email": f"{member}@chaos.example",
        "robot_config": {
            "identity": {"role": member, "duties": ["See every lead through"]},
            "quota": {"max": 1000, "queue": 100_000},
            "resources": resources,
            "events": [{"type": "webhook", "source": f"/webhook/{SOURCE}", "filter": {"event_types": [member]}}],
            "delivery": {
                "preferences": {
                    "email": {"targets": [{"to": ["owner@chaos.example"]}]},
                    "webhook": {"targets": hooks},
                    "process": {"targets": [{"process": REPORT}]},
                    "notify": {"targets": [{"channel": "owners"}]},
                }
            },
        },
    }


TARGETS = frozenset({"mail", "webhook first", "webhook second", "process", "notify", "event"})
"""The targets that a completed execution must have reached, as the external systems name them."""


def answer(call: ModelCall) -> dict[str, Any]:
    """The model's answer: `{"text", "calls"}`. It holds the lead, but for the lessons, which later runs recall."""
    match call.kind:
        case "goals":
            return _text({"content": f"## Goals\n1. See {call.lead} through"})
        case "tasks":
            return _text({"tasks": plan(call.robot, call.lead)})
        case "run" if calls := _calls(call):
            return {"text": "", "calls": calls}
        case "run":
            return _text({"status": "done", "lead": call.lead, "task": call.task})
        case "validation":
            return _text({"check": call.check, "passed": True, "score": 0.9, "issues": [], "details": "it holds"})
        case "delivery":
            return _text({"content": {"summary": f"{call.lead} is done", "body": f"All of {call.lead} is done."}})
        case "learning":
            return _text({"lessons": [{"type": "execution", "content": f"what a {call.robot} does works"}]})
        case other:
            raise ValueError(
                f"expected a phase, run, validation or learning as the kind of a model call, got {other!r}"
            )


def plan(member: str, lead: str) -> list[dict[str, Any]]:
    """The tasks of one execution. The last one is an assistant's, and its result gets the second, semantic look."""
    own = {
        TALKER: [_assistant(TALKER)],
        CALLER: [_assistant(CALLER)],
        CLERK: [_mcp(NOTE), _mcp(CHARGE), _process(ADD), _process(BILL)],
    }[member]
    tasks = [*own, _assistant(WRITER) | {"expected_output": EXPECTED}]
    return [_numbered(task, f"task-{number}", lead) for number, task in enumerate(tasks, start=1)]


def _numbered(task: dict[str, Any], task_id: str, lead: str) -> dict[str, Any]:
    task |= {"id": task_id, "description": f"{lead} {task_id}"}
    if task["executor_type"] != "assistant":
        task |= {"args": [{"lead": lead, "task": task_id, "number": 0}]}
        task |= {"validation_rules": [{"type": "contains", "value": lead}]}
    return task


def _assistant(name: str) -> dict[str, Any]:
    return {"executor_type": "assistant", "executor_id": name, "validation_rules": [DONE]}


def _mcp(tool: str) -> dict[str, Any]:
    return {"executor_type": "mcp", "executor_id": f"{SERVER}.{tool}", "mcp_server": SERVER, "mcp_tool": tool}


def _process(name: str) -> dict[str, Any]:
    return {"executor_type": "process", "executor_id": name}


def _calls(call: ModelCall) -> list[dict[str, Any]]:
    """The caller uses two tools at once, then one more, then answers; the others answer at once."""
    if (call.robot, call.task) != (CALLER, "task-1"):
        return []
    wanted = ((NOTE, CHARGE), (NOTE,), ())[min(call.rounds, 2)]
    arguments = {"lead": call.lead, "task": call.task, "number": call.rounds + 1}
    return [{"id": f"{tool}-{call.rounds + 1}", "name": call.tools[tool], "arguments": arguments} for tool in wanted]


def _text(words: dict[str, Any]) -> dict[str, Any]:
    return {"text": json.dumps(words), "calls": []}

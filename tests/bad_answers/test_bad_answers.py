"""Every kind of bad answer by every agent of a run: it ends, says why, delivers nothing wrong, and asks a few times."""

import os
import re
from pathlib import Path

import pytest

from executor.domain.conversation.chat import ModelReply, ToolCall
from rota_common.errors import Permanent
from rota_contracts.messages.execution import ExecStatus
from tests.bad_answers.harness import BadAnswer, Ended, run_with

pytestmark = pytest.mark.soak  # a hundred runs

DOCUMENT = Path(__file__).parents[2] / "docs" / "agents.md"
BEGIN, END = "<!-- bad answers -->\n", "<!-- end of bad answers -->"

AGENTS = {
    "goals": ("goals", "event"),
    "plan": ("tasks", "event"),
    "run": ("run", "event"),
    "verdict": ("validation", "event"),
    "delivery": ("delivery", "event"),
    "learning": ("learning", "event"),
    "a plain request": ("run", "human"),
}
"""Columns of the table: the agent that answers badly, and what triggers the run."""

MOST_CALLS = 60
"""Calls of the model in one run: a turn has at most 21, and a second turn with the same result is the last."""

FILTERED = "model m at 127.0.0.1 refuses the request (400): content policy"
LOOK = '{"name": "crm__lookup", "arguments": {"name": "Globex"}}'


def always(text: str) -> BadAnswer:
    return lambda prompt: text


ANSWERS: dict[str, BadAnswer] = {
    "garbage": always("\x00�asdf ;;; 0x7f }{ ]["),
    "half JSON": always('{"summary": "Globex", "tasks": [{"id": "a", "descri'),
    "thinking without an end": always("<think>First I look at the lead. Then I look at the lead."),
    "a call, in tags": always(f"<tool_call>{LOOK}</tool_call>"),
    "a call, in a fence": always(f"```tool_call\n{LOOK}\n```"),
    "a call, as Mistral writes it": always(f"[TOOL_CALLS][{LOOK}]"),
    "a call, as Llama writes it": always('<function=crm__lookup>{"name": "Globex"}</function>'),
    "nothing at all": always(""),
    "10 MB": always("All is well with Globex. " * 420_000),
    "our own prompt back": lambda prompt: prompt.messages[0].text(),
    "what it was given back": lambda prompt: prompt.messages[-1].text(),
    "HTML": always("<p>Hello &amp; good morning.</p>"),
    "the form's words back": always('{"summary": "…", "body": "…", "content": "…", "tasks": [], "passed": true}'),
    "the same call for ever": lambda prompt: ModelReply(
        calls=[ToolCall(id="call_1", name="crm__lookup", arguments={"name": "Globex"})]
    ),
    "NO_REPLY": always("NO_REPLY"),
    "stopped by the provider's filter": lambda prompt: ModelReply(stopped="content_filter"),
    "refused by the provider's filter": lambda prompt: Permanent(FILTERED),
}

LEAKS = re.compile(
    r"</?think|tool_call|TOOL_CALLS|<function|NO_REPLY|material-[0-9a-f]{12}|\{\"|You are |\x00"
    r"|</?(?:task|started_by|expected_output)>"
)


def became(ended: Ended, agent: str) -> str:
    """In words, with the number of times that the agent was asked."""
    execution, times = ended.execution, ended.asked[agent]
    asked = {0: "never asked", 1: "asked once"}.get(times, f"asked {times} times")
    if execution.status is ExecStatus.WAITING:
        return f"waits for a person; {asked}"
    if execution.status is ExecStatus.FAILED:
        return f"fails; {asked}"
    lost = execution.learning is not None and execution.learning.error
    end = "nothing to do" if execution.skipped else "without lessons" if lost else "goes on"
    return f"{end}; {asked}"


def wrong(ended: Ended, agent: str) -> list[str]:
    execution, problems = ended.execution, []
    ended_well = execution.status in (ExecStatus.COMPLETED, ExecStatus.FAILED, ExecStatus.WAITING)
    problems += [] if ended_well else [f"it is {execution.status}"]
    problems += [] if ended.asked[agent] else ["it was never asked"]
    problems += [f"{ended.buried} messages were buried"] if ended.buried else []
    silent = execution.status is ExecStatus.FAILED and not execution.error
    problems += ["it failed without an error"] if silent else []
    problems += (
        [f"the error is {len(execution.error or '')} characters long"] if len(execution.error or "") > 2000 else []
    )
    asked = sum(ended.asked.values())
    problems += [f"{asked} calls of the model"] if asked > MOST_CALLS else []
    leaks = [found.group() for text in ended.delivered if (found := LEAKS.search(text))]
    problems += [f"delivered with {leak!r}" for leak in leaks]
    html = agent == "delivery" and any("</p>" in text for text in ended.delivered)
    problems += ["a report in HTML was delivered"] if html else []
    return problems


async def test_a_bad_answer_never_loses_a_run_nor_is_delivered() -> None:  # EX-13 EX-47 EX-74
    problems, rows = list[str](), list[str]()
    for name, bad in ANSWERS.items():
        cells = []
        for column, (agent, type) in AGENTS.items():
            ended = await run_with(agent, bad, type=type)
            problems += [f"{name}, {column}: {problem}" for problem in wrong(ended, agent)]
            cells.append(became(ended, agent))
        rows.append(f"| {name} | {' | '.join(cells)} |")
    assert not problems, "\n".join(problems)
    head = f"| Answer | {' | '.join(AGENTS)} |\n|{'---|' * (len(AGENTS) + 1)}\n"
    _compare(head + "\n".join(rows) + "\n")


def _compare(table: str) -> None:
    """With the table in the documentation, which ROTA_WRITE_TABLES=1 writes anew."""
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    written, _, after = rest.partition(END)
    if os.environ.get("ROTA_WRITE_TABLES"):
        DOCUMENT.write_text(f"{before}{BEGIN}{table}{END}{after}", encoding="utf-8")
    else:
        assert written == table, "docs/agents.md shows another table: ROTA_WRITE_TABLES=1 writes it anew"

"""Answers and errors of tools and processes, kept and shown without credentials."""

import json
from dataclasses import replace

from services.executor.tests.fixtures import a_process_task, an_mcp_task, equipped, with_tasks
from services.executor.tests.harness import StepHarness

from executor.adapters.in_memory import ScriptedModel, ScriptedProcesses, ScriptedTools
from executor.domain.answers.pieces import Pieces
from executor.domain.run import Run
from executor.steps.call_runner import Toolset
from executor.steps.redacted_calls import RedactedProcesses, RedactedTools
from executor.tool_ports import ToolFailed
from rota_common.redaction import REDACTED
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.process import ProcessCall

SECRET = "correct-horse-battery"
SENTENCE = "The quarter went well in Porto, where the second factory began its work in May. "


def known(team: str) -> list[str]:
    return [SECRET]


async def run_of(answers: list[str]) -> Run:
    """A run with a call of a tool and one of a process, which give these answers, one after the other."""

    async def tool(use: ToolUse) -> str:
        return answers[0]

    async def process(name: str, call: ProcessCall) -> str | None:
        raise ToolFailed(answers[1])

    harness = StepHarness(ScriptedModel())
    harness.run_step = replace(
        harness.run_step,
        calls=replace(
            harness.run_step.calls,
            real=Toolset(
                RedactedTools(ScriptedTools(answer=tool), known),
                RedactedProcesses(ScriptedProcesses(answer=process), known),
            ),
        ),
    )
    robot = equipped(continue_on_failure=True)
    run = with_tasks(an_mcp_task(1), a_process_task(2), robot=robot)

    def failed(run: Run) -> bool:
        return len(run.execution.results) == 2 and bool(run.execution.results[1].error)

    return await harness.until(run, failed)


async def test_what_is_stored_of_a_call_holds_no_credentials_and_stays_json() -> None:  # EX-53 DEC-9
    answer = json.dumps({"api_key": "opensesame", "rows": [1, {"note": f"sent {SECRET}"}], "next_page_token": "CAUQ"})
    run = await run_of([answer, f"401 token=abc123 {SECRET}"])
    output = run.execution.results[0].output
    assert output is not None
    assert output.inline is not None
    shown = {"api_key": REDACTED, "rows": [1, {"note": f"sent {REDACTED}"}], "next_page_token": "CAUQ"}
    assert json.loads(output.inline) == shown
    assert run.execution.results[1].error == f"401 token={REDACTED} {REDACTED}"
    assert not [text for text in ("opensesame", SECRET, "abc123") if text in run.model_dump_json()]
    assert not [entry for entry in run.unsaved if SECRET in entry.model_dump_json()]


def test_a_known_secret_slips_through_no_border_of_two_pieces() -> None:
    secret = "blue. whale\nsings"
    text = f"{SENTENCE * 3}It is {secret}, as they know. {SENTENCE * 3}"
    for size in (1, 3, 7, 50):
        pieces, sent = Pieces(known=[secret]), list[str]()
        for begin in range(0, len(text), size):
            sent += pieces.feed(text[begin : begin + size])
        rest = pieces.end(text.strip())
        assert rest == []
        assert "blue." not in "".join(sent)
        assert "".join(sent).startswith(SENTENCE.strip())

"""Models without tool calls of their own: the tools are explained in text, and calls and results are text (EX-96)."""

from pathlib import Path

from services.executor.tests.fixtures import EQUIPPED, a_task, with_tasks
from services.executor.tests.harness import LOOKUP, StepHarness

from executor.adapters.in_memory import ScriptedModel
from executor.agents.connectors import Connectors

CALL = '<tool_call>{"name": "crm__lookup", "arguments": {"name": "Globex"}}</tool_call>'


async def test_tools_calls_and_results_are_text(tmp_path: Path) -> None:  # EX-55 EX-96
    text = "label: Small\ntype: openai\nteams: ['*']\noptions: {model: small, capabilities: {tool_calls: false}}"
    (tmp_path / "small.yaml").write_text(text)
    model = ScriptedModel(f"I look.\n{CALL}\n{CALL.replace('Globex', 'Initech')}", "Both are there.")
    harness = StepHarness(model, connectors=Connectors("small", environ={}, folder=tmp_path))
    run = await harness.task_done(with_tasks(a_task(1), robot=EQUIPPED))
    assert run.execution.results[0].output is not None
    assert run.execution.results[0].output.inline == "Both are there."
    first, second = (prompt.messages for prompt in model.prompts)
    assert '{"name": "crm__lookup", "description": "Looks a customer up", "parameters": ' in first[0].text()
    assert LOOKUP.name in first[0].text()
    assert [message.role for message in second[-2:]] == ["assistant", "user"]
    assert second[-2].text() == f"I look.\n{CALL}\n{CALL.replace('Globex', 'Initech')}"
    assert second[-1].text().count("<tool_result>\n<material-") == 2
    assert not any(getattr(message, "tool_calls", None) or message.role == "tool" for message in second)

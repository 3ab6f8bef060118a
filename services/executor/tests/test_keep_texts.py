"""Answers of models and tools, while the object store takes nothing: kept, and not asked for again."""

from typing import Any

import pytest
from services.executor.tests.fixtures import a_task, with_tasks
from services.executor.tests.harness import LOOKUP, ScriptedModel, StepHarness, calls

from executor.domain.run import Run
from executor.steps import keep_texts
from rota_contracts.messages.text import INLINE_LIMIT

ALWAYS = 10**6


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keep_texts, "AGAIN_BASE_S", 0.001)


def output(run: Run) -> Any:
    return run.execution.results[0].output


async def test_a_long_reply_stays_in_its_document() -> None:
    answer = "x" * (2 * keep_texts.REPLY_LIMIT)
    shop = StepHarness(ScriptedModel(answer))
    shop.blobs.full = ALWAYS
    run = await shop.task_done(with_tasks(a_task(1)))
    assert (output(run).inline, len(shop.model.prompts)) == (answer, 1)
    (said,) = [entry.said for entry in run.unsaved if entry.said is not None]
    assert answer in (said.inline or "")


async def test_an_output_too_long_for_a_document_waits_in_hand_until_the_store_takes_it() -> None:
    answer = "x" * (INLINE_LIMIT + 1)
    shop = StepHarness(ScriptedModel(answer))
    shop.blobs.full = 3
    run = await shop.task_done(with_tasks(a_task(1)))
    assert len(shop.model.prompts) == 1
    assert await shop.blobs.read(output(run)) == answer


async def test_a_long_result_of_a_tool_waits_in_hand_too() -> None:
    answer = "x" * (INLINE_LIMIT + 1)

    async def look_up(use: Any) -> str:
        return answer

    shop = StepHarness(ScriptedModel(calls(("crm__lookup", {})), "done"), tools=[LOOKUP])
    shop.tools._answer = look_up
    shop.blobs.full = 3
    run = await shop.task_done(with_tasks(a_task(1)))
    (use,) = run.execution.results[0].turns[-1].rounds[0].uses
    assert (use.error, len(shop.tools.calls)) == (None, 1)
    assert use.output is not None
    assert await shop.blobs.read(use.output) == answer

"""Executions with two models behind the real protocol, of which the first is busy or away."""

from pathlib import Path

import pytest

from rota_common.testing.openai_server import Reply, openai_server
from rota_contracts.messages.execution import ExecStatus
from tests.integration.executor.fixtures import ANSWERS, Script
from tests.integration.executor.harness import CONNECTOR, Harness, kinds, scripted

BUSY = Reply(429, "slow down", {"retry-after": "600"})
UNAVAILABLE = Reply(503, "no room")


@pytest.mark.parametrize(("reply", "times"), [(BUSY, 1), (UNAVAILABLE, 3)])
async def test_a_run_whose_model_is_away_is_completed_by_the_fallback_at_once(
    system: Harness, tmp_path: Path, reply: Reply, times: int
) -> None:
    async with openai_server(lambda asked: reply) as first, openai_server(Script()) as second:
        settings = scripted(folder := tmp_path / "connectors", first.url)
        (folder / "scripted.yaml").write_text(f"{CONNECTOR}fallbacks: [other]\n")
        (folder / "other.yaml").write_text(CONNECTOR.replace("MODEL_HOST", "OTHER_HOST"))
        settings["environ"] |= {"OTHER_HOST": second.url}
        async with system.executor(**settings):
            await system.request()
            done = await system.over()
    assert (done.status, done.delayed) == (ExecStatus.COMPLETED, None)
    assert kinds(second) == dict.fromkeys(ANSWERS, 1)
    assert len(first.asked) == times  # then its circuit breaker is open
    assert done.usage.unmeasured == 0
    said = f"connector other asked in place of scripted: model scripted at {first.url[7:-3]} can't answer now"
    assert done.notes[0].startswith(said)

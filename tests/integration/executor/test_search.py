"""A search before a task, on real servers: it survives the death of its worker, and no stage is gone through twice."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from executor.agents.search_prompts import WISHES
from rota_common.clock import now
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.bus import short_ack_wait
from rota_common.testing.crash import crash
from rota_common.testing.openai_server import Answer, ModelRequest, openai_server
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.memory import RecallReply, SharedEntry, SharedMatch
from tests.integration.executor.harness import Harness, kind, scripted
from tests.integration.executor.test_models import ANSWERS

# litellm makes the coroutine of a call in a thread: cancelled at that moment, it is never awaited.
pytestmark = pytest.mark.filterwarnings("ignore:coroutine 'OpenAIChatCompletion.acompletion' was never:RuntimeWarning")

STAGES = {
    "needsearch": '{"search": true}',
    "keyword": '{"keywords": ["Globex"]}',
    "querydsl": '{"query": "Globex", "limit": 2}',
}
PRICE = SharedEntry(collection="prices", id="p1", title="Globex", content="Nine euros.", updated_at=now())


def what(asked: ModelRequest) -> str:
    """The stage of a search, with its task, or as `kind` says it."""
    stage = next((name for name, wish in WISHES.items() if wish in asked.words), "")
    return f"{stage} of {kind(asked).removeprefix('run: ')}" if stage else kind(asked)


class Held:
    """Answers as usual, but holds one request, the first time, until it is let go."""

    def __init__(self, held: str) -> None:
        self.held = held
        self.reached, self.go = asyncio.Event(), asyncio.Event()

    async def __call__(self, asked: ModelRequest) -> Answer:
        if what(asked) == self.held and not self.reached.is_set():
            self.reached.set()
            await self.go.wait()
        return STAGES.get(what(asked).split(" of ")[0]) or ANSWERS[what(asked)]


@pytest.mark.parametrize("held", ["keyword of Score it", "run: Score it"])
async def test_after_a_crash_the_stages_of_a_search_are_not_asked_again(
    system: Harness, tmp_path: Path, nats: EmbeddedServer, held: str
) -> None:  # CL-19
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "agent.yml").write_text("uses: {search: builtin}")
    await short_ack_wait(nats.url, "executor")
    system.recall = lambda asked: RecallReply(shared=[SharedMatch(entry=PRICE, score=0.9)] if asked.limit == 2 else [])
    script = Held(held)
    async with openai_server(script) as model:
        settings: dict[str, Any] = scripted(tmp_path / "connectors", model.url) | {"agents_dir": tmp_path / "agents"}
        settings |= {"lease": 0.5, "answer_patience": 0.5}
        first = await system.start(**settings)
        await system.request()
        await script.reached.wait()
        await crash(first.service)
        script.go.set()
        async with system.executor(**settings):
            done = await system.over()
        asked = Counter(what(each) for each in model.asked)
        tasks = [each.words for each in model.asked if what(each) == "run: Score it"]
    assert (done.status, done.error) == (ExecStatus.COMPLETED, None)
    assert not [note for note in done.notes if note.startswith("search")]
    of_tasks = [f"{stage} of {task}" for stage in STAGES for task in ("Score it", "Write it")]
    assert asked == Counter(dict.fromkeys([*ANSWERS, *of_tasks], 1) | {held: 2})
    assert "[1] source: knowledge, prices/p1 Globex\nNine euros." in tasks[0]
    assert len({*tasks}) == 1, "asked again with the same words"
    assert done.usage.calls == len(ANSWERS) + len(of_tasks)

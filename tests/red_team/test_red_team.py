"""No attempt of the red-team set reaches anything, against a model that obeys everything it reads."""

import io
from collections.abc import Sequence
from pathlib import Path

import pytest

from rota_common.runtime import logs
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.openai_server import openai_server
from rota_common.testing.otlp_receiver import otlp_receiver
from tests.red_team.attempts import Attempt
from tests.red_team.obedient import Obedient
from tests.red_team.of_events import OF_EVENTS
from tests.red_team.of_others import OF_OTHERS
from tests.red_team.offences import UNKNOWN, offences
from tests.red_team.play import OTHER, Connection, play
from tests.red_team.witnesses import in_prompts, in_spans

ALL = (*OF_EVENTS, *OF_OTHERS)
FEW = tuple({(attempt.channel, attempt.goal): attempt for attempt in reversed(ALL)}.values())
"""One for each channel and what it is after."""

LONG = (pytest.mark.soak, pytest.mark.timeout(900))


@pytest.mark.parametrize("attempts", [pytest.param(FEW, id="few"), pytest.param(ALL, id="all", marks=LONG)])
async def test_an_attempt_reaches_nothing_even_with_a_model_that_obeys(
    attempts: Sequence[Attempt],
    tmp_path: Path,
    nats: EmbeddedServer,
    mongo_url: str,
    mongo_prefix: str,
    monkeypatch: pytest.MonkeyPatch,
    logging_as_before: None,
    subtests: pytest.Subtests,
) -> None:  # EX-26 EX-53 DC-25
    model, log = Obedient({attempt.name: attempt for attempt in attempts}), io.StringIO()
    servers = {"nats_url": nats.url, "mongo_url": mongo_url, "mongo_prefix": mongo_prefix}
    async with otlp_receiver() as receiver, openai_server(model) as server:
        monkeypatch.setenv("ROTA_OTLP_ENDPOINT", receiver.url)
        monkeypatch.setenv("ROTA_TRACE_CONTENT", "verbose")
        monkeypatch.setenv("ROTA_MCP_DIR", str(tmp_path / "mcp"))
        monkeypatch.setenv("ROTA_AGENTS_DIR", str(tmp_path / "agents"))
        logs.configure(level="DEBUG", stream=log)
        played = await play(attempts, tmp_path, Connection(server.url), **servers)
    witnessed = {
        "a prompt": in_prompts(server, OTHER),
        "a span": in_spans(receiver),
        "the log": log.getvalue().splitlines(),
    }
    found = offences(played, ((where, text) for where, texts in witnessed.items() for text in texts))
    assert all(witnessed.values())
    for attempt in attempts:
        with subtests.test(attempt.name, channel=attempt.channel, must_not=attempt.goal):
            assert found.get(attempt.name, []) == []
            assert bool(model.obeyed[attempt.name]) or not attempt.obeyed, "no prompt held the attempt"
    assert found.get(UNKNOWN, []) == []

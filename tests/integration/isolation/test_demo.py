"""The whole system with keys: a webhook arrives, and the team's feed client receives the delivery (F22)."""

import json
from pathlib import Path

import pytest

from rota.demo.scenario import play
from rota.demo.screen import Screen

pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("logging_as_before")]


async def test_the_demo_completes_without_a_violation_of_permissions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await play(tmp_path, Screen(json=True), connector="rehearsal", environ={})
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    parties = {line["party"]: line["got"] for line in said if "party" in line}
    assert len(parties["Subscriber: feed on NATS"]) == 2
    log = (tmp_path / "nats" / "server.log").read_text()
    assert "Server is ready" in log
    assert "Violation" not in log

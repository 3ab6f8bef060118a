"""The demo, as `make demo` runs it."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rota_common.testing.openai_server import openai_server
from tests.integration.path.test_real_model import untidy

pytestmark = pytest.mark.soak


def test_the_demo_ends_by_itself_and_every_external_system_receives_its_messages(tmp_path: Path) -> None:
    # DC-10, LE-02
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("ROTA_", "OPENAI_"))}
    environ |= {"PYTHONPATH": os.pathsep.join(part for part in sys.path if part), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "rota.main", "demo", "--json"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=90, check=False)
    printed = [json.loads(line) for line in done.stdout.splitlines()]
    parties = {line["party"]: line["ok"] for line in printed if "party" in line}
    assert parties == dict.fromkeys(parties, True), done.stdout + done.stderr
    assert len(parties) == 5
    assert done.returncode == 0
    assert printed[-1]["ok"]
    assert list(tmp_path.iterdir()) == []
    assert str(tmp_path) not in "".join(path.read_text() for path in _command_lines())


async def test_the_demo_runs_with_a_model_behind_the_openai_protocol(tmp_path: Path) -> None:  # CL-10, CL-22
    async with openai_server(untidy) as model:
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("ROTA_", "OPENAI_"))}
        environ |= {"PYTHONPATH": os.pathsep.join(part for part in sys.path if part), "TMPDIR": str(tmp_path)}
        environ |= {"OPENAI_API_KEY": "sk-of-the-test", "OPENAI_BASE_URL": model.url, "OPENAI_MODEL": "scripted"}
        command = [sys.executable, "-m", "rota.main", "demo", "--json"]
        running = await asyncio.create_subprocess_exec(
            *command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        out, err = await asyncio.wait_for(running.communicate(), 120)
        assert running.returncode == 0, out.decode() + err.decode()
        assert json.loads(out.decode().splitlines()[-1])["ok"]
        assert {asked.body["model"] for asked in model.asked} == {"scripted"}
        assert "sk-of-the-test" not in out.decode() + err.decode()


def _command_lines() -> list[Path]:
    return [path for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]

"""The figures of `make upgrade-test`: an upgrade from the last release to this tree and a rollback, under load."""

import asyncio
import json
import sys
from typing import Any

from tests.figures import DIST

SUITE = "tests/upgrade/test_upgrade.py"
KEPT_IN = DIST / "upgrade-test.json"
LAST_LINES = -1500


async def upgrade() -> dict[str, Any]:
    KEPT_IN.unlink(missing_ok=True)
    command = (sys.executable, "-m", "pytest", "-q", SUITE)
    suite = await asyncio.create_subprocess_exec(
        *command, cwd=DIST.parent, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        said, _ = await suite.communicate()
    finally:
        if suite.returncode is None:
            suite.terminate()
            await suite.wait()
    if suite.returncode or not KEPT_IN.exists():
        raise RuntimeError(f"expected {SUITE} to pass, got {suite.returncode}: {said.decode()[LAST_LINES:]}")
    found: dict[str, Any] = json.loads(KEPT_IN.read_text())
    return found

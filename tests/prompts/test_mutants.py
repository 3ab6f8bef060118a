"""The mutation run of the prompts: no section and no line of a form can go without a test that fails."""

import asyncio
import sys
from itertools import pairwise

import pytest


@pytest.mark.soak
async def test_no_mutant_of_a_prompt_survives() -> None:
    output = asyncio.subprocess.PIPE
    run = await asyncio.create_subprocess_exec(sys.executable, "-m", "tests.prompts", stdout=output)
    printed, _ = await run.communicate()
    lines = printed.decode().splitlines()
    survivors = [name for name, found in pairwise(lines) if found.strip() == "SURVIVES"]
    assert (survivors, run.returncode) == ([], 0), lines[-1:]

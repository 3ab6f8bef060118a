"""Ten turns of fifty rounds with 20 kB results each, on a window of 32,000 tokens, on a real mongod."""

from statistics import median

import pytest

from bench.long_talk import ROUNDS, TURNS, WINDOW, measure
from rota_contracts.messages.execution import TaskStatus


@pytest.mark.soak
async def test_a_long_talk_ends_well_and_its_last_rounds_write_no_more_than_its_first() -> None:  # EX-73 DEC-50
    run, talk = await measure(rounds=20)
    (result,) = run.execution.results
    assert (result.status, len(result.turns), len(talk.written)) == (TaskStatus.COMPLETED, TURNS, TURNS * ROUNDS)
    assert max(talk.prompts) <= WINDOW
    early, late = median(talk.written[20:120]), median(talk.written[-100:])
    assert late <= 1.2 * early

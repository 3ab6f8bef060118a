"""A stop reaches a running step on any replica (F11), observed by the model and the process of eight executors."""

import pytest

from bench.stop import measure

pytestmark = pytest.mark.soak


# F11
async def test_a_stopped_execution_ends_on_whichever_executor_it_is_and_delivers_nothing() -> None:
    row = await measure(stops=16, in_flight=8, seed=1)  # raises unless every one of them is cancelled soon after
    assert (row["stops"], row["delivered_after_stop"]) == (16, 0)

"""Waiting for the end of a run."""

from typing import Any, cast

import pytest

from rota.client import Api
from rota.errors import CliError
from rota.waiting import until_finished


class ScriptedApi:
    def __init__(self, *states: dict[str, Any]) -> None:
        self.states = list(states)

    async def execution(self, execution_id: str) -> dict[str, Any]:
        return {"execution_id": execution_id, "phase": "run", **self.states.pop(0)}


async def until_over(*states: dict[str, Any]) -> dict[str, Any]:
    return await until_finished(cast(Api, ScriptedApi(*states)), {"execution_id": "e1"}, timeout=5)


async def test_a_run_that_asks_a_person_ends_the_waiting_with_the_line_that_answers_it() -> None:
    with pytest.raises(CliError, match="execution e1 waits for an answer: Which Globex?") as raised:
        await until_over({"status": "waiting", "question": {"question": "Which Globex?"}})
    assert raised.value.hint == '`rota answer e1 "…"` answers it'


async def test_a_run_that_waits_for_an_approval_is_waited_for() -> None:
    found = await until_over({"status": "waiting", "question": None}, {"status": "completed"})
    assert found["status"] == "completed"

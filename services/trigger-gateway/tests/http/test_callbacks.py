"""Callbacks: results from outside, accepted once from a sender that knows the id (TG-01)."""

import logging
from typing import Any

import pytest

from rota_contracts.messages.execution import ExecStatus

from .harness import Gateway, error_of, fields_of
from .stand_ins import Executor

SECRET_ID = "0d2b1f6c-6a86-4b0e-9f3b-6f5f5a1f3c77"
PATH = f"/v1/callbacks/{SECRET_ID}"


@pytest.fixture
def waiting(executor: Executor) -> Executor:
    executor.give("e1")
    executor.awaited[SECRET_ID] = "e1"
    return executor


async def test_a_result_is_given_to_the_waiting_execution(acme: Gateway, waiting: Executor) -> None:
    for output in ({"invoice": 7}, [1], "done", 0, False, None):
        waiting.results.clear()
        answer = await acme.http.post(PATH, json={"output": output})
        assert (answer.status_code, answer.json()) == (
            202,
            {
                "execution_id": "e1",
                "status_url": "/v1/teams/acme/executions/e1",
                "message": "accepted: the execution continues",
            },
        )
        assert (waiting.results[SECRET_ID].output, waiting.results[SECRET_ID].error) == (output, None)


async def test_an_error_is_a_result_too_and_a_repeat_changes_nothing(acme: Gateway, waiting: Executor) -> None:
    assert (await acme.http.post(PATH, json={"error": "no such customer"})).status_code == 202
    again = await acme.http.post(PATH, json={"output": "or is there?"})
    assert again.status_code == 200
    assert again.json()["execution_id"] == "e1"
    assert "dropped" in again.json()["message"]
    assert waiting.results[SECRET_ID].error == "no such customer"


async def test_a_repeat_succeeds_after_the_execution_is_over(acme: Gateway, waiting: Executor) -> None:
    await acme.http.post(PATH, json={"output": 1})
    waiting.has.clear()
    waiting.give("e1", status=ExecStatus.COMPLETED)
    assert (await acme.http.post(PATH, json={"output": 1})).status_code == 200


async def test_a_late_result_is_refused(acme: Gateway, executor: Executor) -> None:
    executor.give("e1", status=ExecStatus.CANCELLED)
    executor.awaited[SECRET_ID] = "e1"
    answer = await acme.http.post(PATH, json={"output": 1})
    assert error_of(answer) == (409, "execution_over")
    assert "cancelled" in answer.text


async def test_an_unknown_id_is_not_found(acme: Gateway, executor: Executor) -> None:
    for callback_id in ("guessed", "x" * 201, "%00", "a b", "ä"):
        answer = await acme.http.post(f"/v1/callbacks/{callback_id}", json={"output": 1})
        assert error_of(answer) == (404, "callback_not_found"), callback_id


async def test_without_an_executor_a_callback_is_a_503(acme: Gateway) -> None:
    answer = await acme.http.post(PATH, json={"output": 1})
    assert error_of(answer) == (503, "unavailable")
    assert int(answer.headers["retry-after"]) > 0


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "output"),
    ({"output": 1, "error": "both"}, "output"),
    ({"error": None}, "output"),
    ({"error": ""}, "error"),
    ({"error": "x" * 4001}, "error"),
    ({"outptu": 1}, "outptu"),
]


async def test_a_wrong_result_is_refused_with_its_field(acme: Gateway, waiting: Executor) -> None:
    for body, field in WRONG:
        assert list(fields_of(await acme.http.post(PATH, json=body))) == [field], body
    assert waiting.results == {}


UNREADABLE = [
    (b'{"output": NaN}', 400, "malformed_json"),
    (b'{"output": "\\ud800"}', 400, "malformed_json"),
    (b"{", 400, "malformed_json"),
    (b"[]", 422, "invalid_request"),
    (b'{"output": "' + b"x" * 65_536 + b'"}', 413, "too_large"),
]


async def test_a_result_that_the_bus_cannot_carry_is_refused(acme: Gateway, waiting: Executor) -> None:
    for body, status, code in UNREADABLE:
        answer = await acme.http.post(PATH, content=body, headers={"content-type": "application/json"})
        assert error_of(answer) == (status, code), body[:20]
    assert waiting.results == {}


async def test_the_callback_id_is_never_logged(
    acme: Gateway, waiting: Executor, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG):
        assert (await acme.http.post(PATH, json={"output": 1})).status_code == 202
        waiting.awaited.clear()
        assert (await acme.http.post(PATH, json={"output": 1})).status_code == 404
        assert (await acme.http.get(f"{PATH}/more")).status_code == 404
        assert (await acme.http.get("/v1/teams/acme/robots")).status_code == 401
    ours = [line for line in (caplog.text + "".join(capfd.readouterr())).splitlines() if "HTTP Request" not in line]
    written = "\n".join(ours)
    assert SECRET_ID not in written
    assert written.count("/v1/callbacks/…") == 3
    assert "/v1/teams/acme/robots" in written

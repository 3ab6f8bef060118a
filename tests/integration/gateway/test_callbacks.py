"""Results from outside (TG-01): whoever knows the id may answer, once."""

import logging
from typing import Any

import pytest

from rota_contracts.messages.execution import ExecStatus
from tests.integration.gateway.harness import Gateway, fields_of
from tests.integration.gateway.stand_ins import Executor
from tests.integration.gateway.test_webhooks import error_of

SECRET_ID = "0d2b1f6c-6a86-4b0e-9f3b-6f5f5a1f3c77"
PATH = f"/v1/callbacks/{SECRET_ID}"


@pytest.fixture
def waiting(executor: Executor) -> Executor:
    executor.give("e1")
    executor.awaited[SECRET_ID] = "e1"
    return executor


@pytest.mark.parametrize("output", [{"invoice": 7}, [1], "done", 0, False, None])
async def test_a_result_goes_to_what_waits_for_it(acme: Gateway, waiting: Executor, output: Any) -> None:
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


async def test_a_repeat_is_welcome_also_when_the_execution_is_over(acme: Gateway, waiting: Executor) -> None:
    await acme.http.post(PATH, json={"output": 1})
    waiting.has.clear()
    waiting.give("e1", status=ExecStatus.COMPLETED)
    assert (await acme.http.post(PATH, json={"output": 1})).status_code == 200


async def test_a_result_that_comes_too_late_is_told_so(acme: Gateway, executor: Executor) -> None:
    executor.give("e1", status=ExecStatus.CANCELLED)
    executor.awaited[SECRET_ID] = "e1"
    answer = await acme.http.post(PATH, json={"output": 1})
    assert error_of(answer) == (409, "execution_over")
    assert "cancelled" in answer.text


@pytest.mark.parametrize("callback_id", ["guessed", "x" * 201, "%00", "a b", "ä"])
async def test_an_id_that_was_never_given_is_not_found(acme: Gateway, executor: Executor, callback_id: str) -> None:
    answer = await acme.http.post(f"/v1/callbacks/{callback_id}", json={"output": 1})
    assert error_of(answer) == (404, "callback_not_found")


async def test_without_an_executor_the_sender_is_asked_to_come_back(acme: Gateway) -> None:
    answer = await acme.http.post(PATH, json={"output": 1})
    assert error_of(answer) == (503, "unavailable")
    assert int(answer.headers["retry-after"]) > 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "output"),
        ({"output": 1, "error": "both"}, "output"),
        ({"error": None}, "output"),
        ({"error": ""}, "error"),
        ({"error": "x" * 4001}, "error"),
        ({"outptu": 1}, "outptu"),
    ],
)
async def test_a_wrong_result_is_refused_with_its_field(
    acme: Gateway, waiting: Executor, body: dict[str, Any], field: str
) -> None:
    assert list(fields_of(await acme.http.post(PATH, json=body))) == [field]
    assert waiting.results == {}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b'{"output": NaN}', 400, "malformed_json"),
        (b'{"output": "\\ud800"}', 400, "malformed_json"),
        (b"{", 400, "malformed_json"),
        (b"[]", 422, "invalid_request"),
        (b'{"output": "' + b"x" * 65_536 + b'"}', 413, "too_large"),
    ],
)
async def test_what_the_bus_cant_carry_is_refused(
    acme: Gateway, waiting: Executor, body: bytes, status: int, code: str
) -> None:
    answer = await acme.http.post(PATH, content=body, headers={"content-type": "application/json"})
    assert error_of(answer) == (status, code)
    assert waiting.results == {}


async def test_the_id_stays_out_of_the_log(
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

"""The gateway's responses as values or errors."""

from collections.abc import Callable

import httpx
import pytest

from rota.api_error import ApiError
from rota.client import PAGE_SIZE, Api
from rota.errors import CliError


def api(answer: Callable[[httpx.Request], httpx.Response]) -> Api:
    return Api("http://gateway", "main", key="key", transport=httpx.MockTransport(answer))


async def test_the_key_is_sent_as_a_bearer_token() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"execution_id": "e1"})

    async with api(answer) as gateway:
        assert await gateway.execution("e1") == {"execution_id": "e1"}
    assert seen[0].headers["authorization"] == "Bearer key"
    assert seen[0].url.path == "/v1/teams/main/executions/e1"


async def test_an_error_keeps_message_code_and_fields() -> None:
    error = {"code": "invalid_robot", "message": "it is not valid", "fields": [{"field": "a.b", "message": "missing"}]}
    async with api(lambda _: httpx.Response(422, json={"error": error})) as gateway:
        with pytest.raises(ApiError, match="it is not valid") as caught:
            await gateway.create_robot({})
    assert (caught.value.status, caught.value.code, caught.value.details) == (422, "invalid_robot", ["a.b: missing"])


async def test_an_error_that_is_not_json_is_printed_as_text() -> None:
    async with api(lambda _: httpx.Response(502, text="bad gateway")) as gateway:
        with pytest.raises(ApiError, match="bad gateway"):
            await gateway.execution("e1")


async def test_an_unreachable_gateway_is_reported_with_what_to_do() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    async with api(refuse) as gateway:
        with pytest.raises(CliError, match="no answer from http://gateway") as caught:
            await gateway.execution("e1")
    assert "ROTA_URL" in caught.value.hint


async def test_a_refused_connection_is_named_with_its_port() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        # As httpx and anyio raise it for a host with two addresses.
        attempts = ExceptionGroup("attempts", [OSError("no route"), ConnectionRefusedError(111, "Connect call failed")])
        failed = OSError("All connection attempts failed")
        failed.__cause__ = attempts
        raise httpx.ConnectError(str(failed), request=request) from failed

    async with Api("http://localhost:8080", "main", key="", transport=httpx.MockTransport(refuse)) as gateway:
        with pytest.raises(CliError) as caught:
            await gateway.execution("e1")
    assert caught.value.what == "no answer from http://localhost:8080: connection refused by localhost:8080"
    assert "rota up" in caught.value.hint


async def test_robots_are_read_page_by_page_with_their_states() -> None:
    names = [{"member_id": f"r{number}"} for number in range(PAGE_SIZE + 1)]

    def answer(request: httpx.Request) -> httpx.Response:
        start = (int(request.url.params["page"]) - 1) * PAGE_SIZE
        states = [{"member_id": "r1"}] if not start else []
        robots = names[start : start + PAGE_SIZE]
        return httpx.Response(200, json={"robots": robots, "total": len(names), "states": states})

    async with api(answer) as gateway:
        found = await gateway.robots()
    assert [robot["member_id"] for robot in found] == [robot["member_id"] for robot in names]
    assert [robot["member_id"] for robot in found if robot["state"]] == ["r1"]


async def test_live_events_are_read_without_comments() -> None:
    text = ': listening\n\nid: 1\ndata: {"type": "a"}\n\nevent: rota.dropped\ndata: {"dropped": 3}\n\n'
    headers = {"content-type": "text/event-stream"}
    async with api(lambda _: httpx.Response(200, text=text, headers=headers)) as gateway:
        events = [event async for event in gateway.events({})]
    assert events == [{"type": "a"}, {"type": "rota.dropped", "data": {"dropped": 3}}]


async def test_a_role_too_low_names_the_command_that_lists_roles() -> None:  # TG-24
    error = {"code": "role_too_low", "message": "this needs a key of the role admin"}
    async with api(lambda _: httpx.Response(403, json={"error": error})) as gateway:
        with pytest.raises(ApiError, match="the role admin") as caught:
            await gateway.delete_robot("a")
    assert "rota keys" in caught.value.hint

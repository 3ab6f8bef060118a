"""Fuzzing: every route answers any input as documented."""

import asyncio
import base64
import hmac
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from rota_common.bus.router import Router
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_contracts.catalog import QUESTIONS
from rota_contracts.messages.robot_state import RobotState
from rota_contracts.model import Part
from rota_contracts.robots.robot import RobotStatus
from tests.integration.gateway.harness import ADMIN, HOOK, SECRET, Gateway, Scheduler, serving, signed
from tests.integration.gateway.stand_ins import answering

EXAMPLES = Path(__file__).parents[3] / "contracts/examples/rpc"
pytestmark = pytest.mark.soak

KNOWN = {"team": "acme", "member": "leader", "source": "leads", "collection": "policies"}
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
ENDLESS = "/v1/teams/{team}/stream"
NOT_HTTP = (400, "Invalid HTTP request received.")
"""What uvicorn says to what isn't HTTP, as with the header `transfer-encoding: 0n`: the gateway doesn't see it."""

OTHERS = ("executor", "delivery-center", "learner", "memory")

TIMES = settings(
    max_examples=8, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)
MANY_TIMES = settings(TIMES, max_examples=150)

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
)
EVENTS = st.fixed_dictionaries({}, optional=dict.fromkeys(("type", "data", "id", "timestamp"), ANY_JSON))


class Everybody(dict[str, RobotState]):
    """The scheduler knows every robot, whatever the fuzzer names it."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> RobotState:
        return RobotState(
            team_id="acme", member_id=name, status=RobotStatus.IDLE, active=True, max_running=2, max_queued=10
        )


def answering_by_example(service: str) -> Router:
    """It says to every question what the contracts' example says."""
    router = Router()
    for question in QUESTIONS.values():
        if question.answered_by == service:
            example = json.loads((EXAMPLES / f"{question.name}.json").read_text(encoding="utf-8"))
            router.answer(question, _always(question.answer.model_validate(example["answer"])))
    return router


def _always(answer: Part) -> Callable[[Part], Any]:
    async def say(question: Part) -> Part:
        return answer

    return say


@pytest.fixture
async def whole(acme: Gateway, scheduler: Scheduler, nats: EmbeddedServer) -> AsyncIterator[Gateway]:
    """The gateway behind uvicorn, with a service that answers each request."""
    scheduler.states = Everybody()
    async with AsyncExitStack() as stack:
        for service in OTHERS:
            await stack.enter_async_context(answering(service, nats.url, answering_by_example(service)))
        yield await stack.enter_async_context(serving(acme))


def operations(document: dict[str, Any]) -> Iterator[APIOperation[Any, Any, Any, Any]]:
    """Those that delete come last: the others have something to find."""
    found = [
        each.ok() for each in schemathesis.openapi.from_dict(document).get_all_operations() if isinstance(each, Ok)
    ]
    yield from sorted((each for each in found if each.path != ENDLESS), key=lambda each: each.method == "delete")


def tried(operation: APIOperation[Any, Any, Any, Any], mode: GenerationMode, base: str, key: str) -> str:
    """What went wrong first, if anything did."""
    session = requests.Session()
    session.trust_env = False  # a proxy is for the world outside

    @TIMES
    @given(case=operation.as_strategy(generation_mode=mode), known=st.booleans())
    def check(case: schemathesis.Case, known: bool) -> None:
        names = KNOWN if known else {"team": KNOWN["team"]}
        case.path_parameters.update({name: names[name] for name in names.keys() & case.path_parameters.keys()})
        answer = case.call(base_url=base, session=session, headers={"authorization": f"Bearer {key}"})
        if (answer.status_code, answer.text) != NOT_HTTP:
            case.validate_response(answer, checks=CHECKS)

    try:
        check()
    except Unsatisfiable:  # it takes nothing that could be wrong
        assert mode is GenerationMode.NEGATIVE, operation.label
    except (Failure, FailureGroup) as failure:
        return f"{operation.label} ({mode.value}): {failure}\n" + "\n".join(
            map(str, getattr(failure, "exceptions", ()))
        )
    return ""


def signed_bytes(body: bytes, event_id: str) -> dict[str, str]:
    """Also what is no text; the library that signs elsewhere knows nothing else."""
    headers, key = signed(b"", event_id), base64.b64decode(SECRET.removeprefix("whsec_"))
    said = f"{event_id}.{headers['webhook-timestamp']}.".encode() + body
    signature = base64.b64encode(hmac.digest(key, said, "sha256")).decode()
    return headers | {"webhook-signature": f"v1,{signature}"}


async def test_every_route_takes_anything(whole: Gateway) -> None:
    document, base = (await whole.http.get("/openapi.json")).json(), str(whole.http.base_url)
    wrong: list[str] = []
    for operation in operations(document):
        key = whole.key if "{team}" in operation.path else ADMIN
        for mode in GenerationMode:
            wrong.append(await asyncio.to_thread(tried, operation, mode, base, key))
    assert not any(wrong), "\n\n".join(filter(None, wrong))
    assert len(wrong) > 100


async def test_signed_events_may_hold_anything(whole: Gateway) -> None:
    session, statuses, number = requests.Session(), set[int](), count()
    session.trust_env = False

    @MANY_TIMES
    @given(body=st.binary() | (EVENTS | ANY_JSON).map(lambda event: json.dumps(event).encode()))
    def post(body: bytes) -> None:
        headers = signed_bytes(body, f"evt_{next(number)}")
        answer = session.post(f"{whole.http.base_url}{HOOK}", data=body, headers=headers)
        statuses.add(answer.status_code)
        assert (answer.status_code, answer.json().keys() & {"triggers", "error"}) in (
            (202, {"triggers"}),
            (400, {"error"}),
            (422, {"error"}),
        ), answer.text

    await asyncio.to_thread(post)
    assert statuses >= {202, 400}

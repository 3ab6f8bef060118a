"""Senseless input: every route refuses it as documented, and no webhook body is an internal error.

tests/integration/gateway/test_fuzz.py looks for more, over HTTP.
"""

import json
import re
from random import Random
from typing import Any

import pytest

from .harness import ADMIN, Gateway

NAMES = {"team": "acme", "member": "leader", "source": "leads", "collection": "policies"}
BODIES = [b"", b"{", b"[]", b"null", b'"x"', b'{"\\u0000": 1}', b"\xff\xfe", b'{"type": {}, "messages": 7, "name": []}']


def is_documented(status: int, operation: dict[str, Any]) -> bool:
    documented = operation["responses"].keys()
    return bool({str(status), f"{status // 100}XX", "default"} & documented)


@pytest.mark.usefixtures("scheduler", "executor")
async def test_every_route_refuses_senseless_bodies_as_documented(acme: Gateway) -> None:
    paths = (await acme.http.get("/openapi.json")).json()["paths"]
    operations = [(path, method, each) for path, methods in paths.items() for method, each in methods.items()]
    operations.sort(key=lambda each: each[1] == "delete")  # last: the others need what they delete
    wrong, count = [], 0
    for path, method, documented in operations:
        if path.endswith("/stream"):
            continue
        url = re.sub(r"{(\w+)}", lambda found: NAMES.get(found[1], "x"), path)
        key = acme.key if "{team}" in path else ADMIN
        for body in BODIES if method in ("post", "put", "patch") else BODIES[:1]:
            answer = await acme.call(method.upper(), url, key=key, content=body)
            count += 1
            if answer.status_code == 500 or not is_documented(answer.status_code, documented):
                wrong.append((method, path, body, answer.status_code, answer.text))
    assert not wrong
    assert count > 200


def values(random: Random) -> Any:
    """Any JSON value."""
    text = "".join(chr(random.randint(0, 1000)) for _ in range(random.randint(0, 40)))
    plain = [None, True, random.randint(-(10**20), 10**20), random.random(), text]
    if random.random() < 0.6:
        return random.choice(plain)
    inner = [values(random) for _ in range(random.randint(0, 3))]
    return inner if random.random() < 0.5 else {str(number): each for number, each in enumerate(inner)}


async def test_signed_events_may_hold_anything(acme: Gateway) -> None:
    random, statuses, wrong = Random(7), set[int](), []
    for number in range(100):
        event = {name: values(random) for name in ("type", "data", "id", "timestamp") if random.random() < 0.5}
        body = json.dumps(event if number % 3 else values(random)).encode()
        answer = await acme.post(body, event_id=f"evt_{number}")
        statuses.add(answer.status_code)
        expected = {202: {"triggers"}, 400: {"error"}, 422: {"error"}}.get(answer.status_code)
        if answer.json().keys() & {"triggers", "error"} != expected:
            wrong.append((body, answer.text))
    assert not wrong
    assert statuses >= {202, 400}

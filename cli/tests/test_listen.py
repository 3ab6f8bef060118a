"""`rota listen`: it verifies what arrives, prints it, and answers."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from http.client import HTTPConnection

import httpx
import pytest
from cli.tests.harness import Command

from rota.errors import CliError
from rota.receiver import MAX_BYTES, Received, Receiver
from rota.signing import signed_event
from rota.timestamps import now
from rota_common.runtime.embedded_servers import free_port

pytestmark = pytest.mark.integration

SECRET = "whsec_c2VjcmV0IG9mIHRoZSB0YXJnZXQ="
RESULT = {"summary": "It is sunny.", "body": "# Weather\n\nIt is sunny."}


@contextmanager
def receiving(status: int = 200, secret: str = SECRET) -> Iterator[tuple[str, list[Received]]]:
    received: list[Received] = []
    with Receiver(0, secret=secret, status=status, received=received.append) as receiver:
        thread = threading.Thread(target=receiver.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield receiver.url, received
        finally:
            receiver.shutdown()
            thread.join()


def sent(url: str, change: Callable[[dict[str, str]], None] = lambda _: None, *, ago: float = 0) -> int:
    at = now() - timedelta(seconds=ago)
    body, headers = signed_event(SECRET, message_id="m1", at=at, type="delivery.completed", data=RESULT)
    change(headers)
    return httpx.post(url, content=body, headers=headers, trust_env=False).status_code


def test_what_is_signed_by_the_target_is_verified_and_answered() -> None:
    with receiving() as (url, received):
        assert sent(url) == 200
    (one,) = received
    assert (one.verified, one.problem, one.message_id, one.body["data"]) == (True, "", "m1", RESULT)
    with receiving(status=503) as (url, _):
        assert sent(url) == 503


@pytest.mark.parametrize(
    ("change", "ago", "problem"),
    [
        (lambda headers: headers.update({"webhook-signature": "v1,AAAA v1,BBBB"}), 0, "no signature is right"),
        (lambda headers: headers.update({"webhook-id": "m2"}), 0, "no signature is right"),
        (lambda headers: headers.pop("webhook-timestamp"), 0, "got none of webhook-timestamp"),
        (lambda headers: headers.update({"webhook-timestamp": "soon"}), 0, "seconds since 1970"),
        (lambda headers: None, 400, "within 300 s"),
    ],
)
def test_what_is_not_signed_by_it_is_refused_with_the_reason(
    change: Callable[[dict[str, str]], None], ago: float, problem: str
) -> None:
    with receiving() as (url, received):
        assert sent(url, change, ago=ago) == 401
    assert (received[0].verified, problem in received[0].problem) == (False, True)


def test_a_secret_that_is_none_is_refused_before_anything_arrives() -> None:
    with pytest.raises(CliError, match="expected a signing secret like whsec_"):
        Receiver(0, secret="whsec_nonsense!", status=200, received=print)


def test_a_body_that_is_too_large_or_of_no_length_is_not_read() -> None:
    with receiving(secret="") as (url, received):
        connection = HTTPConnection(url.removeprefix("http://").rstrip("/"))
        connection.putrequest("POST", "/")
        connection.putheader("content-length", str(MAX_BYTES + 1))
        connection.endheaders()
        with closing(connection):
            assert connection.getresponse().status == 413
        assert httpx.post(url, content=iter([b"a"]), trust_env=False).status_code == 411
    assert received == []


def test_the_command_prints_each_result_once_and_ends_after_its_count_with_an_answer(command: Command) -> None:
    port, answers = free_port(), list[int]()
    url = f"http://127.0.0.1:{port}/"

    def send() -> None:
        for number in (1, 1, 2):
            body, headers = signed_event(SECRET, message_id=f"m{number}", at=now(), type="a", data=RESULT)
            while True:
                try:
                    answers.append(httpx.post(url, content=body, headers=headers, trust_env=False).status_code)
                    break
                except httpx.ConnectError:
                    continue

    thread = threading.Thread(target=send)
    thread.start()
    code, out, err = command("listen", str(port), "--secret", SECRET, "--count", "2", "--json")
    thread.join()
    lines = [json.loads(line) for line in out.splitlines()]
    assert (code, [line["verified"] for line in lines], lines[0]["body"]["data"]) == (0, [True, True], RESULT)
    assert (answers, "m1 came again" in err) == ([200] * 3, True)

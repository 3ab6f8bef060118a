"""The requests of webhooks and the meaning of responses. No sockets: the transport is scripted."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpcore
import httpx
import pytest
from standardwebhooks.webhooks import Webhook

from delivery_center.adapters.httpx_webhook import HttpxWebhook, retry_after, webhook_client
from delivery_center.domain.outgoing_message import OutgoingMessage, ResolvedAttachment
from delivery_center.ports import Gone, NotAttempted, Sent, TransientReply
from rota_common.clock import now
from rota_common.errors import Permanent, Transient
from rota_common.testing.team_secrets import InMemoryTeamSecrets
from rota_contracts.messages.delivery import DeliveryContent, EventOrigin
from rota_contracts.robots.preferences import WebhookTarget

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"


def answer(status: int = 200, text: str = "thanks", **headers: str) -> httpx.Response:
    """Not read yet, as a response is that comes from the network."""

    async def body() -> AsyncIterator[bytes]:
        yield text.encode()

    return httpx.Response(status, content=body(), headers={name.replace("_", "-"): v for name, v in headers.items()})


async def public(host: str, port: int) -> list[str]:
    return ["93.184.216.34"]


class Receiver:
    """Answers every request with `response`, and remembers the requests."""

    def __init__(self, response: httpx.Response | Exception | None = None) -> None:
        self.requests: list[httpx.Request] = []
        self._response = response

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if isinstance(self._response, Exception):
            raise self._response
        return self._response or answer()

    async def get(
        self,
        outgoing: OutgoingMessage,
        *,
        known: Mapping[str, str] | None = None,
        away: Exception | None = None,
        resolver: Any = public,
        timeout: float = 2,
        **target: Any,
    ) -> Sent:
        client = httpx.AsyncClient(transport=httpx.MockTransport(self), trust_env=False)
        secrets = InMemoryTeamSecrets({"acme": known or {}, "beta": {"BETA_SIGNING": OTHER}})
        secrets.away = away
        channel = HttpxWebhook(client, timeout=timeout, secrets=secrets, allowed=(), resolver=resolver)
        given = {"url": "https://hooks.example.org/in?key=k"} | target
        return await channel.send(WebhookTarget.model_validate(given), outgoing)

    @property
    def request(self) -> httpx.Request:
        (request,) = self.requests
        return request


async def test_the_body_is_the_content_and_its_context(outgoing: Any) -> None:  # DC-03, DC-04, DC-06
    receiver = Receiver()
    attachment = {"title": "Leads", "file": "__rota.attachment://f1"}
    content = {"summary": "15 leads", "body": {"inline": "x"}, "attachments": [attachment]}
    made = outgoing(body="# ünïcode", content=DeliveryContent.model_validate(content))
    made = replace(
        made,
        context=made.context.model_copy(update={"score": 0.85}),
        attachments=tuple(ResolvedAttachment(each) for each in made.content.attachments),
    )
    await receiver.get(made)
    sent = json.loads(receiver.request.content)
    assert (sent["type"], sent["timestamp"]) == ("delivery.completed", "2026-03-02T12:00:00Z")
    assert sent["data"] == {
        "request_id": "r1",
        "summary": "15 leads",
        "body": "# ünïcode",
        "attachments": [attachment | {"description": None, "task_id": None}],
        "context": {
            "member_id": "ann",
            "execution_id": "e1",
            "trigger_type": "event",
            "team_id": "acme",
            "score": 0.85,
        },
    }


async def test_the_body_has_what_programs_were_promised(outgoing: Any) -> None:
    receiver = Receiver()
    task = {"id": "t1", "description": "Sort it", "status": "completed", "output": {"queue": 7}, "truncated": False}
    content = {"summary": "A bug", "body": {"inline": "x"}, "result": {"category": "bug"}, "tasks": [task]}
    await receiver.get(outgoing(content=DeliveryContent.model_validate(content)))
    data = json.loads(receiver.request.content)["data"]
    assert (data["result"], data["tasks"]) == ({"category": "bug"}, [task])


async def test_the_body_names_the_event_that_the_result_answers(outgoing: Any) -> None:
    receiver, made = Receiver(), outgoing()
    event = EventOrigin(source="leads", type="lead.created", id="evt-1")
    context = made.context.model_copy(update={"event": event, "trigger_id": "t1"})
    await receiver.get(replace(made, context=context))
    data = json.loads(receiver.request.content)["data"]
    assert data["event"] == {"source": "leads", "type": "lead.created", "id": "evt-1"}
    assert (data["context"]["trigger_id"], "event" in data["context"]) == ("t1", False)


class Wire(httpcore.AsyncMockBackend):
    """A network of one server, which answers 200; `connected`: the addresses."""

    def __init__(self) -> None:
        super().__init__([b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"])
        self.connected: list[tuple[str, int]] = []

    async def connect_tcp(self, host: str, port: int, *given: Any, **more: Any) -> httpcore.AsyncNetworkStream:
        self.connected.append((host, port))
        return await super().connect_tcp(host, port, *given, **more)


async def test_the_connection_goes_to_the_checked_address(outgoing: Any) -> None:
    async def six(host: str, port: int) -> list[str]:
        return ["2606:2800:220:1::1"]

    wire = Wire()
    async with webhook_client(network=wire) as client:
        for resolver in (public, six):
            channel = HttpxWebhook(client, timeout=2, secrets=InMemoryTeamSecrets(), resolver=resolver)
            await channel.send(WebhookTarget(url=f"https://{resolver.__name__}.example.org:8443/in"), outgoing())
    assert wire.connected == [("93.184.216.34", 8443), ("2606:2800:220:1::1", 8443)]


async def test_the_request_has_the_name_of_the_host(outgoing: Any) -> None:
    receiver = Receiver()
    await receiver.get(outgoing(), url="https://user:pw@hooks.example.org:8443/in?key=k#part", method="PUT")
    request = receiver.request
    assert (request.url.raw_host, request.url.raw_path) == (b"hooks.example.org", b"/in?key=k")
    assert request.method == "PUT"  # DC-10
    assert request.headers["host"] == "hooks.example.org:8443"
    assert request.headers["authorization"].startswith("Basic ")


async def test_a_name_outside_ascii_is_asked_for_as_the_network_knows_it(outgoing: Any) -> None:
    receiver = Receiver()
    await receiver.get(outgoing(), url="https://bücher.example/")
    assert receiver.request.headers["host"] == "xn--bcher-kva.example"
    assert receiver.request.url.raw_host == b"xn--bcher-kva.example"


async def test_a_secret_signs_as_standard_webhooks_do(outgoing: Any) -> None:  # DC-10, DEC-5
    receiver = Receiver()
    await receiver.get(outgoing(at=now()), secret="$ENV.HOOK_SECRET", known={"HOOK_SECRET": SECRET})
    request = receiver.request
    Webhook(SECRET).verify(request.content, dict(request.headers))
    assert request.headers["webhook-id"] == "d1"


async def test_two_secrets_give_two_signatures_so_that_a_receiver_can_change(outgoing: Any) -> None:
    receiver = Receiver()
    await receiver.get(outgoing(at=now()), secret="$ENV.HOOK_SECRET", known={"HOOK_SECRET": f"{SECRET} {OTHER}"})
    for secret in (SECRET, OTHER):
        Webhook(secret).verify(receiver.request.content, dict(receiver.request.headers))


async def test_id_and_timestamp_are_sent_without_a_secret(outgoing: Any) -> None:
    receiver = Receiver()
    made = outgoing()
    await receiver.get(made)
    headers = receiver.request.headers
    assert (headers["webhook-id"], headers["webhook-timestamp"]) == ("d1", str(int(made.at.timestamp())))
    assert "webhook-signature" not in headers


async def test_id_and_body_stay_the_same_and_the_timestamp_is_that_of_the_attempt(outgoing: Any) -> None:
    receiver = Receiver()
    first = outgoing()
    await receiver.get(first)
    await receiver.get(outgoing(at=first.at + timedelta(seconds=60)))
    one, two = receiver.requests
    assert (one.headers["webhook-id"], one.content) == (two.headers["webhook-id"], two.content)
    assert int(two.headers["webhook-timestamp"]) - int(one.headers["webhook-timestamp"]) == 60


@pytest.mark.parametrize("known", [{}, {"HOOK_SECRET": ""}])
async def test_a_missing_secret_is_named(outgoing: Any, known: dict[str, str]) -> None:
    with pytest.raises(Transient, match=r"secret HOOK_SECRET of team acme .*rota secrets set HOOK_SECRET"):
        await Receiver().get(outgoing(), secret="$ENV.HOOK_SECRET", known=known)


async def test_an_invalid_secret_is_refused_without_showing_it(outgoing: Any) -> None:
    with pytest.raises(Permanent, match=r"whsec_<base64> .* in \$ENV.HOOK_SECRET") as caught:
        await Receiver().get(outgoing(), secret="$ENV.HOOK_SECRET", known={"HOOK_SECRET": "whsec_a"})
    assert "whsec_a" not in str(caught.value).replace("whsec_<base64>", "")


async def test_headers_are_the_owners_and_may_refer_to_secrets(outgoing: Any) -> None:  # DC-10
    receiver = Receiver()
    await receiver.get(
        outgoing(), headers={"X-Custom": "v", "Authorization": "$ENV.TOKEN"}, known={"TOKEN": "Bearer t"}
    )
    assert (receiver.request.headers["x-custom"], receiver.request.headers["authorization"]) == ("v", "Bearer t")
    assert receiver.request.headers["content-type"] == "application/json"


async def test_headers_that_are_ours_are_refused(outgoing: Any, subtests: pytest.Subtests) -> None:
    for name in ["Webhook-Id", "webhook-signature", "HOST", "Content-Length", "Connection", "a b", "x\n"]:
        with subtests.test(name=name):
            receiver = Receiver()
            with pytest.raises(Permanent, match="remove it from the target's headers"):
                await receiver.get(outgoing(), headers={name: "x"})
            assert receiver.requests == []


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "ü", "$ENV.TOKEN"])
async def test_a_header_value_is_one_line_and_is_not_shown_when_it_is_refused(outgoing: Any, value: str) -> None:
    with pytest.raises(Permanent, match="one line of ASCII as the value of header X-A") as caught:
        await Receiver().get(outgoing(), headers={"X-A": value}, known={"TOKEN": "secret\n"})
    assert "secret" not in str(caught.value)


async def test_what_a_team_writes_reads_its_own_secrets_alone(
    outgoing: Any, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:  # TG-23 # DEC-44
    cases = [
        {"headers": {"X-Openai": "$ENV.OPENAI_API_KEY"}},
        {"headers": {"X-Path": "$SECRET.PATH"}},
        {"headers": {"X-Mail": "$ENV.MAIL_PASSWORD"}},
        {"headers": {"X-Beta": "$SECRET.BETA_SIGNING"}},
        {"secret": "$ENV.BETA_SIGNING"},
    ]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-platform-key")
    monkeypatch.setenv("MAIL_PASSWORD", "smtp-pa55")
    for target in cases:
        with subtests.test(target=target):
            receiver = Receiver()
            with pytest.raises(Transient, match="of team acme .*`rota secrets set "):
                await receiver.get(outgoing(), **target)
            assert receiver.requests == []


async def test_an_attempt_waits_while_secrets_cant_be_read(outgoing: Any) -> None:
    receiver = Receiver()
    with pytest.raises(NotAttempted, match="secrets can't be read now: gateway is down"):
        await receiver.get(outgoing(), secret="$SECRET.HOOK", away=Transient("gateway is down"))
    await receiver.get(outgoing(), away=Transient("gateway is down"))  # it has no references
    assert len(receiver.requests) == 1


async def test_an_answer_that_echoes_a_secret_is_kept_without_it(outgoing: Any) -> None:
    sent = await Receiver(answer(200, "got Bearer t0ken")).get(
        outgoing(), headers={"Authorization": "$SECRET.TOKEN"}, known={"TOKEN": "Bearer t0ken"}
    )
    assert sent.details == {"status": 200, "body": "got [REDACTED]"}


async def test_the_trace_context_is_sent(outgoing: Any) -> None:
    receiver = Receiver()
    await receiver.get(outgoing(traceparent="00-aa-bb-01"))
    assert receiver.request.headers["traceparent"] == "00-aa-bb-01"


async def test_2xx_is_delivered(outgoing: Any, subtests: pytest.Subtests) -> None:
    for status in [200, 201, 202, 204]:
        with subtests.test(status=status):
            sent = await Receiver(answer(status, "ok")).get(outgoing())
            assert sent.details == {"status": status, "body": "ok"}


async def test_redirects_are_not_followed(outgoing: Any, subtests: pytest.Subtests) -> None:
    for status in [301, 302, 303, 304, 307, 308]:
        with subtests.test(status=status):
            receiver = Receiver(answer(status, location="http://127.0.0.1/"))
            with pytest.raises(TransientReply, match=f"answered {status}: redirects are not followed"):
                await receiver.get(outgoing())
            assert len(receiver.requests) == 1


async def test_gone_is_final(outgoing: Any) -> None:
    with pytest.raises(Gone, match="answered 410") as caught:
        await Receiver(answer(410, "no")).get(outgoing())
    assert caught.value.details == {"status": 410, "body": "no"}


async def test_every_other_status_is_transient(outgoing: Any, subtests: pytest.Subtests) -> None:
    for status in [400, 401, 404, 408, 409, 422, 425, 429, 500, 502, 503, 504]:
        with subtests.test(status=status):
            with pytest.raises(TransientReply, match=f"answered {status}") as caught:
                await Receiver(answer(status, "later", retry_after="90")).get(outgoing())
            assert (caught.value.after, caught.value.details) == (90, {"status": status, "body": "later"})


@pytest.mark.parametrize(
    "error", [httpx.ConnectError("refused"), httpx.ReadTimeout(""), httpx.RemoteProtocolError("x")]
)
async def test_an_unreachable_receiver_is_transient(outgoing: Any, error: Exception) -> None:
    with pytest.raises(Transient, match="hooks.example.org") as caught:
        await Receiver(error).get(outgoing())
    assert "key=k" not in str(caught.value)


async def test_the_timeout_covers_all_steps_of_an_attempt(outgoing: Any) -> None:
    async def silent(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    with pytest.raises(Transient, match=r"no answer within 0\.01 s"):
        await Receiver().get(outgoing(), resolver=silent, timeout=0.01)


async def test_no_more_than_2_kib_of_an_answer_are_read(outgoing: Any) -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 1000
            yield b"x" * 1000

    sent = await Receiver(httpx.Response(200, content=endless())).get(outgoing())
    assert isinstance(sent.details, dict)
    assert len(sent.details["body"]) == 2048
    assert read <= 4000


async def test_the_status_counts_even_if_the_body_never_comes(outgoing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent() -> AsyncIterator[bytes]:
        yield b"beg"
        await asyncio.Event().wait()

    monkeypatch.setattr("delivery_center.adapters.httpx_webhook.EXCERPT_S", 0.01)
    sent = await Receiver(httpx.Response(200, content=silent())).get(outgoing())
    assert sent.details == {"status": 200, "body": "beg"}


@pytest.mark.parametrize("address", ["127.0.0.1", "::ffff:10.0.0.1", "169.254.169.254"])
async def test_a_private_address_is_never_asked(outgoing: Any, address: str) -> None:
    async def inside(host: str, port: int) -> list[str]:
        return [address]

    receiver = Receiver()
    with pytest.raises(Permanent, match="ROTA_ALLOW_PRIVATE_TARGETS"):
        await receiver.get(outgoing(), resolver=inside)
    assert receiver.requests == []


def test_retry_after_is_a_number_or_a_date(outgoing: Any) -> None:
    noon = outgoing().at
    assert retry_after("120", now=noon) == 120
    assert retry_after("Mon, 02 Mar 2026 12:00:30 GMT", now=noon) == 30
    assert retry_after("Mon, 02 Mar 2026 11:00:00 GMT", now=noon) == 0
    for text in ("", "soon", "-5", "1.5", "9" * 40, f"Mon, 02 Mar 2026 12:00:00 +{'9' * 20}"):
        assert retry_after(text, now=noon) is None

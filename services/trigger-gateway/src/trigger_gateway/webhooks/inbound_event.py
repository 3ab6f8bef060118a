"""Inbound events: the sender's id, type and data, as each scheme encodes them; no I/O, no clock."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl

from pydantic_core import from_json

from rota_contracts.ids import event_trigger_id, execution_id
from rota_contracts.json_values import unstorable
from rota_contracts.messages.trigger import TriggerInput, TriggerReceivedV1, TriggerType
from rota_contracts.robots.events import any_matches
from rota_contracts.sources import Scheme
from trigger_gateway.problems import Invalid, Malformed
from trigger_gateway.robots.record import Subscriber
from trigger_gateway.sources.schemes import STAMPED, standard_header
from trigger_gateway.sources.source import Source, WebhookSettings

EVENT_ID_LIMIT = 256
FORM = "application/x-www-form-urlencoded"
FORM_FIELDS = 1000
Headers = Mapping[str, str]


@dataclass(frozen=True)
class SentPost:
    """A post as its sender sent it. `signature_header` is where its source has the signature, if that can be set."""

    headers: Headers
    body: bytes
    signature_header: str = ""


@dataclass(frozen=True)
class InboundEvent:
    """An event of a source; `id` is its sender's own, `kind` the source's. `sent` is the post that it came with.

    `unwanted` is the reason why the source doesn't accept it; then it starts no run. `challenge`, if any, is what its
    sender expects in the answer. `body_id` is set where the signature covers neither an id nor a time: the same body is
    the same event then, or a captured request could be sent again under another id.
    """

    team: str
    source: str
    id: str
    type: str | None
    data: Mapping[str, Any]
    received_at: datetime
    kind: str = "webhook"
    unwanted: str = ""
    challenge: str | None = None
    body_id: str = ""
    sent: SentPost | None = None


@dataclass(frozen=True)
class StartedRun:
    """A trigger that an event became, and the execution that it starts."""

    trigger_id: str
    member_id: str

    @property
    def execution_id(self) -> str:
        return execution_id(self.trigger_id)


def read_event(
    source: Source, headers: Headers, body: bytes, received_at: datetime, fresh_id: Callable[[], str]
) -> InboundEvent:
    """The event in a webhook whose sender is known. Raises Malformed, and Invalid for one that can't be stored.

    `fresh_id` names an event that has no id of its own. Names in `headers` are in lower case, or found in any.
    """
    settings = source.need_webhook()
    raw = _object(settings.scheme, headers, body)
    if problem := unstorable(raw):
        raise Invalid("unstorable", f"the event can't be stored: {problem}")
    event_type, data = _type_and_data(settings, headers, raw)
    event_id = _event_id(settings, headers, raw) or fresh_id()
    if len(event_id) > EVENT_ID_LIMIT:
        raise Malformed("malformed_event", f"expected an event's id of at most {EVENT_ID_LIMIT} characters")
    wanted = any_matches(settings.event_types, event_type)
    return InboundEvent(
        source.team,
        source.name,
        event_id,
        event_type,
        data,
        received_at,
        unwanted="" if wanted else _not_accepted(event_type),
        challenge=_challenge(settings.scheme, raw),
        sent=SentPost(headers, body, settings.header),
        body_id="" if _signs_an_id(settings, raw) else f"sha256:{hashlib.sha256(body).hexdigest()}",
    )


def triggers_of(event: InboundEvent, subscribers: Iterable[Subscriber]) -> list[TriggerReceivedV1]:
    """One trigger for each robot that subscribes to the event, with the same id for each repeat of the event."""
    if event.unwanted or event.challenge is not None:
        return []
    given = TriggerInput(source=event.source, event_type=event.type, event_id=event.id, data=dict(event.data))
    return [
        TriggerReceivedV1(
            team_id=event.team,
            member_id=robot.member,
            trigger_id=event_trigger_id(event.team, event.source, event.body_id or event.id, robot.member),
            type=TriggerType.EVENT,
            input=given,
            received_at=event.received_at,
            robot_rev=robot.rev,
        )
        for robot in subscribers
        if robot.wants(event.source, event.type, event.data, kind=event.kind)
    ]


def _not_accepted(event_type: str | None) -> str:
    return f"{'event type ' + event_type if event_type else 'no event type'} is not accepted here"


def _object(scheme: Scheme, headers: Headers, body: bytes) -> dict[str, Any]:
    form = scheme in (Scheme.SLACK, Scheme.GITHUB) and headers.get("content-type", "").startswith(FORM)
    try:
        raw = _form(body) if form else from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise Malformed("malformed_json", f"expected a JSON object as the body: {error}") from error
    if not isinstance(raw, dict):
        raise Malformed("malformed_json", f"expected a JSON object as the body, not {_json_kind(raw)}")
    return raw


def _form(body: bytes) -> Any:
    """A form of GitHub or Slack: JSON in its field `payload`, or the fields themselves."""
    fields = dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=FORM_FIELDS))
    return from_json(fields["payload"], allow_inf_nan=False) if "payload" in fields else fields


def _type_and_data(
    settings: WebhookSettings, headers: Headers, raw: dict[str, Any]
) -> tuple[str | None, dict[str, Any]]:
    """Standard Webhooks write `{"type": …, "data": {…}}`. Everywhere else the whole body is the data, as it is here
    where there is no type, no data, or another field with the type."""
    match settings.scheme:
        case Scheme.GITHUB:
            event, action = headers.get("x-github-event") or None, raw.get("action")
            return (f"{event}.{action}" if event and isinstance(action, str) else event), raw
        case Scheme.STRIPE:
            return _text(raw.get("type")), raw
        case Scheme.SLACK:
            inner = raw.get("event")
            return _text(inner.get("type") if isinstance(inner, dict) else raw.get("type")), raw
        case _:
            event = _text(raw.get(settings.event_type_field or "type"))
            enveloped = settings.event_type_field is None and event is not None and isinstance(raw.get("data"), dict)
            return event, raw["data"] if enveloped else raw


def _event_id(settings: WebhookSettings, headers: Headers, raw: dict[str, Any]) -> str | None:
    """None where the sender names none: then each post is an event of its own.

    The first four schemes have ids that their senders always give; a header beside them, which is not signed,
    doesn't count: with another one the same request would count twice.
    """
    match settings.scheme:
        case Scheme.STANDARD:
            return _required(standard_header(headers, "id"), "header webhook-id")
        case Scheme.GITHUB:
            return _required(headers.get("x-github-delivery"), "header X-GitHub-Delivery")
        case Scheme.STRIPE:
            return _required(_id(raw.get("id")), "field id")
        case Scheme.SLACK:  # of commands and clicks, which aren't events, trigger_id is the name
            return _id(raw.get("event_id")) or _id(raw.get("trigger_id"))
        case _:
            named = _id(raw.get(settings.id_field)) if settings.id_field else None
            return named or headers.get("x-idempotency-key") or headers.get("webhook-id")


def _signs_an_id(settings: WebhookSettings, raw: Mapping[str, Any]) -> bool:
    """True where another id, or another time, needs another signature; and where there is no signature at all."""
    by_body = settings.scheme in (Scheme.HMAC, Scheme.BEARER) and settings.id_field and _id(raw.get(settings.id_field))
    bare = settings.scheme is Scheme.BEARER and settings.signing_secret is None
    return settings.scheme in STAMPED or bare or bool(by_body)


def _required(value: str | None, where: str) -> str:
    if not value:
        raise Malformed("malformed_event", f"expected the event's id in the {where}")
    return value


def _challenge(scheme: Scheme, raw: Mapping[str, Any]) -> str | None:
    """Slack sets a webhook up only if its challenge comes back."""
    asked = scheme is Scheme.SLACK and raw.get("type") == "url_verification"
    return _text(raw.get("challenge")) if asked else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _id(value: Any) -> str | None:
    """A text or a number."""
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "" else None


def _json_kind(raw: Any) -> str:
    kinds = {list: "an array", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(raw), "a number")

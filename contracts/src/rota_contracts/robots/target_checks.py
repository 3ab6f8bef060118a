"""Delivery targets that can never work: refused when a definition is written, and still read where one is stored."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from rota_contracts.robots.addresses import parse_address
from rota_contracts.robots.preferences import Channels, DeliveryPreferences, EmailTarget, WebhookTarget

MOST_TARGETS = 100
"""Of all channels together: one message holds the outcomes at all of them."""

RESERVED = frozenset({"host", "content-length", "transfer-encoding", "connection"})
RESERVED_PREFIX = "webhook-"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class TargetProblem(NamedTuple):
    """`path` within the preferences."""

    path: str
    message: str


def target_problems(delivery: DeliveryPreferences) -> list[TargetProblem]:
    """The reasons why some targets can never be sent to; empty if all may work."""
    channels = delivery.preferences
    return [*_too_many(channels), *_wrong(channels)]


def header_name_problem(name: str) -> str | None:
    reserved = name.lower() in RESERVED or name.lower().startswith(RESERVED_PREFIX)
    if reserved or not _TOKEN.fullmatch(name):
        return f"expected a header of the owner's own, not {name!r}: remove it from the target's headers"
    return None


def header_value_problem(name: str, value: str) -> str | None:
    """The value isn't quoted: it may be a key."""
    if value.isascii() and value.isprintable():
        return None
    return f"expected one line of ASCII as the value of header {name}"


def address_problem(text: str) -> str | None:
    try:
        parse_address(text)
    except ValueError as error:
        return str(error)
    return None


def _too_many(channels: Channels) -> Iterator[TargetProblem]:
    kinds = (channels.email, channels.webhook, channels.process, channels.notify)
    count = sum(len(kind.targets) for kind in kinds if kind is not None)
    if count > MOST_TARGETS:
        text = f"expected at most {MOST_TARGETS} targets in all channels together, not {count}"
        yield TargetProblem("preferences", f"{text}: let one receiver pass them on")


def _wrong(channels: Channels) -> Iterator[TargetProblem]:
    for number, mail in enumerate(channels.email.targets if channels.email else ()):
        yield from _of_mail(mail, f"preferences.email.targets.{number}")
    for number, hook in enumerate(channels.webhook.targets if channels.webhook else ()):
        yield from _of_webhook(hook, f"preferences.webhook.targets.{number}")


def _of_mail(target: EmailTarget, path: str) -> Iterator[TargetProblem]:
    for field, addresses in (("to", target.to), ("cc", target.cc)):
        for number, address in enumerate(addresses):
            if problem := address_problem(address):
                yield TargetProblem(f"{path}.{field}.{number}", problem)


def _of_webhook(target: WebhookTarget, path: str) -> Iterator[TargetProblem]:
    for name, value in target.headers.items():
        if problem := header_name_problem(name) or header_value_problem(name, value):
            yield TargetProblem(f"{path}.headers.{name}", problem)

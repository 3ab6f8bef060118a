"""From a robot's preferences to targets: every target of every enabled channel, in a fixed order (DC-01, DC-08)."""

import json
from collections import Counter
from collections.abc import Mapping
from urllib.parse import urlsplit

from delivery_center.domain.delivery import Target
from rota_contracts.ids import derived_id
from rota_contracts.messages.delivery import DeliveryType
from rota_contracts.robots.preferences import (
    DeliveryPreferences,
    EmailTarget,
    NotifyTarget,
    ProcessTarget,
    WebhookTarget,
)

TargetConfig = EmailTarget | WebhookTarget | ProcessTarget | NotifyTarget

CONFIGS: Mapping[DeliveryType, type[TargetConfig]] = {
    DeliveryType.EMAIL: EmailTarget,
    DeliveryType.WEBHOOK: WebhookTarget,
    DeliveryType.PROCESS: ProcessTarget,
    DeliveryType.NOTIFY: NotifyTarget,
}


def expand(preferences: DeliveryPreferences, *, request_id: str, team: str) -> list[Target]:
    """The targets of one delivery.

    A target's id derives from the request and from what the target is, so the owner may move, add and remove others
    while a request is delivered again: none gets the id of another. Equal ones are counted.
    """
    targets: list[Target] = []
    equal: Counter[tuple[str, str]] = Counter()
    for kind in CONFIGS:
        channel = getattr(preferences.preferences, kind.value)
        if channel is None or not channel.enabled:
            continue
        for config in channel.targets:
            what = (kind.value, identity(config))
            targets.append(
                Target(
                    delivery_id=derived_id("delivery", request_id, *what, equal[what]),
                    target_id=target_id(team, kind, label(config)),
                    type=kind,
                    label=label(config),
                    config=config.model_dump(mode="json"),
                )
            )
            equal[what] += 1
    return targets


def target_id(team: str, kind: DeliveryType, label: str) -> str:
    """What the team's deliveries to one place have in common, whichever robot they are of."""
    return derived_id("target", team, kind.value, label)


def identity(config: TargetConfig) -> str:
    """What a target is, as text. Defaults are no part of it: an optional field that is added later changes no id."""
    return json.dumps(config.model_dump(mode="json", exclude_defaults=True), sort_keys=True)


def config_of(target: Target) -> TargetConfig:
    return CONFIGS[target.type].model_validate(target.config)


def label(config: TargetConfig) -> str:
    """How people see a target. Of a URL neither query, fragment nor userinfo: keys are kept there."""
    match config:
        case EmailTarget():
            return ", ".join(config.to)
        case WebhookTarget():
            parts = urlsplit(config.url)
            return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        case ProcessTarget():
            return config.process
        case NotifyTarget():
            return config.channel

"""The expansion of a robot's preferences: every target of every enabled channel, in a fixed order."""

import json
from collections import Counter
from collections.abc import Mapping
from urllib.parse import urlsplit

from delivery_center.domain.delivery import Target
from rota_common.shown import shown_url
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
    while a request is redelivered: none gets the id of another. Equal ones are counted.
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
                    target_id=target_id(team, kind, place(config)),
                    type=kind,
                    label=label(config),
                    config=config.model_dump(mode="json"),
                )
            )
            equal[what] += 1
    return targets


def target_id(team: str, kind: DeliveryType, where: str) -> str:
    """The same for all deliveries of the team to one target, across robots; it reveals nothing of its place."""
    return derived_id("target", team, kind.value, where)


def identity(config: TargetConfig) -> str:
    """A target's configuration as text. Defaults are left out: an optional field that is added later changes no id."""
    return json.dumps(config.model_dump(mode="json", exclude_defaults=True), sort_keys=True)


def config_of(target: Target) -> TargetConfig:
    return CONFIGS[target.type].model_validate(target.config)


def label(config: TargetConfig) -> str:
    """The display name of a target: of a URL only what can't be a key."""
    return shown_url(config.url) if isinstance(config, WebhookTarget) else place(config)


def place(config: TargetConfig) -> str:
    """Where a target's messages go. It may hold keys, so it is never shown."""
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

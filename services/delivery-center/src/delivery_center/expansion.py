"""From a robot's preferences to targets: every target of every enabled channel, in a fixed order (DC-01, DC-08)."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from delivery_center.domain import Target
from rota_contracts.delivery import DeliveryType
from rota_contracts.ids import derived_id
from rota_contracts.preferences import DeliveryPreferences, EmailTarget, NotifyTarget, ProcessTarget, WebhookTarget

TargetConfig = EmailTarget | WebhookTarget | ProcessTarget | NotifyTarget

CONFIGS: Mapping[DeliveryType, type[TargetConfig]] = {
    DeliveryType.EMAIL: EmailTarget,
    DeliveryType.WEBHOOK: WebhookTarget,
    DeliveryType.PROCESS: ProcessTarget,
    DeliveryType.NOTIFY: NotifyTarget,
}


def expand(preferences: DeliveryPreferences, *, request_id: str) -> list[Target]:
    """The targets of one delivery. The same preferences give the same targets with the same ids."""
    targets: list[Target] = []
    for kind in CONFIGS:
        channel = getattr(preferences.preferences, kind.value)
        if channel is None or not channel.enabled:
            continue
        for index, config in enumerate(channel.targets):
            targets.append(
                Target(
                    delivery_id=derived_id("delivery", request_id, kind.value, index),
                    type=kind,
                    label=label(config),
                    config=config.model_dump(mode="json"),
                )
            )
    return targets


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

"""The expansion of a robot's preferences: every target of every enabled channel, in a fixed order."""

from collections import Counter
from collections.abc import Mapping

from delivery_center.domain.delivery import Target, drop
from rota_common.shown import shown_url
from rota_contracts.ids import derived_id
from rota_contracts.messages.delivery import DeliveryType
from rota_contracts.messages.execution import excerpt
from rota_contracts.robots.preferences import (
    DeliveryPreferences,
    EmailTarget,
    NotifyTarget,
    ProcessTarget,
    WebhookTarget,
)

LABEL_LIMIT = 200

TargetConfig = EmailTarget | WebhookTarget | ProcessTarget | NotifyTarget

CONFIGS: Mapping[DeliveryType, type[TargetConfig]] = {
    DeliveryType.EMAIL: EmailTarget,
    DeliveryType.WEBHOOK: WebhookTarget,
    DeliveryType.PROCESS: ProcessTarget,
    DeliveryType.NOTIFY: NotifyTarget,
}


def expand(
    preferences: DeliveryPreferences, *, request_id: str, team: str, event_values: Mapping[str, str] | None = None
) -> list[Target]:
    """The targets of one delivery. A mail whose address is to come from the event, and can't, is given up at once if it
    has no other.

    A target's id derives from the request, its kind and its place alone: another header or secret changes no id, and
    the owner may move, add and remove others. Targets at one place are counted.
    """
    targets: list[Target] = []
    counted: Counter[tuple[str, str]] = Counter()
    for kind in CONFIGS:
        channel = getattr(preferences.preferences, kind.value)
        if channel is None or not channel.enabled:
            continue
        for config in channel.targets:
            config, problem = _addressed(config, event_values or {})
            where = (kind.value, place(config))
            made = Target(
                delivery_id=derived_id("delivery", request_id, *where, counted[where]),
                target_id=target_id(team, kind, place(config)),
                type=kind,
                label=label(config),
                config=config.model_dump(mode="json"),
            )
            targets.append(drop(made, problem) if problem else made)
            counted[where] += 1
    return targets


def _addressed(config: TargetConfig, values: Mapping[str, str]) -> tuple[TargetConfig, str]:
    """The target with the event's address among its own; and why it can't be sent to, if it can't."""
    if not isinstance(config, EmailTarget) or config.event_address is None:
        return config, ""
    try:
        address = config.event_address.of(values)
    except ValueError as error:
        return config, "" if config.to else str(error)
    return config.model_copy(update={"to": list(dict.fromkeys([*config.to, address]))}), ""


def target_id(team: str, kind: DeliveryType, where: str) -> str:
    """The same for all deliveries of the team to one target, across robots; it reveals nothing of its place."""
    return derived_id("target", team, kind.value, where)


def place(config: TargetConfig) -> str:
    """Where a target's messages go, whole: a URL with its query. It may hold keys, so it is never shown."""
    match config:
        case EmailTarget():
            return ", ".join(config.to) or _from_event(config)
        case WebhookTarget():
            return config.url
        case ProcessTarget():
            return config.process
        case NotifyTarget():
            return config.channel


def _from_event(config: EmailTarget) -> str:
    return f"the event's {config.event_address.field}" if config.event_address else ""


def config_of(target: Target) -> TargetConfig:
    return CONFIGS[target.type].model_validate(target.config)


def label(config: TargetConfig) -> str:
    """The display name of a target: short, and of a URL only what can't be a key."""
    match config:
        case EmailTarget():
            return excerpt(place(config), LABEL_LIMIT)
        case WebhookTarget():
            return excerpt(shown_url(config.url), LABEL_LIMIT)
        case ProcessTarget():
            return config.process
        case NotifyTarget():
            return config.channel

"""The demo's robot: examples/robots/lead-processor.yaml, with the external systems of this machine as targets."""

from pathlib import Path

from rota.definitions import read_definitions
from rota.errors import CliError
from rota_contracts.robots.preferences import (
    Channels,
    DeliveryPreferences,
    EmailPreference,
    EmailTarget,
    WebhookPreference,
    WebhookTarget,
)
from rota_contracts.robots.robot import RobotDefinition

EXAMPLE = Path(__file__).parents[4] / "examples" / "robots" / "lead-processor.yaml"
WEBHOOK_SECRET = "SALES_WEBHOOK_SECRET"  # noqa: S105  # the secret's name in the example
MAIL_TO = "sales@company.com"


def demo_robot(webhook_url: str) -> RobotDefinition:
    """The example, with `webhook_url` and the demo's mailbox as its targets."""
    if not EXAMPLE.exists():
        raise CliError(f"expected the example robot at {EXAMPLE}", hint="run the demo from a checkout: make demo")
    definition = read_definitions(EXAMPLE)[0]
    channels = Channels(
        webhook=WebhookPreference(targets=[WebhookTarget(url=webhook_url, secret=f"$SECRET.{WEBHOOK_SECRET}")]),
        email=EmailPreference(targets=[EmailTarget(to=[MAIL_TO])]),
    )
    delivery = DeliveryPreferences(preferences=channels)
    config = definition.robot_config.model_copy(update={"delivery": delivery})
    return definition.model_copy(update={"robot_config": config})

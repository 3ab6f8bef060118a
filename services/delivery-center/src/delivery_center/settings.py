"""What can be set for the delivery-center, beyond what every service has."""

from pathlib import Path

from pydantic import Field

from rota_common.settings import ServiceSettings

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


class Settings(ServiceSettings):
    """Environment variables that begin with ROTA_, for example `ROTA_SMTP_URL`."""

    smtp_url: str = Field(
        default="",
        repr=False,
        description="smtp://[user:password@]host[:port][?tls=starttls|none] or smtps://…; "
        "user and password may be references like $ENV.MAIL_PASSWORD; empty: no mail is sent",
    )
    default_from: str = Field(default="", description="From address of robots that have no robot_email")
    mail_templates: Path | None = Field(
        default=None, description="folder of <template>.html, for targets with a template"
    )
    allow_private_targets: str = Field(
        default="", description="networks webhooks may go to although they are private, as CIDRs with commas between"
    )
    attempt_timeout: float = Field(default=10.0, gt=0, description="seconds a receiver has to answer")
    retry_schedule: tuple[float, ...] = Field(
        default=(5, 30, 2 * MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY),
        description="seconds to wait after the first, second … failed attempt, each ± 20 %; after the last, give up",
    )
    sweep_interval: float = Field(default=1.0, gt=0, description="seconds between two looks for targets that are due")

"""The settings of the delivery-center, beyond those of every service."""

from pathlib import Path

from pydantic import Field

from rota_common.runtime.settings import Cidrs
from rota_common.spans.settings import TraceSettings
from rota_contracts.streams import MIB

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


class Settings(TraceSettings):
    """Environment variables that begin with ROTA_, for example `ROTA_SMTP_URL`."""

    smtp_url: str = Field(
        default="",
        repr=False,
        description="smtp://[user:password@]host[:port][?tls=starttls|none] or smtps://…; "
        "user and password may be references like $ENV.MAIL_PASSWORD; empty: no mail is sent",
    )
    default_from: str = Field(
        default="", description="From address of mails, unless the robot has an address that its team may send from"
    )
    mail_senders: dict[str, list[str]] = Field(
        default={},
        description="the domains that the robots of a team may send from, as JSON: "
        '{"acme": ["acme.example"]}; "*" is every team, or every domain',
    )
    mail_recipients: int = Field(default=50, ge=1, description="recipients of one mail")
    mails_a_day: int = Field(default=1000, ge=0, description="mails of a team in a day (UTC); 0: no limit")
    notices_a_day: int = Field(
        default=500, ge=0, description="mails of a team in a day (UTC) to the managers of its robots; 0: no limit"
    )
    mail_templates: Path | None = Field(
        default=None,
        description="folder of <template>.subject, .txt and .html, for targets with a template; each may be missing",
    )
    mail_files_limit: int = Field(default=20 * MIB, ge=0, description="bytes of all files of one mail")
    mail_timeout: float = Field(default=60.0, gt=0, description="seconds that a mail with files may take")
    allow_private_targets: Cidrs = Field(
        default="", description="networks webhooks may go to although they are private, as CIDRs with commas between"
    )
    attempt_timeout: float = Field(default=10.0, gt=0, description="seconds a receiver has to answer")
    retry_schedule: tuple[float, ...] = Field(
        default=(5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, DAY),
        description="seconds to wait after the first, second … failed attempt, each ± 20 %; after the last, give up",
    )
    target_concurrency: int = Field(default=8, ge=1, description="attempts of one replica at one target at once")
    disable_after: float = Field(
        default=5 * DAY, gt=0, description="seconds a target may fail with no success before it is switched off"
    )
    keep_days: int = Field(default=90, ge=1, description="days that a delivery is kept once nothing more is tried")
    sweep_interval: float = Field(default=1.0, gt=0, description="seconds between two searches for due targets")

    @property
    def longest_mail(self) -> float:
        """Seconds to compose a mail and to send it."""
        return self.mail_timeout + self.attempt_timeout

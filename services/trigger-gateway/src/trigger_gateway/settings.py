"""The gateway's settings."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr

from rota_common.input_guard import MAX_MESSAGE_CHARS
from rota_common.runtime.settings import Cidrs, ServiceSettings
from rota_contracts.definitions.definition import DEFINITIONS_PER_TEAM
from rota_contracts.streams import KEEP_DAYS, MIB
from trigger_gateway.runs.guard_input import GuardMode
from trigger_gateway.runs.ports import TRIGGER_LIMIT
from trigger_gateway.teams.shares import Share, Shares
from trigger_gateway.webhooks.posts import PostLimits

DATABASES = ("gateway", "scheduler", "executor", "delivery", "learner", "memory")
"""Of all services, with the prefix."""

MIN_ADMIN_KEY = 16
EXAMPLE_KEY = "change-me"
"""How the key of `.env.example` begins: good for a first look, and known to everyone."""


def base_url(text: str) -> str:
    """Without a slash at its end. Raise ValueError for what is no address of a server; empty is none."""
    parts = urlsplit(text)
    if text and (parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment):
        raise ValueError("expected ROTA_PUBLIC_URL as https://host[:port][/path], or empty")
    if parts.username is not None or parts.password is not None:
        raise ValueError("expected ROTA_PUBLIC_URL without a user and a password: it is sent in mails")
    return text.rstrip("/")


def strong_key(key: SecretStr | None) -> SecretStr | None:
    """Raise ValueError, which doesn't quote it, for a key that no client can send in a header, or that can be guessed.
    The example's passes: `has_example_key`."""
    text = "" if key is None else key.get_secret_value()
    unusable = [each for each in text if not "!" <= each <= "~"]
    if unusable or (0 < len(text) < MIN_ADMIN_KEY and not text.startswith(EXAMPLE_KEY)):
        came = "one with spaces or other characters" if unusable else f"a key of length {len(text)}"
        raise ValueError(
            f"expected ROTA_ADMIN_KEY as {MIN_ADMIN_KEY} printable ASCII characters or more, without spaces, "
            f"got {came}: make one with `openssl rand -hex 32`"
        )
    return key


class Settings(ServiceSettings):
    """`admin_key` enables the administrator's routes; without it they are closed. Times in seconds.

    `secrets_key` seals the secrets of teams and of sources: one key, or several with commas between, of which the first
    one seals. `secrets_key_file` holds such keys, one a line, behind those; a missing file is made. Without both no
    secret can be stored. `secrets_dir` holds the secrets that the operator gives to teams: `<team>/<NAME>`.
    """

    admin_key: Annotated[SecretStr | None, AfterValidator(strong_key)] = None
    secrets_key: SecretStr | None = None
    secrets_key_file: Path | None = None
    secrets_dir: Path | None = None
    public_url: Annotated[str, AfterValidator(base_url)] = Field(
        default="", description="where people reach the gateway; empty: mails about approvals have no link"
    )
    sweep_interval: float = 2.0
    heartbeat: float = 15.0
    trusted_proxies: Cidrs = Field(
        default="", description="networks whose X-Forwarded-For is trusted, as CIDRs with commas between"
    )
    rate_per_address: int = Field(
        default=3000, ge=0, description="webhooks and callbacks a minute from one address; 0: no limit"
    )
    rate_per_source: int = Field(
        default=6000, ge=0, description="events a minute of a source that has no rate_limit; 0: no limit"
    )
    webhooks_at_once: int = Field(default=1000, ge=1, description="handled at the same time; others get a 503")
    reading_lease: float = Field(
        default=10.0, gt=0, description="seconds after which another replica takes over the databases of a dead one"
    )
    webhook_limit: int = Field(
        default=65_536, gt=0, le=TRIGGER_LIMIT, description="bytes of a webhook's body; beyond: 413"
    )
    attachment_limit: int = Field(default=25 * MIB, gt=0, description="bytes of one attachment")
    input_guard: GuardMode = Field(
        default=GuardMode.WARN, description="on words of prompt injection from outside: off, log, warn or block"
    )
    max_message_chars: int = Field(
        default=MAX_MESSAGE_CHARS, ge=256, description="characters of a message; what is longer is cut, with a notice"
    )
    internal_port: int = Field(
        default=0, ge=0, description="a second port, for health with reasons and metrics without a key; 0: none"
    )
    drain_seconds: float = Field(
        default=0.0, ge=0, description="that it answers on after a SIGTERM, not ready any more; 0: it ends at once"
    )
    body_timeout: float = Field(default=30.0, gt=0, description="seconds within which a body must have arrived")
    keep_days: int = Field(
        default=KEEP_DAYS, ge=1, description="days that definitions are kept for runs once they were replaced"
    )
    audit_days: int = Field(default=400, ge=1, description="days that an entry of the audit trail is kept")
    post_days: int = Field(
        default=PostLimits.days, ge=0, description="days that headers and body of a webhook are kept; 0: none is kept"
    )
    post_bytes_per_team: int = Field(
        default=PostLimits.bytes_per_team, ge=0, description="of all that are kept, the oldest go first; 0: no limit"
    )
    rate_per_team: int = Field(default=12_000, ge=0, description="requests a minute with keys of one team; 0: no limit")
    failed_keys_per_address: int = Field(
        default=60, ge=0, description="requests a minute with an unknown key from one address; 0: no limit"
    )
    robots_per_team: int = Field(default=500, ge=0, description="robots; 0: no limit, as in all that follow")
    robot_bytes_per_team: int = Field(default=32 * MIB, ge=0, description="of all definitions")
    definitions_per_team: int = Field(
        default=DEFINITIONS_PER_TEAM, ge=1, le=DEFINITIONS_PER_TEAM, description="its agents, connectors, MCP servers"
    )
    definition_bytes_per_team: int = Field(
        default=16 * MIB, ge=0, description="of all their revisions that runs may need"
    )
    members_per_team: int = Field(default=500, ge=0, description="members who are people")
    sources_per_team: int = Field(default=200, ge=0, description="sources that are posted to")
    databases_per_team: int = Field(default=20, ge=0, description="sources that are databases")
    attachments_per_team: int = Field(default=5000, ge=0, description="files that haven't expired")
    attachment_bytes_per_team: int = Field(default=256 * MIB, ge=0, description="of all these files")
    streams_per_team: int = Field(default=50, ge=0, description="live streams at one replica")
    calls_per_team: int = Field(default=50, ge=0, description="calls of agents at one replica at the same time")

    @property
    def has_example_key(self) -> bool:
        return self.admin_key is not None and self.admin_key.get_secret_value().startswith(EXAMPLE_KEY)

    @property
    def post_limits(self) -> PostLimits:
        return PostLimits(self.post_days, self.post_bytes_per_team)

    @property
    def shares(self) -> Shares:
        return Shares(
            robots=self._share("robots", "robots", "robot_bytes"),
            definitions=self._share("definitions", "definitions", "definition_bytes"),
            members=self._share("members", "members"),
            sources=self._share("sources", "sources"),
            databases=self._share("databases", "databases"),
            attachments=self._share("attachments", "attachments", "attachment_bytes"),
            streams=self.streams_per_team,
            calls=self.calls_per_team,
        )

    def _share(self, what: str, *limits: str) -> Share:
        names = tuple(f"{each}_per_team" for each in limits)
        settings = tuple(f"ROTA_{name.upper()}" for name in names)
        return Share(what, settings, *(getattr(self, name) for name in names))

    @property
    def own_databases(self) -> frozenset[str]:
        """The names of Rota's databases, and of MongoDB's own, in lower case."""
        ours = (f"{self.mongo_prefix}_{name}".lower() for name in DATABASES)
        return frozenset((*ours, "admin", "config", "local"))

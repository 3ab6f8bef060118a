"""Delivery preferences: channels, each with several targets. Set by the owner, never by an agent."""

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    ConfigDict,
    Field,
    HttpUrl,
    TypeAdapter,
    WithJsonSchema,
    model_validator,
)

from rota_contracts.model import Json, Part
from rota_contracts.robots.event_address import EventAddress
from rota_contracts.secret_refs import SecretRef

_URL = TypeAdapter(HttpUrl)


def _url_text(text: str) -> str:
    _URL.validate_python(text)
    return text


Url = Annotated[str, AfterValidator(_url_text), WithJsonSchema({"type": "string", "format": "uri"})]
ProcessName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$", max_length=200)]


class EmailTarget(Part):
    """A mail to these addresses, to one that the event names, or to both."""

    to: list[str] = Field(default=[], description="addresses")
    event_address: EventAddress | None = Field(default=None, description="the address that the event names")
    cc: list[str] = Field(default=[], description="addresses of copies")
    template: str | None = Field(default=None, description="a mail template of the operator (ROTA_MAIL_TEMPLATES)")
    subject: str | None = Field(
        default=None,
        validation_alias=AliasChoices("subject", "subject_template"),
        description="may use $summary, $member_id, $display_name, $execution_id and $score; null: the summary",
    )

    @model_validator(mode="after")
    def _has_an_address(self) -> Self:
        if not self.to and self.event_address is None:
            raise ValueError("expected an address in to, or an event_address")
        return self


class WebhookTarget(Part):
    """A request to a URL, signed if there is a secret."""

    url: Url = Field(description="http or https; a public address, unless the operator allows its network")
    method: Literal["POST", "PUT", "PATCH"] = Field(default="POST", description="the HTTP method")
    headers: dict[str, str] = Field(default={}, description="a value may be a reference like $SECRET.CRM_TOKEN")
    secret: SecretRef | None = Field(default=None, description="signs each message by Standard Webhooks")


class NoticeWebhook(Part):
    """Where a member gets notices beside their mail: a POST, signed if there is a secret."""

    url: Url = Field(description="http or https; a public address, unless the operator allows its network")
    secret: SecretRef | None = Field(default=None, description="signs each notice by Standard Webhooks")


class ProcessTarget(Part):
    """A call of one of the team's processes."""

    process: ProcessName = Field(
        validation_alias=AliasChoices("process", "name"), description="as in its subject: rota.v1.process.<team>.<name>"
    )
    args: list[Json] = Field(default=[], description="passed on beside the result")


class NotifyTarget(Part):
    """A notification to those who have subscribed to a channel."""

    channel: str = Field(default="team", description="the name that notifications are subscribed to by")


class EmailPreference(Part):
    enabled: bool = Field(default=True, description="false: no mails")
    targets: list[EmailTarget] = Field(default=[], description="each gets every result")


class WebhookPreference(Part):
    enabled: bool = Field(default=True, description="false: no requests")
    targets: list[WebhookTarget] = Field(default=[], description="each gets every result")


class ProcessPreference(Part):
    enabled: bool = Field(default=True, description="false: no calls")
    targets: list[ProcessTarget] = Field(default=[], description="each gets every result")


class NotifyPreference(Part):
    enabled: bool = Field(default=True, description="false: no notifications")
    targets: list[NotifyTarget] = Field(default=[], description="each gets every result")


class Channels(Part):
    """The channels of delivery. Without any, a result is kept and published, and sent to none."""

    email: EmailPreference | None = Field(default=None, description="mails")
    webhook: WebhookPreference | None = Field(default=None, description="signed HTTP requests")
    process: ProcessPreference | None = Field(default=None, description="calls of the team's processes")
    notify: NotifyPreference | None = Field(default=None, description="notifications to subscribers of a channel")


class RunEnd(StrEnum):
    """The end of a run that its targets are to hear of."""

    COMPLETED = "completed"
    FAILED = "failed"


class ResultPart(StrEnum):
    """What a result carries beside its content, where its owner wants it."""

    TASKS = "tasks"


BESIDE = ("on", "schema", "include")
"""Fields that stand beside the targets, in the short form as in the long one."""


class DeliveryPreferences(Part):
    """`{preferences: {…}}`; the short form `{type, opts}` is accepted and converted."""

    model_config = ConfigDict(serialize_by_alias=True)

    preferences: Channels = Field(default=Channels(), description="the long form: channels with their targets")
    on: list[RunEnd] = Field(
        default=[RunEnd.COMPLETED],
        max_length=2,
        description="completed: a result is delivered; failed: why a run failed goes to the same targets",
    )
    result_schema: dict[str, Json] | None = Field(
        default=None,
        alias="schema",
        description="a JSON Schema (2020-12) of type object: each result has an object of this form, for programs; "
        "without one the run fails",
    )
    include: list[ResultPart] = Field(
        default=[],
        max_length=1,
        description="tasks: the result lists the run's tasks with their outputs, the long ones cut",
    )

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, raw: Any) -> Any:
        if isinstance(raw, dict) and "type" in raw:
            kind, unknown = raw["type"], [str(key) for key in raw if key not in ("type", "opts", *BESIDE)]
            if kind not in tuple(Channels.model_fields):
                raise ValueError(f"expected type email, webhook, process or notify, not {kind!r}")
            if unknown:
                raise ValueError(
                    f"expected only type, opts, {', '.join(BESIDE)} in the short form, not also {', '.join(unknown)}"
                )
            beside = {name: raw[name] for name in BESIDE if name in raw}
            return {"preferences": {kind: {"enabled": True, "targets": [raw.get("opts") or {}]}}} | beside
        return raw

    def event_values(self, data: Json) -> dict[str, str]:
        """The parts of an event's data that addresses of mails are taken from, by field."""
        mails = self.preferences.email.targets if self.preferences.email else []
        wanted = [mail.event_address for mail in mails if mail.event_address is not None]
        found = {address.field: address.in_data(data) for address in wanted}
        return {field: value for field, value in found.items() if value is not None}

"""Delivery preferences: channels, each with several targets. Set by the owner, never by an agent."""

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
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

    to: list[str] = []
    event_address: EventAddress | None = None
    cc: list[str] = []
    template: str | None = None
    subject: str | None = Field(default=None, validation_alias=AliasChoices("subject", "subject_template"))

    @model_validator(mode="after")
    def _has_an_address(self) -> Self:
        if not self.to and self.event_address is None:
            raise ValueError("expected an address in to, or an event_address")
        return self


class WebhookTarget(Part):
    url: Url
    method: Literal["POST", "PUT", "PATCH"] = "POST"
    headers: dict[str, str] = Field(default={}, description="a value may be a reference like $SECRET.CRM_TOKEN")
    secret: SecretRef | None = Field(default=None, description="signs each message by Standard Webhooks")


class ProcessTarget(Part):
    process: ProcessName = Field(validation_alias=AliasChoices("process", "name"))
    args: list[Json] = []


class NotifyTarget(Part):
    channel: str = Field(default="team", description="the name that notifications are subscribed to by")


class EmailPreference(Part):
    enabled: bool = True
    targets: list[EmailTarget] = []


class WebhookPreference(Part):
    enabled: bool = True
    targets: list[WebhookTarget] = []


class ProcessPreference(Part):
    enabled: bool = True
    targets: list[ProcessTarget] = []


class NotifyPreference(Part):
    enabled: bool = True
    targets: list[NotifyTarget] = []


class Channels(Part):
    email: EmailPreference | None = None
    webhook: WebhookPreference | None = None
    process: ProcessPreference | None = None
    notify: NotifyPreference | None = None


class DeliveryPreferences(Part):
    """`{preferences: {…}}`; the short form `{type, opts}` is accepted and converted."""

    preferences: Channels = Channels()

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, raw: Any) -> Any:
        if isinstance(raw, dict) and "type" in raw:
            kind, unknown = raw["type"], [str(key) for key in raw if key not in ("type", "opts")]
            if kind not in tuple(Channels.model_fields):
                raise ValueError(f"expected type email, webhook, process or notify, not {kind!r}")
            if unknown:
                raise ValueError(f"expected only type and opts in the short form, not also {', '.join(unknown)}")
            return {"preferences": {kind: {"enabled": True, "targets": [raw.get("opts") or {}]}}}
        return raw

    def event_values(self, data: Json) -> dict[str, str]:
        """The parts of an event's data that addresses of mails are taken from, by field."""
        mails = self.preferences.email.targets if self.preferences.email else []
        wanted = [mail.event_address for mail in mails if mail.event_address is not None]
        found = {address.field: address.in_data(data) for address in wanted}
        return {field: value for field, value in found.items() if value is not None}

"""Delivery preferences: channels, each with several targets. Set by the owner, never by an agent."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, Field, HttpUrl, TypeAdapter, WithJsonSchema, model_validator

from rota_contracts.model import Json, Part
from rota_contracts.secret_refs import SecretRef

_URL = TypeAdapter(HttpUrl)


def _url_text(text: str) -> str:
    _URL.validate_python(text)
    return text


Url = Annotated[str, AfterValidator(_url_text), WithJsonSchema({"type": "string", "format": "uri"})]
ProcessName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$", max_length=200)]


class EmailTarget(Part):
    to: list[str] = Field(min_length=1)
    cc: list[str] = []
    template: str | None = None
    subject: str | None = Field(default=None, validation_alias=AliasChoices("subject", "subject_template"))


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

"""Sources of a team's events: webhooks, and changes of databases."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import Response
from pydantic import BaseModel, Field, ValidationError, WrapValidator
from pydantic_core import PydanticCustomError

from rota_contracts.model import Instant, Name
from rota_contracts.robots.events import Conditions
from rota_contracts.sources import Operation, Scheme, SourceKind
from trigger_gateway.databases.change_streams import ReadingState
from trigger_gateway.http.auth_routes import team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.problems import plain
from trigger_gateway.sources.manage_sources import SavedSource, SecretGiven
from trigger_gateway.sources.source import Source, StoredSecret, WebhookSettings
from trigger_gateway.sources.source_forms import SECRET_FIELDS
from trigger_gateway.strict import Strict

router = team_router("sources")

STORED = "stored"


def like(example: str, instead: str = "") -> WrapValidator:
    """Errors of the field show a correct value. `instead` replaces pydantic's message."""

    def check(given: Any, validate: Callable[[Any], Any]) -> Any:
        try:
            return validate(given)
        except ValidationError as error:
            [first, *_] = error.errors()
            if first["loc"] and not instead:
                raise
            message = instead or plain(first["msg"])
            raise PydanticCustomError(
                "wrong", "{message}: for example {example}", {"message": message, "example": example}
            ) from None

    return WrapValidator(check)


Secret = Annotated[
    SecretGiven,
    like(
        "$SECRET.LEADS_WEBHOOK",
        'expected a reference to a secret of the team, the secret itself, or {"generate": true}',
    ),
]
Secrets = Annotated[list[Secret], Field(min_length=1, max_length=2)]
Pattern = Annotated[str, Field(min_length=1, max_length=200), like("issues.*")]


class WebhookFields(Strict):
    """Settings of a webhook, for a new one and for a change."""

    secret: Secret | None = Field(
        default=None, description="$SECRET.NAME, the secret itself (stored encrypted), or {generate: true}"
    )
    secrets: Secrets | None = Field(default=None, description="in place of `secret`: both are valid, newest first")
    signing_secret: Secret | None = Field(
        default=None, description="bearer: with it, `header` must also hold the body's HMAC-SHA256"
    )
    header: Annotated[str, like("X-Webhook-Signature")] | None = Field(
        default=None, description="hmac: the header of the signature, by default X-Webhook-Signature"
    )
    event_type_field: Annotated[str, like("event")] | None = Field(
        default=None, description="the body's field with the event's type, for senders without `type` and `data`"
    )
    id_field: Annotated[str, like("id")] | None = Field(
        default=None, description="hmac, bearer: the body's field with the event's id; by default X-Idempotency-Key"
    )
    event_types: Annotated[list[Pattern], Field(max_length=100), like('["issues.*"]')] | None = Field(
        default=None, description="other types are refused; exact or with * and ?; empty: every type"
    )
    rate_limit: Annotated[int, Field(ge=1), like("600")] | None = Field(default=None, description="events a minute")
    robot: Annotated[Name, like("assistant")] | None = Field(
        default=None, description="this robot answers at once: the body is {message}, the answer {response, model}"
    )


class DatabaseFields(Strict):
    """Settings of a database, for a new one and for a change."""

    url: Annotated[str, like("$SECRET.CRM_MONGO_URL")] | None = Field(
        default=None, description="the secret with the MongoDB address, which the operator gives the team"
    )
    database: Annotated[str, like("crm")] | None = None
    collection: Annotated[str, like("leads")] | None = None
    operations: Annotated[list[Operation], Field(min_length=1), like('["insert", "update"]')] | None = Field(
        default=None, description="the changes that are events; by default all"
    )
    conditions: Annotated[Conditions, like('[{"path": "document.score", "op": "gt", "value": 50}]')] | None = Field(
        default=None, description="conditions on an event's data"
    )


class NewSource(WebhookFields, DatabaseFields):
    name: Annotated[Name, like("leads")]
    type: Annotated[SourceKind, like("webhook")] = SourceKind.WEBHOOK
    scheme: Annotated[Scheme, like("github")] = Scheme.STANDARD


class SourceChange(WebhookFields, DatabaseFields):
    """Omitted settings are unchanged; null resets a setting to its default."""

    new_secret: Secret | None = Field(
        default=None, description="becomes the newest; the previous newest stays valid until forget_old_secret"
    )
    forget_old_secret: bool = Field(default=False, description="keep only the newest secret")


class WebhookView(BaseModel):
    """Its sender posts to `hook_url`. A stored secret is shown as `stored`."""

    type: Literal["webhook"] = "webhook"
    name: str
    created_at: Instant
    hook_url: str
    scheme: Scheme
    secret: str = Field(description="the newest of `secrets`")
    secrets: list[str]
    signing_secret: str | None
    header: str | None
    event_type_field: str | None
    id_field: str | None
    event_types: list[str]
    rate_limit: int | None
    robot: str | None


class DatabaseView(BaseModel):
    type: Literal["database"] = "database"
    name: str
    created_at: Instant
    url: str
    database: str
    collection: str
    operations: list[Operation]
    conditions: Conditions


class WebhookSaved(WebhookView):
    """`generated_secrets` are shown here and never again, in the order of the request."""

    generated_secrets: list[str]


class ReadingView(BaseModel):
    """The state of reading a database, `since` when, and why. `lost`: it is read, but changes were missed; shown until
    the source is changed. `changes` counts the changes that became events."""

    state: ReadingState
    reason: str
    since: Instant | None
    last_change_at: Instant | None
    changes: int


class DatabaseRead(DatabaseView):
    reading: ReadingView


View = Annotated[WebhookView | DatabaseView, Field(discriminator="type")]
ReadView = Annotated[WebhookView | DatabaseRead, Field(discriminator="type")]
SavedView = Annotated[WebhookSaved | DatabaseView, Field(discriminator="type")]


class SourceList(BaseModel):
    sources: list[View]


@router.post("/sources", status_code=201, summary="Add a source of events")
async def create_source(team: Name, body: NewSource, use: UseCasesDep) -> SavedView:
    given = body.model_dump(exclude_unset=True, exclude={"name", "type"}) | _secrets(body)
    return _saved(await use.sources.add(team, body.name, body.type, given))


@router.get("/sources", summary="List the sources")
async def list_sources(team: Name, use: UseCasesDep) -> SourceList:
    return SourceList(sources=[_view(source) for source in await use.sources.list(team)])


@router.get("/sources/{name}", summary="Read a source")
async def read_source(team: Name, name: Name, use: UseCasesDep) -> ReadView:
    view = _view(await use.sources.read(team, name))
    if isinstance(view, WebhookView):
        return view
    status = await use.stream_leases.status(team, name)
    return DatabaseRead(**view.model_dump(), reading=ReadingView(**asdict(status)))


@router.patch("/sources/{name}", summary="Change a source, or its secrets")
async def change_source(team: Name, name: Name, body: SourceChange, use: UseCasesDep) -> SavedView:
    """To rotate a secret without losing an event: `new_secret`, then update the sender, then `forget_old_secret`."""
    return _saved(await use.sources.change(team, name, body.model_dump(exclude_unset=True) | _secrets(body)))


@router.delete("/sources/{name}", status_code=204, summary="Delete a source; its events are refused from then on")
async def delete_source(team: Name, name: Name, use: UseCasesDep) -> Response:
    await use.sources.remove(team, name)
    return Response(status_code=204)


def _secrets(body: WebhookFields) -> dict[str, Any]:
    """The secrets as given: a dump would flatten `generate`."""
    return {field: getattr(body, field) for field in SECRET_FIELDS if field in body.model_fields_set}


def _saved(saved: SavedSource) -> WebhookSaved | DatabaseView:
    view = _view(saved.source)
    if isinstance(view, DatabaseView):
        return view
    return WebhookSaved(**view.model_dump(), generated_secrets=list(saved.generated))


def _view(source: Source) -> WebhookView | DatabaseView:
    settings = source.database
    if settings is None:
        return _webhook_view(source, source.need_webhook())
    return DatabaseView(name=source.name, created_at=source.created_at, **settings.model_dump())


def _webhook_view(source: Source, settings: WebhookSettings) -> WebhookView:
    secrets = [_shown(secret) for secret in settings.secrets]
    with_header = settings.scheme is Scheme.HMAC or settings.signing_secret is not None
    return WebhookView(
        name=source.name,
        created_at=source.created_at,
        hook_url=f"/v1/hooks/{source.team}/{source.name}",
        scheme=settings.scheme,
        secret=secrets[0],
        secrets=secrets,
        signing_secret=None if settings.signing_secret is None else _shown(settings.signing_secret),
        header=settings.header if with_header else None,
        event_type_field=settings.event_type_field,
        id_field=settings.id_field,
        event_types=settings.event_types,
        rate_limit=settings.rate_limit,
        robot=settings.robot,
    )


def _shown(secret: StoredSecret) -> str:
    return secret if isinstance(secret, str) else STORED

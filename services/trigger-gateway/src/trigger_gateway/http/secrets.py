"""Secrets of a team: set, listed and removed. A value is never shown."""

from typing import Annotated

from fastapi import Path, Response
from pydantic import BaseModel, Field, SecretStr

from rota_contracts.model import Instant, Name
from rota_contracts.secret_refs import SecretName
from trigger_gateway.http.auth_routes import CallerDep, admin_router, team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.http.suppressions import author
from trigger_gateway.problems import Conflict
from trigger_gateway.secrets.manage_secrets import SecretInfo
from trigger_gateway.secrets.reseal_secrets import Resealing
from trigger_gateway.strict import Strict

router = team_router("secrets")
admin = admin_router("secrets")

NameInPath = Annotated[SecretName, Path(description="letters, digits and _, as in $SECRET.NAME")]


class NewValue(Strict):
    value: SecretStr = Field(description="1 to 8192 bytes of text")


class SecretView(BaseModel):
    """A secret without its value. `reference` is how robots and sources refer to it."""

    name: str
    reference: str
    given_by_operator: bool
    set_at: Instant | None
    set_by: str


class SecretList(BaseModel):
    secrets: list[SecretView]


@router.put("/secrets/{name}", summary="Set a secret, or replace its value")
async def put_secret(team: Name, name: NameInPath, body: NewValue, use: UseCasesDep, caller: CallerDep) -> SecretView:
    """Other services use the new value within a minute."""
    return _view(await use.secrets.set(team, name, body.value.get_secret_value(), by=author(caller)))


@router.get("/secrets", summary="List the secrets by name; values are never shown")
async def list_secrets(team: Name, use: UseCasesDep) -> SecretList:
    return SecretList(secrets=[_view(info) for info in await use.secrets.list(team)])


@router.delete("/secrets/{name}", status_code=204, summary="Remove a secret")
async def delete_secret(team: Name, name: NameInPath, use: UseCasesDep) -> Response:
    await use.secrets.remove(team, name)
    return Response(status_code=204)


def _view(info: SecretInfo) -> SecretView:
    return SecretView(
        name=info.name,
        reference=f"$SECRET.{info.name}",
        given_by_operator=info.given_by_operator,
        set_at=info.set_at,
        set_by=info.set_by,
    )


@admin.post("/secrets/reseal", summary="Read the master keys again, and seal every secret with the first one")
async def reseal(use: UseCasesDep) -> Resealing:
    try:
        return await use.reseal_secrets.now()
    except ValueError as error:
        raise Conflict("keys_unreadable", str(error)) from error

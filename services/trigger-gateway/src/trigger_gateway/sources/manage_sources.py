"""Sources of events: an owner adds, changes, reads and removes them. A secret is referred to, or kept encrypted."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from rota_common.clock import Clock
from rota_common.secrets import PREFIX
from rota_contracts.sources import Scheme, SourceKind
from trigger_gateway.ports import NoSealingKey, Seals, Sources
from trigger_gateway.problems import Conflict, FieldProblem, no_source
from trigger_gateway.robots.routes import Routes
from trigger_gateway.sources.schemes import STANDARD_PREFIX
from trigger_gateway.sources.source import Source, StoredSecret, WebhookSettings
from trigger_gateway.sources.source_forms import (
    database_settings,
    reference_problem,
    refused,
    secret_problem,
    webhook_settings,
)

TRIES = 5
NEW_SECRET_BYTES = 32

NewBytes = Callable[[int], bytes]


class Generate(BaseModel):
    """Asks for a new secret, which the answer shows once."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    generate: Literal[True]


SecretGiven = str | Generate


@dataclass(frozen=True)
class Saved:
    """A source as it now is, and the secrets that were made for it and are never shown again."""

    source: Source
    generated: tuple[str, ...] = ()


class ManageSources:
    """`forbidden` are the environment variables no source may refer to: Rota's own."""

    def __init__(
        self,
        sources: Sources,
        routes: Routes,
        seals: Seals,
        clock: Clock,
        new_bytes: NewBytes,
        *,
        forbidden: frozenset[str],
    ) -> None:
        self._sources, self._routes, self._clock = sources, routes, clock
        self._seals, self._new_bytes, self._forbidden = seals, new_bytes, forbidden

    async def add(self, team: str, name: str, kind: SourceKind, given: Mapping[str, Any]) -> Saved:
        """Raise Invalid for wrong settings, Conflict if there is a source of this name."""
        keeping = _Keeping(self._seals, self._new_bytes, self._forbidden)
        if kind is SourceKind.DATABASE:
            source = Source(team, name, self._clock(), database=database_settings(given, forbidden=self._forbidden))
        else:
            source = Source(team, name, self._clock(), webhook=keeping.new_webhook(given))
        if not await self._sources.add(source):
            raise Conflict("source_exists", f"team {team} has a source {name} already: change it with PATCH")
        self._routes.forget(team)
        return Saved(source, tuple(keeping.generated))

    async def change(self, team: str, name: str, given: Mapping[str, Any]) -> Saved:
        """Only the given settings. Raise NotFound, Invalid, and Conflict if others change it all the time."""
        keeping = _Keeping(self._seals, self._new_bytes, self._forbidden)
        for _ in range(TRIES):
            before = await self.read(team, name)
            keeping.generated.clear()
            changed = replace(self._changed(before, given, keeping), rev=before.rev + 1)
            if await self._sources.replace(changed, expected=before):
                self._routes.forget(team)
                return Saved(changed, tuple(keeping.generated))
        raise Conflict("changed_meanwhile", f"source {name} is being changed by others at the same moment: try again")

    async def list(self, team: str) -> list[Source]:
        return await self._sources.of_team(team)

    async def read(self, team: str, name: str) -> Source:
        source = await self._sources.find(team, name)
        if source is None:
            raise no_source(team, name)
        return source

    async def remove(self, team: str, name: str) -> None:
        removed = await self._sources.remove(team, name)
        self._routes.forget(team)
        if not removed:
            raise no_source(team, name)

    def _changed(self, before: Source, given: Mapping[str, Any], keeping: "_Keeping") -> Source:
        if before.webhook is not None:
            return replace(before, webhook=keeping.changed_webhook(before.webhook, given))
        assert before.database is not None
        merged = {**before.database.model_dump(), **given}
        return replace(before, database=database_settings(merged, forbidden=self._forbidden))


class _Keeping:
    """Turns the secrets of one request into what is stored of them; `generated` are those it had to make."""

    def __init__(self, seals: Seals, new_bytes: NewBytes, forbidden: frozenset[str]) -> None:
        self._seals, self._new_bytes, self._forbidden = seals, new_bytes, forbidden
        self.generated: list[str] = []

    def new_webhook(self, given: Mapping[str, Any]) -> WebhookSettings:
        if ("secret" in given) is ("secrets" in given):
            example = '$ENV.LEADS_SECRET, or {"generate": true}'
            raise refused([FieldProblem("secret", f"expected either secret or secrets: for example {example}")])
        return webhook_settings(self._stored(Scheme(given.get("scheme", Scheme.STANDARD)), given))

    def changed_webhook(self, before: WebhookSettings, given: Mapping[str, Any]) -> WebhookSettings:
        """`new_secret` goes in front of the newest one there is, which stays valid until `forget_old_secret`."""
        ways = [way for way in ("secret", "secrets", "new_secret", "forget_old_secret") if given.get(way)]
        if len(ways) > 1:
            raise refused([FieldProblem(ways[1], f"expected {ways[0]} or {ways[1]}, not both at once")])
        now = {**before.model_dump(exclude_defaults=True), "secrets": before.secrets}
        stored = self._stored(before.scheme, given)
        if given.get("forget_old_secret"):
            stored["secrets"] = before.secrets[:1]
        if (new := given.get("new_secret")) is not None:
            stored["secrets"] = [self._keep(before.scheme, "new_secret", new), before.secrets[0]]
        return webhook_settings({**now, **stored})

    def _stored(self, scheme: Scheme, given: Mapping[str, Any]) -> dict[str, Any]:
        """The settings with every secret in its stored form."""
        stored = {field: value for field, value in given.items() if field not in ("new_secret", "forget_old_secret")}
        if (one := stored.pop("secret", None)) is not None:
            stored["secrets"] = [self._keep(scheme, "secret", one)]
        elif stored.get("secrets"):
            several = enumerate(stored["secrets"])
            stored["secrets"] = [self._keep(scheme, f"secrets.{number}", each) for number, each in several]
        if (signing := stored.get("signing_secret")) is not None:
            stored["signing_secret"] = self._keep(Scheme.HMAC, "signing_secret", signing)
        return stored

    def _keep(self, scheme: Scheme, field: str, secret: SecretGiven) -> StoredSecret:
        if isinstance(secret, Generate):
            secret = self._generated(scheme, field)
        elif secret.startswith(PREFIX):
            if problem := reference_problem(secret, f"$ENV.{scheme.upper()}_SECRET", self._forbidden):
                raise refused([FieldProblem(field, problem)])
            return secret
        elif problem := secret_problem(scheme, secret):
            raise refused([FieldProblem(field, problem)])
        try:
            return self._seals.seal(secret)
        except NoSealingKey as error:
            example = f"$ENV.{scheme.upper()}_SECRET"
            wanted = (
                f"expected a reference like {example}: secrets can't be kept here, because ROTA_SECRETS_KEY isn't set"
            )
            raise refused([FieldProblem(field, wanted)]) from error

    def _generated(self, scheme: Scheme, field: str) -> str:
        if scheme in (Scheme.STRIPE, Scheme.SLACK):
            theirs = (
                f"expected a reference or the secret itself: {scheme} makes its own, so it must be copied from there"
            )
            raise refused([FieldProblem(field, theirs)])
        raw = self._new_bytes(NEW_SECRET_BYTES)
        if scheme is Scheme.STANDARD:
            made = STANDARD_PREFIX + base64.b64encode(raw).decode()
        else:
            made = base64.urlsafe_b64encode(raw).decode().rstrip("=")
        self.generated.append(made)
        return made

"""Sources of events: an owner adds, changes, reads and removes them. A secret is referred to, or kept encrypted."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from rota_common.clock import Clock
from rota_contracts.secret_refs import is_reference
from rota_contracts.sources import Scheme, SourceKind
from trigger_gateway.problems import Conflict, FieldProblem, no_source
from trigger_gateway.secrets.manage_secrets import NO_KEY
from trigger_gateway.secrets.sealed_secret import Binding, NoEncryptionKey, SecretCipher, of_source
from trigger_gateway.sources.ports import Sources
from trigger_gateway.sources.schemes import STANDARD_PREFIX
from trigger_gateway.sources.source import DatabaseSettings, Source, StoredSecret, WebhookSettings
from trigger_gateway.sources.source_forms import (
    database_settings,
    reference_problem,
    refused,
    secret_problem,
    webhook_settings,
)
from trigger_gateway.teams.shares import Allow, allow_all

TRIES = 5
NEW_SECRET_BYTES = 32

NewBytes = Callable[[int], bytes]


class GenerateSecret(BaseModel):
    """Asks for a new secret, which the answer shows once."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    generate: Literal[True]


SecretGiven = str | GenerateSecret


@dataclass(frozen=True)
class SavedSource:
    """A source as it now is, and the secrets that were made for it and are never shown again."""

    source: Source
    generated: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ManageSources:
    """`own_databases` are the names of Rota's, in lower case: no source reads them."""

    sources: Sources
    cipher: SecretCipher
    clock: Clock
    on_change: Callable[[str], None]
    new_bytes: NewBytes
    own_databases: frozenset[str]
    allow: Mapping[SourceKind, Allow] = field(default_factory=dict)

    async def add(self, team: str, name: str, kind: SourceKind, given: Mapping[str, Any]) -> SavedSource:
        """Raise Invalid for wrong settings, Conflict if there is a source of this name."""
        keeping = self._writer(team, name)
        if kind is SourceKind.DATABASE:
            source = Source(team, name, self.clock(), database=self._database(given))
        else:
            source = Source(team, name, self.clock(), webhook=keeping.new_webhook(given))
        if not await self.sources.add(source, allow=self.allow.get(kind, allow_all)):
            raise Conflict("source_exists", f"team {team} has a source {name} already: change it with PATCH")
        self.on_change(team)
        return SavedSource(source, tuple(keeping.generated))

    async def change(self, team: str, name: str, given: Mapping[str, Any]) -> SavedSource:
        """Only the given settings. Raise NotFound, Invalid, and Conflict if others change it all the time."""
        keeping = self._writer(team, name)
        for _ in range(TRIES):
            before = await self.read(team, name)
            keeping.generated.clear()
            changed = replace(self._changed(before, given, keeping), rev=before.rev + 1)
            if await self.sources.replace(changed, expected=before):
                self.on_change(team)
                return SavedSource(changed, tuple(keeping.generated))
        raise Conflict("changed_meanwhile", f"source {name} is being changed by others at the same moment: try again")

    async def list(self, team: str) -> list[Source]:
        return await self.sources.of_team(team)

    async def read(self, team: str, name: str) -> Source:
        source = await self.sources.find(team, name)
        if source is None:
            raise no_source(team, name)
        return source

    async def remove(self, team: str, name: str) -> None:
        removed = await self.sources.remove(team, name)
        self.on_change(team)
        if not removed:
            raise no_source(team, name)

    def _changed(self, before: Source, given: Mapping[str, Any], keeping: "_SecretWriter") -> Source:
        if before.webhook is not None:
            return replace(before, webhook=keeping.changed_webhook(before.webhook, given))
        assert before.database is not None
        merged = {**before.database.model_dump(), **given}
        return replace(before, database=self._database(merged))

    def _database(self, given: Mapping[str, Any]) -> DatabaseSettings:
        return database_settings(given, own_databases=self.own_databases)

    def _writer(self, team: str, name: str) -> "_SecretWriter":
        return _SecretWriter(cipher=self.cipher, new_bytes=self.new_bytes, bound_to=of_source(team, name))


@dataclass(kw_only=True)
class _SecretWriter:
    """Turns the secrets of one request into what is stored of them; `generated` are those it had to make."""

    cipher: SecretCipher
    new_bytes: NewBytes
    bound_to: Binding
    generated: list[str] = field(init=False, default_factory=list)

    def new_webhook(self, given: Mapping[str, Any]) -> WebhookSettings:
        if ("secret" in given) is ("secrets" in given):
            example = '$SECRET.LEADS_WEBHOOK, or {"generate": true}'
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
        if isinstance(secret, GenerateSecret):
            secret = self._generated(scheme, field)
        elif is_reference(secret):
            if problem := reference_problem(secret, f"$SECRET.{scheme.upper()}_SECRET"):
                raise refused([FieldProblem(field, problem)])
            return secret
        elif problem := secret_problem(scheme, secret):
            raise refused([FieldProblem(field, problem)])
        try:
            return self.cipher.encrypt(secret, bound_to=self.bound_to)
        except NoEncryptionKey as error:
            example = f"$SECRET.{scheme.upper()}_SECRET"
            wanted = f"expected a reference like {example}: {NO_KEY}"
            raise refused([FieldProblem(field, wanted)]) from error

    def _generated(self, scheme: Scheme, field: str) -> str:
        if scheme in (Scheme.STRIPE, Scheme.SLACK):
            theirs = (
                f"expected a reference or the secret itself: {scheme} makes its own, so it must be copied from there"
            )
            raise refused([FieldProblem(field, theirs)])
        raw = self.new_bytes(NEW_SECRET_BYTES)
        if scheme is Scheme.STANDARD:
            made = STANDARD_PREFIX + base64.b64encode(raw).decode()
        else:
            made = base64.urlsafe_b64encode(raw).decode().rstrip("=")
        self.generated.append(made)
        return made

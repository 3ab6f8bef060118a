"""Verifies the sender of a webhook: resolves the source's secrets and checks the signature by its scheme."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.runtime.logs import logger
from rota_common.team_secrets import TeamSecrets
from rota_contracts.sources import Scheme
from trigger_gateway.problems import Forbidden, Unauthenticated
from trigger_gateway.secrets.sealed_secret import EncryptedSecret, SecretCipher, of_source
from trigger_gateway.sources.schemes import check_bearer, check_signature, key_of
from trigger_gateway.sources.source import Source, StoredSecret


@dataclass(kw_only=True)
class VerifySender:
    """`secrets` holds those that sources refer to, `cipher` decrypts those that are stored with them."""

    secrets: TeamSecrets
    cipher: SecretCipher
    clock: Clock
    service: str
    _log: Any = field(init=False)

    def __post_init__(self) -> None:
        self._log = logger(service=self.service)

    async def __call__(self, source: Source, headers: Mapping[str, str], body: bytes) -> None:
        settings = source.need_webhook()
        keys = await self._keys(source, settings.scheme, settings.secrets)
        try:
            if settings.scheme is not Scheme.BEARER:
                check_signature(settings.scheme, settings.header, keys, headers, body, self.clock())
                return
            check_bearer(keys, headers)
        except (Forbidden, Unauthenticated) as error:
            if len(keys) == len(settings.secrets):
                raise
            raise _not_ready() from error  # it may be right by the secret that isn't there
        if settings.signing_secret is not None:
            signing = await self._keys(source, Scheme.HMAC, [settings.signing_secret])
            check_signature(Scheme.HMAC, settings.header, signing, headers, body, self.clock())

    async def _keys(self, source: Source, scheme: Scheme, secrets: Sequence[StoredSecret]) -> list[bytes]:
        """The keys that are there; Transient if none is. What is missing stands in the log, not in the answer."""
        keys = []
        for secret in secrets:
            try:
                keys.append(key_of(scheme, await self._opened(source, secret)))
            except ValueError as error:
                name = "a stored one" if isinstance(secret, EncryptedSecret) else secret
                self._log.warning(
                    "source has no secret", team=source.team, source=source.name, reason=f"{name}: {error}"
                )
        if not keys:
            raise _not_ready()
        return keys

    async def _opened(self, source: Source, secret: StoredSecret) -> str:
        if isinstance(secret, EncryptedSecret):
            return self.cipher.decrypt(secret, bound_to=of_source(source.team, source.name))
        return (await self.secrets.resolve(source.team, [secret]))[secret]


def _not_ready() -> Transient:
    return Transient("this source is not ready: its secret is not configured")

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


class SecretMissing(Transient):
    """A secret of the source isn't there. `cause` isn't answered: it is for the owner's log."""

    def __init__(self, missing: str) -> None:
        super().__init__("this source is not ready: its secret is not configured")
        self.cause = f"no_secret: {missing}"


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
        keys, missing = await self._keys(source, settings.scheme, settings.secrets)
        try:
            if settings.scheme is not Scheme.BEARER:
                check_signature(settings.scheme, settings.header, keys, headers, body, self.clock())
                return
            check_bearer(keys, headers)
        except (Forbidden, Unauthenticated) as error:
            if not missing:
                raise
            raise SecretMissing(missing) from error  # it may be right by the secret that isn't there
        if settings.signing_secret is not None:
            signing, _ = await self._keys(source, Scheme.HMAC, [settings.signing_secret])
            check_signature(Scheme.HMAC, settings.header, signing, headers, body, self.clock())

    async def _keys(self, source: Source, scheme: Scheme, secrets: Sequence[StoredSecret]) -> tuple[list[bytes], str]:
        """The keys that are there, and what is missing; SecretMissing if none is there. What is missing stands in the
        logs, not in the answer."""
        keys, missing = list[bytes](), list[str]()
        for secret in secrets:
            try:
                keys.append(key_of(scheme, await self._opened(source, secret)))
            except ValueError as error:
                name = "a stored one" if isinstance(secret, EncryptedSecret) else secret
                missing.append(f"{name}: {error}")
                self._log.warning("source has no secret", team=source.team, source=source.name, reason=missing[-1])
        if not keys:
            raise SecretMissing("; ".join(missing))
        return keys, "; ".join(missing)

    async def _opened(self, source: Source, secret: StoredSecret) -> str:
        if isinstance(secret, EncryptedSecret):
            return self.cipher.decrypt(secret, bound_to=of_source(source.team, source.name))
        return (await self.secrets.resolve(source.team, [secret]))[secret]

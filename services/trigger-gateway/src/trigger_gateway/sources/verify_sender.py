"""Verifies the sender of a webhook: resolves the source's secrets and checks the signature by its scheme."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.runtime.logs import logger
from rota_common.secrets import resolve
from rota_contracts.sources import Scheme
from trigger_gateway.problems import Forbidden, Unauthenticated
from trigger_gateway.sources.ports import SecretCipher
from trigger_gateway.sources.schemes import check_bearer, check_signature, key_of
from trigger_gateway.sources.source import EncryptedSecret, Source, StoredSecret


@dataclass(kw_only=True)
class VerifySender:
    """`environ` holds the secrets that sources refer to, `cipher` decrypts those that are stored."""

    environ: Mapping[str, str]
    cipher: SecretCipher
    clock: Clock
    service: str
    _log: Any = field(init=False)

    def __post_init__(self) -> None:
        self._log = logger(service=self.service)

    def __call__(self, source: Source, headers: Mapping[str, str], body: bytes) -> None:
        settings = source.need_webhook()
        keys = self._keys(source, settings.scheme, settings.secrets)
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
            signing = self._keys(source, Scheme.HMAC, [settings.signing_secret])
            check_signature(Scheme.HMAC, settings.header, signing, headers, body, self.clock())

    def _keys(self, source: Source, scheme: Scheme, secrets: Sequence[StoredSecret]) -> list[bytes]:
        """The keys that are there; Transient if none is. What is missing stands in the log, not in the answer."""
        keys = []
        for secret in secrets:
            try:
                keys.append(key_of(scheme, self._opened(secret)))
            except ValueError as error:
                name = "a stored one" if isinstance(secret, EncryptedSecret) else secret
                self._log.warning(
                    "source has no secret", team=source.team, source=source.name, reason=f"{name}: {error}"
                )
        if not keys:
            raise _not_ready()
        return keys

    def _opened(self, secret: StoredSecret) -> str:
        return self.cipher.decrypt(secret) if isinstance(secret, EncryptedSecret) else resolve(secret, self.environ)


def _not_ready() -> Transient:
    return Transient("this source is not ready: its secret is not configured")

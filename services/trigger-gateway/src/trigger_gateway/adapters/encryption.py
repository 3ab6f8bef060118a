"""Secrets that Rota keeps: encrypted with Fernet (AES and HMAC-SHA256) under a key that isn't in the database."""

from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from trigger_gateway.ports import NoSealingKey
from trigger_gateway.sources.source import SealedSecret

OPENED_KEPT = 1024
"""Secrets that stay open in memory: each webhook needs one."""

MAKE_ONE = "openssl rand -base64 32 | tr '+/' '-_'"


class FernetSeals:
    """`keys` as ROTA_SECRETS_KEY holds them, with commas between: the first one seals, each of them opens.

    Raises ValueError for what isn't a key; the message doesn't show it.
    """

    def __init__(self, keys: str) -> None:
        given = [key.strip() for key in keys.split(",") if key.strip()]
        try:
            self._fernet = MultiFernet([Fernet(key) for key in given]) if given else None
        except ValueError as error:
            expected = f"expected 32 bytes in URL-safe base64, with commas between several: make one with {MAKE_ONE}"
            raise ValueError(f"ROTA_SECRETS_KEY: {expected}") from error
        self._open = lru_cache(maxsize=OPENED_KEPT)(self._decrypted)

    def seal(self, secret: str) -> SealedSecret:
        if self._fernet is None:
            raise NoSealingKey
        return SealedSecret(sealed=self._fernet.encrypt(secret.encode()).decode())

    def open(self, secret: SealedSecret) -> str:
        return self._open(secret.sealed)

    def _decrypted(self, sealed: str) -> str:
        if self._fernet is None:
            raise ValueError("ROTA_SECRETS_KEY isn't set")
        try:
            return self._fernet.decrypt(sealed.encode()).decode()
        except InvalidToken as error:
            raise ValueError("no key of ROTA_SECRETS_KEY opens it") from error

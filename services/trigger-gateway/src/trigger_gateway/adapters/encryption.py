"""Secrets that Rota keeps: encrypted with Fernet (AES and HMAC-SHA256) under a key that isn't in the database."""

from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from trigger_gateway.sources.ports import NoEncryptionKey
from trigger_gateway.sources.source import EncryptedSecret

DECRYPTED_KEPT = 1024
"""Decrypted secrets kept in memory: each webhook needs one."""

MAKE_ONE = "openssl rand -base64 32 | tr '+/' '-_'"


class FernetCipher:
    """`keys` as ROTA_SECRETS_KEY holds them, with commas between: the first one encrypts, each of them decrypts.

    Raises ValueError for what isn't a key; the message doesn't show it.
    """

    def __init__(self, keys: str) -> None:
        given = [key.strip() for key in keys.split(",") if key.strip()]
        try:
            self._fernet = MultiFernet([Fernet(key) for key in given]) if given else None
        except ValueError as error:
            expected = f"expected 32 bytes in URL-safe base64, with commas between several: make one with {MAKE_ONE}"
            raise ValueError(f"ROTA_SECRETS_KEY: {expected}") from error
        self._cached = lru_cache(maxsize=DECRYPTED_KEPT)(self._decrypt)

    def encrypt(self, secret: str) -> EncryptedSecret:
        if self._fernet is None:
            raise NoEncryptionKey
        return EncryptedSecret(sealed=self._fernet.encrypt(secret.encode()).decode())

    def decrypt(self, secret: EncryptedSecret) -> str:
        return self._cached(secret.sealed)

    def _decrypt(self, sealed: str) -> str:
        if self._fernet is None:
            raise ValueError("ROTA_SECRETS_KEY isn't set")
        try:
            return self._fernet.decrypt(sealed.encode()).decode()
        except InvalidToken as error:
            raise ValueError("no key of ROTA_SECRETS_KEY decrypts it") from error

"""Secrets that Rota keeps: sealed with AES-256-GCM under a key that isn't in the database, and bound to their owner."""

import base64
import binascii
import hashlib
import json
import os
from collections.abc import Callable
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from rota_contracts.secret_refs import key_fingerprint
from trigger_gateway.secrets.sealed_secret import Binding, EncryptedSecret, NoEncryptionKey

DECRYPTED_KEPT = 1024
"""Decrypted secrets kept in memory: each webhook needs one."""

MAKE_ONE = "openssl rand -base64 32 | tr '+/' '-_'"
FORM = "v2"
SEALING, LINKS = b"rota sealed secrets v2", b"rota approval links v1"
"""The uses that a key is derived for."""

KEY_BYTES, NONCE_BYTES, ID_DIGITS = 32, 12, 12


class AesGcmCipher:
    """`keys` as ROTA_SECRETS_KEY holds them, with commas between: the first one seals, each of them opens.

    A sealed secret is `v2.<id of the key>.<nonce and ciphertext>`. What an earlier version sealed with Fernet, bound to
    nothing, is still opened, until it is sealed anew. Raises ValueError for what isn't a key, without showing it.
    `read` gives the keys again, if they can change.
    """

    def __init__(self, keys: str, *, read: Callable[[], str] | None = None) -> None:
        self._read = read
        self._use(keys)

    def reload(self) -> bool:
        keys = self._given if self._read is None else self._read()
        if keys == self._given:
            return False
        self._use(keys)
        return True

    @property
    def fingerprints(self) -> list[str]:
        return [key_fingerprint(key) for key in self._given.split(",") if key.strip()]

    def derived(self, use: bytes) -> list[bytes]:
        """Keys for another use, made of the same ones; the first one first."""
        return [_derived(key, use) for key in self._raw]

    def _use(self, keys: str) -> None:
        raw = self._raw = [_raw(key.strip()) for key in keys.split(",") if key.strip()]
        self._given = keys
        self._keys = {_key_id(key): AESGCM(_derived(key)) for key in raw}
        self._first = next(iter(self._keys), "")
        old = [Fernet(base64.urlsafe_b64encode(key)) for key in raw]
        self._old = MultiFernet(old) if old else None
        self._cached = lru_cache(maxsize=DECRYPTED_KEPT)(self._decrypt)

    def encrypt(self, secret: str, *, bound_to: Binding) -> EncryptedSecret:
        if not self._first:
            raise NoEncryptionKey
        nonce = os.urandom(NONCE_BYTES)
        sealed = nonce + self._keys[self._first].encrypt(nonce, secret.encode(), _associated(bound_to))
        return EncryptedSecret(sealed=f"{FORM}.{self._first}.{base64.urlsafe_b64encode(sealed).decode()}")

    def decrypt(self, secret: EncryptedSecret, *, bound_to: Binding) -> str:
        return self._cached(secret.sealed, bound_to)

    def is_current(self, secret: EncryptedSecret) -> bool:
        return not self._first or secret.sealed.startswith(f"{FORM}.{self._first}.")

    def _decrypt(self, sealed: str, bound_to: Binding) -> str:
        if self._old is None:
            raise ValueError("neither ROTA_SECRETS_KEY nor ROTA_SECRETS_KEY_FILE is set")
        form, _, rest = sealed.partition(".")
        if form != FORM:
            return self._unbound(sealed)
        key_id, _, text = rest.partition(".")
        if key_id not in self._keys:
            raise ValueError("no key of ROTA_SECRETS_KEY opens it")
        try:
            content = base64.urlsafe_b64decode(text)
            nonce, ciphertext = content[:NONCE_BYTES], content[NONCE_BYTES:]
            return self._keys[key_id].decrypt(nonce, ciphertext, _associated(bound_to)).decode()
        except (InvalidTag, ValueError) as error:
            raise ValueError("it was changed, or it belongs to another team or name") from error

    def _unbound(self, sealed: str) -> str:
        assert self._old is not None
        try:
            return self._old.decrypt(sealed.encode()).decode()
        except InvalidToken as error:
            raise ValueError("no key of ROTA_SECRETS_KEY opens it") from error


def _raw(text: str) -> bytes:
    expected = f"expected {KEY_BYTES} bytes in URL-safe base64, with commas between several: make one with {MAKE_ONE}"
    try:
        key = base64.b64decode(text.encode(), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise ValueError(f"ROTA_SECRETS_KEY: {expected}")
    return key


def _derived(key: bytes, use: bytes = SEALING) -> bytes:
    """A key of its own for each use: Fernet's is made of the same bytes."""
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=use).derive(key)


def _key_id(key: bytes) -> str:
    return hashlib.sha256(b"rota key id" + _derived(key)).hexdigest()[:ID_DIGITS]


def _associated(bound_to: Binding) -> bytes:
    return json.dumps(bound_to).encode()

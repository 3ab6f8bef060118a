"""Signatures of links: HMAC-SHA256."""

import base64
import hashlib
import hmac
from collections.abc import Callable, Sequence


class HmacLinks:
    """`keys` gives the keys as they are now: the first one signs, each of them verifies."""

    def __init__(self, keys: Callable[[], Sequence[bytes]]) -> None:
        self._keys = keys

    def sign(self, text: str) -> str | None:
        keys = self._keys()
        return _signature(keys[0], text) if keys else None

    def signed(self, text: str, signature: str) -> bool:
        given = signature.encode()
        return any(hmac.compare_digest(_signature(key, text).encode(), given) for key in self._keys())


def _signature(key: bytes, text: str) -> str:
    return base64.urlsafe_b64encode(hmac.digest(key, text.encode(), hashlib.sha256)).decode().rstrip("=")

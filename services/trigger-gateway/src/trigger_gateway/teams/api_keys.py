"""API keys: `rota_<key id>_<secret>`. Only the SHA-256 of the secret is stored; the key itself is shown once."""

import hashlib
import hmac
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from rota_contracts.roles import Role

PREFIX = "rota"
KNOWN = 10_000

Token = Callable[[], str]
"""A new random token of letters, digits, `-` and `_`, too long to be guessed."""


@dataclass(frozen=True)
class Holder:
    """The person that a key was made for, who is a member `since` then: a later one of the same name is another."""

    member_id: str
    since: datetime


@dataclass(frozen=True)
class ApiKey:
    """A key as it is stored. `name` says whose it is; with a `holder`, it speaks for that person."""

    key_id: str
    team: str
    digest: str
    created_at: datetime
    role: Role = Role.OWNER
    name: str = ""
    holder: Holder | None = None


@dataclass(frozen=True)
class PresentedKey:
    """A key as a request presents it."""

    key_id: str
    secret: str


@dataclass(frozen=True)
class NewKey:
    """A key and the text that is shown once."""

    key: ApiKey
    text: str


def digest(secret: str) -> str:
    """A fast hash is enough: the secret is long and random, so it can't be guessed from its hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


def make_key(
    team: str,
    *,
    key_id: str,
    secret: str,
    at: datetime,
    role: Role = Role.OWNER,
    name: str = "",
    holder: Holder | None = None,
) -> NewKey:
    return NewKey(ApiKey(key_id, team, digest(secret), at, role, name, holder), f"{PREFIX}_{key_id}_{secret}")


def parse_key(text: str) -> PresentedKey | None:
    """The parts of a presented key; None if it isn't one of ours."""
    prefix, _, rest = text.partition("_")
    key_id, _, secret = rest.partition("_")
    return PresentedKey(key_id, secret) if prefix == PREFIX and key_id and secret else None


def key_matches(presented: PresentedKey, key: ApiKey) -> bool:
    """In constant time."""
    return hmac.compare_digest(digest(presented.secret), key.digest)


def secret_matches(presented: str, expected: str) -> bool:
    """In constant time, whatever their lengths and characters."""
    return hmac.compare_digest(digest(presented), digest(expected))


class KnownKeys:
    """Digests of the newest keys that were right. They prove nothing: a key may have been deleted since."""

    def __init__(self) -> None:
        self._recent: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, text: str) -> bool:
        known = digest(text)
        return known in self._recent

    def add(self, text: str) -> None:
        self._recent[digest(text)] = None
        self._recent.move_to_end(digest(text))
        if len(self._recent) > KNOWN:
            self._recent.popitem(last=False)
